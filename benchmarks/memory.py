"""Whether memory grows: cycles of declaring, scheduling, lowering, building and running programs.

    python -m benchmarks.memory                  1,000 cycles, without the cache on disk and with it
    python -m benchmarks.memory --cycles 10000   more

Each cycle makes another small program (sizes, operations and schedules vary; there are a few
thousand), runs it, saves and loads it at times, and lets go of all. Reported are, after powers of
ten, the process's resident memory, the objects that Python's collector knows, how many of them are
te_sched's, and the modules that are linked into the process. What grows with each cycle leaks.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import te_sched
from te_sched import config, te
from te_sched.runtime import load_module
from te_sched.runtime.loader import Code


class State(NamedTuple):
    """What there is after some cycles."""

    cycles: int
    mebibytes: float
    objects: int
    ours: int
    modules: int
    seconds: float


HEADER = ("cycles", "RSS MiB", "objects", "of te_sched", "modules", "seconds")


def main(arguments: Sequence[str]) -> int:
    """Run the cycles and print what there is in between."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--cache", choices=("off", "on", "both"), default="both")
    options = parser.parse_args(arguments)
    for cached in (False, True):
        if options.cache in ("both", "on" if cached else "off"):
            print(f"cache on disk: {'on' if cached else 'off'}")
            print("".join(f"{name:>12}" for name in HEADER), flush=True)
            with tempfile.TemporaryDirectory() as folder:
                for state in run(options.cycles, cached, Path(folder)):
                    print("".join(f"{cell:>12}" for cell in _cells(state)), flush=True)
    return 0


def run(cycles: int, cached: bool, folder: Path) -> Iterator[State]:
    """What there is after 10, 100, 1000, ... cycles, and at the end."""
    choose, start = random.Random(0), time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(config.scoped(cache=cached, cache_dir=str(folder)))
        milestones = {10**power for power in range(1, 8)} | {cycles}
        for number in range(1, cycles + 1):
            cycle(choose, folder if number % 20 == 0 else None)
            if number in milestones:
                yield _state(number, time.perf_counter() - start)


def cycle(choose: random.Random, folder: Path | None = None) -> None:
    """Declare, schedule, lower, build and run a program, and save and load it if there is where."""
    schedule, arguments, target = program(choose)
    te_sched.lower(schedule, arguments, simple_mode=True)
    module = te_sched.build(schedule, arguments, target=target)
    device = te_sched.emulated_cuda(0) if target == "cuda" else te_sched.cpu(0)
    shapes = [tuple(int(extent) for extent in one.shape) for one in arguments]
    arrays = [te_sched.nd.array(np.ones(shape, "float32"), device) for shape in shapes]
    module(*arrays)
    if folder is not None:
        module.export_library(folder / "module.o")
        load_module(folder / "module.o")(*arrays)


def program(choose: random.Random) -> tuple[Any, list[Any], str]:
    """A small program: a product, a stencil or a chain, scheduled one way or another."""
    n, m = choose.randrange(2, 20), choose.randrange(4, 20)
    a, b = te.placeholder((n, m), name="A"), te.placeholder((n, m), name="B")
    kind = choose.randrange(3)
    if kind == 0:
        k = te.reduce_axis((0, m), "k")
        c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    elif kind == 1:
        c = te.compute((n, m - 2), lambda i, j: a[i, j] + b[i, j + 1] + a[i, j + 2], name="C")
    else:
        t = te.compute((n, m), lambda i, j: te.exp(a[i, j]) + b[i, j], name="T")
        c = te.compute((n, m), lambda i, j: t[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    x, y = s[c].op.axis
    way = choose.randrange(4)
    if way == 0 and kind != 2:
        s[c].bind(x, te.thread_axis("blockIdx.x"))
        s[c].bind(y, te.thread_axis("threadIdx.x"))
        return s, [a, b, c], "cuda"
    if way == 1:
        s[c].parallel(x)
    elif way == 2:
        outer, inner = s[c].split(y, factor=choose.randrange(2, 9))
        s[c].reorder(outer, x, inner)
        s[c].vectorize(inner)
    elif kind == 2:
        s[t].compute_at(s[c], x)
    return s, [a, b, c], "llvm"


def _state(cycles: int, seconds: float) -> State:
    gc.collect()
    objects = gc.get_objects()
    ours = sum(type(one).__module__.startswith("te_sched") for one in objects)
    modules = sum(type(one) is Code for one in objects)
    return State(cycles, resident() / 2**20, len(objects), ours, modules, seconds)


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not tell."""
    place = Path("/proc/self/status")
    if not place.exists():
        return 0
    line = next(line for line in place.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def _cells(state: State) -> list[str]:
    return [
        f"{state.cycles}",
        f"{state.mebibytes:.1f}",
        f"{state.objects}",
        f"{state.ours}",
        f"{state.modules}",
        f"{state.seconds:.0f}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
