"""A matrix product, scheduled step by step: the declaration stays, the loops change.

    python -m tutorials.matmul [SIZE]

prints the time of each step beside numpy's. The first steps are those of the classic CPU tutorial:
blocking, vectorization, sums in registers, packing one matrix, and all cores. The last two go on to
the speed of a vendor's library. What counts there is where the data of the inner loop are: a tile
of sums fills the registers, so that a vector of B serves several rows; a panel of B is read again
for each tile below it while it is in a cache; and the block of C that is summed up has memory of
its own, in the cache of its core, from which it goes to C once. benchmarks/processor/products.py
does the same for any size.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_LONG = 0.5  # seconds of a call that is not repeated
_SHORT = 0.1  # seconds of a call that is repeated more often
BLOCK = 32
ROWS = 8

Program = tuple[Any, list[Any]]


def as_declared(te: Any, size: int) -> Program:
    """Three loops, as the mathematics is written."""
    s, A, B, C = _declare(te, size)
    return s, [A, B, C]


def blocked(te: Any, size: int) -> Program:
    """Blocks of 32 x 32 of the result, so that what is read stays in the cache."""
    s, A, B, C = _declare(te, size)
    _block(s, C)
    return s, [A, B, C]


def vectorized(te: Any, size: int) -> Program:
    """The innermost loop becomes vector instructions."""
    s, A, B, C = _declare(te, size)
    s[C].vectorize(_block(s, C))
    return s, [A, B, C]


def in_registers(te: Any, size: int) -> Program:
    """A block of 8 x 32 sums stays in registers, and B is packed so that it is read in order."""
    s, A, B, C, _ = _declare_packed(te, size)
    return s, [A, B, C]


def parallel(te: Any, size: int) -> Program:
    """The same on all cores."""
    s, A, B, C, packed = _declare_packed(te, size)
    s[packed].parallel(packed.op.axis[0])
    s[C].parallel(s[C].leaf_iter_vars[0])
    return s, [A, B, C]


def in_panels(te: Any, size: int) -> Program:
    """Tiles of 4 x 64 sums, in blocks of 128 x 512 that stay in the cache; all of K at once."""
    return _in_blocks(te, size, depth=size)


def in_blocks(te: Any, size: int) -> Program:
    """256 of K at a time: the panels of B that a block reads stay in the cache too."""
    return _in_blocks(te, size, depth=256)


@dataclass(frozen=True)
class Step:
    """A schedule of the product."""

    label: str
    program: Callable[[Any, int], Program]
    change: str  # what differs from the step before


STEPS = (
    Step("as declared", as_declared, "three loops, as the mathematics is written"),
    Step("+ blocking", blocked, "32 x 32 of C at a time, which stay in the cache"),
    Step("+ vectorize", vectorized, "the innermost loop runs as vector instructions"),
    Step("+ registers, B packed", in_registers, "8 x 32 sums in registers; B in its order of use"),
    Step("+ parallel", parallel, "the blocks on all cores"),
    Step("wide tiles in the cache", in_panels, "4 x 64 sums; 128 x 512 of C at a time"),
    Step("+ K in parts", in_blocks, "256 of K at a time: parts of B stay in the cache"),
)


@dataclass(frozen=True)
class Timing:
    """One way of computing the product: the shortest time of a call, numpy's beside it, and whether
    the result is numpy's.
    """

    label: str
    seconds: float
    numpy_seconds: float
    is_correct: bool = True
    change: str = ""

    @property
    def of_numpy(self) -> float:
        """The speed relative to numpy's."""
        return self.numpy_seconds / self.seconds


def measure(tvm: Any, size: int) -> Iterator[Timing]:
    """numpy's time, then the time of each step, with the results checked.

    The shortest call counts, since other processes disturb some; numpy is timed beside each step.
    """
    generator = np.random.default_rng(0)
    a, b = (generator.random((size, size), dtype=np.float32) for _ in range(2))
    expected = a @ b
    of_numpy = _numpy_seconds(a, b)
    yield Timing("numpy", of_numpy, of_numpy, change="a tuned library (BLAS)")
    for step in STEPS:
        schedule, args = step.program(tvm.te, size)
        function = tvm.build(schedule, args, target="llvm")
        arrays = [tvm.nd.array(x) for x in (a, b, np.full_like(a, np.nan))]
        seconds = _seconds(tvm, function, arrays)
        is_correct = np.allclose(arrays[2].numpy(), expected, rtol=1e-4)
        yield Timing(step.label, seconds, _numpy_seconds(a, b), bool(is_correct), step.change)


def _seconds(tvm: Any, function: Any, arrays: list[Any]) -> float:
    """The shortest time of a call."""
    start = time.perf_counter()
    function(*arrays)
    seconds = time.perf_counter() - start
    if seconds > _LONG:
        return seconds
    evaluator = function.time_evaluator(function.entry_name, tvm.cpu(0), number=1, repeat=3)
    rounds = 4 if seconds < _SHORT else 1
    return min(min(evaluator(*arrays).results) for _ in range(rounds))


