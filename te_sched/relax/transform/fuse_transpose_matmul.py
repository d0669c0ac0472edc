"""The pass `FuseTransposeMatmul`."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched import te
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, GraphFunction, GraphVar
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.passes import ModulePass
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import get_var2val
from te_sched.relax.core.values import is_call_of, shape_of_value, tensor_info
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.rewriting import permutation, swaps_last_axes

# Rows for which matrices of open and of known sizes, which are packed in tiles, are not transposed.
_FEW_ROWS, _FEW_FIXED_ROWS = 32, 2


class FuseTransposeMatmul(ModulePass):
    """The pass that multiplies by a transposed matrix with one function of loops, `NT_matmul`.

    Parameters
    ----------
    to_run : whether the graph will be built, as in `relax.build` for processors: batches of
        matrices stay, unless they are parameters by which few rows are multiplied, for which no
        copy pays, whatever the permutation. Calls of functions of the program stay, too. A matrix
        that is a constant is packed as it is: a transposed copy would need its memory once more.

    >>> from te_sched import relax
    >>> x, w = (relax.Var(name, relax.TensorStructInfo([4, 8], "float32")) for name in "xw")
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w]):
    ...     product = relax.op.matmul(x, relax.op.permute_dims(w))
    ...     gv = builder.emit_func_output(builder.emit(product))
    >>> [str(name) for name in FuseTransposeMatmul()(builder.get()).functions]
    ['main', 'NT_matmul']
    """

    def __init__(self, *, to_run: bool = False) -> None:
        self.to_run = to_run

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with functions for products by transposed matrices."""
        fusion = _Fusion(mod, self.to_run)
        changed: dict[str, BaseFunc] = {}
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction) and func.body is not None:
                new = fusion.of(func)
                if new is not func:
                    changed[name] = remove_all_unused(new, self.to_run)
        return fusion.builder_.get().with_functions(changed) if changed else mod


class _Fusion(PyExprMutator):
    def __init__(self, mod: IRModule, to_run: bool) -> None:
        super().__init__(mod)
        self._to_run = to_run

    def of(self, func: GraphFunction) -> GraphFunction:
        """The function with products by transposed matrices."""
        self._values = get_var2val(func)
        return self.visit_expr(func)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, of one function if it multiplies by a transposed matrix."""
        call = self.visit_expr_post_order(op)
        if not is_call_of(call, "relax.matmul"):
            return call
        right = op.args[1]
        value = self._values.get(right) if isinstance(right, GraphVar) else None
        if not is_call_of(value, "relax.permute_dims"):
            return call
        source, rank = value.args[0], tensor_info(value.args[0]).ndim
        left = shape_of_value(call.args[0])
        if left is None or shape_of_value(source) is None or rank < 2 or len(left) < 2:
            return call
        axes = permutation(value.attrs["axes"], rank)
        has_few_rows = self._to_run and _are_few(left[-2], shape_of_value(source) or ())
        before = self._values.get(source) if isinstance(source, GraphVar) else None
        while has_few_rows and is_call_of(before, "relax.permute_dims"):
            first = permutation(before.attrs["axes"], rank)
            source, axes = before.args[0], [first[axis] for axis in axes]
            before = self._values.get(source) if isinstance(source, GraphVar) else None
        weight: GraphExpr = self.visit_expr(source)
        stays = isinstance(weight, Constant) or not has_few_rows
        if self._to_run and rank > 2 and stays:
            return call
        if not has_few_rows and not swaps_last_axes(axes, rank):
            return call
        dtype = tensor_info(call).dtype
        return self.builder_.call_te(
            _product, call.args[0], weight, axes, dtype, primfunc_name_hint="NT_matmul"
        )


def _are_few(rows: Expr, sizes: Sequence[Expr]) -> bool:
    """Whether a copy of matrices of some sizes takes longer than it saves for a number of rows."""
    is_open = not all(isinstance(size, IntImm) for size in sizes)
    return isinstance(rows, IntImm) and rows.value <= (_FEW_ROWS if is_open else _FEW_FIXED_ROWS)


def _product(a: te.Tensor, b: te.Tensor, axes: Sequence[int], dtype: str) -> te.Tensor:
    """The product of matrices a and those of b with its axes permuted, of each of a batch."""
    inner = a.shape[-1]
    permuted = [b.shape[axis] for axis in axes]
    batches = [[*shape[:-2]] for shape in (a.shape, permuted)]
    longer = max(batches, key=len)
    aligned = [[None] * (len(longer) - len(batch)) + batch for batch in batches]
    batch = [
        two if size is None or (two is not None and ops.is_const(size, 1)) else size
        for size, two in zip(*aligned, strict=True)
    ]
    k = te.reduce_axis((0, inner), name="k")

    def element(*i: Var) -> Expr:
        index_a, index_b = (
            [
                0 if ops.is_const(size, 1) else var
                for var, size in zip(i[:-2], sizes, strict=True)
                if size is not None
            ]
            for sizes in aligned
        )
        places = dict(zip(axes, (*index_b, k, i[-1]), strict=True))
        left, right = a(*index_a, i[-2], k), b(*[places[axis] for axis in range(len(axes))])
        return te.sum(left.astype(dtype) * right.astype(dtype), axis=k)

    return te.compute((*batch, a.shape[-2], permuted[-1]), element, name="NT_matmul")
