"""Times of the primitives of `tir.Schedule`, beside TVM 0.19's.

    python -m benchmarks.primitives                  everything
    python -m benchmarks.primitives --rounds 50      more rounds (default 20)
    python -m benchmarks.primitives --results DIR    the figures as Markdown too

Measured are each primitive on a module of ten blocks and on one of 500 blocks, the replay of a
trace of thirty instructions, and a copy of a schedule of each size. A round makes a new schedule
and prepares it (not timed); te_sched and TVM alternate in one process. The figure is the median.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import te_sched
from benchmarks import peer_environment
from benchmarks.lowering import OURS, PEER, load_peer, markdown
from te_sched.tools.table import table

SIZES = (10, 500)
Call = Callable[[Any], Any]

_HEAD = """# from tvm.script import tir as T
@T.prim_func
def main(A0: T.Buffer((64, 64)), W: T.Buffer((64, 64)), A{last}: T.Buffer((64, 64))):
"""
_ELEMENTWISE = """
    for i, j in T.grid(64, 64):
        with T.block("A{now}"):
            vi, vj = T.axis.remap("SS", [i, j])
            A{now}[vi, vj] = A{before}[vi, vj] + T.float32({now})
"""
_PRODUCT = """
    for i, j, k in T.grid(64, 64, 64):
        with T.block("A{now}"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                A{now}[vi, vj] = T.float32(0)
            A{now}[vi, vj] = A{now}[vi, vj] + A{before}[vi, vk] * W[vk, vj]
"""


def source(blocks: int) -> str:
    """A chain of blocks, every fifth of them a matrix product (A3, A8, ...)."""
    text = _HEAD.format(last=blocks)
    text += "".join(f"    A{n} = T.alloc_buffer((64, 64))\n" for n in range(1, blocks))
    for now in range(1, blocks + 1):
        text += (_PRODUCT if now % 5 == 3 else _ELEMENTWISE).format(now=now, before=now - 1)
    return text


def _loop(name: str, number: int) -> Call:
    return lambda sch: sch.get_loops(sch.get_block(name))[number]


def _apart(sch: Any) -> Any:
    """The loops i, j, k of A3, outside of which k is."""
    i, j, k = sch.get_loops(sch.get_block("A3"))
    sch.reorder(k, i, j)
    return k


# What prepares a schedule, and the timed call of its result.
PRIMITIVES: dict[str, tuple[Call, Callable[[Any, Any], Any]]] = {
    "get_block": (lambda s: None, lambda s, _: s.get_block("A3")),
    "get_loops": (lambda s: s.get_block("A3"), lambda s, b: s.get_loops(b)),
    "get_consumers": (lambda s: s.get_block("A3"), lambda s, b: s.get_consumers(b)),
    "split": (_loop("A3", 0), lambda s, x: s.split(x, [None, 8])),
    "fuse": (lambda s: s.get_loops(s.get_block("A2")), lambda s, x: s.fuse(*x)),
    "reorder": (lambda s: s.get_loops(s.get_block("A3")), lambda s, x: s.reorder(x[2], x[0])),
    "parallel": (_loop("A3", 0), lambda s, x: s.parallel(x)),
    "vectorize": (_loop("A2", 1), lambda s, x: s.vectorize(x)),
    "unroll": (_loop("A2", 1), lambda s, x: s.unroll(x)),
    "bind": (_loop("A3", 0), lambda s, x: s.bind(x, "blockIdx.x")),
    "compute_at": (_loop("A3", 0), lambda s, x: s.compute_at(s.get_block("A2"), x)),
    "reverse_compute_at": (
        _loop("A3", 0),
        lambda s, x: s.reverse_compute_at(s.get_block("A4"), x),
    ),
    "compute_inline": (lambda s: s.get_block("A1"), lambda s, b: s.compute_inline(b)),
    "reverse_compute_inline": (
        lambda s: s.get_block("A2"),
        lambda s, b: s.reverse_compute_inline(b),
    ),
    "cache_read": (lambda s: s.get_block("A3"), lambda s, b: s.cache_read(b, 0, "shared")),
    "cache_write": (lambda s: s.get_block("A3"), lambda s, b: s.cache_write(b, 0, "local")),
    "reindex": (lambda s: s.get_block("A3"), lambda s, b: s.reindex(b, ("read", 0))),
    "decompose_reduction": (
        lambda s: (s.get_block("A3"), _loop("A3", 2)(s)),
        lambda s, x: s.decompose_reduction(*x),
    ),
    "rfactor": (_apart, lambda s, x: s.rfactor(x, 0)),
    "blockize": (_loop("A3", 1), lambda s, x: s.blockize(x)),
    "set_scope": (lambda s: s.get_block("A3"), lambda s, b: s.set_scope(b, 0, "shared")),
    "storage_align": (
        lambda s: s.get_block("A3"),
        lambda s, b: s.storage_align(b, 0, 0, 32, 8),
    ),
    "transform_layout": (
        lambda s: s.get_block("A3"),
        lambda s, b: s.transform_layout(b, ("write", 0), lambda i, j: (j, i)),
    ),
    "annotate": (_loop("A3", 0), lambda s, x: s.annotate(x, "note", 1)),
    "sample_perfect_tile": (_loop("A3", 0), lambda s, x: s.sample_perfect_tile(x, 4)),
    "copy": (lambda s: None, lambda s, _: s.copy()),
}


def scheduled(sch: Any) -> Any:
    """A schedule to which thirty instructions are applied."""
    for number in (3, 8):
        block = sch.get_block(f"A{number}")
        i, j, k = sch.get_loops(block)
        tiles = sch.sample_perfect_tile(i, 2, decision=[8, 8])
        i0, i1 = sch.split(i, tiles)
        j0, j1 = sch.split(j, [None, 16])
        k0, k1 = sch.split(k, [None, 4])
        sch.reorder(i0, j0, k0, i1, k1, j1)
        copy = sch.cache_write(block, 0, "local")
        sch.reverse_compute_at(copy, j0)
        sch.compute_at(sch.get_block(f"A{number - 1}"), i0)
        sch.vectorize(j1)
        sch.unroll(k1)
        sch.parallel(i0)
    sch.compute_inline(sch.get_block("A5"))
    sch.annotate(sch.get_block("A1"), "note", 1)
    return sch.trace


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.primitives", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    peer = load_peer()
    libraries = {OURS: te_sched, **({} if peer is None else {PEER: peer})}
    header = ["primitive", *(f"{n} blocks: ms\n{one}" for n in SIZES for one in libraries)]
    header[0] += "\n"
    figures = {
        size: measure(libraries, size, options.rounds if size == SIZES[0] else 5) for size in SIZES
    }
    rows = []
    for name in (*PRIMITIVES, "replay of 30"):
        cells = [figures[size][name].get(one) for size in SIZES for one in libraries]
        rows.append([name, *("-" if one is None else f"{1e3 * one:.3f}" for one in cells)])
    print(table(header, rows, right=range(1, len(header))))
    print("\n" + _summary(figures[SIZES[0]]))
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        lines = markdown([one.replace("\n", " ") for one in header], rows)
        (options.results / "primitives.md").write_text("\n".join(lines) + "\n")
    return 0


def measure(libraries: Mapping[str, Any], size: int, rounds: int) -> dict[str, dict[str, float]]:
    """The median seconds of each primitive, by implementation."""
    text = source(size)
    modules = {name: lib.script.from_source(text) for name, lib in libraries.items()}
    figures: dict[str, dict[str, float]] = {}
    for primitive, (prepare, call) in PRIMITIVES.items():
        figures[primitive] = _medians(libraries, modules, rounds, prepare, call)
    figures["replay of 30"] = _medians(libraries, modules, rounds, _recorded, _replay)
    return figures


def _medians(
    libraries: Mapping[str, Any],
    modules: Mapping[str, Any],
    rounds: int,
    prepare: Call,
    call: Callable[[Any, Any], Any],
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in libraries}
    for round_number in range(rounds + 1):
        for name, library in libraries.items():
            sch = library.tir.Schedule(modules[name], seed=1)
            given = prepare(sch)
            begin = time.perf_counter()
            call(sch, given)
            spent = time.perf_counter() - begin
            if round_number:  # the first warms up
                times[name].append(spent)
    return {name: statistics.median(one) for name, one in times.items()}


def _recorded(sch: Any) -> Any:
    """A trace of thirty instructions, made on a copy."""
    trace = scheduled(sch.copy())
    assert len(trace.insts) >= 30
    return trace


def _replay(sch: Any, trace: Any) -> None:
    trace.apply_to_schedule(sch, False)


def _summary(figures: Mapping[str, Mapping[str, float]]) -> str:
    slowest = max(
        (name for name in figures if name in PRIMITIVES), key=lambda name: figures[name][OURS]
    )
    text = f"slowest on {SIZES[0]} blocks: {slowest}, {1e3 * figures[slowest][OURS]:.3f} ms"
    ratios = [one[OURS] / one[PEER] for one in figures.values() if PEER in one]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        text += f"; geometric mean of te_sched's time / TVM's: {mean:.2f}"
    return text


if __name__ == "__main__":
    import sys

    sys.exit(peer_environment.run("benchmarks.primitives", main, sys.argv[1:]))
