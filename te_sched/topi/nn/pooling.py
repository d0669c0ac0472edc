"""Max and average pooling of one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from te_sched import te
from te_sched.ir import ops
from te_sched.ir.expr import FloatImm, IterVar, Select
from te_sched.te.tensor import Tensor
from te_sched.topi.nn.padding import padded
from te_sched.topi.tag import ELEMWISE
from te_sched.topi.utils import (
    Padding,
    Sizes,
    as_constant,
    as_pair,
    check_choice,
    get_const_tuple,
    prod,
    simplify,
    spatial_dimensions,
    tensor_of,
)


def pool1d(
    data: Tensor,
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
    padding: Padding,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """Max or average pooling along W; see pool2d.

    >>> X = te.placeholder((1, 4, 8), name="X")
    >>> topi.nn.pool1d(X, 2, 2, 1, 0, "max").shape
    [1, 4, 4]
    """
    return _pool(
        data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad, 1
    )


def pool2d(
    data: Tensor,
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
    padding: Padding,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Max or average pooling along H and W.

    Parameters
    ----------
    padding : (top, left, bottom, right), or (vertical, horizontal).
    pool_type : "max" or "avg".
    layout : the dimensions; NCHW4c has C in parts of 4, the last dimension.
    ceil_mode : round the number of windows up, so that the last ones may exceed the padding.
    count_include_pad : whether averages count padding.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.pool2d(X, kernel=3, stride=2, dilation=1, padding=1, pool_type="avg").shape
    [1, 4, 4, 4]
    """
    return _pool(
        data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad, 2
    )


