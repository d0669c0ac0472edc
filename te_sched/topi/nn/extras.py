"""Less common layers: instance and group normalization, nll_loss, fifo_buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi import broadcast, reduction, transform
from te_sched.topi.nn.normalization import (
    elements_along,
    layer_norm,
    moments,
    normalized,
    summed,
)
from te_sched.topi.utils import (
    Count,
    check_choice,
    check_divides,
    check_rank,
    check_tensor,
    get_const_int,
    get_const_tuple,
    normalized_axis,
    tensor_of,
)


def instance_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, axis: Sequence[int], epsilon: float = 1e-5
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, for each batch and channel.

    axis : the spatial axes, over which mean and variance are taken; axis 1 is the channels.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> G, B = te.placeholder((4,), name="G"), te.placeholder((4,), name="B")
    >>> topi.nn.instance_norm(X, G, B, axis=[2, 3]).shape
    [1, 4, 8, 8]
    """
    source = check_tensor(data, "nn.instance_norm")
    axes = reduction.reduced_axes(source, axis, "nn.instance_norm")
    return _scaled(_normalized(source, axes, epsilon), gamma, beta, 1)


def _scaled(data: Tensor, gamma: Tensor, beta: Tensor, channel_axis: int) -> Tensor:
    """data * gamma + beta, with an element of gamma and beta for each channel."""
    column = [extent if at == channel_axis else 1 for at, extent in enumerate(data.shape)]
    scaled = broadcast.multiply(data, transform.reshape(gamma, column))
    shifted: Tensor = broadcast.add(scaled, transform.reshape(beta, column))
    return shifted


def _normalized(source: Tensor, axes: list[int], epsilon: float) -> Any:
    """The data normalized to mean 0 and variance 1 along axes."""
    unit = te.const(1, source.dtype)
    ones = tensor_of([source.shape[at] for at in axes], lambda *i: unit, "T_ones")
    return layer_norm(source, ones, None, axes, epsilon)


def group_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    num_groups: Count,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
    *,
    is_exact: bool = False,
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, for each batch and channel group.

    is_exact : as of `layer_norm`.

    >>> X = te.placeholder((1, 4, 8, 8), name="X")
    >>> G, B = te.placeholder((4,), name="G"), te.placeholder((4,), name="B")
    >>> topi.nn.group_norm(X, G, B, num_groups=2, channel_axis=1, axes=[2, 3]).shape
    [1, 4, 8, 8]
    """
    source = check_tensor(data, "nn.group_norm")
    at = normalized_axis(channel_axis, source.ndim, "nn.group_norm")
    channels = source.shape[at]
    check_divides(num_groups, channels, "nn.group_norm", "num_groups", "the number of channels")
    inside = get_const_tuple([ops.floordiv(ops.convert(channels), num_groups)])[0]
    parts = [*source.shape[:at], num_groups, inside, *source.shape[at + 1 :]]
    space = [normalized_axis(axis, source.ndim, "nn.group_norm") for axis in axes]
    over = sorted({at + 1, *[dim if dim < at else dim + 1 for dim in space if dim != at]})
    grouped = transform.reshape(source, parts)
    wider = grouped
    if source.dtype == "float16":
        wider = tensor_of(parts, lambda *i: ops.cast("float32", grouped(*i)), "T_cast")
    total, squares = moments(wider, over, source.op.name, is_exact)
    scales = [transform.reshape(parameter, [num_groups, inside]) for parameter in (gamma, beta)]
    count = elements_along(wider, over)
    kept = [dim for dim in range(grouped.ndim) if dim not in over]

    def element(*i: Any) -> Any:
        outer = [i[dim] for dim in kept]
        own = summed(wider, over, i, is_exact)
        value = normalized(own, total(*outer), squares(*outer), count, epsilon)
        return ops.cast(source.dtype, value) * scales[0](i[at], i[at + 1]) + scales[1](
            i[at], i[at + 1]
        )

    result = tensor_of(parts, element, "T_group_norm")
    return transform.reshape(result, list(source.shape))


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Input (batch, channel, height, width, block) * Scale (channel, block) + Shift.

    >>> X, W = te.placeholder((1, 2, 8, 8, 4), name="X"), te.placeholder((2, 4), name="W")
    >>> topi.nn.scale_shift_nchwc(X, W, W).op.body[0]
    X[ax0, ax1, ax2, ax3, ax4] * W[ax1, ax4] + W[ax1, ax4]
    """
    source = check_rank(Input, 5, "nn.scale_shift_nchwc")
    return tensor_of(
        source.shape,
        lambda n, c, y, x, b: source(n, c, y, x, b) * Scale(c, b) + Shift(c, b),
        "ScaleShift",
        "broadcast",
    )


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """The negative log likelihood loss; 0 where the target is ignore_index.

    predictions : (batch, class, ...), targets : (batch, ...).
    reduction : "none", "sum", or "mean", which divides by the sum of the weights.

    >>> P, W = te.placeholder((5, 3), name="P"), te.placeholder((3,), name="W")
    >>> T = te.placeholder((5,), "int32", name="T")
    >>> topi.nn.nll_loss(P, T, W, "none", -1).shape
    [5]
    """
    scores, wanted = check_tensor(predictions, "nn.nll_loss"), check_tensor(targets, "nn.nll_loss")
    check_choice(reduction, ("none", "sum", "mean"), "nn.nll_loss", "reduction")
    zero = te.const(0, scores.dtype)

    def chosen(value: Any) -> Tensor:
        return tensor_of(
            wanted.shape,
            lambda *i: te.if_then_else(
                ops.not_equal(wanted(*i), ignore_index), value(wanted(*i), i), zero
            ),
            "nll_loss",
        )

    def loss(kind: Any, i: Any) -> Any:
        position = (i[0], kind, *i[1:]) if wanted.ndim else (kind,)
        return -scores(*position) * weights(kind)

    losses = chosen(loss)
    if reduction == "none":
        return losses
    total = _sum(losses)
    if reduction == "sum":
        return total
    mean: Tensor = broadcast.divide(total, _sum(chosen(lambda kind, i: weights(kind))))
    return mean


def _sum(data: Tensor) -> Tensor:
    return reduction.sum(data, list(range(data.ndim))) if data.ndim else data


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """The buffer shifted along an axis, with the data appended.

    >>> X, B = te.placeholder((1, 4), name="X"), te.placeholder((8, 4), name="B")
    >>> topi.nn.fifo_buffer(X, B, axis=0).op.body[0]
    T.if_then_else(ax0 < 7, B[ax0 + 1, ax1], X[ax0 - 7, ax1])
    """
    new, old = check_tensor(data, "nn.fifo_buffer"), check_tensor(buffer, "nn.fifo_buffer")
    at = normalized_axis(axis, old.ndim, "nn.fifo_buffer")
    count, length = get_const_int(new.shape[at]), get_const_int(old.shape[at])

    def element(*i: Any) -> Any:
        kept = old(*i[:at], i[at] + count, *i[at + 1 :])
        fresh = new(*i[:at], i[at] - (length - count), *i[at + 1 :])
        return te.if_then_else(i[at] < length - count, kept, fresh)

    return tensor_of(old.shape, element, "new_buffer")
