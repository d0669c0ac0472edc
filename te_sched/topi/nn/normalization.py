"""Normalization: batch_norm, layer_norm, rms_norm, lrn, and scaling by channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import IntImm
from te_sched.te.tensor import Tensor
from te_sched.topi import broadcast, elementwise, reduction, transform
from te_sched.topi.nn.padding import padded
from te_sched.topi.tag import BROADCAST, COMM_REDUCE, ELEMWISE
from te_sched.topi.utils import (
    Sizes,
    check_rank,
    check_same,
    check_tensor,
    normalized_axis,
    prod,
    tensor_of,
)


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Input * Scale + Shift for each channel, in the layout NCHW.

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((4,), name="W")
    >>> topi.nn.scale_shift_nchw(X, W, W).op.body[0]
    X[b, c, i, j] * W[c] + W[c]
    """
    return _scale_shift(Input, Scale, Shift, ["b", "c", "i", "j"])


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Input * Scale + Shift for each channel, in the layout NHWC.

    >>> X, W = te.placeholder((1, 8, 8, 4), name="X"), te.placeholder((4,), name="W")
    >>> topi.nn.scale_shift_nhwc(X, W, W).op.body[0]
    X[b, i, j, c] * W[c] + W[c]
    """
    return _scale_shift(Input, Scale, Shift, ["b", "i", "j", "c"])


def _scale_shift(source: Tensor, scale: Tensor, shift: Tensor, names: list[str]) -> Tensor:
    data, at = check_rank(source, 4, "nn.scale_shift"), names.index("c")
    factors, amounts = (
        check_rank(scale, 1, "nn.scale_shift"),
        check_rank(shift, 1, "nn.scale_shift"),
    )
    for tensor in (factors, amounts):
        check_same(tensor.shape[0], data.shape[at], "nn.scale_shift", f"extent of {tensor.name}")
    return te.compute(
        data.shape,
        lambda *i: data(*i) * factors(i[at]) + amounts(i[at]),
        name="ScaleShift",
        tag=BROADCAST,
        varargs_names=names,
    )


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, for each channel.

    Parameters
    ----------
    axis : the channel axis, by default 1.
    epsilon : by default 1e-5.
    center, scale : whether to add beta and to multiply by gamma, by default True.
    training : use mean and variance of the data, and update the moving ones with weight `momentum`
        (by default 0.1). Otherwise the moving ones are used.

    Returns
    -------
    The normalized tensor, the moving mean and the moving variance.

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((4,), name="W")
    >>> [one.shape for one in topi.nn.batch_norm(X, W, W, W, W)]
    [[1, 4, 8, 8], [4], [4]]
    """
    source = check_tensor(data, "nn.batch_norm")
    at = normalized_axis(1 if axis is None else axis, source.ndim, "nn.batch_norm")
    small = 1e-5 if epsilon is None else epsilon
    others = [dim for dim in range(source.ndim) if dim != at]
    column = [1] * at + [source.shape[at]] + [1] * len(others[at:])
    mean, variance = moving_mean, moving_var
    if training:
        count = te.const(1.0, source.dtype) * prod(source.shape[dim] for dim in others)
        mean = broadcast.divide(reduction.sum(source, others), count)
    mean_column = transform.reshape(mean, column)

    def spread_of_data() -> Any:
        off = [broadcast.subtract(source, mean_column) for _ in range(2)]
        return broadcast.divide(reduction.sum(broadcast.multiply(*off), others), count)

    if training:
        variance = spread_of_data()
    centered = broadcast.subtract(source, mean_column)
    spread = elementwise.sqrt(broadcast.add(transform.reshape(variance, column), small))
    out = broadcast.divide(centered, spread)
    if scale is not False:
        out = broadcast.multiply(out, transform.reshape(gamma, column))
    if center is not False:
        out = broadcast.add(out, transform.reshape(beta, column))
    rate = 0.1 if momentum is None else momentum
    return [
        out,
        _moved(moving_mean, mean, rate if training else None),
        _moved(moving_var, spread_of_data() if training else None, rate if training else None),
    ]


def _moved(moving: Tensor, new: Tensor | None, rate: float | None) -> Any:
    if rate is None:
        return broadcast.multiply(moving, 1)
    return broadcast.add(broadcast.multiply(1 - rate, moving), broadcast.multiply(rate, new))


def moments(
    data: Tensor, axes: list[int], of: str | None = None, is_exact: bool = False
) -> tuple[Any, Any]:
    """The sums of the elements and of their squares along axes, of float16 in float32.

    is_exact : as of `summed`.
    """

    def element(index: Any, over: Any) -> Any:
        value = summed(data, axes, index, is_exact)
        return reduction.tuple_sum(value, value * value, axis=over)

    name = f"{of or data.op.name}_red_temp"
    sums = reduction.reduce_elements(data, axes, False, element, name, COMM_REDUCE)
    return sums[0], sums[1]


def summed(data: Tensor, axes: Sequence[int], index: Sequence[Any], is_exact: bool) -> Any:
    """An element as it is summed along axes; with `is_exact` less that in the middle of them,
    so that sums of squares have the digits of a small variance.
    """
    value = wide(data(*index))
    if not is_exact:
        return value
    middle = [
        ops.floordiv(ops.convert(size), 2) if at in axes else index_expr
        for at, (index_expr, size) in enumerate(zip(index, data.shape, strict=True))
    ]
    return value - wide(data(*middle))


def wide(value: Any) -> Any:
    """A value with which sums are exact enough: one of float16 as float32."""
    return ops.cast("float32", value) if value.dtype == "float16" else value