def show(tvm: Any, size: int) -> list[Timing]:
    """Measure, and print the table meanwhile: the name of a step before it runs, then its row."""
    timings, width = [], _WIDTHS[0]
    measured = measure(tvm, size)
    print(header())
    for label in ("numpy", *(step.label for step in STEPS)):
        print(label.ljust(width), end="", flush=True)
        timings.append(next(measured))
        print(row(timings[-1], size)[width:], flush=True)
    return timings


_WIDTHS = (max(len(step.label) for step in STEPS), 8, 8, 9)


def header() -> str:
    """The head of a table of timings."""
    cells = _aligned("", "", "", "as fast"), _aligned("step", "ms", "GFLOP/s", "as numpy")
    names = f"{cells[0]}\n{cells[1]}  what the step changes"
    return f"{names}\n{'-' * (len(cells[1]) + 2 + max(len(step.change) for step in STEPS))}"


def row(timing: Timing, size: int) -> str:
    """The row of a timing."""
    milliseconds, rate = timing.seconds * 1e3, 2 * size**3 / timing.seconds / 1e9
    cells = _aligned(timing.label, f"{milliseconds:.1f}", f"{rate:.1f}", f"{timing.of_numpy:.2f}x")
    return f"{cells}  {timing.change}{'' if timing.is_correct else ': WRONG RESULT'}"


def _aligned(label: str, *cells: str) -> str:
    first, *others = _WIDTHS
    return label.ljust(first) + "".join(
        f" {cell:>{width}}" for cell, width in zip(cells, others, strict=True)
    )


def _declare(te: Any, size: int) -> tuple[Any, Any, Any, Any]:
    k = te.reduce_axis((0, size), "k")
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def _block(s: Any, C: Any) -> Any:
    """Tile the loops of C; returns the innermost one."""
    rows, columns, i, j = s[C].tile(C.op.axis[0], C.op.axis[1], BLOCK, BLOCK)
    ko, ki = s[C].split(s[C].op.reduce_axis[0], factor=4)
    s[C].reorder(rows, columns, ko, i, ki, j)
    return j


def _declare_packed(te: Any, size: int) -> tuple[Any, Any, Any, Any, Any]:
    k = te.reduce_axis((0, size), "k")
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    packed = te.compute(
        (size // BLOCK, size, BLOCK), lambda bj, k, j: B[k, bj * BLOCK + j], name="packed"
    )
    C = te.compute(
        (size, size),
        lambda i, j: te.sum(A[i, k] * packed[j // BLOCK, k, j % BLOCK], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "global")
    _, columns, _, j = s[C].tile(C.op.axis[0], C.op.axis[1], ROWS, BLOCK)
    s[C].vectorize(j)
    s[sums].compute_at(s[C], columns)
    i, j = s[sums].op.axis
    s[sums].reorder(s[sums].op.reduce_axis[0], i, j)
    s[sums].unroll(i)
    s[sums].vectorize(j)
    s[packed].vectorize(packed.op.axis[2])
    return s, A, B, C, packed


def _in_blocks(te: Any, size: int, depth: int) -> Program:
    rows, columns, depth = 4, _divisor(size, 64), _divisor(size, depth)
    k = te.reduce_axis((0, size), "k")
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    panels = te.compute(
        (size // depth, size // columns, depth, columns),
        lambda q, bj, k, j: B[q * depth + k, bj * columns + j],
        name="panels",
    )
    sums = te.compute(
        (size, size),
        lambda i, j: te.sum(
            A[i, k] * panels[k // depth, j // columns, k % depth, j % columns], axis=k
        ),
        name="sums",
    )
    C = te.compute((size, size), lambda i, j: sums[i, j], name="C")
    s = te.create_schedule(C.op)
    block, across, _, j = s[C].tile(*C.op.axis, _divisor(size, 128), _divisor(size, 512))
    s[C].vectorize(s[C].split(j, 16)[1])
    s[C].parallel(block)
    s[sums].compute_at(s[C], across)
    down, i = s[sums].split(sums.op.axis[0], rows)
    panel, j = s[sums].split(sums.op.axis[1], columns)
    outer, inner = s[sums].split(sums.op.reduce_axis[0], depth)
    s[sums].reorder(outer, panel, down, inner, i, j)
    s[sums].unroll(i)
    s[sums].vectorize(j)
    s[panels].vectorize(panels.op.axis[3])
    s[panels].parallel(s[panels].fuse(*panels.op.axis[:2]))
    return s, [A, B, C]


def _divisor(size: int, most: int) -> int:
    return next(part for part in range(min(most, size), 0, -1) if size % part == 0)


def _numpy_seconds(a: np.ndarray, b: np.ndarray) -> float:
    out = np.empty_like(a)
    seconds = []
    for _ in range(6):
        start = time.perf_counter()
        np.matmul(a, b, out=out)
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def main(arguments: Sequence[str]) -> int:
    """Print the times."""
    size = int(arguments[0]) if arguments else 1024
    show(importlib.import_module("te_sched"), size)
    return 0


if __name__ == "__main__":
    peer_environment = importlib.import_module("benchmarks.peer_environment")
    sys.exit(peer_environment.run("tutorials.matmul", main, sys.argv[1:]))
