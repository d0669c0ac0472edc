"""Times of lowering and building each program of the corpus, compared with TVM 0.19.

    python -m benchmarks.lowering                        everything in tests/golden
    python -m benchmarks.lowering --family primitives    one family (may be repeated)
    python -m benchmarks.lowering --corpus DIR           other programs, in folders by family
    python -m benchmarks.lowering --lower-only           no builds, which take much longer
    python -m benchmarks.lowering --results DIR          the figures as JSON and Markdown too

Four times are measured, each summed over the steps of a program: lower(schedule, args,
simple_mode=True); a cold build(schedule, args) for this processor, up to a callable function; the
verification in te_sched's build; and te_sched's build of a program in its cache on disk (TVM has
none). Builds are measured for programs that both can build for a CPU.

Each round declares and schedules the program again (not timed), so that it cannot use results of
earlier rounds; the implementations alternate in one process, and the first round warms up. The
figure is the median of the rounds. Python's garbage collector is on, as for users.

The peak memory of te_sched's lowering is that of Python's objects (tracemalloc), in the step with
the largest peak. It is measured separately, since tracing is slow.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import te_sched
from benchmarks import peer_environment
from benchmarks.processor.contest import processor
from te_sched import config, driver
from te_sched.driver.plan import Step
from te_sched.progress import progress
from te_sched.tools.table import table
from tests.golden import corpus

OURS, PEER = "te_sched", "tvm"
LOWER, BUILD, CACHED = "lower", "build", "cached build"
GOALS = {LOWER: "1x TVM", BUILD: "1.25x TVM", CACHED: "2 ms"}
VERIFY = "verification"
_JUDGES = {"check_schedule", "check_results", "judge_programs", "guard_indices", "judge_passes"}


@dataclass(frozen=True)
class Row:
    """The figures of one program: seconds by task and implementation.

    `failed` has the reasons why an implementation does not lower it, `unbuilt` does not build it.
    """

    family: str
    name: str
    steps: int
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    unbuilt: dict[str, str] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)  # bytes, by task

    def ratio(self, what: str = LOWER) -> float | None:
        """te_sched's time divided by the peer's, if both have one."""
        times = self.seconds.get(what, {})
        return times[OURS] / times[PEER] if OURS in times and PEER in times else None


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save the figures."""
    options = _options(arguments)
    implementations = {OURS: te_sched}
    if (peer := load_peer()) is not None:
        implementations[PEER] = peer
    programs = corpus.programs(*options.family, root=options.corpus)
    if not programs:
        print(f"there are no programs in {options.corpus}")
        return 1
    setting = _setting(peer, options.rounds)
    print(setting + "\n")
    with tempfile.TemporaryDirectory() as folder, config.scoped(cache=False, cache_dir=folder):
        rows = []
        for program in progress(programs, "programs"):
            rows.append(measure(program, implementations, options.rounds))
            measure_peak(rows[-1], program)
            if not options.lower_only:
                measure_builds(rows[-1], program, implementations, max(1, options.rounds // 2))
    print(report(rows))
    print("\n" + summary(rows))
    if options.results:
        save(rows, setting, options.results)
    return 1 if any(OURS in row.failed for row in rows) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lowering", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--family", action="append", default=[], choices=corpus.FAMILIES)
    parser.add_argument("--corpus", type=Path, default=corpus.HERE, metavar="DIR")
    parser.add_argument(
        "--rounds", type=int, default=5, help="timed rounds (default 5), half as many of builds"
    )
    parser.add_argument("--lower-only", action="store_true")
    parser.add_argument("--results", type=Path, metavar="DIR")
    return parser.parse_args(arguments)


def load_peer() -> Any:
    """TVM with TE schedules, or None if the `peers` extra is not installed."""
    try:
        peer = importlib.import_module(PEER)
        importlib.import_module(f"{PEER}.te")
    except ImportError:
        return None
    return peer if hasattr(peer.te, "create_schedule") else None


def measure(program: corpus.Program, implementations: Mapping[str, Any], rounds: int) -> Row:
    """The median times of lowering a program."""
    tasks = {name: partial(_lower, program, one) for name, one in implementations.items()}
    seconds, failed = medians(tasks, rounds)
    steps = len(program.step_names())
    return Row(program.family, program.name, steps, {LOWER: seconds}, failed)


def measure_builds(
    row: Row, program: corpus.Program, implementations: Mapping[str, Any], rounds: int
) -> None:
    """Add the median times of building the program, if all implementations can."""
    tasks = {name: partial(_build, program, one) for name, one in implementations.items()}
    with verification_timed() as spent:
        seconds, failed = medians(tasks, rounds)
    row.unbuilt.update(failed)
    if not failed:
        row.seconds[BUILD] = seconds
        row.seconds[VERIFY] = {OURS: sum(spent) / (1 + rounds)}
        with config.scoped(cache=True):  # the first round fills it
            kept, _ = medians({OURS: tasks[OURS]}, max(rounds, 3))
        row.seconds[CACHED] = kept


def measure_peak(row: Row, program: corpus.Program) -> None:
    """Add the largest increase of memory while a step of the program is lowered."""
    if OURS in row.failed:
        return
    peak = 0
    for schedule, args in program.steps(te_sched):
        gc.collect()
        tracemalloc.start()
        te_sched.lower(schedule, args, simple_mode=True)
        peak = max(peak, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    row.peak[LOWER] = peak


def medians(
    tasks: Mapping[str, Callable[[], float]], rounds: int
) -> tuple[dict[str, float], dict[str, str]]:
    """The median of the times of each task, and the reasons why some have none."""
    samples: dict[str, list[float]] = {name: [] for name in tasks}
    failed: dict[str, str] = {}
    gc.collect()
    for _ in range(1 + rounds):
        for name, task in tasks.items():
            if name not in failed:
                try:
                    samples[name].append(task())
                except Exception as error:  # shown as a line of the table
                    lines = str(error).splitlines() or [""]
                    failed[name] = f"{type(error).__name__}: {lines[0]}"
    done = {name: values for name, values in samples.items() if name not in failed}
    return {name: statistics.median(values[1:]) for name, values in done.items()}, failed


def _lower(program: corpus.Program, implementation: Any) -> float:
    """The time of lowering all steps of a newly declared and scheduled program."""
    total = 0.0
    lower = implementation.lower
    for schedule, args in program.steps(implementation):
        start = time.perf_counter()
        lower(schedule, args, simple_mode=True)
        total += time.perf_counter() - start
    return total


@contextmanager
def verification_timed() -> Iterator[list[float]]:
    """Record the time of each step of verification in te_sched's builds inside the `with`."""
    spent: list[float] = []

    def timed(step: Step) -> Step:
        def run(work: Any) -> None:
            start = time.perf_counter()
            try:
                step.run(work)
            finally:
                spent.append(time.perf_counter() - start)

        return step._replace(run=run)

    plan = driver.PLAN
    driver.PLAN = tuple(timed(one) if one.run.__name__ in _JUDGES else one for one in plan)
    try:
        yield spent
    finally:
        driver.PLAN = plan


def _build(program: corpus.Program, implementation: Any) -> float:
    """The time of building all steps, until the functions can be called."""
    total = 0.0
    target = "llvm"
    if implementation is not te_sched:
        target = implementation.target.Target(f"llvm -mcpu={processor()}")
    for schedule, args in program.steps(implementation):
        start = time.perf_counter()
        module = implementation.build(schedule, args, target=target)
        _ = module.entry_func  # TVM links when a function is requested
        total += time.perf_counter() - start
    return total


def overall(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Sums, medians and ratios of each task, over the programs that both can do."""
    return {
        what: _overall([row for row in rows if OURS in row.seconds.get(what, {})], what)
        for what in (LOWER, BUILD, CACHED)
        if any(what in row.seconds for row in rows)
    }


def _overall(rows: Sequence[Row], what: str) -> dict[str, float]:
    ours = [row.seconds[what][OURS] for row in rows]
    figures: dict[str, float] = {
        "programs": len(rows),
        "steps": sum(row.steps for row in rows),
        "te_sched_seconds": sum(ours),
    }
    if rows:
        each = [row.seconds[what][OURS] / row.steps for row in rows]
        figures["te_sched_median_of_a_step"] = statistics.median(each)
        figures["te_sched_longest_step"] = max(each)
    peaks = [row.peak[what] for row in rows if what in row.peak]
    if peaks:
        figures["largest_peak_mebibytes"] = max(peaks) / 2**20
        figures["median_peak_mebibytes"] = statistics.median(peaks) / 2**20
    compared = [row for row in rows if row.ratio(what) is not None]
    if compared:
        ratios = [row.ratio(what) or math.nan for row in compared]
        theirs = sum(row.seconds[what][PEER] for row in compared)
        sums = sum(row.seconds[what][OURS] for row in compared)
        figures |= {
            "compared": len(compared),
            "compared_te_sched_seconds": sums,
            "compared_tvm_seconds": theirs,
            "ratio_of_sums": sums / theirs,
            "geometric_mean_ratio": math.exp(statistics.fmean(map(math.log, ratios))),
            "largest_ratio": max(ratios),
        }
    return figures


def report(rows: Sequence[Row]) -> str:
    """One line per program."""
    header, lines = _lines(rows)
    return table(header, lines, right=range(2, len(header) - 1))


def _lines(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    timed = [what for what in (LOWER, BUILD, CACHED) if any(what in row.seconds for row in rows)]
    header = ["family", "program", "steps"]
    for what in timed:
        header += [f"{what} ms", "TVM ms", "ratio"] if what != CACHED else [f"{what} ms"]
        header += ["peak MiB"] if what == LOWER else []
    lines = []
    for row in rows:
        line = [row.family, row.name, str(row.steps)]
        for what in timed:
            times = row.seconds.get(what, {})
            line.append(_milliseconds(times.get(OURS)))
            if what != CACHED:
                ratio = row.ratio(what)
                line += [_milliseconds(times.get(PEER)), "-" if ratio is None else f"{ratio:.2f}"]
            if what == LOWER:
                line.append(f"{row.peak[LOWER] / 2**20:.2f}" if LOWER in row.peak else "-")
        reasons = [f"{name}: {reason}" for name, reason in row.failed.items()]
        lines.append([*line, "; ".join(reasons)])
    return [*header, ""], lines


def summary(rows: Sequence[Row]) -> str:
    """The totals in words."""
    header, lines = _totals(rows)
    steps = sum(row.steps for row in rows)
    ours = sum(row.seconds.get(LOWER, {}).get(OURS, 0.0) for row in rows)
    parts = [f"{len(rows)} programs, {steps} lowerings: te_sched {_milliseconds(ours)} ms"]
    if failed := sum(OURS in row.failed for row in rows):
        parts.append(f"{failed} programs FAILED in te_sched")
    figures = overall(rows).get(LOWER, {})
    if "largest_peak_mebibytes" in figures:
        most, median = figures["largest_peak_mebibytes"], figures["median_peak_mebibytes"]
        parts.append(
            f"peak memory of lowering: {median:.2f} MiB (median), {most:.2f} MiB (largest)"
        )
    if lines:
        parts += ["", table(header, lines, right=range(1, len(header) - 1))]
    if (share := verification_share(rows)) is not None:
        parts += ["", f"verification: {share:.1%} of the time of cold builds (goal: at most 20%)"]
    return "\n".join(parts)


def verification_share(rows: Sequence[Row]) -> float | None:
    """The share of verification in the time of cold builds; None if nothing was built."""
    built = [row.seconds for row in rows if VERIFY in row.seconds]
    if not built:
        return None
    spent = sum(seconds[VERIFY][OURS] for seconds in built)
    return spent / sum(seconds[BUILD][OURS] for seconds in built)


def _totals(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    header = ["", "programs", "steps", "median ms", "longest", "sum", "TVM's sum"]
    header += ["ratio", "geometric", "largest", "goal"]
    lines = []
    for what, figures in overall(rows).items():
        line = [what, f"{figures['programs']:.0f}", f"{figures['steps']:.0f}"]
        line += [
            _milliseconds(figures.get(key))
            for key in (
                *("te_sched_median_of_a_step", "te_sched_longest_step"),
                *("te_sched_seconds", "compared_tvm_seconds"),
            )
        ]
        for key in ("ratio_of_sums", "geometric_mean_ratio", "largest_ratio"):
            line.append(f"{figures[key]:.2f}" if key in figures else "-")
        lines.append([*line, GOALS[what]])
    return header, lines


def save(rows: Sequence[Row], setting: str, directory: Path) -> None:
    """The figures as JSON and as Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    figures = {
        "setting": setting,
        "overall": overall(rows),
        "verification_share": verification_share(rows),
        "rows": [
            {**asdict(row), "ratios": {what: row.ratio(what) for what in row.seconds}}
            for row in rows
        ],
    }
    (directory / "lowering.json").write_text(json.dumps(figures, indent=1) + "\n")
    parts = [setting, "", *markdown(*_totals(rows)), "", *markdown(*_lines(rows))]
    (directory / "lowering.md").write_text("\n".join(parts) + "\n")


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines of Markdown."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *lines)]


def _setting(peer: Any, rounds: int) -> str:
    versions = f"te_sched {te_sched.__version__}, Python {platform.python_version()}"
    machine = f"{platform.machine()} ({processor()}), {os.cpu_count()} cores"
    beside = (
        f"beside TVM {peer.__version__}"
        if peer is not None
        else "TVM 0.19 is not installed: pip install '.[peers]' to see its times"
    )
    return f"{versions}, {machine}; medians of {rounds} rounds; {beside}"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.2f}"


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.lowering", main, sys.argv[1:]))
