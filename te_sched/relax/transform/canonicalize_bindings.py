"""CanonicalizeBindings: one name for each value, and no more outputs of blocks than are used.

    y = x                               z = R.add(x, x)
    z = R.add(y, y)          ->         return z
    w = z
    return w

Casts to a struct info that is known become bindings, variables of sizes that a cast defines again
are replaced, elements of known tuples are used themselves.
"""

from __future__ import annotations

from collections import Counter

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Node, Var
from te_sched.ir.graph import (
    Binding,
    Constant,
    DataflowBlock,
    DataflowVar,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    MatchCast,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.struct_info import TupleStructInfo, size_text
from te_sched.ir.structural import structural_equal
from te_sched.relax.analysis.variables import bindings_of, nodes_of, uses_of
from te_sched.relax.core.sizes import bind_sizes, bound_sizes
from te_sched.relax.core.substitution import Substitution
from te_sched.relax.expr_functor import PyExprMutator, map_function
from te_sched.relax.transform.base import FunctionPass
from te_sched.transform import Sequential


class CanonicalizeBindings(Sequential):
    """The pass that removes bindings of variables to variables, and casts that change nothing.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     name = builder.emit_func_output(builder.emit(builder.emit(x)))
    >>> CanonicalizeBindings()(builder.get())["main"].body.blocks
    ()
    """

    def __init__(self) -> None:
        passes = [_CanonicalizeSizes(), _CanonicalizeBindings()]
        super().__init__(passes, name="CanonicalizeBindings")


class _CanonicalizeSizes(FunctionPass, opt_level=1, name="CanonicalizeTIRVariables"):
    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return canonical_sizes(func)


class _CanonicalizeBindings(FunctionPass, opt_level=1, name="CanonicalizeRelaxBindings"):
    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return canonical_bindings(func)


def canonical_sizes(func: GraphFunction) -> GraphFunction:
    """A function in which a cast defines no size that is known already."""
    has_casts = any(isinstance(binding, MatchCast) for binding in bindings_of(func))
    return _Sizes().visit_expr(func) if has_casts else func


class _Sizes(Substitution):
    """Replaces the variables of sizes that casts define again."""

    def __init__(self) -> None:
        super().__init__()
        self._known: set[Var] = set()

    def visit_function_(self, op: GraphFunction) -> GraphExpr:
        """Parameters define sizes."""
        for param in op.params:
            self._known |= set(bound_sizes(param.struct_info))
        return map_function(self, op)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Take the values of variables from the value that is cast."""
        value = self.visit_expr(binding.value)
        sizes: dict[Var, Expr] = {}
        bind_sizes(binding.struct_info, value.struct_info, sizes)
        for var, size in sizes.items():
            known_size = self.sizes.get(var)
            if known_size is not None and self._analyzer.can_prove(ops.not_equal(known_size, size)):
                raise GraphError(
                    f"MatchCast statements must be consistent: "
                    f"{var} is {size_text(known_size)} and {size_text(size)}",
                    f"the cast of {binding.value} contradicts an earlier one",
                    "give the casts different variables of sizes",
                )
            if known_size is None and var not in self._known and size is not var:
                self.sizes[var] = size
        self._known |= set(bound_sizes(binding.struct_info))
        super().visit_match_cast_(binding)


def canonical_bindings(func: GraphFunction) -> GraphFunction:
    """A function without bindings of variables to variables."""
    return _Canonicalizer(_Names(func)).visit_expr(func)


class _Names:
    """For each variable the one that is used instead, and how variables are bound."""

    def __init__(self, func: GraphFunction) -> None:
        self.instead: dict[GraphVar, GraphVar] = {}
        self.constants: dict[GraphVar, Constant] = {}
        self.defined_as: dict[GraphVar, GraphVar] = {}
        self._values: dict[GraphVar, GraphValue] = {}
        for binding in bindings_of(func):
            self._binding(binding)
        everywhere = _count_uses(func)
        for block in nodes_of(func):
            if isinstance(block, DataflowBlock):
                self._outputs(block, everywhere)

    def root(self, var: GraphVar) -> GraphVar:
        """The variable that stands for one."""
        return self.instead.get(var, var)

    def _binding(self, binding: Binding) -> None:
        var, value = binding.var, binding.value
        if isinstance(value, Constant) and isinstance(binding, VarBinding):
            self.constants[var] = value
        same = self._same(value)
        if isinstance(same, Constant) and same is not value and _fits(binding, same):
            self.constants[var] = same
        if isinstance(same, GraphVar) and _fits(binding, same):
            self.instead[var] = same
        self._values[var] = same if isinstance(same, Tuple) else value

    def _same(self, value: GraphValue) -> GraphValue | None:
        """The variable or constant that a value is, if it is known to be one."""
        if isinstance(value, GraphVar):
            return self.root(value)
        if isinstance(value, TupleGetItem) and isinstance(value.tuple_value, GraphVar):
            tuple_value = self._values.get(self.root(value.tuple_value))
            if isinstance(tuple_value, Tuple):
                element = tuple_value.fields[value.index]
                return self.root(element) if isinstance(element, GraphVar) else element
        if isinstance(value, Tuple) and value.fields:
            return self._whole(value)
        return None

    def _whole(self, value: Tuple) -> GraphExpr | None:
        """The tuple of which a tuple has all elements in order."""
        items: list[GraphValue | None] = [
            self._values.get(self.root(field)) if isinstance(field, GraphVar) else field
            for field in value.fields
        ]
        whole = getattr(items[0], "tuple_value", None)
        if not isinstance(whole, GraphVar):
            return None
        root = self.root(whole)
        for index, item in enumerate(items):
            if not isinstance(item, TupleGetItem) or item.index != index:
                return None
            source = item.tuple_value
            if not isinstance(source, GraphVar) or self.root(source) is not root:
                return None
        info = root.struct_info_
        is_complete = isinstance(info, TupleStructInfo) and len(info.fields) == len(items)
        return root if is_complete else None

    def _outputs(self, block: DataflowBlock, everywhere: dict[GraphVar, int]) -> None:
        """Choose the variables of a block: those that are used outside are not DataflowVars."""
        inside = _count_uses(block)
        names: dict[GraphVar, list[GraphVar]] = {}
        for var, root in self.instead.items():
            names.setdefault(root, []).append(var)
        for binding in block.bindings:
            var = binding.var
            if var in self.instead:
                continue
            every = [var, *names.get(var, [])]
            outside = [
                candidate
                for candidate in every
                if everywhere.get(candidate, 0) > inside.get(candidate, 0)
            ]
            visible = [
                candidate
                for candidate in [*outside, *every]
                if not isinstance(candidate, DataflowVar)
            ]
            if outside and var not in outside:
                output = visible[0] if visible else GraphVar(var.name_hint, var.struct_info_)
                self.defined_as[var] = output
            elif not outside and not isinstance(var, DataflowVar):
                self.defined_as[var] = DataflowVar(var.name_hint, var.struct_info_)


def _count_uses(node: Node) -> dict[GraphVar, int]:
    return Counter(uses_of(node))


def _fits(binding: Binding, value: GraphValue) -> bool:
    """Whether a binding only names a value: what is known of both is the same."""
    if isinstance(binding, MatchCast) and not structural_equal(
        binding.struct_info, value.struct_info_
    ):
        return False
    return structural_equal(binding.var.struct_info_, value.struct_info_)


class _Canonicalizer(PyExprMutator):
    """Drops bindings that only name a value, and uses the value."""

    def __init__(self, names: _Names) -> None:
        super().__init__()
        self._names = names
        self._renamed |= names.defined_as

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """The variable, or the constant, that is used instead."""
        if op in self._names.constants:
            return self._names.constants[op]
        return super().visit_var_(self._names.root(op))

    visit_dataflow_var_ = visit_var_

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding, unless it only names a value."""
        if binding.var not in self._names.instead:
            super().visit_var_binding_(binding)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """The cast, unless it only names a value."""
        if binding.var not in self._names.instead:
            super().visit_match_cast_(binding)
