"""OptimizeLayoutTransform: changes of layouts that undo each other are removed.

    lv = R.layout_transform(x, index_map=lambda i, j: (i * 4 + j,))
    y = R.layout_transform(lv, index_map=lambda i: (i // 4, i % 4))

is x. Also with a call of the function that removes padding, which `AlterOpImpl` makes, in between.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Range
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction, GraphValue, GraphVar, Tuple
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.term_keys import same
from te_sched.relax.core.sizes import are_equal_sizes, sizes_of
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.transform.alter_op_impl import OPERATOR_NAME, REMOVE_PAD
from te_sched.relax.transform.base import FunctionPass
from te_sched.relax.transform.canonicalize_bindings import CanonicalizeBindings
from te_sched.relax.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from te_sched.transform import Sequential


class OptimizeLayoutTransform(Sequential):
    """The pass that removes changes of layouts that `AlterOpImpl` adds between the functions that
    it replaces; equal ones are computed once.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4, 4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = builder.emit(relax.op.layout_transform(x, lambda i, j: (i * 4 + j,)))
    ...     z = builder.emit(relax.op.layout_transform(y, lambda i: (i // 4, i % 4)))
    ...     gv = builder.emit_func_output(builder.emit(relax.op.exp(z)))
    >>> module = relax.transform.DeadCodeElimination()(OptimizeLayoutTransform()(builder.get()))
    >>> [one.value.op for one in module["main"].body.blocks[0].bindings]
    ['relax.exp']
    """

    def __init__(self) -> None:
        passes = [EliminateCommonSubexpr(), _OptimizeLayoutTransform(), CanonicalizeBindings()]
        super().__init__(passes, name="OptimizeLayoutTransform")


class _OptimizeLayoutTransform(FunctionPass):
    def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> GraphFunction:
        return _Removing(mod).visit_expr(func)


class _Removing(PyExprMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._mod = mod

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, or the value whose layout is changed and changed back."""
        call = map_call(self, op)
        if call.op != "relax.layout_transform":
            return call
        inner = self._value_of(call.args[0])
        if isinstance(inner, GraphCall) and self._removes_padding(inner):
            inner = self._value_of(inner.args[1].fields[0])
        if not is_call_of(inner, "relax.layout_transform"):
            return call
        return inner.args[0] if _is_undone(inner, call) else call

    def _value_of(self, value: GraphValue) -> GraphValue:
        while isinstance(value, GraphVar):
            bound = self.lookup_binding(value)
            if bound is None:
                return value
            value = bound
        return value

    def _removes_padding(self, value: GraphCall) -> bool:
        if value.op != "relax.call_tir":
            return False
        func = self._mod.functions.get(value.args[0])
        is_known = isinstance(func, PrimFunc) and func.attrs.get(OPERATOR_NAME) == REMOVE_PAD
        return is_known and isinstance(value.args[1], Tuple)


def _is_undone(inner: GraphCall, outer: GraphCall) -> bool:
    """Whether the elements of the outer call are those of the argument of the inner one.

    Padding that is not defined may have any value.
    """
    data, attrs = inner.args[0], outer.attrs
    sizes, result = sizes_of(data.struct_info), sizes_of(outer.struct_info)
    if sizes is None or not are_equal_sizes(sizes, result, Analyzer()):
        return False
    if attrs.pad_value is not None and not _is_onto(outer):
        return False
    if list(inner.attrs.input_axis_separators) != list(attrs.axis_separators):
        return False
    analyzer = Analyzer()
    initial = inner.attrs.index_map.initial_indices
    for var, size in zip(initial, sizes, strict=True):
        analyzer.bind(var, Range(ops.const(0, var.dtype), ops.cast(var.dtype, size)))
    final = attrs.index_map.map_indices(inner.attrs.index_map.final_indices)
    return all(
        same(analyzer.simplify(index), var) for index, var in zip(final, initial, strict=True)
    )


def _is_onto(call: GraphCall) -> bool:
    """Whether a change of a layout adds no padding."""
    sizes = sizes_of(call.args[0].struct_info)
    if sizes is None:
        return False
    _, padding = call.attrs.index_map.non_surjective_inverse(sizes)
    return Analyzer().can_prove(ops.logical_not(padding))
