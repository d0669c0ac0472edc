"""Gradients of pools in two dimensions.

Must not know targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi.nn.padding import padded
from te_sched.topi.nn.pooling import paddings_of
from te_sched.topi.tag import ELEMWISE
from te_sched.topi.utils import (
    Padding,
    Sizes,
    as_pair,
    check_choice,
    ravel_index,
    spatial_dimensions,
    tensor_of,
)


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Sizes,
    stride: Sizes,
    padding: Padding,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Tensor:
    """The gradient of a pool by its input.

    grads : the gradients of the elements of the pool.
    data : the input of the pool.

    >>> X, G = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((1, 4, 4, 4), name="G")
    >>> topi.nn.pool_grad(G, X, 2, 2, 0, "max").shape
    [1, 4, 8, 8]
    """
    what = "nn.pool_grad"
    check_choice(pool_type, ("max", "avg"), what, "pool_type")
    source, at = spatial_dimensions(data, layout, 2, what)
    window = as_pair(kernel, 2, f"{what} kernel")
    steps = as_pair(stride, 2, f"{what} stride")
    low, high = paddings_of(padding, 2, what)
    reach = [h + (s - 1 if ceil_mode else 0) for h, s in zip(high, steps, strict=True)]
    over = [
        te.reduce_axis((0, (k + s - 1) // s), name)
        for k, s, name in zip(window, steps, ("wh", "ww"), strict=True)
    ]

    def windows(i: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The indices of the windows with an element, and the first of them."""
        here, first = [], []
        for dim, k, s, before, axis in zip(at, window, steps, low, over, strict=True):
            inside = i[dim] + before
            here.append(ops.truncdiv(inside, s) - axis)
            begin = ops.truncdiv(inside - k, s) + 1
            first.append(te.select(inside < k, ops.const(0, begin.dtype), begin))
        return here, first

    def moved(i: Sequence[Any], places: Sequence[Any]) -> list[Any]:
        indices = list(i)
        for dim, index in zip(at, places, strict=True):
            indices[dim] = index
        return indices

    if pool_type == "max":
        return _of_maximum(grads, source, at, window, steps, (low, reach), over, (windows, moved))

    def average(*i: Any) -> Any:
        here, first = windows(i)
        inside: list[Any] = []
        counts: list[Any] = []
        for n, dim in enumerate(at):
            inside += [ops.less_equal(first[n], here[n]), here[n] < grads.shape[dim]]
            start = here[n] * steps[n] - low[n]
            end = ops.minimum(start + window[n], source.shape[dim])
            counts.append(end - ops.maximum(start, ops.const(0, start.dtype)))
        number = ops.const(window[0] * window[1], counts[0].dtype)
        if not count_include_pad:
            number = ops.maximum(counts[0] * counts[1], ops.const(1, counts[0].dtype))
        share = grads(*moved(i, here)) / ops.cast(source.dtype, number)
        chosen = te.if_then_else(te.all(*inside), share, te.const(0, source.dtype))
        return te.sum(chosen, axis=over)

    return tensor_of(source.shape, average, "T_pool_grad", "pool_grad_avg")


def _of_maximum(
    grads: Tensor,
    source: Tensor,
    at: Sequence[int],
    window: Sequence[Any],
    steps: Sequence[Any],
    borders: tuple[Sequence[Any], Sequence[Any]],
    over: Sequence[Any],
    places: tuple[Any, Any],
) -> Tensor:
    """The gradient of the maximum: that of the windows of which an element is the first maximum."""
    low, reach = borders
    windows, moved = places
    before, after = [0] * source.ndim, [0] * source.ndim
    for dim, a, b in zip(at, low, reach, strict=True):
        before[dim], after[dim] = a, b
    bordered = source
    if any([*before, *after]):
        smallest = te.min_value(source.dtype)
        bordered = padded(source, before, after, smallest, "pad_temp", ELEMWISE, "ax")
    inner = [te.reduce_axis((0, k), name) for k, name in zip(window, ("dh", "dw"), strict=True)]

    def place_of_maximum(*i: Any) -> Any:
        index = list(i)
        for spatial_dim, step, axis in zip(at, steps, inner, strict=True):
            index[spatial_dim] = i[spatial_dim] * step + axis
        flat = ravel_index(index, bordered.shape)
        return _FIRST_MAXIMUM((flat, bordered(*index)), axis=inner)

    maxima = te.compute(
        grads.shape,
        place_of_maximum,
        name="maxpool_grad_argmax",
        varargs_names=[f"ax{n}" for n in range(source.ndim)],
    )

    def share(*i: Any) -> Any:
        here, first = windows(i)
        index = moved(i, here)
        own = list(i)
        for spatial_dim, amount in zip(at, low, strict=True):
            own[spatial_dim] = i[spatial_dim] + amount
        inside: list[Any] = []
        for n, spatial_dim in enumerate(at):
            inside += [ops.less_equal(first[n], here[n]), here[n] < grads.shape[spatial_dim]]
        is_own = ops.equal(maxima[0](*index), ravel_index(own, bordered.shape))
        value = te.if_then_else(te.all(*inside, is_own), grads(*index), te.const(0, source.dtype))
        return te.sum(value, axis=list(over))

    return tensor_of(source.shape, share, "T_pool_grad", "pool_grad_max")


def _greater(maximum_lhs: Any, maximum_rhs: Any) -> tuple[Any, Any]:
    is_greater = maximum_lhs[1] > maximum_rhs[1]
    is_first = te.all(ops.equal(maximum_lhs[1], maximum_rhs[1]), maximum_lhs[0] < maximum_rhs[0])
    return (
        te.select(te.any(is_greater, is_first), maximum_lhs[0], maximum_rhs[0]),
        te.select(is_greater, maximum_lhs[1], maximum_rhs[1]),
    )


_FIRST_MAXIMUM = te.comm_reducer(
    _greater, lambda i, v: (te.const(-1, i), te.min_value(v)), "maxpool_grad_argmax"
)
