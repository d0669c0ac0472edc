"""The overhead of a call, and of loading te_sched.

    python -m benchmarks.calls                  everything
    python -m benchmarks.calls --results DIR    the figures as JSON and Markdown too
    python -m benchmarks.calls --only imports   one part; with --results, the other parts stay

Measured are:

- a call of a function that adds 1 to an array of one element, with arrays of te_sched and of numpy,
  compared with TVM 0.19 and its arrays, numpy's ufunc and numba's function (the report names those
  that are not installed);
- a parallel loop with almost no work, timed from native code, minus the same serial loop;
- a call of a parallel loop of about 7 us (120,000 elements), on an idle machine and beside a busy
  process for each core, and the same loop without threads: the scheduler of the system takes the
  core of a caller away for whole time slices, whatever it calls, so calls during which it kept its
  core are told apart;
- the processor time of `import te_sched`, alone and with its graphs, in a new process, minus that
  of an empty process; what it needs beyond numpy, which it imports, as a multiple of numpy's.

Batches of calls alternate (`benchmarks.processor.measuring`); the figure is the median.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import te_sched
from benchmarks import peer_environment
from benchmarks.processor.contest import processor
from benchmarks.processor.measuring import timings
from te_sched import config
from te_sched.runtime import threads
from te_sched.tools.table import table

OURS = "te_sched"
PEERS = ("tvm", "numba")
BATCH = 2000  # calls between two readings of the clock
ELEMENTS = 120_000  # of a loop of about 7 us
STALL = 1e-3  # seconds
TURNS = 10  # batches beside busy processes in each round
IMPORTED = ("numpy", "te_sched", "te_sched.relax", "tvm")
GOALS = {
    "calls": "TVM's",
    "parallel": "10 us",
    "alone": "8 us",
    "beside": "TVM's",
    "stall": "that of the loop without threads",
    "stalls": "those of the loop without threads",
    "wait": "1 ms",
    "imports": "2 times numpy's, beyond numpy",
}
Figures = dict[str, dict[str, float]]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=5, help="turns of each call (default 5)")
    parser.add_argument("--only", choices=PARTS, help="measure one part")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    setting = _setting()
    print(setting + "\n")
    figures: Figures = {}
    with config.scoped(cache=False):
        for name, measure in PARTS.items():
            if options.only in (None, name):
                figures |= measure(options.rounds)
    for title, header, lines in sections(figures):
        print(title + "\n\n" + table(header, lines, right=[1, 2]) + "\n")
    if options.results:
        save(figures, setting, options.results)
    return 0


def time_calls(rounds: int) -> dict[str, float]:
    """Seconds of a call that adds 1 to one element, by implementation."""
    calls = {name: partial(_repeat, call) for name, call in _calls().items()}
    return {name: timing.median / BATCH for name, timing in timings(calls, rounds).items()}


def _calls() -> dict[str, Callable[[], Any]]:
    source, result = np.ones(1, "float32"), np.zeros(1, "float32")
    ours = _add_one(te_sched)
    calls: dict[str, Callable[[], Any]] = {
        "te_sched": partial(ours, *map(te_sched.nd.array, (source, result))),
        "te_sched, arrays of numpy": partial(ours, source, result),
        "numpy.add(a, b, out)": partial(np.add, source, source, result),
    }
    if (tvm := _load("tvm")) is not None:
        calls["TVM"] = partial(_add_one(tvm).entry_func, *map(tvm.nd.array, (source, result)))
    if (numba := _load("numba")) is not None:
        calls["numba.njit, arrays of numpy"] = partial(numba.njit(_add), source, result)
    for call in calls.values():
        call()
    return calls


def _add(source: Any, result: Any) -> None:
    result[0] = source[0] + np.float32(1)


def _add_one(library: Any) -> Any:
    te = library.te
    a = te.placeholder((1,), name="A")
    b = te.compute((1,), lambda i: a[i] + 1.0, name="B")
    return library.build(te.create_schedule(b.op), [a, b], target="llvm")


def _repeat(call: Callable[[], Any]) -> None:
    for _ in range(BATCH):
        call()


def time_regions(rounds: int) -> dict[str, float]:
    """The additional seconds of a parallel loop of one iteration per thread over a serial loop."""
    libraries = {"te_sched": te_sched}
    if (tvm := _load("tvm")) is not None:
        libraries["TVM"] = tvm
    loops = {
        (name, parallel): _loop(library, parallel)
        for name, library in libraries.items()
        for parallel in (False, True)
    }
    found = timings(
        {f"{name} {parallel}": call for (name, parallel), call in loops.items()}, rounds
    )
    times = {key: timing.median / BATCH for key, timing in found.items()}
    return {name: times[f"{name} True"] - times[f"{name} False"] for name in libraries}


def _loop(library: Any, parallel: bool) -> Callable[[], Any]:
    """A function that runs a loop with almost no work BATCH times, from native code."""
    te = library.te
    count = max(threads.get_num_threads(), 2)
    b = te.compute((count,), lambda i: i.astype("float32"), name="B")
    s = te.create_schedule(b.op)
    if parallel:
        s[b].parallel(b.op.axis[0])
    module = library.build(s, [b], target="llvm")
    array = library.nd.array(np.zeros(count, "float32"))
    # time_evaluator makes one more call, to warm up.
    timer = module.time_evaluator(module.entry_name, library.cpu(0), number=BATCH - 1, repeat=1)
    return partial(timer, array)


class Calls(NamedTuple):
    """The seconds of calls, and those of them during which the caller kept its core."""

    seconds: list[float]
    kept: list[float]


def time_beside_others(rounds: int) -> Figures:
    """Seconds of a parallel call: the median alone; beside busy processes the mean, the largest,
    their number above 1 ms, and the largest of calls during which the caller kept its core.
    """
    calls = {OURS: _parallel_call(te_sched), "te_sched, without threads": _serial_call()}
    if (tvm := _load("tvm")) is not None:
        calls["TVM"] = _parallel_call(tvm)
    alone = {name: _each(call).seconds for name, call in calls.items()}
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(os.cpu_count() or 2)]
    beside = {name: Calls([], []) for name in calls}
    try:
        time.sleep(0.5)  # until they have started
        for _ in range(rounds * TURNS):
            for name, call in calls.items():
                found = _each(call)
                beside[name].seconds.extend(found.seconds)
                beside[name].kept.extend(found.kept)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return {
        "alone": {name: statistics.median(times) for name, times in alone.items()},
        "beside": {name: statistics.fmean(times.seconds) for name, times in beside.items()},
        "stall": {name: max(times.seconds) for name, times in beside.items()},
        "stalls": {
            name: sum(one > STALL for one in times.seconds) / len(times.seconds)
            for name, times in beside.items()
        },
        "wait": {name: max(times.kept) for name, times in beside.items()},
    }


def _parallel_call(library: Any) -> Callable[[], Any]:
    """A call of a parallel loop that adds 1 to elements."""
    return _adding(library, lambda schedule, stage, axis: schedule[stage].parallel(axis))


def _serial_call() -> Callable[[], Any]:
    """The same by the calling thread alone."""
    return _adding(te_sched, lambda *_: None)


def _adding(library: Any, annotate: Callable[..., None]) -> Callable[[], Any]:
    te = library.te
    a = te.placeholder((ELEMENTS,), name="A")
    b = te.compute((ELEMENTS,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    part, element = s[b].split(b.op.axis[0], nparts=threads.get_num_threads())
    annotate(s, b, part)
    s[b].vectorize(s[b].split(element, factor=16)[1])
    module = library.build(s, [a, b], target="llvm")
    arrays = [library.nd.array(np.zeros(ELEMENTS, "float32")) for _ in range(2)]
    return partial(module if library is te_sched else module.entry_func, *arrays)


def _each(call: Callable[[], Any]) -> Calls:
    """The times of BATCH calls, after some that wake threads."""
    for _ in range(20):
        call()
    found = Calls([], [])
    switches = _taken_away()
    for _ in range(BATCH):
        start = time.perf_counter()
        call()
        found.seconds.append(time.perf_counter() - start)
        before, switches = switches, _taken_away()
        if before == switches:
            found.kept.append(found.seconds[-1])
    return found


def _taken_away() -> int:
    """How often the system has taken the core of this thread away."""
    which = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    return resource.getrusage(which).ru_nivcsw


def time_imports(rounds: int) -> dict[str, float]:
    """Processor seconds of `import NAME` in a new process, from bytecode."""
    names = [name for name in IMPORTED if _load(name) is not None]
    times: dict[str, list[float]] = {name: [] for name in ("pass", *names)}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(1 + max(rounds, 3)):
            for name, found in times.items():
                code = "pass" if name == "pass" else f"import {name}"
                seconds = _processor_seconds(code, folder)
                if turn:  # the first one compiles to bytecode and warms up the system's caches
                    found.append(seconds)
    empty = statistics.median(times.pop("pass"))
    return {name: statistics.median(found) - empty for name, found in times.items()}


def _processor_seconds(code: str, bytecode: str) -> float:
    """The processor time of a program, which other programs change less than its duration."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# The parts of the benchmark, by their names.
