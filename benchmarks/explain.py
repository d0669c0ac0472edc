"""The times on explain pages: each beside that of the same step timed alone.

    python -m benchmarks.explain                 all programs
    python -m benchmarks.explain softmax         some of them
    python -m benchmarks.explain --rounds 3      the shortest of several rounds
    python -m benchmarks.explain --results DIR   as JSON and Markdown too

A program yields its schedule after each primitive. Explain measures all steps together; then each
step is built and timed alone, in the same order. A step of more than two seconds is called once,
as explain does; others many times, and the shortest call counts, as in explain. The ratio of the
two is at most 1.5 if the machine is quiet. Steps that explain did not measure have no ratio, and
kernels have no time where there is no GPU; the table says why. Ends non-zero if a ratio is larger,
or an emulated GPU has a time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import te_sched
from benchmarks import peer_environment
from benchmarks.lowering import markdown
from benchmarks.processor.contest import processor
from te_sched import config, te
from te_sched.runtime import get_num_threads
from te_sched.tools.table import table
from te_sched.tuning.arguments import random_arrays

BUDGET = 120.0  # seconds of explain, for each program
LIMIT = 1.5  # largest ratio of two times of a step
_SLOW = 2.0  # seconds of a call that is made once
_READING, _READINGS = 2e-3, 30  # seconds of a reading of the clock, and their number
_HEADER = ["program", "step", "explain ms", "runs", "alone ms", "ratio"]

Program = tuple[te.Schedule, list[te.Tensor]]
Steps = Iterator[Program]


@dataclass
class Row:
    """A step: the milliseconds that explain shows, those of the step alone, and explain's note."""

    program: str
    number: int
    title: str
    shown: float | None
    runs: int
    alone: float | None
    note: str

    @property
    def ratio(self) -> float | None:
        """The larger time divided by the smaller one."""
        if self.shown is None or self.alone is None:
            return None
        return max(self.shown / self.alone, self.alone / self.shown)


def product(size: int = 1024, tile: int = 32) -> Steps:
    """The matrix product of TVM's tutorial, with sums in memory of their own."""
    k = te.reduce_axis((0, size), "k")
    A, B = (te.placeholder((size, size), name=name) for name in "AB")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    yield s, [A, B, C]
    sums = s.cache_write(C, "global")
    yield s, [A, B, C]
    rows, columns, _, _ = s[C].tile(*C.op.axis, tile, tile)
    yield s, [A, B, C]
    s[sums].compute_at(s[C], columns)
    yield s, [A, B, C]
    i, j = s[sums].op.axis
    outer, inner = s[sums].split(s[sums].op.reduce_axis[0], 4)
    yield s, [A, B, C]
    s[sums].reorder(outer, i, inner, j)
    yield s, [A, B, C]
    s[sums].unroll(inner)
    yield s, [A, B, C]
    s[sums].vectorize(j)
    yield s, [A, B, C]
    s[C].parallel(rows)
    yield s, [A, B, C]


def convolution(channels: int = 64, width: int = 56) -> Steps:
    """A convolution of 3 x 3 with padding, whose border is a stage."""
    rc, ry, rx = (
        te.reduce_axis((0, n), name) for n, name in ((channels, "rc"), (3, "ry"), (3, "rx"))
    )
    A = te.placeholder((channels, width, width), name="A")
    W = te.placeholder((channels, 3, 3, channels), name="W")
    padded = te.compute(
        (channels, width + 2, width + 2),
        lambda c, y, x: te.if_then_else(
            te.all(y > 0, y <= width, x > 0, x <= width), A[c, y - 1, x - 1], 0.0
        ),
        name="padded",
    )
    C = te.compute(
        (width, width, channels),
        lambda y, x, f: te.sum(padded[rc, y + ry, x + rx] * W[rc, ry, rx, f], axis=[rc, ry, rx]),
        name="C",
    )
    s = te.create_schedule(C.op)
    args = [A, W, C]
    yield s, args
    y, x, f = C.op.axis
    block, inner = s[C].split(x, 4)
    yield s, args
    features, lanes = s[C].split(f, 32)
    yield s, args
    s[C].reorder(y, block, features, rc, ry, rx, inner, lanes)
    yield s, args
    s[C].vectorize(lanes)
    yield s, args
    s[C].unroll(inner)
    yield s, args
    s[C].parallel(y)
    yield s, args


def softmax(rows: int = 1024, columns: int = 1024) -> Steps:
    """The softmax of rows, in four stages."""
    A = te.placeholder((rows, columns), name="A")
    k, m = (te.reduce_axis((0, columns), name) for name in "km")
    largest = te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="largest")
    powers = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - largest[i]), name="powers")
    sums = te.compute((rows,), lambda i: te.sum(powers[i, m], axis=m), name="sums")
    C = te.compute((rows, columns), lambda i, j: powers[i, j] / sums[i], name="C")
    s = te.create_schedule(C.op)
    args = [A, C]
    yield s, args
    row = C.op.axis[0]
    for stage in (sums, powers, largest):
        s[stage].compute_at(s[C], row)
        yield s, args
    for stage in (powers, C):
        _, lanes = s[stage].split(stage.op.axis[1], 16)
        yield s, args
        s[stage].vectorize(lanes)
        yield s, args
    s[C].parallel(row)
    yield s, args


