"""A search on a cluster of dask whose workers are killed, beside searches in one process.

    python -m benchmarks.cluster                       a product of 128 x 128 matrices, 500 trials
    python -m benchmarks.cluster softmax --trials 64   another workload of benchmarks.tuning
    python -m benchmarks.cluster --results DIR         the figures as JSON and Markdown too

The cluster has two worker processes on this machine. The first one is killed (SIGKILL) while it has
work, after a quarter and after half of the trials, and dask starts it again. Candidates use one
core, so that the workers disturb each other little. The other searches measure one candidate at a
time; they differ in their seeds, and so show what differs by chance. The best programs are built
and timed here, in turn. The exit status is 1 if a trial was lost or failed, if the worker was not
killed as often as it should be, or if the cluster's best is slower than the slower of the others by
more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import te_sched
from benchmarks import peer_environment
from benchmarks.lowering import markdown
from benchmarks.processor.contest import processor
from benchmarks.tuning import WORKLOADS, in_turn, timer_of
from te_sched import meta_schedule as ms
from te_sched import te
from te_sched.target import Target
from te_sched.tools.table import table

WORKERS = 2
TOLERANCE = 0.1  # of the slower best of one process
_TARGET = Target("llvm -num-cores=1")
_PARTS = (0.25, 0.5)  # of the trials, after which the worker is killed
_HEADER = ["search", "best us", "rounds us", "trials", "failed", "kills", "seconds"]


@dataclass
class Search:
    """What a search found: seconds of its best program in each round, and of the search."""

    name: str
    trials: int
    failed: int
    kills: int
    seconds: float
    best: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Killer(threading.Thread):
    """Kills the first worker of a cluster when it has work, after some numbers of trials."""

    def __init__(self, cluster: Any, after: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self.cluster, self.after = cluster, list(after)
        self.measured, self.kills = 0, 0
        self.is_over = threading.Event()

    def run(self) -> None:
        for count in self.after:
            while self.measured < count or not self._has_work():
                if self.is_over.wait(0.05):
                    return
            os.kill(self._worker.pid, signal.SIGKILL)
            self.kills += 1
            # So that the next kill is of the process that dask starts instead.
            if self.is_over.wait(5.0):
                return

    @property
    def _worker(self) -> Any:
        """The first worker; None while dask starts it again."""
        found = self.cluster.workers.get(0)
        return None if found is None or found.pid is None else found

    def _has_work(self) -> bool:
        if self._worker is None:
            return False
        state = self.cluster.scheduler.workers.get(self._worker.worker_address)
        return state is not None and bool(state.processing)


class _Count(ms.measure_callback.PyMeasureCallback):
    """Tells the killer how many trials were measured."""

    def __init__(self, killer: Killer) -> None:
        self.killer = killer

    def apply(self, task_scheduler: Any, task_id: int, *results: Any) -> None:
        self.killer.measured += len(results[0])


def main(arguments: Sequence[str]) -> int:
    """Search, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("workload", nargs="?", default="product-128", choices=WORKLOADS)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=2, help="searches in one process")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    peer_environment.set_own({"TE_SCHED_NUM_THREADS": "1"})  # of workers too
    func = te.create_prim_func(WORKLOADS[options.workload](te))
    searches, timers = [], {}
    for seed in [None, *range(1, options.seeds + 1)]:
        name = f"cluster of {WORKERS}" if seed is None else f"one process, seed {seed}"
        with tempfile.TemporaryDirectory() as folder:
            one, database = search(name, func, options.trials, folder, seed)
            best = database.query_schedule(ms.tune_context.normalized_module(func), _TARGET)
            searches.append(one)
            if best is not None:
                timers[name] = timer_of(te_sched, best.mod, func)
        print(json.dumps(asdict(one)), flush=True)
    times = in_turn(timers)
    for one in searches:
        one.best = times.get(one.name, [])
    wrong = problems(searches, options.trials)
    here = setting(options.workload, options.trials)
    measured: dict[str, Any] = {
        "setting": here,
        "searches": [asdict(one) for one in searches],
        "problems": wrong,
    }
    print(table(_HEADER, rows(searches), right=range(1, len(_HEADER))))
    print("\n".join([here, *wrong]))
    if options.results is not None:
        (options.results / "cluster.json").write_text(json.dumps(measured, indent=1) + "\n")
        (options.results / "cluster.md").write_text(
            f"# A search on a cluster\n\n{short(measured)}\n"
        )
    return 1 if wrong else 0