def elements_along(data: Tensor, axes: Sequence[int]) -> Any:
    """The number of elements along axes, as a number of the dtype of the data, or of float32 where
    that has none so large.
    """
    sizes = [ops.convert(data.shape[at]) for at in axes]
    least = math.prod([size.value for size in sizes if isinstance(size, IntImm)])
    dtype = "float32" if least > dtypes.LARGEST.get(data.dtype, math.inf) else data.dtype
    count = te.const(1, dtype)
    for size in sizes:
        count = count * ops.cast(dtype, size)
    return wide(count)


def normalized(value: Any, total: Any, squares: Any, count: Any, epsilon: float) -> Any:
    """(value - mean) / sqrt(variance + epsilon), in the dtype of the sums."""
    mean = total / count
    variance = squares / count - mean * mean
    return (value - mean) * te.rsqrt(variance + te.const(epsilon, variance.dtype))


def layer_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor | None,
    axis: Sizes | None,
    epsilon: float = 1e-5,
    *,
    is_exact: bool = False,
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance along `axis`.

    is_exact : the sums are of elements less one of them, so that rows whose mean is far from 0 keep
        their digits; TVM's are not.

    >>> A, V = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V")
    >>> topi.nn.layer_norm(A, V, V, axis=1).shape
    [4, 8]
    """
    source = check_tensor(data, "nn.layer_norm")
    axes = reduction.reduced_axes(source, axis, "nn.layer_norm")
    _check_parameters(source, axes, [gamma, *([] if beta is None else [beta])], "nn.layer_norm")
    total, squares = moments(source, axes, is_exact=is_exact)
    count = elements_along(source, axes)
    kept = [at for at in range(source.ndim) if at not in axes]

    def element(*i: Any) -> Any:
        outer, inner = [i[at] for at in kept], [i[at] for at in axes]
        own = summed(source, axes, i, is_exact)
        value = normalized(own, total(*outer), squares(*outer), count, epsilon)
        value = ops.cast(source.dtype, value) * gamma(*inner)
        return value if beta is None else value + beta(*inner)

    return tensor_of(source.shape, element, "T_layer_norm")


def _check_parameters(
    data: Tensor, axes: list[int], parameters: Sequence[Tensor], what: str
) -> None:
    for parameter in parameters:
        check_rank(parameter, len(axes), what)
        for at, extent in zip(axes, parameter.shape, strict=True):
            check_same(extent, data.shape[at], what, f"extent of {parameter.name}")


def rms_norm(data: Tensor, weight: Tensor, axis: Sizes | None, epsilon: float = 1e-5) -> Tensor:
    """data / sqrt(mean(data**2 along `axis`) + epsilon) * weight.

    >>> A, V = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V")
    >>> topi.nn.rms_norm(A, V, axis=1).op.body[0]
    T_rms_norm[ax0, ax1]
    """
    tensor = check_tensor(data, "nn.rms_norm")
    axes = reduction.reduced_axes(tensor, axis, "nn.rms_norm")
    _check_parameters(tensor, axes, [weight], "nn.rms_norm")
    kind = "float32" if tensor.dtype == "float16" else tensor.dtype
    source = _cast(tensor, kind)
    squares = reduction.sum(broadcast.multiply(source, source), axes)
    count = elements_along(source, axes)
    small = te.const(epsilon, source.dtype)
    factor = tensor_of(squares.shape, lambda *i: te.rsqrt(squares(*i) / count + small), "rsqrt")
    kept = [at for at in range(source.ndim) if at not in axes]
    weights = _cast(weight, kind)

    def element(*i: Any) -> Any:
        return factor(*[i[at] for at in kept]) * source(*i) * weights(*[i[at] for at in axes])

    return _cast(tensor_of(source.shape, element, "T_rms_norm"), tensor.dtype)


def _cast(data: Tensor, dtype: str) -> Tensor:
    return tensor_of(data.shape, lambda *i: ops.cast(dtype, data(*i)), "T_cast", ELEMWISE)


def lrn(
    data: Tensor,
    size: int,
    axis: int = 1,
    alpha: float = 0.0001,
    beta: float = 0.75,
    bias: float = 2,
) -> Tensor:
    """data / (bias + alpha / size * sum(data**2 of `size` neighbors along axis)) ** beta.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> topi.nn.lrn(X, size=3).shape
    [1, 4, 8, 8]
    """
    source = check_rank(data, 4, "nn.lrn")
    at = normalized_axis(axis, 4, "nn.lrn")
    if size <= 0 or size % 2 == 0:
        raise DeclarationError(f"topi.nn.lrn size must be odd, got {size}", "", "use an odd number")
    border = [size // 2 if dim == at else 0 for dim in range(4)]
    bordered = padded(source, border, border, 0, "pad_data", ELEMWISE, "ax")
    near = te.reduce_axis((0, size), "rxs")

    def square(*i: Any) -> Any:
        value = bordered(*i[:at], i[at] + near, *i[at + 1 :])
        return te.sum(value * value, axis=near)

    squares = tensor_of(source.shape, square, "tensor", "sqr_sum")
    kind = source.dtype

    def divisor(*i: Any) -> Any:
        mean = te.const(alpha, kind) * squares(*i) / te.const(size, kind)
        return te.power(te.const(bias, kind) + mean, te.const(beta, kind))

    divisors = tensor_of(source.shape, divisor, "tensor", ELEMWISE)
    normalized: Tensor = broadcast.divide(source, divisors)
    return normalized
