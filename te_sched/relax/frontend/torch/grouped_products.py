"""Rows of operators of torch for products of groups of rows, as mixtures of experts have them."""

from __future__ import annotations

from collections.abc import Callable

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.frontend.tensors import Size
from te_sched.relax.frontend.torch.elementwise import scalar
from te_sched.relax.frontend.torch.importer import ROWS, Importer, row
from te_sched.relax.frontend.torch.values import TorchDtype, dtype_of
from te_sched.te.tensor import Tensor


# The fallback is the operator of the package transformers for other types than bfloat16.
@row("_grouped_mm", "grouped_mm", "grouped_mm_fallback")
def _grouped_mm(
    imp: Importer,
    a: GraphExpr,
    b: GraphExpr,
    offs: GraphExpr | None = None,
    bias: GraphExpr | None = None,
    out_dtype: TorchDtype = None,
) -> GraphExpr:
    """Products of which rows, or columns, up to each offset belong to a matrix of their own."""
    dtype = imp.dtype(a) if out_dtype is None else dtype_of(out_dtype)
    ranks = (imp.info(a).ndim, imp.info(b).ndim)
    if ranks == (3, 3) and offs is None:
        result: GraphExpr = imp.emit(R.matmul(a, b, out_dtype=dtype))
    elif offs is not None and ranks == (2, 3):
        rows, count = imp.shape(a)[0], imp.shape(b)[0]
        groups = _groups_of(imp, offs, rows, count)
        result = imp.builder.emit_te(
            _of_rows(dtype), a, b, groups, primfunc_name_hint="grouped_matmul"
        )
    elif offs is not None and ranks == (3, 2):
        columns, matrices = imp.emit(R.permute_dims(b)), imp.emit(R.permute_dims(a, [0, 2, 1]))
        result = imp.emit(R.permute_dims(_grouped_mm(imp, columns, matrices, offs, None, dtype)))
    else:
        raise GraphError(
            f"a product of groups of tensors of {ranks[0]} and {ranks[1]} dimensions is not "
            "supported",
            "groups are rows of the first tensor, or columns of the second one",
            "give one tensor of 2 dimensions, one of 3, and offsets; or two of 3 without offsets",
        )
    return result if bias is None else imp.emit(R.add(result, bias))


def _groups_of(imp: Importer, ends: GraphExpr, rows: Size, count: Size) -> GraphExpr:
    """The group of each row: the first one that ends after it, or the last one."""
    steps = imp.emit(R.arange(0, rows, 1, imp.dtype(ends)))
    groups = ROWS["searchsorted"].rule(imp, ends, steps, right=True)
    assert isinstance(groups, GraphExpr)
    last = scalar(imp, count - 1, "int64")
    return imp.emit(R.minimum(groups, last))


def _of_rows(dtype: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The product of each row with the matrix of its group."""
    wide = "float32" if dtypes.is_small_float(dtype) else dtype

    def product(a: Tensor, b: Tensor, groups: Tensor) -> Tensor:
        inner = te.reduce_axis((0, a.shape[1]), name="k")

        def total(i: Expr, j: Expr) -> Expr:
            pair = a(i, inner.var), b(groups(i), inner.var, j)
            return te.sum(ops.cast(wide, pair[0]) * ops.cast(wide, pair[1]), axis=inner)

        sums = te.compute((a.shape[0], b.shape[2]), total, name="grouped_matmul")
        if wide == dtype:
            return sums
        return te.compute(sums.shape, lambda *i: ops.cast(dtype, sums(*i)), name="narrowed")

    return product