PARTS: dict[str, Callable[[int], Figures]] = {
    "calls": lambda rounds: {"calls": time_calls(rounds)},
    "parallel": lambda rounds: {"parallel": time_regions(rounds)},
    "beside": time_beside_others,
    "imports": lambda rounds: {"imports": time_imports(rounds)},
}


def sections(figures: Figures) -> list[tuple[str, list[str], list[list[str]]]]:
    """Tables: title, header, lines."""
    parts = [
        ("A call with two arrays of one element", "calls", "us", 1e6),
        ("A parallel loop without work, less the serial loop", "parallel", "us", 1e6),
        ("A parallel call over 120,000 elements, alone, median", "alone", "us", 1e6),
        ("The same beside a busy process for each core, mean", "beside", "us", 1e6),
        ("The same, largest", "stall", "us", 1e6),
        ("The same, calls above 1 ms of 100,000", "stalls", "calls", 1e5),
        ("The same, largest of calls during which the caller kept its core", "wait", "us", 1e6),
    ]
    tables = []
    for title, key, unit, scale in parts:
        if key not in figures:
            continue
        ours = figures[key]["te_sched"]
        lines = [
            [name, f"{seconds * scale:.2f}", f"{ours / seconds:.2f}" if seconds > 0 else "-"]
            for name, seconds in figures[key].items()
        ]
        tables.append((f"{title} (goal: {GOALS[key]})", ["", unit, "te_sched to it"], lines))
    if "imports" in figures:
        title = f"import, processor time, less an empty process (goal: {GOALS['imports']})"
        header = ["", "ms", "beyond numpy, to numpy"]
        tables.append((title, header, _lines_of_imports(figures["imports"])))
    return tables


