"""Rows of operators of torch that scan a dimension: sums, products and extrema so far."""

from __future__ import annotations

from collections.abc import Callable

from te_sched import te, topi
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend import float_functions
from te_sched.relax.frontend.torch.elementwise import dtype_kind, promoted
from te_sched.relax.frontend.torch.importer import ROWS, Importer, TorchRow, row
from te_sched.relax.frontend.torch.reductions import NARROW
from te_sched.relax.frontend.torch.values import Tensors, TorchDtype, dtype_of
from te_sched.te.tensor import Tensor


def _scan(make: str) -> Callable[..., GraphExpr]:
    def rule(imp: Importer, x: GraphExpr, dim: int, *, dtype: TorchDtype = None) -> GraphExpr:
        is_whole = dtype is None and dtype_kind(imp.dtype(x)) < 2
        x = imp.cast(x, "int64") if is_whole else x
        wanted = imp.dtype(x) if dtype is None else dtype_of(dtype)
        if not imp.info(x).ndim:
            return imp.cast(x, wanted)
        if wanted in NARROW:  # partial results are wider, as in torch
            return imp.cast(imp.emit(getattr(R, make)(imp.cast(x, "float32"), dim)), wanted)
        return imp.emit(getattr(R, make)(x, dim, None if dtype is None else wanted))

    return rule


ROWS["cumsum"], ROWS["cumprod"] = TorchRow(_scan("cumsum")), TorchRow(_scan("cumprod"))


def _scanned(
    imp: Importer,
    x: GraphExpr,
    dim: int,
    name: str,
    combine: Callable[[Expr, Expr], Expr],
    start: Expr,
) -> GraphExpr:
    """The scan of a dimension by `combine`, of which `start` changes no element."""

    def scanned(data: Tensor) -> Tensor:
        result: Tensor = topi.scanop(data, combine, start, name, axis=imp.axis(x, dim))
        return result

    return imp.builder.emit_te(scanned, x, primfunc_name_hint=name)


def _extreme_so_far(is_largest: bool) -> Callable[..., Tensors]:
    """The largest or smallest elements up to each, and the places of the last ones of these."""

    def combine(old: Expr, new: Expr) -> Expr:
        is_better = new >= old if is_largest else new <= old
        if dtypes.is_float(new.dtype):  # a NaN stays
            is_better = te.any(te.isnan(new), is_better)
        return te.select(is_better, new, old)

    def rule(imp: Importer, x: GraphExpr, dim: int) -> Tensors:
        dtype = imp.dtype(x)
        if not imp.info(x).ndim:
            return (x, const(0, "int64"))
        numbers = imp.cast(x, "int32") if dtype == "bool" else x
        kind = imp.dtype(numbers)
        start = (te.min_value if is_largest else te.max_value)(kind)
        if dtypes.is_float(kind):
            start = te.const(-float("inf") if is_largest else float("inf"), kind)
        name = "cummax" if is_largest else "cummin"
        values = _scanned(imp, numbers, dim, name, combine, start)
        is_new = imp.emit(R.equal(numbers, values))
        if dtypes.is_float(kind):
            is_new = imp.emit(R.logical_or(is_new, imp.emit(R.isnan(numbers))))
        axis, rank = imp.axis(x, dim), imp.info(x).ndim
        counted = imp.emit(R.arange(0, imp.shape(x)[axis], 1, "int64"))
        counted = imp.reshape(counted, [-1 if n == axis else 1 for n in range(rank)])
        places = imp.emit(R.where(is_new, counted, const(0, "int64")))
        last = _scanned(imp, places, dim, f"{name}_places", ops.maximum, te.const(0, "int64"))
        return (imp.cast(values, dtype), last)

    return rule


ROWS["cummax"], ROWS["cummin"] = TorchRow(_extreme_so_far(True)), TorchRow(_extreme_so_far(False))


@row("logcumsumexp")
def _logcumsumexp(imp: Importer, x: GraphExpr, dim: int) -> GraphExpr:
    """The logarithms of the sums of exponentials up to each element."""
    dtype = imp.dtype(x)
    if not imp.info(x).ndim:
        return x
    wide = imp.cast(x, "float32") if dtype in NARROW else x
    start = te.const(-float("inf"), imp.dtype(wide))
    sums = _scanned(imp, wide, dim, "logcumsumexp", float_functions.log_add_exp, start)
    return imp.cast(sums, dtype)


@row("diff")
def _diff(
    imp: Importer,
    x: GraphExpr,
    n: int = 1,
    dim: int = -1,
    prepend: GraphExpr | None = None,
    append: GraphExpr | None = None,
) -> GraphExpr:
    """The differences of neighbors, n times; of bools, whether they differ."""
    axis = imp.axis(x, dim)
    parts = [part for part in (prepend, x, append) if part is not None] if n else [x]
    x = x if len(parts) == 1 else imp.emit(R.concat(promoted(imp, *parts), axis))
    length = imp.shape(x)[axis]
    compare = R.not_equal if imp.dtype(x) == "bool" else R.subtract
    for k in range(min(n, length) if isinstance(length, int) else n):
        after = imp.emit(R.strided_slice(x, [axis], [1], [length - k], [1]))
        before = imp.emit(R.strided_slice(x, [axis], [0], [length - k - 1], [1]))
        x = imp.emit(compare(after, before))
    return x
