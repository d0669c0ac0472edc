"""How long lowering takes, for each program of the corpus, beside TVM 0.19 in the same process.

    python -m benchmarks.lowering                        everything in tests/golden
    python -m benchmarks.lowering --family primitives    one family (may be repeated)
    python -m benchmarks.lowering --corpus DIR           programs elsewhere, in folders by family
    python -m benchmarks.lowering --json FILE            the figures as JSON too

What is timed is lower(schedule, args, simple_mode=True), summed over the steps of a program. Each
round declares and schedules the program anew (not timed), so nothing that one round learned helps
the next; the implementations take turns, and the first round warms up. The figure is the median of
the rounds. Python's garbage collector is left on, as users have it.
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
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import te_sched
from te_sched.tools.table import table
from tests.golden import corpus

OURS, PEER = "te_sched", "tvm"


@dataclass(frozen=True)
class Row:
    """The figures of one program, in seconds; `failed` says why an implementation gave none."""

    family: str
    name: str
    steps: int
    seconds: dict[str, float]
    failed: dict[str, str]

    @property
    def ratio(self) -> float | None:
        """te_sched's time over the peer's, where both have one."""
        if OURS in self.seconds and PEER in self.seconds:
            return self.seconds[OURS] / self.seconds[PEER]
        return None


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    implementations = {OURS: te_sched}
    if (peer := load_peer()) is not None:
        implementations[PEER] = peer
    programs = corpus.programs(*options.family, root=options.corpus)
    if not programs:
        print(f"there are no programs in {options.corpus}")
        return 1
    print(_setting(peer, options.rounds))
    rows = [measure(program, implementations, options.rounds) for program in programs]
    print(report(rows))
    print("\n" + summary(rows))
    if options.json:
        figures = [{**asdict(row), "ratio": row.ratio} for row in rows]
        options.json.write_text(json.dumps({"rows": figures, "overall": overall(rows)}, indent=1))
    return 1 if any(OURS in row.failed for row in rows) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lowering", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--family", action="append", default=[], choices=corpus.FAMILIES)
    parser.add_argument("--corpus", type=Path, default=corpus.HERE, metavar="DIR")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args(arguments)


def load_peer() -> Any:
    """TVM with TE schedules, or None where the `peers` extra is not installed."""
    try:
        peer = importlib.import_module(PEER)
        importlib.import_module(f"{PEER}.te")
    except ImportError:
        return None
    return peer if hasattr(peer.te, "create_schedule") else None


def measure(program: corpus.Program, implementations: dict[str, Any], rounds: int) -> Row:
    """The median time of each implementation for one program."""
    samples: dict[str, list[float]] = {name: [] for name in implementations}
    failed: dict[str, str] = {}
    steps = len(program.step_names())
    gc.collect()
    for _ in range(1 + rounds):
        for name, implementation in implementations.items():
            if name not in failed:
                try:
                    samples[name].append(_seconds(program, implementation))
                except Exception as error:  # what cannot be lowered is a line of the table
                    failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    seconds = {
        name: statistics.median(values[1:])
        for name, values in samples.items()
        if name not in failed
    }
    return Row(program.family, program.name, steps, seconds, failed)


def _seconds(program: corpus.Program, implementation: Any) -> float:
    """Time of lowering every step of a freshly declared and scheduled program."""
    total = 0.0
    lower = implementation.lower
    for schedule, args in program.steps(implementation):
        start = time.perf_counter()
        lower(schedule, args, simple_mode=True)
        total += time.perf_counter() - start
    return total


def report(rows: Sequence[Row]) -> str:
    """A line per program."""
    header = ["family", "program", "steps", "te_sched ms", "TVM ms", "ratio", ""]
    lines = [
        [
            row.family,
            row.name,
            str(row.steps),
            _milliseconds(row.seconds.get(OURS)),
            _milliseconds(row.seconds.get(PEER)),
            "-" if row.ratio is None else f"{row.ratio:.2f}",
            "; ".join(f"{name}: {reason}" for name, reason in row.failed.items()),
        ]
        for row in rows
    ]
    return table(header, lines, right=[2, 3, 4, 5])


def overall(rows: Sequence[Row]) -> dict[str, float]:
    """The totals, and the ratios over the programs that both implementations lower."""
    figures = {"te_sched_seconds": sum(row.seconds.get(OURS, 0.0) for row in rows)}
    compared = [row for row in rows if row.ratio is not None]
    if compared:
        ratios = [row.seconds[OURS] / row.seconds[PEER] for row in compared]
        ours = sum(row.seconds[OURS] for row in compared)
        theirs = sum(row.seconds[PEER] for row in compared)
        figures |= {
            "compared": len(compared),
            "compared_te_sched_seconds": ours,
            "compared_tvm_seconds": theirs,
            "ratio_of_sums": ours / theirs,
            "geometric_mean_ratio": math.exp(statistics.fmean(map(math.log, ratios))),
            "largest_ratio": max(ratios),
        }
    return figures


def summary(rows: Sequence[Row]) -> str:
    """The totals in words."""
    figures = overall(rows)
    steps = sum(row.steps for row in rows)
    lines = [
        f"{len(rows)} programs, {steps} lowerings: "
        f"te_sched {_milliseconds(figures['te_sched_seconds'])} ms"
    ]
    if failed := sum(OURS in row.failed for row in rows):
        lines.append(f"{failed} programs FAILED in te_sched")
    if "compared" in figures:
        lines.append(
            f"beside TVM 0.19, over {figures['compared']} programs:"
            f" {_milliseconds(figures['compared_te_sched_seconds'])} ms against"
            f" {_milliseconds(figures['compared_tvm_seconds'])} ms,"
            f" ratio {figures['ratio_of_sums']:.2f} of the sums,"
            f" {figures['geometric_mean_ratio']:.2f} geometric mean,"
            f" {figures['largest_ratio']:.2f} largest"
        )
    return "\n".join(lines)


def _setting(peer: Any, rounds: int) -> str:
    versions = f"te_sched {te_sched.__version__}, Python {platform.python_version()}"
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    beside = (
        f"beside TVM {peer.__version__}"
        if peer is not None
        else "TVM 0.19 is not installed: pip install 'te-sched[peers]' to see its times"
    )
    return f"{versions}, {machine}; medians of {rounds} rounds; {beside}\n"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
