"""Growth of memory in cycles of declaring, scheduling, lowering, building and running programs.

    python -m benchmarks.memory                  1,000 cycles, without the cache on disk and with it
    python -m benchmarks.memory --cycles 10000   more
    python -m benchmarks.memory --results DIR    the figures as Markdown too

Each cycle makes a different small program (sizes, operations and schedules vary), runs it,
sometimes saves and loads it, and releases all; with the cache, each program occurs twice. Reported
at intervals are

- the resident memory of the process, including free memory that malloc keeps;
- the memory in use: allocated by native code with glibc's malloc, without Python's objects;
- Python's blocks of memory, the objects of its garbage collector, te_sched's objects among them,
  and the modules that are linked into the process;
- the programs that LLVM has optimized. For each, llvmlite keeps the callbacks of a pass builder: it
  never frees them, and a pass builder cannot be used twice. Their size is measured at the end.

Growth with each cycle, except llvmlite's part, is a leak.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import platform
import random
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numpy as np

import te_sched
from benchmarks import peer_environment
from te_sched import config, te
from te_sched.codegen.llvm import machine
from te_sched.codegen.target import Target
from te_sched.runtime import load_module
from te_sched.runtime.loader import LoadedCode
from te_sched.tools.table import table


class State(NamedTuple):
    """The figures after some cycles."""

    cycles: int
    resident: int
    in_use: int
    blocks: int
    objects: int
    ours: int
    modules: int
    optimized: int
    seconds: float


HEADER = (
    "cycles",
    "resident MiB",
    "in use MiB",
    "Python's blocks",
    "objects",
    "of te_sched",
    "modules",
    "optimized",
    "seconds",
)


def main(arguments: Sequence[str]) -> int:
    """Run the cycles and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--cache", choices=("off", "on", "both"), default="both")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    parts = []
    for cached in (False, True):
        if options.cache in ("both", "on" if cached else "off"):
            with tempfile.TemporaryDirectory() as folder:
                parts.append(report(options.cycles, cached, Path(folder)))
    if options.results:
        text = "\n".join([_setting(options), *parts])
        (options.results / "memory.md").write_text(text)
    return 0


def report(cycles: int, cached: bool, folder: Path) -> str:
    """Run the cycles, print the figures, and return them as Markdown."""
    print(f"cache on disk: {'on' if cached else 'off'}")
    print("  ".join(HEADER), flush=True)
    states = []
    for state in run(cycles, cached, folder):
        states.append(state)
        pairs = zip(_cells(state), HEADER, strict=True)
        print("  ".join(cell.rjust(len(name)) for cell, name in pairs), flush=True)
    verdict = _verdict(states)
    print(verdict, flush=True)
    title = f"## With{'' if cached else 'out'} the cache on disk"
    rows = table(HEADER, list(map(_cells, states)), right=range(len(HEADER)))
    return f"{title}\n\n```text\n{rows}\n```\n\n{textwrap.fill(verdict, 120)}\n"


def run(cycles: int, cached: bool, folder: Path) -> Iterator[State]:
    """The figures after 10, 100, 1000, 2000, 3000, ... cycles, and at the end."""
    choose, start = random.Random(0), time.perf_counter()
    milestones = {10, 100, cycles, *range(1000, cycles, 1000)}
    with ExitStack() as stack:
        stack.enter_context(config.scoped(cache=cached, cache_dir=str(folder)))
        optimized = stack.enter_context(counted_optimizations())
        for number in range(1, cycles + 1):
            if cached:
                choose.seed(number // 2)  # each program twice, so that the cache has it
            cycle(choose, folder if number % 20 == 0 else None)
            if number in milestones:
                yield _state(number, len(optimized), time.perf_counter() - start)


@contextmanager
def counted_optimizations() -> Iterator[list[None]]:
    """A list to which an entry is added for each program that LLVM optimizes."""
    found: list[None] = []
    create = llvm.create_pass_builder

    def counted(*arguments: Any) -> Any:
        found.append(None)
        return create(*arguments)

    llvm.create_pass_builder = counted
    try:
        yield found
    finally:
        llvm.create_pass_builder = create


def kept_by_llvmlite() -> float:
    """Bytes that llvmlite keeps for each pass builder, whether used or not."""
    handle = machine.machine_of(Target("llvm")).handle
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    llvm.create_pass_builder(handle, tuning)
    before, count = in_use(), 200
    for _ in range(count):
        llvm.create_pass_builder(handle, tuning)
    return (in_use() - before) / count


def cycle(choose: random.Random, folder: Path | None = None) -> None:
    """Declare, schedule, lower, build and run a program; save and load it if a folder is given."""
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
    """A small program: a product, a stencil or a chain, with one of several schedules."""
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


def _state(cycles: int, optimized: int, seconds: float) -> State:
    gc.collect()
    blocks, objects = sys.getallocatedblocks(), gc.get_objects()
    ours = sum(type(one).__module__.startswith("te_sched") for one in objects)
    modules = sum(type(one) is LoadedCode for one in objects)
    counts = (blocks, len(objects), ours, modules, optimized)
    return State(cycles, resident(), in_use(), *counts, seconds)


def resident() -> int:
    """The resident memory of this process in bytes; 0 if unknown."""
    place = Path("/proc/self/status")
    if not place.exists():
        return 0
    line = next(line for line in place.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


class _Mallinfo(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def in_use() -> int:
    """Bytes allocated by malloc; 0 if unknown."""
    gc.collect()
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None) if sys.platform == "linux" else None
    if ask is None:
        return 0
    ask.restype = _Mallinfo
    found = ask()
    return int(found.uordblks + found.hblkhd)


def _verdict(states: Sequence[State]) -> str:
    """The growth per cycle after the first thousand."""
    first = next((one for one in states if one.cycles >= 1000), states[0])
    last = states[-1]
    cycles, each = last.cycles - first.cycles, kept_by_llvmlite()
    if not cycles:
        return "too few cycles to say what grows"
    optimized = last.optimized - first.optimized
    grown = last.in_use - first.in_use
    return (
        f"From cycle {first.cycles:,} to {last.cycles:,} the memory in use grew by {grown:,} "
        f"bytes, {grown / cycles:.0f} a cycle. Of these llvmlite keeps {each:.0f} for each of the "
        f"{optimized:,} programs that LLVM optimized, {each * optimized / cycles:.0f} a cycle. "
        f"What is left is {(grown - each * optimized) / cycles:.0f} bytes a cycle. The resident "
        f"memory grew by {(last.resident - first.resident) / cycles:.0f} bytes a cycle, Python's "
        f"blocks by {(last.blocks - first.blocks) / cycles:.3f}, its objects by "
        f"{(last.objects - first.objects) / cycles:.4f}."
    )


def _setting(options: argparse.Namespace) -> str:
    asked = f" --cache {options.cache}" if options.cache != "both" else ""
    text = (
        f"`python -m benchmarks.memory --cycles {options.cycles}{asked} --results "
        f"benchmarks/results`, with Python {platform.python_version()}, llvmlite "
        f"{llvmlite.__version__}, {' '.join(platform.libc_ver())}. See `benchmarks/memory.py` for "
        "what is counted."
    )
    title = "# Memory over cycles of building and running"
    return f"{title}\n\n{textwrap.fill(text, 120, break_on_hyphens=False)}\n"


def _cells(state: State) -> list[str]:
    sizes = (f"{size / 2**20:.1f}" for size in (state.resident, state.in_use))
    return [f"{state.cycles}", *sizes, *map(str, state[3:-1]), f"{state.seconds:.0f}"]


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.memory", main, sys.argv[1:]))
