"""Rows of reductions, of the places of extremes, and of cumulative sums."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir import dtypes
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr, GraphVar, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, Result, row
from te_sched.relax.frontend.onnx.sizes import OnnxSizes, Value
from te_sched.relax.frontend.tensors import product_of

Reduction = Callable[[OnnxImporter, GraphExpr, Ints | None, bool], GraphExpr]


def _reduced(make: Reduction) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter,
        x: Value,
        axes_input: Value | None = None,
        *,
        axes: Ints | None = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> GraphExpr:
        if axes_input is not None:
            axes = imp.ints(axes_input, 1)
        if not axes:  # of each element alone, or of all
            axes = [] if noop_with_empty_axes else None
        return make(imp, imp.tensor(x), axes, bool(keepdims))

    return rule


def _plain(make: str) -> Callable[..., GraphExpr]:
    return _reduced(lambda imp, x, axes, keep: imp.emit(getattr(R, make)(x, axes, keep)))


def _log_sum_exp(imp: OnnxImporter, x: GraphExpr, axes: Ints | None, keep: bool) -> GraphExpr:
    most = imp.emit(R.max(x, axes, True))
    is_finite = imp.emit(R.isfinite(most))
    most = imp.emit(R.where(is_finite, most, const(0, imp.dtype(x))))
    total = imp.emit(R.sum(imp.emit(R.exp(imp.emit(R.subtract(x, most)))), axes, True))
    result = imp.emit(R.add(imp.emit(R.log(total)), most))
    return result if keep or axes == [] else imp.emit(R.squeeze(result, axes))


for _name, _make in (
    ("ReduceSum", "sum"),
    ("ReduceMean", "mean"),
    ("ReduceMax", "max"),
    ("ReduceMin", "min"),
):
    row(_name)(_plain(_make))


@row("ReduceProd")
def _reduce_prod(
    imp: OnnxImporter, x: Value, *inputs: Value, keepdims: int = 1, **attrs: Ints | int
) -> Value:
    if isinstance(x, OnnxSizes) and not x.is_scalar and not dtypes.is_float(x.dtype):
        return _sizes.as_sizes([product_of(imp.sizes(x, 0))], not keepdims, x.dtype)
    return _plain("prod")(imp, x, *inputs, keepdims=keepdims, **attrs)


row("ReduceL1")(
    _reduced(lambda imp, x, axes, keep: imp.emit(R.sum(imp.emit(R.abs(x)), axes, keep)))
)
row("ReduceSumSquare")(
    _reduced(lambda imp, x, axes, keep: imp.emit(R.sum(imp.emit(R.multiply(x, x)), axes, keep)))
)
row("ReduceL2")(
    _reduced(
        lambda imp, x, axes, keep: imp.emit(
            R.sqrt(imp.emit(R.sum(imp.emit(R.multiply(x, x)), axes, keep)))
        )
    )
)
row("ReduceLogSum")(
    _reduced(lambda imp, x, axes, keep: imp.emit(R.log(imp.emit(R.sum(x, axes, keep)))))
)
row("ReduceLogSumExp")(_reduced(_log_sum_exp))


def _place_of(make: str) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter, x: Value, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> GraphExpr:
        x = imp.tensor(x)
        x = imp.emit(R.flip(x, axis)) if select_last_index else x
        result = imp.emit(getattr(R, make)(x, axis, bool(keepdims)))
        if not select_last_index:
            return result
        return imp.emit(R.subtract(const(imp.shape(x)[axis] - 1, "int64"), result))

    return rule


row("ArgMax")(_place_of("argmax"))
row("ArgMin")(_place_of("argmin"))


def _cumulative(make: Callable[..., GraphCall]) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter, x: Value, axis: Value, exclusive: int = 0, reverse: int = 0
    ) -> GraphExpr:
        (dim,) = imp.ints(axis, 1)
        x = imp.tensor(x)
        x = imp.emit(R.flip(x, dim)) if reverse else x
        totals = imp.emit(make(x, dim, None, bool(exclusive)))
        return imp.emit(R.flip(totals, dim)) if reverse else totals

    return rule


row("CumSum")(_cumulative(R.cumsum))
row("CumProd")(_cumulative(R.cumprod))


@row("TopK")
def _topk(
    imp: OnnxImporter, x: Value, k: Value, axis: int = -1, largest: int = 1, sorted: int = 1
) -> Result:
    (count,) = imp.sizes(k, 1)
    if isinstance(count, Expr):
        whole = _first(imp, x, 0, axis, largest)
        return tuple([imp.emit(R.strided_slice(y, [axis], [0], [count])) for y in whole])
    if count == 0:  # of R.topk all
        shape = imp.shape(x)
        shape[axis] = 0
        return imp.emit(R.zeros(shape, imp.dtype(x))), imp.emit(R.zeros(shape, "int64"))
    return _first(imp, x, count, axis, largest)


def _first(
    imp: OnnxImporter, x: Value, count: int, axis: int, largest: int
) -> tuple[GraphVar, GraphVar]:
    """The first elements along an axis, all for 0, and their places."""
    pair = imp.emit(R.topk(imp.tensor(x), count, axis, "both", bool(largest), "int64"))
    return imp.emit(TupleGetItem(pair, 0)), imp.emit(TupleGetItem(pair, 1))