def search(
    name: str, func: Any, trials: int, folder: str, seed: int | None
) -> tuple[Search, ms.database.Database]:
    """Tune a function: in one process with a seed, on a cluster without."""
    if seed is not None:
        began = time.perf_counter()
        database = tune(func, trials, folder, seed=seed)
        return _searched(name, database, 0, time.perf_counter() - began), database
    import distributed

    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        killer = Killer(cluster, [int(trials * part) for part in _PARTS])
        killer.start()
        began = time.perf_counter()
        database = tune(
            func,
            trials,
            folder,
            seed=1,
            builder=ms.builder.DaskBuilder(cluster),
            runner=ms.runner.DaskRunner(cluster),
            measure_callbacks=[*ms.measure_callback.create("default"), _Count(killer)],
        )
        spent = time.perf_counter() - began
        killer.is_over.set()
        killer.join()
    return _searched(name, database, killer.kills, spent), database


def tune(func: Any, trials: int, folder: str, **options: Any) -> ms.database.Database:
    """Tune a function, with at least eight batches of candidates."""
    batch = max(1, min(64, trials // 8))
    found: ms.database.Database = ms.tune_tir(
        func, _TARGET, folder, trials, num_trials_per_iter=batch, **options
    )
    return found


def _searched(name: str, database: ms.database.Database, kills: int, seconds: float) -> Search:
    records = database.get_all_tuning_records()
    errors = [one.error_msg or "no result" for one in records if not one.is_valid]
    return Search(name, len(records), len(errors), kills, seconds, errors=errors)


def problems(searches: Sequence[Search], trials: int) -> list[str]:
    """What is not as it should be; the first search is that of the cluster."""
    found = []
    cluster, *others = searches
    for one in searches:
        if one.trials != trials:
            found.append(f"{one.name}: {one.trials} of {trials} trials were measured")
        if one.failed:
            texts = "; ".join(dict.fromkeys(one.errors))
            found.append(f"{one.name}: {one.failed} trials failed: {texts}")
        if not one.best:
            found.append(f"{one.name}: there is no best program")
    if cluster.kills != len(_PARTS):
        found.append(f"{cluster.name}: killed {cluster.kills} times, expected {len(_PARTS)}")
    if all(one.best for one in searches) and others:
        slowest = max(statistics.median(one.best) for one in others)
        ratio = statistics.median(cluster.best) / slowest
        if ratio > 1 + TOLERANCE:
            found.append(f"the cluster's best takes {ratio:.2f} of the time of the others' best")
    return found


def rows(searches: Sequence[Search]) -> list[list[str]]:
    """The lines of the table."""
    lines = []
    for one in searches:
        best = f"{statistics.median(one.best) * 1e6:.1f}" if one.best else "-"
        rounds = f"{min(one.best) * 1e6:.1f} to {max(one.best) * 1e6:.1f}" if one.best else "-"
        counts = [str(count) for count in (one.trials, one.failed, one.kills)]
        lines.append([one.name, best, rounds, *counts, f"{one.seconds:.0f}"])
    return lines


def short(measured: dict[str, Any]) -> str:
    """The setting, the table and the problems of a saved run, as Markdown."""
    searches = [Search(**one) for one in measured["searches"]]
    text = [measured["setting"], "", *markdown(_HEADER, rows(searches))]
    wrong = [f"- {one}" for one in measured["problems"]]
    return "\n".join([*text, "", *wrong] if wrong else text)


def setting(workload: str, trials: int) -> str:
    """How and where the figures were measured."""
    here = f"{processor()}, {len(os.sched_getaffinity(0))} cores"
    return f"{workload}, {trials} trials; {here}; te_sched {te_sched.__version__}"


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.cluster", main, sys.argv[1:]))
