"""Modules of TensorIR beside TVM 0.19: reading, printing and lowering them, and calls of products.

    python -m benchmarks.tensorir                  everything
    python -m benchmarks.tensorir --results DIR    the figures as JSON and Markdown too

The modules are the scheduled programs of tests/golden/tensorir. Each round reads a module anew, so
that it cannot use results of earlier rounds; both libraries alternate in one process, the first
round warms up, and the figure is the median of the rounds, summed over the programs.

The product is C = relu(A @ B) of 128 x 128 matrices: as written, with the loops and the order of
mm_relu (a column of four results at a time, the initialization in a loop of its own), and with rows
in parallel and vectors. Both build the same module, given as text.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import te_sched
from benchmarks import peer_environment
from benchmarks.lowering import OURS, PEER, load_peer
from benchmarks.processor.contest import processor
from benchmarks.processor.measuring import timings
from te_sched import config, tir
from te_sched.runtime import threads
from te_sched.tools.table import table

PROGRAMS = Path(__file__).parents[1] / "tests" / "golden" / "tensorir" / "programs.json"
GOALS = {"read": "TVM's", "print": "TVM's", "lower": "TVM's", "product": "TVM's"}
SIZE = 128
MM_RELU = f"""
@T.prim_func
def main(
    A: T.Buffer(({SIZE}, {SIZE}), "float32"),
    B: T.Buffer(({SIZE}, {SIZE}), "float32"),
    C: T.Buffer(({SIZE}, {SIZE}), "float32"),
):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    Y = T.alloc_buffer(({SIZE}, {SIZE}), "float32")
    for i, j, k in T.grid({SIZE}, {SIZE}, {SIZE}):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({SIZE}, {SIZE}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(Y[vi, vj], T.float32(0))
"""
Figures = dict[str, dict[str, dict[str, float]]]  # seconds by task, program and library


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tensorir", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    peer = load_peer()
    libraries = {OURS: te_sched} if peer is None else {OURS: te_sched, PEER: peer}
    setting = _setting(peer, options.rounds)
    print(setting + "\n")
    with config.scoped(cache=False):
        figures = measure(libraries, options.rounds)
    for title, header, lines in sections(figures):
        print(title + "\n\n" + table(header, lines, right=range(1, len(header))) + "\n")
    if options.results:
        save(figures, setting, options.results)
    return 0


def measure(libraries: Mapping[str, Any], rounds: int) -> Figures:
    """The seconds of all tasks."""
    texts = {name: one["scheduled"] for name, one in json.loads(PROGRAMS.read_text()).items()}
    figures: Figures = {task: {} for task in GOALS}
    for name, text in texts.items():
        for task, found in time_text(text, libraries, rounds).items():
            figures[task][name] = found
    figures["product"] = time_products(libraries, rounds)
    return figures


def time_text(text: str, libraries: Mapping[str, Any], rounds: int) -> dict[str, dict[str, float]]:
    """The median seconds of reading, printing and lowering a module, by library."""
    samples: dict[str, dict[str, list[float]]] = {
        task: {name: [] for name in libraries} for task in ("read", "print", "lower")
    }
    for turn in range(1 + rounds):
        for name, library in libraries.items():
            seconds, module = _timed(partial(library.script.from_source, text))
            times = {"read": seconds, "print": _timed(module.script)[0]}
            times["lower"] = _timed(partial(library.lower, module))[0]
            if turn:
                for task, one in times.items():
                    samples[task][name].append(one)
    return {
        task: {name: statistics.median(several) for name, several in found.items()}
        for task, found in samples.items()
    }


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def products() -> dict[str, str]:
    """The texts of the modules of the product, by schedule."""
    found = {"as written": tir.Schedule(te_sched.script.from_source(MM_RELU))}
    for name, width in (("four results at a time", 4), ("rows in parallel, vectors", 16)):
        sch = found[name] = tir.Schedule(te_sched.script.from_source(MM_RELU))
        row, column, k = sch.get_loops("Y")
        outer, inner = sch.split(column, [None, width])
        sch.reorder(outer, k, inner)
        sch.reverse_compute_at("C", outer)
        if width > 4:
            sch.parallel(row)
            sch.vectorize(inner)
            sch.vectorize(sch.get_loops("C")[-1])
        sch.decompose_reduction("Y", k)
    return {name: sch.mod.script() for name, sch in found.items()}


def time_products(libraries: Mapping[str, Any], rounds: int) -> dict[str, dict[str, float]]:
    """The median seconds of a call of each product, by library, checked beside numpy."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype("float32") for _ in range(2))
    found = {}
    for name, text in products().items():
        calls = {}
        for library, one in libraries.items():
            arrays = [one.nd.array(array) for array in (a, b, np.zeros_like(a))]
            built = one.build(one.script.from_source(text), target=_target(library))
            built["main"](*arrays)
            np.testing.assert_allclose(
                arrays[2].numpy(), np.maximum(a @ b, 0), rtol=1e-3, atol=1e-3
            )
            calls[library] = partial(built["main"], *arrays)
        found[name] = {library: one.median for library, one in timings(calls, rounds).items()}
    return found


def _target(library: str) -> str:
    """This processor: TVM's `llvm` is the least of its architecture."""
    return "llvm" if library == OURS else f"llvm -mcpu={processor()}"


def sections(figures: Figures) -> list[tuple[str, list[str], list[list[str]]]]:
    """Tables: title, header, lines."""
    header = ["", "programs", "te_sched ms", "TVM ms", "ratio", "geometric", "largest"]
    lines = []
    for task in ("read", "print", "lower"):
        rows = list(figures[task].values())
        ours = sum(row[OURS] for row in rows)
        line = [task, str(len(rows)), f"{ours * 1e3:.1f}"]
        if all(PEER in row for row in rows):
            peers = sum(row[PEER] for row in rows)
            ratios = [row[OURS] / row[PEER] for row in rows]
            line += [f"{peers * 1e3:.1f}", f"{ours / peers:.2f}"]
            line += [f"{statistics.geometric_mean(ratios):.2f}", f"{max(ratios):.2f}"]
        lines.append(line + ["-"] * (len(header) - len(line)))
    calls = [
        [
            name,
            f"{row[OURS] * 1e6:.1f}",
            *([f"{row[PEER] * 1e6:.1f}", f"{row[OURS] / row[PEER]:.2f}"] if PEER in row else "--"),
        ]
        for name, row in figures["product"].items()
    ]
    return [
        (f"Modules (goal: {GOALS['lower']})", header, lines),
        (
            f"relu(A @ B) of {SIZE} x {SIZE} matrices (goal: {GOALS['product']})",
            ["", "te_sched us", "TVM us", "ratio"],
            calls,
        ),
    ]


def save(figures: Figures, setting: str, directory: Path) -> None:
    """The figures as JSON and as Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    kept = {"setting": setting, "seconds": figures}
    (directory / "tensorir.json").write_text(json.dumps(kept, indent=1) + "\n")
    parts = [setting, ""]
    for title, header, lines in sections(figures):
        rows = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
        parts += [f"**{title}**", "", *("| " + " | ".join(row) + " |" for row in rows), ""]
    (directory / "tensorir.md").write_text("\n".join(parts).rstrip() + "\n")


def _setting(peer: Any, rounds: int) -> str:
    versions = f"te_sched {te_sched.__version__}, Python {platform.python_version()}"
    machine = f"{platform.machine()} ({processor()}), {os.cpu_count()} cores"
    beside = f"beside TVM {peer.__version__}" if peer is not None else "TVM is not installed"
    return f"{versions}, {machine}, {threads.get_num_threads()} threads; {rounds} rounds; {beside}"


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.tensorir", main, sys.argv[1:]))
