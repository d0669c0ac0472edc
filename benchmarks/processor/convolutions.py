"""Convolutions: 2-d, 1-d and depthwise.

The image is padded once, with contiguous rows: then each tap of the filter is at a constant offset,
and the convolution is a matrix product whose second operand is read in place. It also computes the
columns of the padding, which the copy to the result omits. Must not know measurements.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.processor.workload import Array, Call, Program, Workload

_LANES = 16
_FILTERS = 6  # with sums in registers at the same time
_PLACES = 64  # of the image, at the same time
_ROWS = 4  # of a depthwise convolution, at the same time

Kernel = tuple[int, int]


class _Image:
    """An image, padded so that filters of kernel[0] x kernel[1] give a result of the same size."""

    def __init__(self, te: Any, channels: int, height: int, width: int, kernel: Kernel) -> None:
        self.border = kernel[0] // 2, kernel[1] // 2
        self.pitch = width + 2 * self.border[1]  # elements from a row to the next
        self.places = _up(height * self.pitch, _PLACES)
        self.is_padded = kernel != (1, 1) or self.places != height * width
        last = self.places + (kernel[0] - 1) * self.pitch + kernel[1] - 1
        self.A = te.placeholder((channels, height, width), name="A")
        self.padded = te.compute(
            (channels, -(-last // self.pitch), self.pitch),
            lambda c, y, x: self._element(te, c, y, x),
            name="padded",
        )

    def _element(self, te: Any, c: Any, y: Any, x: Any) -> Any:
        _, height, width = self.A.shape
        above, left = self.border
        inside = te.all(y >= above, y < height + above, x >= left, x < width + left)
        zero = te.const(0, self.A.dtype)
        return te.if_then_else(inside, self.A[c, y - above, x - left], zero)

    def at(self, c: Any, place: Any, dy: Any, dx: Any) -> Any:
        """The element at a tap of the filter, for a position of the result."""
        where = place + dy * self.pitch + dx
        source = self.padded if self.is_padded else self.A
        return source[c, where // self.pitch, where % self.pitch]


def convolution(
    te: Any, filters: int, channels: int, height: int, width: int, *kernel: int
) -> Program:
    """Sums of a few filters at many positions in registers; the filters of a segment in turn."""
    image = _Image(te, channels, height, width, (kernel[0], kernel[-1]))
    F = te.placeholder((filters, channels, kernel[0], kernel[-1]), name="F")
    rows = _up(filters, _FILTERS)
    taps = te.compute(
        (rows // _FILTERS, channels, kernel[0], kernel[-1], _FILTERS),
        lambda f, c, y, x, i: _or_zero(
            te, f * _FILTERS + i < filters, rows != filters, F[f * _FILTERS + i, c, y, x]
        ),
        name="taps",
    )
    c, dy, dx = _axes(te, (channels, kernel[0], kernel[-1]))
    sums = te.compute(
        (rows, image.places),
        lambda f, p: te.sum(
            taps[f // _FILTERS, c, dy, dx, f % _FILTERS] * image.at(c, p, dy, dx), axis=[c, dy, dx]
        ),
        name="sums",
    )
    B = te.compute((filters, height, width), lambda f, y, x: sums[f, y * image.pitch + x], name="B")
    s = te.create_schedule(B.op)
    _schedule_sums(s, sums, s.cache_write(sums, "local"))
    if image.is_padded:
        s[image.padded].parallel(image.padded.op.axis[0])
    s[taps].parallel(taps.op.axis[0])
    f, y, _ = B.op.axis
    s[B].parallel(s[B].fuse(f, y))
    return s, [image.A, F, B]


def _axes(te: Any, extents: tuple[int, ...]) -> list[Any]:
    names = ("c", "dy", "dx")[-len(extents) :]
    return [te.reduce_axis((0, extent), name) for extent, name in zip(extents, names, strict=True)]


def _schedule_sums(s: Any, sums: Any, local: Any) -> None:
    """Tiles of sums in registers, by segments of the image."""
    f, p = sums.op.axis
    rows, i = s[sums].split(f, _FILTERS)
    stretch, j = s[sums].split(p, _PLACES)
    s[sums].reorder(stretch, rows, i, j)
    s[sums].parallel(stretch)
    s[sums].unroll(i)
    s[sums].vectorize(j)
    s[local].compute_at(s[sums], rows)
    i, j = s[local].op.axis
    c, dy, dx = s[local].op.reduce_axis
    s[local].reorder(c, dy, dx, i, j)
    for axis in (dy, dx, i):
        s[local].unroll(axis)
    s[local].vectorize(j)


def depthwise(te: Any, channels: int, height: int, width: int, side: int) -> Program:
    """Each channel is padded, then filtered in tiles with sums in registers."""
    A, P, F, B = _depthwise(te, channels, height, width, side)
    s = te.create_schedule(B.op)
    local = s.cache_write(B, "local")
    c, y, x = B.op.axis
    _, across, i, j = s[B].tile(y, x, _ROWS, _LANES)
    s[B].parallel(c)
    s[B].unroll(i)
    s[B].vectorize(j)
    s[local].compute_at(s[B], across)
    _, i, j = local.op.axis
    dy, dx = local.op.reduce_axis
    s[local].reorder(dy, dx, i, j)
    for axis in (dy, dx, i):
        s[local].unroll(axis)
    s[local].vectorize(j)
    s[P].compute_at(s[B], c)
    return s, [A, F, B]


def _or_zero(te: Any, condition: Any, needed: bool, value: Any) -> Any:
    return te.if_then_else(condition, value, te.const(0, value.dtype)) if needed else value


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


# -- as in tutorials -------------------------------------------------------------------------------


def convolution_tutorial(
    te: Any, filters: int, channels: int, height: int, width: int, *kernel: int
) -> Program:
    """A padded image, vectorized rows, parallel filters."""
    A, P = _padded(te, channels, height, width, (kernel[0], kernel[-1]))
    F = te.placeholder((filters, channels, kernel[0], kernel[-1]), name="F")
    c, dy, dx = _axes(te, (channels, kernel[0], kernel[-1]))
    B = te.compute(
        (filters, height, width),
        lambda f, y, x: te.sum(P[c, y + dy, x + dx] * F[f, c, dy, dx], axis=[c, dy, dx]),
        name="B",
    )
    s = te.create_schedule(B.op)
    f, y, x = B.op.axis
    s[B].reorder(f, y, c, dy, dx, x)
    s[B].parallel(f)
    s[B].vectorize(s[B].split(x, _LANES)[1])
    s[P].parallel(P.op.axis[0])
    return s, [A, F, B]


def depthwise_tutorial(te: Any, channels: int, height: int, width: int, side: int) -> Program:
    """A padded image, vectorized rows, parallel channels."""
    A, P, F, B = _depthwise(te, channels, height, width, side)
    s = te.create_schedule(B.op)
    c, y, x = B.op.axis
    s[B].reorder(c, y, *B.op.reduce_axis, x)
    s[B].parallel(c)
    s[B].vectorize(s[B].split(x, _LANES)[1])
    s[P].compute_at(s[B], c)
    return s, [A, F, B]


def _depthwise(te: Any, channels: int, height: int, width: int, side: int) -> tuple[Any, ...]:
    A, P = _padded(te, channels, height, width, (side, side))
    F = te.placeholder((channels, side, side), name="F")
    dy, dx = _axes(te, (side, side))
    B = te.compute(
        (channels, height, width),
        lambda c, y, x: te.sum(P[c, y + dy, x + dx] * F[c, dy, dx], axis=[dy, dx]),
        name="B",
    )
    return A, P, F, B


def _padded(te: Any, channels: int, height: int, width: int, kernel: Kernel) -> tuple[Any, Any]:
    A = te.placeholder((channels, height, width), name="A")
    above, left = kernel[0] // 2, kernel[1] // 2

    def element(c: Any, y: Any, x: Any) -> Any:
        inside = te.all(y >= above, y < height + above, x >= left, x < width + left)
        return te.if_then_else(inside, A[c, y - above, x - left], te.const(0, A.dtype))

    return A, te.compute((channels, height + 2 * above, width + 2 * left), element, name="P")


# -- peers -----------------------------------------------------------------------------------------


def _filtered(image: Array, taps: Array) -> Array:
    """The results of one filter per channel, or of filters that sum over the channels."""
    above, left = taps.shape[-2] // 2, taps.shape[-1] // 2
    padded = np.pad(image, ((0, 0), (above, above), (left, left)))
    pattern = "chw,c->chw" if taps.ndim == 3 else "chw,oc->ohw"
    height, width = image.shape[1:]
    return sum(
        (
            np.einsum(
                pattern, padded[:, y : y + height, x : x + width], taps[..., y, x], optimize=True
            )
            for y in range(taps.shape[-2])
            for x in range(taps.shape[-1])
        ),
        start=np.zeros((), image.dtype),
    )


def _by_numpy(image: Array, taps: Array) -> Call:
    return lambda: _filtered(image, taps)


def _by_torch(image: Array, taps: Array) -> Call:
    torch = importlib.import_module("torch")
    x, alone = torch.from_numpy(image)[None], taps.ndim == 3
    f = torch.from_numpy(taps[:, None] if alone else taps)
    padding = (taps.shape[-2] // 2, taps.shape[-1] // 2)
    groups = image.shape[0] if alone else 1
    return lambda: torch.nn.functional.conv2d(x, f, padding=padding, groups=groups)[0]


def _workload(name: str, *size: int, goal: float | None = None) -> Workload:
    filters, channels, height, width, *kernel = size
    return Workload(
        name=name,
        size=size,
        best=convolution,
        tutorial=convolution_tutorial,
        reference=_filtered,
        odd=((5, 3, 9, 7, *kernel), (1, 1, 1, 1, *kernel), (6, 2, 1, 67, *kernel)),
        flops=2.0 * filters * channels * height * width * kernel[0] * kernel[-1],
        peers={"numpy": _by_numpy, "torch": _by_torch},
        goals={} if goal is None else {"torch": goal},
    )


WORKLOADS = (
    _workload("conv2d 3x3, 64 to 64, 56x56", 64, 64, 56, 56, 3, goal=0.9),
    _workload("conv2d 3x3, 128 to 128, 28x28", 128, 128, 28, 28, 3),
    _workload("conv2d 3x3, 256 to 256, 14x14", 256, 256, 14, 14, 3),
    _workload("conv2d 1x1, 64 to 256, 56x56", 256, 64, 56, 56, 1),
    _workload("conv1d 3, 128 to 128, 4096", 128, 128, 1, 4096, 1, 3, goal=1.0),
    Workload(
        name="depthwise 3x3, 128, 112x112",
        size=(128, 112, 112, 3),
        best=depthwise,
        tutorial=depthwise_tutorial,
        reference=_filtered,
        odd=((3, 9, 7, 3), (1, 1, 1, 3), (2, 1, 67, 5)),
        flops=2.0 * 128 * 112 * 112 * 9,
        peers={"numpy": _by_numpy, "torch": _by_torch},
        goals={"torch": 1.0},
    ),
)