def _lines_of_imports(seconds: Mapping[str, float]) -> list[list[str]]:
    return [
        [
            name,
            f"{time * 1e3:.0f}",
            f"{beyond_numpy(seconds, name):.2f}" if name.startswith("te_sched") else "",
        ]
        for name, time in seconds.items()
    ]


def beyond_numpy(seconds: Mapping[str, float], name: str) -> float:
    """What an import needs beyond that of numpy, as a multiple of it."""
    return seconds[name] / seconds["numpy"] - 1


def save(figures: Figures, setting: str, directory: Path) -> None:
    """The figures as JSON and as Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    earlier = directory / "calls.json"
    if earlier.exists():
        figures = {**json.loads(earlier.read_text())["seconds"], **figures}
    kept = {"setting": setting, "seconds": figures}
    (directory / "calls.json").write_text(json.dumps(kept, indent=1) + "\n")
    parts = [setting, ""]
    for title, header, lines in sections(figures):
        rows = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
        parts += [f"**{title}**", "", *("| " + " | ".join(row) + " |" for row in rows), ""]
    (directory / "calls.md").write_text("\n".join(parts).rstrip() + "\n")


def _load(name: str) -> Any:
    """A peer, or None if it is not installed (or is a TVM without te)."""
    try:
        module = importlib.import_module(name)
        if name == "tvm":
            importlib.import_module("tvm.te")
    except ImportError:
        return None
    return module


def _setting() -> str:
    peers = {name: _load(name) for name in PEERS}
    versions = {
        "te_sched": te_sched.__version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        **{name: peer.__version__ for name, peer in peers.items() if peer is not None},
    }
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    missing = [name for name, peer in peers.items() if peer is None]
    absent = f"; not installed: {', '.join(missing)}" if missing else ""
    machine = f"{platform.machine()} ({processor()}), {os.cpu_count()} cores"
    return f"{told}; {machine}; {threads.get_num_threads()} threads{absent}"


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.calls", main, sys.argv[1:]))
