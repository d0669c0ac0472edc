"""Pools of regions of images, of which a tensor has the corners, as tensor expressions.

Must not know the format of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from te_sched import te
from te_sched.ir import builder as loops
from te_sched.ir import intrinsics, ops
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import Buffer, Expr
from te_sched.ir.stmt import Stmt
from te_sched.te.tensor import Tensor

# Writes the element at an index: (builder, inputs, index) -> value.
Element = Callable[[IRBuilder, Sequence[BufferVar], Sequence[Expr]], Expr]


def _pooled(
    shape: Sequence[Expr | int], inputs: Sequence[Tensor], element: Element, name: str
) -> Tensor:
    """The tensor of elements that are computed by statements, regions in parallel."""

    def statement(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        ib = loops.create()
        pointers = [ib.buffer_ptr(buffer) for buffer in ins]
        result = ib.buffer_ptr(outs[0])
        with ExitStack() as stack:
            kinds = ["parallel"] + ["serial"] * (len(shape) - 1)
            index = tuple(
                [
                    stack.enter_context(ib.for_range(0, extent, kind=kind))
                    for extent, kind in zip(shape, kinds, strict=True)
                ]
            )
            result[index] = element(ib, pointers, index)
        return ib.get()

    outputs: Tensor = te.extern(
        [tuple(shape)], list(inputs), statement, name=name, dtype=[inputs[0].dtype]
    )
    return outputs


class Alignment(NamedTuple):
    """How `roi_align` reads: points for each element and dimension (0: as many as elements of the
    image), the scale of coordinates, whether elements are half a pixel from the corner, and
    whether the greatest product of a point and its weights counts, else the mean.
    """

    points: int
    scale: float
    has_half_pixels: bool
    takes_maximum: bool


def roi_align(
    x: Tensor, corners: Tensor, batches: Tensor, size: tuple[int, int], how: Alignment
) -> Tensor:
    """Regions of images as images of one size, read between the elements.

    Parameters
    ----------
    x : [batch, channels, height, width].
    corners : [regions, 4]: x and y of the begin, then of the end.
    batches : [regions], the image of each.
    """
    dtype = x.dtype

    def number(value: float) -> Expr:
        return ops.const(value, dtype)

    def element(ib: IRBuilder, ins: Sequence[BufferVar], index: Sequence[Expr]) -> Expr:
        region, channel, *places = index
        shift = number(0.5 if how.has_half_pixels else 0)
        axes = [
            _axis(ib, ins[1], region, axis, places[axis], size[axis], how, shift)
            for axis in range(2)
        ]
        total = ib.allocate(dtype, (1,), name="total", scope="local")
        total[0] = te.min_value(dtype) if how.takes_maximum else number(0)
        batch = ops.cast("int64", ins[2][region])
        with ib.for_range(0, axes[0].points, name="y") as y:
            row = _weights(ib, axes[0], y, x.shape[2])
            with ib.for_range(0, axes[1].points, name="x") as column_number:
                column = _weights(ib, axes[1], column_number, x.shape[3])
                products = [
                    vertical * horizontal * ins[0][batch, channel, top, left]
                    for vertical, top in row
                    for horizontal, left in column
                ]
                if how.takes_maximum:
                    for product in products:
                        total[0] = ops.maximum(total[0], product)
                else:
                    total[0] = total[0] + sum(products[1:], products[0])
        if how.takes_maximum:
            return total[0]
        count = ops.maximum(axes[0].points * axes[1].points, ops.const(1, "int64"))
        return total[0] / ops.cast(dtype, count)

    shape: list[Expr | int] = [corners.shape[0], x.shape[1], *size]
    return _pooled(shape, [x, corners, batches], element, "roi_align")


class _Axis(NamedTuple):
    """Where the points of an element are along an axis: the first border, the step, the count."""

    begin: Expr
    step: Expr
    points: Expr


def _axis(
    ib: IRBuilder,
    corners: BufferVar,
    region: Expr,
    axis: int,
    bin_index: Expr,
    size: int,
    how: Alignment,
    shift: Expr,
) -> _Axis:
    dtype = shift.dtype
    scale = ops.const(how.scale, dtype)
    begin = corners[region, 1 - axis] * scale - shift
    extent = corners[region, 3 - axis] * scale - shift - begin
    if not how.has_half_pixels:
        extent = ops.maximum(extent, ops.const(1, dtype))
    bin_size = ib.let("bin", extent / ops.const(size, dtype))
    count: Expr = ops.const(how.points, "int64")
    if not how.points:
        count = ib.let("count", ops.cast("int64", intrinsics.ceil(bin_size)))
    step = bin_size / ops.cast(dtype, count)
    return _Axis(ib.let("begin", begin + ops.cast(dtype, bin_index) * bin_size), step, count)


def _weights(ib: IRBuilder, axis: _Axis, point: Expr, size: Expr) -> list[tuple[Expr, Expr]]:
    """The weights and places of the two elements around a point; 0 for points outside."""
    dtype = axis.begin.dtype
    zero, one = ops.const(0, dtype), ops.const(1, dtype)
    extent = ops.cast(dtype, size)
    at = ib.let("at", axis.begin + (ops.cast(dtype, point) + ops.const(0.5, dtype)) * axis.step)
    is_inside = te.all(at >= zero - one, at <= extent)
    clipped = ib.let("clipped", ops.minimum(ops.maximum(at, zero), extent - one))
    low = ib.let("low", ops.cast("int64", intrinsics.floor(clipped)))
    high = ops.minimum(low + 1, ops.cast("int64", size) - 1)
    rest = clipped - ops.cast(dtype, low)
    return [
        (te.select(is_inside, one - rest, zero), low),
        (te.select(is_inside, rest, zero), high),
    ]


def max_roi_pool(x: Tensor, regions: Tensor, size: tuple[int, int], scale: float) -> Tensor:
    """The maxima of parts of regions of images; 0 of those that are empty.

    Parameters
    ----------
    x : [batch, channels, height, width].
    regions : [regions, 5]: the image, x and y of the first and of the last element.
    size : the number of parts of the height and of the width.
    """
    dtype = x.dtype

    def bounds(
        ib: IRBuilder, row: BufferVar, region: Expr, axis: int, bin_index: Expr
    ) -> list[Expr]:
        factor = ops.const(scale, dtype)
        half = ops.const(0.5, dtype)  # which is rounded up
        first = intrinsics.floor(row[region, 2 - axis] * factor + half)
        last = intrinsics.floor(row[region, 4 - axis] * factor + half)
        extent = ops.maximum(last - first + ops.const(1, dtype), ops.const(1, dtype))
        part = extent / ops.const(size[axis], dtype)
        ends = [intrinsics.floor(ops.cast(dtype, bin_index) * part)]
        ends.append(intrinsics.ceil(ops.cast(dtype, bin_index + 1) * part))
        most = ops.cast(dtype, x.shape[2 + axis])
        clipped = [ops.minimum(ops.maximum(end + first, ops.const(0, dtype)), most) for end in ends]
        return [ib.let("bound", ops.cast("int64", end)) for end in clipped]

    def element(ib: IRBuilder, ins: Sequence[BufferVar], index: Sequence[Expr]) -> Expr:
        region, channel, *places = index
        (top, bottom), (left, right) = [
            bounds(ib, ins[1], region, axis, places[axis]) for axis in range(2)
        ]
        batch = ops.cast("int64", ins[1][region, 0])
        total = ib.allocate(dtype, (1,), name="total", scope="local")
        is_empty = te.any(bottom <= top, right <= left)
        total[0] = te.select(is_empty, ops.const(0, dtype), te.min_value(dtype))
        rows, columns = bottom - top, right - left
        with ib.for_range(0, rows, name="y") as y, ib.for_range(0, columns, name="x") as column:
            value = ins[0][batch, channel, top + y, left + column]
            total[0] = ops.maximum(total[0], value)
        return total[0]

    shape: list[Expr | int] = [regions.shape[0], x.shape[1], *size]
    return _pooled(shape, [x, regions], element, "max_roi_pool")
