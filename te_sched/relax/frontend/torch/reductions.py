"""Rows of operators of torch that reduce dimensions: sums, extrema and their places, norms."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import has_size, product_of, several
from te_sched.relax.frontend.torch.elementwise import dtype_kind, promoted, scalar
from te_sched.relax.frontend.torch.importer import ROWS, Importer, TorchRow, row
from te_sched.relax.frontend.torch.values import Dims, TorchDtype, Value, dtype_of


def axes_of(imp: Importer, x: GraphExpr, dim: Dims) -> list[int] | None:
    """The dimensions that are reduced; None for all of them, as for the one of a number."""
    if dim is None or (isinstance(dim, Sequence) and not dim) or imp.info(x).ndim == 0:
        return None
    return several(dim, 1)


def _reduction(make: str, is_mean: bool = False) -> Callable[..., GraphExpr]:
    def rule(
        imp: Importer,
        x: GraphExpr,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        dtype: TorchDtype = None,
    ) -> GraphExpr:
        if dtype is not None:
            x = imp.cast(x, dtype_of(dtype))
        elif dtype_kind(imp.dtype(x)) < 2 and make in ("sum", "prod"):
            x = imp.cast(x, "int64")
        return imp.emit(getattr(R, make)(x, axes_of(imp, x, dim), keepdim))

    return rule


for _name, _make in (
    ("sum", "sum"),
    ("mean", "mean"),
    ("prod", "prod"),
    ("amax", "max"),
    ("amin", "min"),
):
    ROWS[_name] = TorchRow(_reduction(_make))


NARROW = ("float16", "bfloat16")


def in_float32(rule: Callable[..., GraphExpr]) -> Callable[..., GraphExpr]:
    """A rule whose partial results are float32 where the numbers have 16 bits, as in torch."""

    @functools.wraps(rule)
    def wide(imp: Importer, x: GraphExpr, *args: object, **kwargs: object) -> GraphExpr:
        if (wanted := kwargs.pop("dtype", None)) is not None:
            x = imp.cast(x, dtype_of(wanted))
        dtype = imp.dtype(x)
        if dtype not in NARROW:
            return rule(imp, x, *args, **kwargs)
        return imp.cast(rule(imp, imp.cast(x, "float32"), *args, **kwargs), dtype)

    return wide


@row("var")
@in_float32
def _var(
    imp: Importer,
    x: GraphExpr,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> GraphExpr:
    if isinstance(dim, bool):
        unbiased = dim
        dim = None
    variance = imp.emit(R.variance(x, axes_of(imp, x, dim), keepdim))
    less = int(unbiased) if correction is None else correction
    if not less:
        return variance
    rank = imp.info(x).ndim
    found_axes = axes_of(imp, x, dim)
    axes = range(rank) if found_axes is None else [axis % rank for axis in found_axes]
    count = product_of([imp.shape(x)[axis] for axis in axes])
    dtype = imp.dtype(x)
    ratio: GraphExpr
    if isinstance(count, int):
        ratio = const(count / (count - less) if count > less else math.inf, dtype)
    else:
        counts = [scalar(imp, number, dtype) for number in (count, count - less)]
        ratio = imp.emit(R.divide(*counts))
    return imp.emit(R.multiply(variance, ratio))


@row("std")
@in_float32
def _std(imp: Importer, x: GraphExpr, *args: object, **kwargs: object) -> GraphExpr:
    return imp.emit(R.sqrt(_var(imp, x, *args, **kwargs)))


def _extreme(value: str, index_op: str, of_two: str) -> Callable[..., Value]:
    def rule(
        imp: Importer, x: GraphExpr, dim: Dims | GraphExpr = None, keepdim: bool = False
    ) -> Value:
        if dim is None:
            return imp.emit(getattr(R, value)(x))
        if imp.is_tensor(dim):
            return imp.emit(getattr(R, of_two)(*promoted(imp, x, dim)))
        result = imp.emit(getattr(R, value)(x, axes_of(imp, x, dim), keepdim))
        return (result, _place_of(index_op)(imp, x, dim, keepdim))

    return rule


ROWS["max"] = TorchRow(_extreme("max", "argmax", "maximum"))
ROWS["min"] = TorchRow(_extreme("min", "argmin", "minimum"))


def _place_of(make: str) -> Callable[..., GraphVar]:
    def rule(imp: Importer, x: GraphExpr, dim: Dims = None, keepdim: bool = False) -> GraphVar:
        axes = axes_of(imp, x, dim)
        return imp.emit(getattr(R, make)(x, axes[0] if axes else None, keepdim))

    return rule


ROWS["argmax"], ROWS["argmin"] = TorchRow(_place_of("argmax")), TorchRow(_place_of("argmin"))


@row("norm", "linalg_vector_norm")
@in_float32
def _norm(
    imp: Importer,
    x: GraphExpr,
    p: float | str | None = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: TorchDtype = None,
) -> GraphExpr:
    size = imp.emit(R.abs(x))
    power = 2 if p is None or p == "fro" else p
    if isinstance(power, str):
        raise GraphError(f"a norm of order {power!r} is not supported", "", "give a number")
    if math.isinf(power):
        return imp.emit((R.max if power > 0 else R.min)(size, axes_of(imp, x, dim), keepdim))
    if power == 0:
        is_some = imp.emit(R.not_equal(x, const(0, imp.dtype(x))))
        return imp.emit(R.sum(imp.cast(is_some, imp.dtype(x)), axes_of(imp, x, dim), keepdim))
    if power == 1:
        return imp.emit(R.sum(size, axes_of(imp, x, dim), keepdim))
    total = imp.emit(R.power(size, const(power, imp.dtype(x))))
    total = imp.emit(R.sum(total, axes_of(imp, x, dim), keepdim))
    return imp.emit(R.power(total, const(1 / power, imp.dtype(x))))


@row("_weight_norm")
def _weight_norm(imp: Importer, v: GraphExpr, g: GraphExpr, dim: int = 0) -> GraphExpr:
    """v with the norms g, of the elements of each place along a dimension, or of all for -1."""
    axes = [axis for axis in range(imp.info(v).ndim) if axis != dim]
    size = imp.emit(R.sqrt(imp.emit(R.sum(imp.emit(R.multiply(v, v)), axes, True))))
    return imp.emit(R.multiply(v, imp.emit(R.divide(g, size))))


def _of_conditions(make: str, of_none: bool) -> Callable[..., GraphExpr]:
    """Whether all or any elements are not 0; `of_none` is the answer for no elements."""

    def rule(imp: Importer, x: GraphExpr, dim: Dims = None, keepdim: bool = False) -> GraphExpr:
        numbers = imp.cast(imp.cast(x, "bool"), "int32")
        result = imp.emit(getattr(R, make)(numbers, axes_of(imp, x, dim), keepdim))
        if has_size(imp.shape(x), 0):
            return imp.emit(R.full(imp.shape(result), const(of_none, "bool"), "bool"))
        return imp.cast(result, "bool")

    return rule


ROWS["all"] = TorchRow(_of_conditions("min", True))
ROWS["any"] = TorchRow(_of_conditions("max", False))
