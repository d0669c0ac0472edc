"""The threads that run together: some blocks of a launch.

Values of threads are arrays of the shape (z, y, x, blocks); an extent of 1 means that the value is
uniform along this axis, so that most arrays are small. Vectors have one axis more, in front. Must
not know what threads do.
"""

from __future__ import annotations

import numpy as np

from te_sched.codegen.checker.report import ThreadId
from te_sched.ir.device_limits import WARP

Extents = tuple[int, int, int]  # x, y, z


class Space:
    """Some blocks of a launch, by their numbers, with all their threads."""

    def __init__(self, grid: Extents, block: Extents, blocks: np.ndarray) -> None:
        self.grid, self.block = grid, block
        self.blocks = np.asarray(blocks, np.int64)
        x, y, z = block
        self.shape = (z, y, x, len(blocks))
        self.threads = x * y * z
        self.lanes = self.threads * len(blocks)
        self._numbers: dict[tuple[tuple[int, ...], bool], np.ndarray] = {}

    def axis(self, tag: str) -> np.ndarray:
        """The values of blockIdx.* or threadIdx.*."""
        kind, letter = tag.split(".")
        dim = "xyz".index(letter)
        if kind == "threadIdx":
            shape = [1, 1, 1, 1]
            shape[2 - dim] = self.block[dim]
            return np.arange(self.block[dim], dtype=np.int32).reshape(shape)
        below = int(np.prod(self.grid[:dim], dtype=np.int64))
        numbers = self.blocks // below % self.grid[dim]
        return numbers.astype(np.int32).reshape(1, 1, 1, -1)

    def numbers(self, shape: tuple[int, ...], last: bool = False) -> np.ndarray:
        """The number within its block of the first (or last) thread of those that agree."""
        key = (shape[-4:], last)
        if key not in self._numbers:
            total = np.zeros((1, 1, 1, 1), np.int64)
            for axis, step in enumerate((self.block[0] * self.block[1], self.block[0], 1)):
                extent = self.shape[axis]
                places = np.arange(extent)
                if key[0][axis] != extent:
                    places = places[-1:] if last else places[:1]
                view = [1, 1, 1, 1]
                view[axis] = len(places)
                total = total + places.reshape(view) * step
            self._numbers[key] = total
        return self._numbers[key]

    def thread_of(self, number: int, block: int) -> ThreadId:
        """The thread of a number within its block, and of a block's number within the launch."""
        x, y, _ = self.block
        gx, gy, _ = self.grid
        thread = (number % x, number // x % y, number // (x * y))
        return ThreadId((block % gx, block // gx % gy, block // (gx * gy)), thread)

    def thread_at(self, position: tuple[int, ...]) -> ThreadId:
        """The thread at a place of an array over threads."""
        z, y, x, b = position[-4:]
        number = (z * self.block[1] + y) * self.block[0] + x
        return self.thread_of(number, int(self.blocks[b]))

    def by_warp(self, value: np.ndarray) -> np.ndarray:
        """An array over threads as (warps, 32, blocks); lanes that do not exist are zero."""
        full = np.broadcast_to(value, self.shape).reshape(self.threads, -1)
        missing = -self.threads % WARP
        if missing:
            full = np.concatenate([full, np.zeros((missing, full.shape[1]), full.dtype)])
        return full.reshape(-1, WARP, full.shape[1])

    def from_warps(self, value: np.ndarray) -> np.ndarray:
        """The inverse of `by_warp`."""
        return value.reshape(-1, value.shape[-1])[: self.threads].reshape(self.shape)


def all_dimensions(value: np.ndarray) -> np.ndarray:
    """An array over threads with all four axes written out."""
    return value if value.ndim >= 4 else value.reshape((1,) * (4 - value.ndim) + value.shape)
