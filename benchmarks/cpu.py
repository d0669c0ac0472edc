"""Workloads on the CPU: te_sched compared with TVM (same schedules), numpy, torch and Halide.

    python -m benchmarks.cpu                   every workload
    python -m benchmarks.cpu --only GEMM       workloads with this prefix (may be repeated)
    python -m benchmarks.cpu --results DIR     also as JSON, Markdown and a plot; results of other
                                               workloads in DIR are kept
    python -m benchmarks.cpu --threads N       the number of threads

Each schedule is first checked against numpy, at sizes that its tiles do not divide. Then the calls
of all implementations are timed in turns; the figure is the median of the turns' medians. The
report names peers that are not installed. The machine should be idle: disturbed turns are repeated,
and counted if all repetitions are disturbed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import te_sched
from benchmarks import peer_environment
from benchmarks.processor import peaks, report
from benchmarks.processor.contest import compete, processor
from benchmarks.processor.measuring import ROUNDS
from benchmarks.processor.registry import WORKLOADS
from benchmarks.processor.workload import Workload
from te_sched.processors import usable_processors

_PEERS = {"TVM": "xtc-tvm-python-bindings", "numpy": "numpy", "torch": "torch", "Halide": "halide"}
_THREADS = (
    *("TE_SCHED_NUM_THREADS", "OMP_NUM_THREADS", "TVM_NUM_THREADS"),
    *("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "HL_NUM_THREADS"),
)


def with_threads(count: int) -> dict[str, str]:
    """The environment for all libraries, which read it when they are loaded.

    By default TVM would bind the calling thread to one core, and all pools started later with it.
    """
    return {**dict.fromkeys(_THREADS, str(count)), "TVM_BIND_THREADS": "0"}


def machine(threads: int) -> dict[str, Any]:
    """The hardware and the versions."""
    versions = {"te_sched": te_sched.__version__}
    for name, package in _PEERS.items():
        try:
            versions[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "model": _model(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "numpy": peer_environment.numpy_kernels(),
        "python": platform.python_version(),
        "versions": versions,
    }


def _model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def run(
    workloads: Sequence[Workload], threads: int, rounds: int, directory: Path | None
) -> dict[str, Any]:
    """All figures; saved after each workload."""
    figures: dict[str, Any] = {
        "machine": machine(threads),
        "peaks": {
            "gigaflops": peaks.gigaflops(threads),
            "gigabytes_per_second": peaks.gigabytes_per_second(),
        },
        "rows": _kept(directory, threads),
    }
    measured = []
    for workload in workloads:
        row = asdict(compete(workload, rounds))
        measured.append(row)
        print(f"{row['name']}: {row['median_ms']} {row['failed']}", file=sys.stderr, flush=True)
        figures["rows"] = _merged(figures["rows"], row)
        if directory is not None:
            save(figures, directory)
    return figures | {"rows": measured}


def _kept(directory: Path | None, threads: int) -> list[dict[str, Any]]:
    """The results of an earlier run with the same number of threads."""
    path = directory / "cpu.json" if directory is not None else None
    if path is None or not path.exists():
        return []
    figures = json.loads(path.read_text())
    known = [workload.name for workload in WORKLOADS]
    rows = figures["rows"] if figures["machine"]["threads"] == threads else []
    return [row for row in rows if row["name"] in known]


def _merged(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """Old and new rows in the order of the registry."""
    order = {workload.name: number for number, workload in enumerate(WORKLOADS)}
    others = [one for one in rows if one["name"] != row["name"]]
    return sorted([*others, row], key=lambda one: order.get(one["name"], len(order)))


def save(figures: dict[str, Any], directory: Path) -> None:
    """The figures as JSON, as Markdown and as a plot."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cpu.json").write_text(json.dumps(figures, indent=1) + "\n")
    (directory / "cpu.md").write_text(report.markdown(figures))
    report.plot(figures, directory / "cpu.png")


def chosen(names: Sequence[str]) -> list[Workload]:
    """The workloads whose name has one of the prefixes; all if there are none."""
    found = [one for one in WORKLOADS if not names or one.name.lower().startswith(tuple(names))]
    if not found:
        raise SystemExit(f"no such workload; there are {', '.join(one.name for one in WORKLOADS)}")
    return found


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", action="append", default=[], type=str.lower, metavar="NAME")
    parser.add_argument("--threads", type=int, default=usable_processors(), metavar="N")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="turns of each")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    workloads = chosen(options.only)
    wanted = with_threads(options.threads)
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        environment = peer_environment.as_users_run(os.environ, wanted)
        return peer_environment.restart("benchmarks.cpu", arguments, environment)
    figures = run(workloads, options.threads, options.rounds, options.results)
    print(report.text(figures))
    own = ("te_sched", "te_sched, tutorial")
    return 1 if any(name in row["failed"] for row in figures["rows"] for name in own) else 0


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.cpu", main, sys.argv[1:]))
