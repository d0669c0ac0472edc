"""The overhead of a call, and of loading te_sched.

    python -m benchmarks.calls                  everything
    python -m benchmarks.calls --results DIR    the figures as JSON and Markdown too
    python -m benchmarks.calls --only imports   one part; with --results, the other parts stay

Measured are:

- a call of a function that adds 1 to an array of one element, with arrays of te_sched and of numpy,
  compared with TVM 0.19 and its arrays, numpy's ufunc and numba's function (the report names those
  that are not installed);
- a parallel loop with almost no work, timed from native code, minus the same serial loop;
- a call of a parallel loop over 1,000 elements, on an idle machine and beside busy processes on all
  cores but one;
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
from typing import Any

import numpy as np

import te_sched
from benchmarks import peer_environment
from benchmarks.processor.contest import processor
from benchmarks.processor.measuring import timings
from te_sched import config
from te_sched.runtime import threads
from te_sched.tools.table import table

PEERS = ("tvm", "numba")
BATCH = 2000  # calls between two readings of the clock
IMPORTED = ("numpy", "te_sched", "te_sched.relax", "tvm")
GOALS = {
    "calls": "TVM's",
    "parallel": "10 us",
    "alone": "8 us",
    "beside": "TVM's",
    "stall": "1 ms",
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


def time_beside_others(rounds: int) -> Figures:
    """Seconds of a parallel call: the median alone, the mean and maximum beside busy processes.

    Mean and maximum are of BATCH calls; the result is their median over `rounds`.
    """
    calls = {"te_sched": _parallel_call(te_sched)}
    if (tvm := _load("tvm")) is not None:
        calls["TVM"] = _parallel_call(tvm)
    alone = {name: [_seconds_of_each(call) for _ in range(rounds)] for name, call in calls.items()}
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(max(1, (os.cpu_count() or 2) - 1))
    ]
    try:
        time.sleep(0.5)  # until they have started
        turns = [
            {name: _seconds_of_each(call) for name, call in calls.items()} for _ in range(rounds)
        ]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    middle = statistics.median
    return {
        "alone": {name: middle(map(middle, alone[name])) for name in calls},
        "beside": {
            name: middle([statistics.fmean(turn[name]) for turn in turns]) for name in calls
        },
        "stall": {name: middle([max(turn[name]) for turn in turns]) for name in calls},
    }


def _parallel_call(library: Any) -> Callable[[], Any]:
    """A call of a parallel loop that adds 1 to 1,000 elements."""
    te = library.te
    a = te.placeholder((1000,), name="A")
    b = te.compute((1000,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    module = library.build(s, [a, b], target="llvm")
    arrays = [library.nd.array(np.zeros(1000, "float32")) for _ in range(2)]
    return partial(module if library is te_sched else module.entry_func, *arrays)


def _seconds_of_each(call: Callable[[], Any]) -> list[float]:
    """Seconds of each of BATCH calls."""
    times = []
    for _ in range(BATCH):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


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
        ("A parallel call over 1,000 elements, alone, median", "alone", "us", 1e6),
        ("The same beside busy processes, mean", "beside", "us", 1e6),
        ("The same beside busy processes, largest of 2,000 calls", "stall", "us", 1e6),
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