def pool3d(
    data: Tensor,
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
    padding: Padding,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Max or average pooling along D, H and W; see pool2d.

    padding : (front, top, left, back, bottom, right), or (front, top, left).

    >>> X = te.placeholder((1, 4, 6, 8, 8), name="X")
    >>> topi.nn.pool3d(X, 2, 2, 1, 0, "max").shape
    [1, 4, 3, 4, 4]
    """
    return _pool(
        data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad, 3
    )


def max_pool_of_floats(
    data: Tensor,
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
    padding: Padding,
    ceil_mode: bool,
    layout: str,
) -> Tensor:
    """Max pooling of floats whose border is minus infinity, not TVM's smallest finite number.

    >>> X = te.placeholder((1, 4, 8), name="X")
    >>> max_pool_of_floats(X, 2, 2, 1, 1, False, "NCW").shape
    [1, 4, 5]
    """
    count, border = len(layout.strip("NCc0123456789")), FloatImm(-math.inf, data.dtype)
    sizes = (kernel, stride, dilation, padding)
    return _pool(data, *sizes, "max", ceil_mode, layout, False, count, border)


def _pool(
    tensor: Tensor,
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
    padding: Padding,
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
    count: int,
    border: Any = None,
) -> Tensor:
    what = f"nn.pool{count}d"
    check_choice(pool_type, ("max", "avg"), what, "pool_type")
    data, at = spatial_dimensions(tensor, layout, count, what)
    window = as_pair(kernel, count, f"{what} kernel")
    steps = as_pair(stride, count, f"{what} stride")
    gaps = as_pair(dilation, count, f"{what} dilation")
    low, high = paddings_of(padding, count, what)
    spans = [(k - 1) * gap + 1 for k, gap in zip(window, gaps, strict=True)]
    reach = [h + (s - 1 if ceil_mode else 0) for h, s in zip(high, steps, strict=True)]
    sizes = [data.shape[spatial_dim] for spatial_dim in at]
    shape = list(data.shape)
    for dim, n, a, b, span, step in zip(at, sizes, low, reach, spans, steps, strict=True):
        shape[dim] = simplify(ops.floordiv(ops.convert(n + a + b - span), step) + 1)

    if border is None:
        border = te.min_value(data.dtype) if pool_type == "max" else 0
    source = _bordered(data, at, low, reach, border)
    over = [te.reduce_axis((0, k), f"rv{n}") for n, k in enumerate(window)]

    def read(*i: Any) -> Any:
        index = list(i)
        for spatial_dim, step, gap, axis in zip(at, steps, gaps, over, strict=True):
            index[spatial_dim] = i[spatial_dim] * step + axis * gap
        return source(*index)

    reduced = _reduced(tuple(shape), read, over, pool_type, "pool")
    if pool_type == "max":
        return reduced

    def size_of_window(i: Sequence[Any]) -> Any:
        counts = []
        for spatial_dim, n, a, b, span, step, gap in zip(
            at, sizes, low, high, spans, steps, gaps, strict=True
        ):
            start = i[spatial_dim] * step - a
            last = simplify(n + b - 1) if count_include_pad else n - 1
            first = start
            if not count_include_pad:
                lost = ops.maximum(0 - start, 0)
                first = start + (lost if gap == 1 else ops.floordiv(lost + gap - 1, gap) * gap)
            covered = ops.minimum(start + (span - 1), last) - first
            counts.append((covered if gap == 1 else ops.floordiv(covered, gap)) + 1)
        total = prod(counts)
        return total if count_include_pad else ops.maximum(total, 1)

    rule = {"schedule_rule": "meta_schedule.pool_avg"}
    return _mean(reduced, lambda *i: size_of_window(i), "pool_avg", rule)


def paddings_of(padding: Padding, count: int, what: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The amounts of padding before and after each of `count` dimensions."""
    amounts = tuple(padding) if isinstance(padding, list | tuple) else (padding,)
    if len(amounts) == 2 * count:
        both = get_const_tuple(amounts)
        return both[:count], both[count:]
    each = as_pair(padding, count, f"{what} padding", None)
    return each, each


def _bordered(
    data: Tensor, at: Sequence[int], low: Sequence[Any], high: Sequence[Any], border: Any
) -> Tensor:
    before, after = [0] * data.ndim, [0] * data.ndim
    for dim, a, b in zip(at, low, high, strict=True):
        before[dim], after[dim] = a, b
    if all(as_constant(amount) == 0 for amount in [*before, *after]):
        return data
    return padded(data, before, after, border, "pad_temp", ELEMWISE, "ax")


def _reduced(
    shape: tuple[Any, ...], read: Any, over: list[IterVar], pool_type: str, name: str
) -> Tensor:
    reducer = te.max if pool_type == "max" else te.sum
    kind = f"{name}_{'max' if pool_type == 'max' else 'sum'}"
    rule = {"schedule_rule": "meta_schedule.pool_max"} if pool_type == "max" else None
    return tensor_of(shape, lambda *i: reducer(read(*i), axis=over), kind, kind, attrs=rule)


def _mean(
    total: Tensor, size_of_window: Any, name: str, attrs: Mapping[str, Any] | None = None
) -> Tensor:
    return tensor_of(
        total.shape,
        lambda *i: ops.div(total(*i), ops.cast(total.dtype, ops.convert(size_of_window(*i)))),
        name,
        ELEMWISE,
        attrs=attrs,
    )


def adaptive_pool(data: Tensor, output_size: Sizes, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Pooling of H and W to output_size, with windows of nearly equal extents.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.adaptive_pool(X, (2, 4), "avg").shape
    [1, 4, 2, 4]
    """
    return _adaptive(data, output_size, pool_type, layout, 2)


def adaptive_pool1d(
    data: Tensor, output_size: Sizes, pool_type: str, layout: str = "NCW"
) -> Tensor:
    """adaptive_pool of W.

    >>> X = te.placeholder((1, 4, 8), name="X")
    >>> topi.nn.adaptive_pool1d(X, 2, "max").shape
    [1, 4, 2]
    """
    return _adaptive(data, output_size, pool_type, layout, 1)


def adaptive_pool3d(
    data: Tensor, output_size: Sizes, pool_type: str, layout: str = "NCDHW"
) -> Tensor:
    """adaptive_pool of D, H and W.

    >>> X = te.placeholder((1, 4, 6, 8, 8), name="X")
    >>> topi.nn.adaptive_pool3d(X, (3, 2, 2), "max").shape
    [1, 4, 3, 2, 2]
    """
    return _adaptive(data, output_size, pool_type, layout, 3)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Pooling of H and W to extent 1.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.global_pool(X, "avg").shape
    [1, 4, 1, 1]
    """
    return _adaptive(data, (1, 1), pool_type, layout, 2)


def _adaptive(
    tensor: Tensor, output_size: Sizes, pool_type: str, layout: str, count: int
) -> Tensor:
    what = "nn.adaptive_pool"
    check_choice(pool_type, ("max", "avg"), what, "pool_type")
    data, at = spatial_dimensions(tensor, layout, count, what)
    sizes = as_pair(output_size, count, f"{what} output_size")
    shape = list(data.shape)
    for dim, size in zip(at, sizes, strict=True):
        shape[dim] = size

    def window(i: Sequence[Any]) -> list[tuple[Any, Any]]:
        return [
            _window(i[spatial_dim], data.shape[spatial_dim], size)
            for spatial_dim, size in zip(at, sizes, strict=True)
        ]

    reducer = te.max if pool_type == "max" else te.sum

    def element(*i: Any) -> Any:
        index, over = list(i), []
        for n, (spatial_dim, (start, extent)) in enumerate(zip(at, window(i), strict=True)):
            over.append(te.reduce_axis((0, extent), f"rv{n}"))
            index[spatial_dim] = start + over[-1]
        return reducer(data(*index), axis=over)

    name = f"adaptive_pool_{pool_type}"
    attrs = {"schedule_rule": f"meta_schedule.{name}"}
    if pool_type == "max":
        return tensor_of(shape, element, name, name, attrs=attrs)
    total = tensor_of(shape, element, "adaptive_pool_sum", "adaptive_pool_sum")

    def size_of_window(*i: Any) -> Any:
        return prod(ops.cast(total.dtype, ops.convert(extent)) for _, extent in window(i))

    return _mean(total, size_of_window, name, attrs)


def _window(index: Any, extent: Any, size: Any) -> tuple[Any, Any]:
    """Start and extent of window `index` of `size` windows; the windows may overlap."""
    parts, whole = as_constant(size), as_constant(extent)
    if parts == 1 or (parts is not None and whole is not None and whole % parts == 0):
        step = simplify(ops.floordiv(ops.convert(extent), size))
        return index * step, step
    start, last = ops.floordiv(index * extent, size), (index + 1) * extent
    end = ops.floordiv(last, size)
    is_whole = ops.equal(ops.floormod(last, size), 0)
    return start, Select(is_whole, end, end + 1) - start