def gpu_product(size: int = 256, tile: int = 16) -> Steps:
    """A matrix product in blocks of threads."""
    k = te.reduce_axis((0, size), "k")
    A, B = (te.placeholder((size, size), name=name) for name in "AB")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    yield s, [A, B, C]
    axes = s[C].tile(*C.op.axis, tile, tile)
    yield s, [A, B, C]
    tags = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    for axis, tag in zip(axes, tags, strict=True):
        s[C].bind(axis, te.thread_axis(tag))
        yield s, [A, B, C]


PROGRAMS: Mapping[str, Callable[[], Steps]] = {
    "product": product,
    "convolution": convolution,
    "softmax": softmax,
    "GPU product": gpu_product,
}
GPU = "GPU product"


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of explain")
    parser.add_argument("--rounds", type=int, default=1, help="of both, in turns (default 1)")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    names = [name for name in PROGRAMS if not options.names or name in options.names]
    if not names:
        parser.error(f"use some of {', '.join(PROGRAMS)}")
    rows = [row for name in names for row in measured(name, options.budget, max(1, options.rounds))]
    print(table(_HEADER, lines(rows), right=[2, 3, 4, 5]))
    wrong = problems(rows)
    print("\n".join([setting(), *wrong]))
    if options.results is not None:
        save(rows, options.results)
    return 1 if wrong else 0


def measured(name: str, budget: float, rounds: int = 1) -> list[Row]:
    """The steps of a program, with the shortest times of several rounds."""
    found = [_round(name, budget) for _ in range(rounds)]
    return [_shortest(several) for several in zip(*found, strict=True)]


def _round(name: str, budget: float) -> list[Row]:
    schedule, args = list(PROGRAMS[name]())[-1]
    emulated = config.scoped(emulate=True) if name == GPU else nullcontext()
    with emulated:
        target = "cuda" if name == GPU else "llvm"
        steps = te_sched.explain(schedule, args, target=target, budget=budget).steps
    rows = [
        Row(
            *(name, step.number, step.title, step.timing.milliseconds, step.timing.runs),
            alone=None,
            note=step.timing.note or " ".join(step.notes),
        )
        for step in steps
    ]
    for row in reversed(rows):
        if row.shown is not None:
            row.alone = 1e3 * seconds_alone(PROGRAMS[name](), row.number)
    return rows


def _shortest(rows: Sequence[Row]) -> Row:
    """The step with the shortest times of its rounds."""
    row = rows[-1]
    shown = [one.shown for one in rows if one.shown is not None]
    alone = [one.alone for one in rows if one.alone is not None]
    if shown and alone:
        row.shown, row.alone = min(shown), min(alone)
    return row


def seconds_alone(steps: Steps, number: int) -> float:
    """The seconds of a call of a step, built and timed alone."""
    for _ in range(number + 1):
        schedule, args = next(steps)
    module: Any = te_sched.build(schedule, args)
    shapes = [([int(extent) for extent in arg.shape], arg.dtype) for arg in args]
    arrays = random_arrays(shapes, te_sched.cpu(0))
    start = time.perf_counter()
    module(*arrays)
    once = time.perf_counter() - start
    if once > _SLOW:
        return once
    count = max(1, round(_READING / once))
    repeat = max(3, min(_READINGS, round(_SLOW / once)))
    evaluator = module.time_evaluator("main", te_sched.cpu(0), number=count, repeat=repeat)
    seconds: float = evaluator(*arrays).min
    return seconds


def problems(rows: Sequence[Row]) -> list[str]:
    """What is wrong: ratios above the limit, times of an emulated GPU."""
    far = [
        f"{row.program}, step {row.number}: the times differ by a factor of {row.ratio:.2f}"
        for row in rows
        if row.ratio is not None and row.ratio > LIMIT
    ]
    timed = [row for row in rows if row.program == GPU and row.shown is not None]
    return far + [f"step {row.number} of an emulated GPU has a time" for row in timed]


def lines(rows: Sequence[Row]) -> list[list[str]]:
    """The cells of the table."""
    return [
        [
            row.program,
            f"{row.number} {row.title}",
            _digits(row.shown),
            str(row.runs or ""),
            _digits(row.alone),
            row.note if row.ratio is None else f"{row.ratio:.2f}",
        ]
        for row in rows
    ]


def _digits(milliseconds: float | None) -> str:
    """Three digits of a time, or ""."""
    if milliseconds is None:
        return ""
    return f"{milliseconds:.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def setting() -> str:
    """The machine."""
    return f"te_sched {te_sched.__version__}, {processor()}, {get_num_threads()} threads"


def save(rows: Sequence[Row], directory: Path) -> None:
    """The figures as JSON and as Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    measured = {"setting": setting(), "rows": [asdict(row) for row in rows]}
    (directory / "explain.json").write_text(json.dumps(measured, indent=1) + "\n")
    ratios = [row.ratio for row in rows if row.ratio is not None]
    text = f"{setting()}; the largest ratio is {max(ratios, default=1.0):.2f}"
    parts = ["# Explain", "", f"{text}.", "", *markdown(_HEADER, lines(rows)), ""]
    (directory / "explain.md").write_text("\n".join(parts))


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.explain", main, sys.argv[1:]))
