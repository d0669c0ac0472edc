"""Memory-bound programs, scheduled for a GPU.

Row sums, softmax, depthwise convolution, convolution, transposition, and a copy for comparison.
Each has a schedule, arguments, numpy's result and the minimum number of bytes to move. Must not
know measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gpu.products import Schedule, bind
from te_sched import te

Arrays = list[np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Program:
    """`schedule` and `reference` at a size; `small` is for machines without a GPU."""

    schedule: Callable[..., Schedule]
    reference: Callable[..., np.ndarray[Any, Any]]
    small: tuple[int, ...]
    large: tuple[int, ...]


def copy(rows: int, columns: int) -> Schedule:
    """Four elements per thread."""
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((rows, columns), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    rest, lanes = s[B].split(s[B].fuse(*B.op.axis), factor=4)
    block, thread = s[B].split(rest, factor=256)
    s[B].vectorize(lanes)
    bind(s[B], block_x=block, thread_x=thread)
    return s, [A, B]


def row_sums(rows: int, columns: int) -> Schedule:
    """A block reduces a row; each thread sums every 256th element."""
    A = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), "k")
    B = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _sum_across_threads(s, B, te.thread_axis("threadIdx.x"), 256)
    bind(s[B], block_x=s[B].op.axis[0])
    return s, [A, B]


def _sum_across_threads(s: Any, B: Any, thread: Any, count: int) -> None:
    """Each thread reduces its share in a register, then the block reduces the partial results."""
    _, inner = s[B].split(s[B].op.reduce_axis[0], factor=count)
    parts = s.rfactor(B, inner)
    s[B].bind(s[B].op.reduce_axis[0], thread)
    s[parts].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(thread.var.equal(0))


def softmax(rows: int, columns: int) -> Schedule:
    """A block computes a row: its maximum, the sum of the exponentials, and the quotients."""
    A = te.placeholder((rows, columns), name="A")
    k, l = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "l")  # noqa: E741
    largest = te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="largest")
    total = te.compute(
        (rows,), lambda i: te.sum(te.exp(A[i, l] - largest[i]), axis=l), name="total"
    )
    B = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - largest[i]) / total[i], name="B")
    s = te.create_schedule(B.op)
    thread, count = te.thread_axis((0, 256), "threadIdx.x"), 256
    row, column = B.op.axis
    s[B].bind(row, te.thread_axis("blockIdx.x"))
    _, inner = s[B].split(column, factor=count)
    s[B].bind(inner, thread)
    for stage in (total, largest):
        s[stage].set_scope("shared")
        s[stage].compute_at(s[B], row)
        _sum_across_threads(s, stage, thread, count)
    return s, [A, B]


def transpose(rows: int, columns: int) -> Schedule:
    """Tiles of 32 x 32 through shared memory, with rows padded by one element."""
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((columns, rows), lambda i, j: A[j, i], name="B")
    s = te.create_schedule(B.op)
    tile = s.cache_read(A, "shared", [B])
    yo, xo, yi, xi = s[B].tile(*B.op.axis, 32, 32)
    rest, ty = s[B].split(yi, factor=8)
    s[B].reorder(yo, xo, rest, ty, xi)
    bind(s[B], block_y=yo, block_x=xo, thread_y=ty, thread_x=xi)
    s[tile].compute_at(s[B], xo)
    s[tile].storage_align(tile.op.axis[0], 32, 1)
    row, column = tile.op.axis
    _, ty = s[tile].split(row, factor=8)
    _, tx = s[tile].split(column, factor=32)
    bind(s[tile], thread_y=ty, thread_x=tx)
    return s, [A, B]


def _padded(A: Any, *leading: Any) -> Callable[..., Any]:
    """Elements of an image, padded with a border of zeros of width 1."""
    height, width = (int(extent) for extent in A.shape[-2:])

    def element(*index: Any) -> Any:
        *first, y, x = index
        inside = te.all(y >= 1, y < height + 1, x >= 1, x < width + 1)
        return te.if_then_else(inside, A[(*first, y - 1, x - 1)], te.const(0, "float32"))

    return element


def depthwise(channels: int, height: int, width: int) -> Schedule:
    """A 3 x 3 filter per channel: tiles of 8 x 32, with their input in shared memory."""
    A = te.placeholder((channels, height, width), name="A")
    F = te.placeholder((channels, 3, 3), name="F")
    P = te.compute((channels, height + 2, width + 2), _padded(A), name="P")
    dy, dx = te.reduce_axis((0, 3), "dy"), te.reduce_axis((0, 3), "dx")
    D = te.compute(
        (channels, height, width),
        lambda c, y, x: te.sum(P[c, y + dy, x + dx] * F[c, dy, dx], axis=[dy, dx]),
        name="D",
    )
    s = te.create_schedule(D.op)
    s[P].compute_inline()
    image, sums = s.cache_read(P, "shared", [D]), s.cache_write(D, "local")
    c, y, x = D.op.axis
    yo, xo, yi, xi = s[D].tile(y, x, 8, 32)
    bind(s[D], block_z=c, block_y=yo, block_x=xo, thread_y=yi, thread_x=xi)
    s[sums].compute_at(s[D], xi)
    for axis in sums.op.reduce_axis:
        s[sums].unroll(axis)
    s[image].compute_at(s[D], xo)
    _fetch(s[image], 8, 32)
    return s, [A, F, D]


def convolution(channels: int, height: int, width: int) -> Schedule:
    """3 x 3 filters, as many as channels: a thread computes 4 of them for one position."""
    A = te.placeholder((channels, height, width), name="A")
    F = te.placeholder((channels, channels, 3, 3), name="F")
    P = te.compute((channels, height + 2, width + 2), _padded(A), name="P")
    c = te.reduce_axis((0, channels), "c")
    dy, dx = te.reduce_axis((0, 3), "dy"), te.reduce_axis((0, 3), "dx")
    D = te.compute(
        (channels, height, width),
        lambda o, y, x: te.sum(P[c, y + dy, x + dx] * F[o, c, dy, dx], axis=[c, dy, dx]),
        name="D",
    )
    s = te.create_schedule(D.op)
    s[P].compute_inline()
    image, sums = s.cache_read(P, "shared", [D]), s.cache_write(D, "local")
    filters = s.cache_read(F, "shared", [sums])
    o, y, x = D.op.axis
    oo, oi = s[D].split(o, factor=4)
    yo, xo, yi, xi = s[D].tile(y, x, 8, 32)
    s[D].reorder(oo, yo, xo, yi, xi, oi)
    bind(s[D], block_z=oo, block_y=yo, block_x=xo, thread_y=yi, thread_x=xi)
    s[sums].compute_at(s[D], xi)
    outer, inner = s[sums].split(sums.op.reduce_axis[0], factor=4)
    s[sums].reorder(outer, inner, *sums.op.reduce_axis[1:], *sums.op.axis)
    for axis in (*sums.op.reduce_axis[1:], *sums.op.axis):
        s[sums].unroll(axis)
    for cache in (image, filters):
        s[cache].compute_at(s[sums], outer)
        _fetch(s[cache], 8, 32)
    return s, [A, F, D]


def _fetch(stage: Any, rows: int, columns: int) -> None:
    """The threads of a block fetch a tile together."""
    rest, column = stage.split(stage.fuse(*stage.op.axis), factor=columns)
    _, row = stage.split(rest, factor=rows)
    bind(stage, thread_y=row, thread_x=column)


def _filtered(image: np.ndarray[Any, Any], taps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The results of one filter per channel, or of filters that sum over the channels."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    pattern = "chw,c->chw" if taps.ndim == 3 else "chw,oc->ohw"
    height, width = image.shape[1:]
    return sum(
        (
            np.einsum(
                pattern, padded[:, y : y + height, x : x + width], taps[..., y, x], optimize=True
            )
            for y in range(3)
            for x in range(3)
        ),
        start=np.zeros((), image.dtype),
    )


def _softmax(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    powers = np.exp(a - a.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


PROGRAMS: dict[str, Program] = {
    "copy": Program(copy, lambda a: a, (256, 1024), (16384, 4096)),
    "row sums": Program(row_sums, lambda a: a.sum(axis=1), (64, 4096), (16384, 4096)),
    "softmax": Program(softmax, _softmax, (64, 1024), (16384, 4096)),
    "transpose": Program(transpose, lambda a: a.T, (256, 512), (8192, 8192)),
    "depthwise": Program(depthwise, _filtered, (8, 64, 64), (256, 256, 256)),
    "convolution": Program(convolution, _filtered, (16, 32, 32), (128, 128, 128)),
}


def bytes_moved(args: list[Any]) -> int:
    """The bytes of all arguments, the minimum to read and write."""
    return sum(
        math.prod(int(extent) for extent in arg.shape) * np.dtype(arg.dtype).itemsize
        for arg in args
    )


def operands(args: list[Any]) -> Arrays:
    """Values for the arguments; the last one is the result, not written yet."""
    generator = np.random.default_rng(0)
    shapes = [tuple(int(extent) for extent in arg.shape) for arg in args]
    values: Arrays = [
        generator.uniform(-1, 1, shape).astype(arg.dtype)
        for arg, shape in zip(args[:-1], shapes[:-1], strict=True)
    ]
    return [*values, np.full(shapes[-1], np.nan, args[-1].dtype)]
