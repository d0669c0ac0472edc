"""EliminateCommonSubexpr: a value that is computed twice is computed once.

    y = R.add(x, x)                     y = R.add(x, x)
    z = R.add(x, x)          ->         z = y
    w = R.multiply(y, z)                w = R.multiply(y, y)

In a dataflow block, values of the block itself stand for later ones; outside of it, only those that
are visible there. Calls that may have effects, or that allocate memory, stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from te_sched.ir.graph import (
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.struct_info import StructInfo
from te_sched.ir.structural import structural_equal
from te_sched.ir.structural_hash import structural_hash
from te_sched.relax.analysis.purity import contains_impure_call
from te_sched.relax.analysis.variables import written_in_place
from te_sched.relax.expr_functor import PyExprMutator, map_function
from te_sched.relax.transform.base import FunctionPass

_ALLOCATIONS = ("alloc_tensor", "alloc_storage")


class EliminateCommonSubexpr(FunctionPass, opt_level=1):
    """The pass that binds equal values once.

    Parameters
    ----------
    call_only : only calls are compared, not tuples and their elements.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y, z = [builder.emit(relax.op.add(x, x)) for _ in range(2)]
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(y, z)))
    >>> func = EliminateCommonSubexpr()(builder.get())["main"]
    >>> second = func.body.blocks[0].bindings[1]
    >>> second.value is func.body.blocks[0].bindings[0].var
    True
    """

    def __init__(self, call_only: bool = False) -> None:
        self.call_only = call_only

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Eliminator(self.call_only).visit_expr(func)


class _Known:
    """The values that are bound so far, and the variables that stand for others."""

    def __init__(self) -> None:
        self.values: dict[int, list[tuple[GraphValue, StructInfo | None, list[GraphVar]]]] = {}
        self.instead: dict[GraphVar, GraphVar] = {}

    def copy(self) -> _Known:
        """A copy, for a branch."""
        clone = _Known()
        clone.values = {
            key: [(value, info, list(names)) for value, info, names in entries]
            for key, entries in self.values.items()
        }
        clone.instead = dict(self.instead)
        return clone

    def variables(self, value: GraphValue, info: StructInfo | None) -> list[GraphVar]:
        """The variables that are bound to a value, cast to a struct info; a new list without."""
        entries = self.values.setdefault(structural_hash(value), [])
        for other, other_info, names in entries:
            same_info = info is other_info or (
                None not in (info, other_info) and structural_equal(info, other_info)
            )
            if same_info and structural_equal(value, other):
                return names
        names = []
        entries.append((value, info, names))
        return names

    def forget(self, is_hidden: Callable[[GraphVar], bool]) -> None:
        """Drop the variables that are not visible any more."""
        for entries in self.values.values():
            for _, _, names in entries:
                names[:] = [name for name in names if not is_hidden(name)]
        self.instead = {old: new for old, new in self.instead.items() if not is_hidden(new)}


class _Eliminator(PyExprMutator):
    def __init__(self, call_only: bool) -> None:
        super().__init__()
        self._call_only = call_only
        self._known = _Known()
        self._written: set[GraphVar] = set()  # calls overwrite them: their values are not shared

    def visit_function_(self, op: GraphFunction) -> GraphExpr:
        """A function starts anew."""
        outer, self._known = self._known, _Known()
        self._written |= written_in_place(op)
        new_function = map_function(self, op)
        self._known = outer
        return new_function

    def visit_with_new_scope(
        self, expr: GraphExpr, params: Sequence[GraphVar] | None = None
    ) -> SeqExpr:
        """A branch sees what is bound before it; what it binds is not seen after it."""
        outer, self._known = self._known, self._known.copy()
        new_expr = super().visit_with_new_scope(expr, params)
        self._known = outer
        return new_expr

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """A block; its DataflowVars are not visible after it, its outputs stay what they are."""
        before = dict(self._known.instead)
        new_block = super().visit_dataflow_block_(block)
        self._known.instead = before
        self._known.forget(lambda var: isinstance(var, DataflowVar))
        return new_block

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """The first variable that was bound to the same value."""
        new = self._renamed.get(op, op)
        return self._known.instead.get(new, new)

    visit_dataflow_var_ = visit_var_

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Bind a variable that has the value instead of the value."""
        value = self.visit_expr(binding.value)
        if binding.var in self._written or not self._is_comparable(value):
            self.reemit_binding(binding, value)
            return
        names = self._known.variables(value, None)
        self.reemit_binding(binding, names[0] if names else value)
        self._note(binding.var, names)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """An equal cast becomes a binding."""
        value = self.visit_expr(binding.value)
        info = self.visit_struct_info(binding.struct_info)
        names = self._known.variables(value, info)
        if names:
            self.builder_.emit_normalized(VarBinding(self.visit_var_def(binding.var), names[0]))
        else:
            super().visit_match_cast_(binding)
        self._note(binding.var, names)

    def _note(self, old: GraphVar, names: list[GraphVar]) -> None:
        var = self._renamed.get(old, old)
        if names:
            self._known.instead[var] = names[0]
        names.append(var)

    def _is_comparable(self, value: GraphValue) -> bool:
        if self._call_only and not isinstance(value, GraphCall):
            return False
        if isinstance(value, GraphCall) and str(value.op).endswith(_ALLOCATIONS):
            return False
        return not contains_impure_call(value)
