"""Searches for schedules, beside TVM 0.19's meta_schedule and, where it is installed, torch.

    python -m benchmarks.tuning                        all workloads, 64 trials
    python -m benchmarks.tuning product-128 softmax    some of them
    python -m benchmarks.tuning --trials 256           more trials
    python -m benchmarks.tuning --results DIR          the figures as JSON and Markdown too

Each workload is tuned by te_sched and by TVM from its default space, one after the other, each in a
process of its own, with the same number of trials and cores. The best program of each is then built
and timed here, in turn; the figure is the median of the rounds. The time of a search is that of its
process.

With `--results` each row is saved when it is measured, in files of this number of trials. The same
command goes on after the last one; `--again` measures all rows again.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peer_environment
from benchmarks.lowering import OURS, PEER, load_peer, markdown
from benchmarks.processor.contest import processor
from te_sched.tools.table import table

CORES = len(os.sched_getaffinity(0))
ROUNDS = 7
TRIALS = 64
_TORCH = "torch"
_LIMIT = 7200.0  # seconds of a search, after which it has failed


def _product(te: Any, m: int, n: int, k: int, dtype: str = "float32", out: str = "") -> list[Any]:
    a = te.placeholder((m, k), name="A", dtype=dtype)
    b = te.placeholder((k, n), name="B", dtype=dtype)
    r = te.reduce_axis((0, k), name="k")
    out = out or dtype
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(a[i, r].astype(out) * b[r, j].astype(out), axis=r),
        name="C",
    )
    return [a, b, c]


def _product_bias_relu(te: Any) -> list[Any]:
    a, b, c = _product(te, 512, 512, 512)
    bias = te.placeholder((512,), name="bias")
    added = te.compute((512, 512), lambda i, j: c[i, j] + bias[j], name="added")
    relu = te.compute((512, 512), lambda i, j: te.max(added[i, j], 0.0), name="relu")
    return [a, b, bias, relu]


def _batch_product(te: Any) -> list[Any]:
    a, b = (te.placeholder((16, 128, 128), name=name) for name in "AB")
    r = te.reduce_axis((0, 128), name="k")
    c = te.compute(
        (16, 128, 128),
        lambda n, i, j: te.sum(a[n, i, r] * b[n, r, j], axis=r),
        name="C",
    )
    return [a, b, c]


def _conv2d(te: Any, size: int, channels: int, kernel: int, depthwise: bool = False) -> list[Any]:
    edge = kernel // 2
    x = te.placeholder((1, channels, size, size), name="X")
    shape = (channels, 1 if depthwise else channels, kernel, kernel)
    w = te.placeholder(shape, name="W")
    padded = te.compute(
        (1, channels, size + 2 * edge, size + 2 * edge),
        lambda n, c, h, v: te.if_then_else(
            te.all(h >= edge, h < size + edge, v >= edge, v < size + edge),
            x[n, c, h - edge, v - edge],
            0.0,
        ),
        name="padded",
    )
    dh, dv = te.reduce_axis((0, kernel), name="dh"), te.reduce_axis((0, kernel), name="dv")
    rc = te.reduce_axis((0, 1 if depthwise else channels), name="rc")

    def element(n: Any, c: Any, h: Any, v: Any) -> Any:
        source = padded[n, c if depthwise else rc, h + dh, v + dv]
        return te.sum(source * w[c, rc, dh, dv], axis=[rc, dh, dv])

    return [x, w, te.compute((1, channels, size, size), element, name="Y")]


def _softmax(te: Any) -> list[Any]:
    x = te.placeholder((1024, 1024), name="X")
    k = te.reduce_axis((0, 1024), name="k")
    most = te.compute((1024,), lambda i: te.max(x[i, k], axis=k), name="most")
    powers = te.compute((1024, 1024), lambda i, j: te.exp(x[i, j] - most[i]), name="powers")
    r = te.reduce_axis((0, 1024), name="r")
    total = te.compute((1024,), lambda i: te.sum(powers[i, r], axis=r), name="total")
    return [x, te.compute((1024, 1024), lambda i, j: powers[i, j] / total[i], name="Y")]


def _layer_norm(te: Any) -> list[Any]:
    x = te.placeholder((512, 768), name="X")
    k, r = te.reduce_axis((0, 768), name="k"), te.reduce_axis((0, 768), name="r")
    total = te.compute((512,), lambda i: te.sum(x[i, k], axis=k), name="total")
    square = te.compute((512,), lambda i: te.sum(x[i, r] * x[i, r], axis=r), name="square")

    def element(i: Any, j: Any) -> Any:
        mean = total[i] * (1.0 / 768)
        return (x[i, j] - mean) * te.rsqrt(square[i] * (1.0 / 768) - mean * mean + 1e-5)

    return [x, te.compute((512, 768), element, name="Y")]


WORKLOADS: dict[str, Callable[[Any], list[Any]]] = {
    "product-128": lambda te: _product(te, 128, 128, 128),
    "product-512": lambda te: _product(te, 512, 512, 512),
    "product-1024": lambda te: _product(te, 1024, 1024, 1024),
    "batch-product": _batch_product,
    "conv2d-3x3": lambda te: _conv2d(te, 28, 64, 3),
    "conv2d-1x1": lambda te: _conv2d(te, 28, 128, 1),
    "depthwise": lambda te: _conv2d(te, 56, 128, 3, depthwise=True),
    "softmax": _softmax,
    "layer-norm": _layer_norm,
    "product-bias-relu": _product_bias_relu,
    "int8-product": lambda te: _product(te, 512, 512, 512, "int8", "int32"),
}
Figures = dict[str, dict[str, Any]]


def main(arguments: Sequence[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--results", type=Path, metavar="DIR")
    parser.add_argument("--records", type=Path, metavar="DIR", help="of searches, made there once")
    parser.add_argument("--without-peer", action="store_true", help="te_sched alone")
    parser.add_argument("--again", action="store_true", help="measure saved rows again")
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "DIR"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = [one for one in options.names if one not in WORKLOADS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: use some of {', '.join(WORKLOADS)}")
    names = options.names or list(WORKLOADS)
    if options.one:
        search(options.one[0], names[0], options.trials, options.one[1])
        return 0
    peer = None if options.without_peer else load_peer()
    libraries = {OURS: importlib.import_module("te_sched")}
    if peer is not None:
        libraries[PEER] = peer
    here = setting(options.trials, libraries)
    measured: dict[str, Any] = {"setting": here, "figures": {}}
    if options.results is not None:
        stem = stem_of(options.trials)
        measured = saved(options.results / f"{stem}.json", here)
    figures = measured["figures"]
    for name in names:
        if name not in figures or options.again:
            figures[name] = measure(name, libraries, options.trials, options.records)
            if options.results is not None:
                save(options.results, stem, measured)
        print(json.dumps({name: figures[name]}), flush=True)
    header, lines = rows(figures)
    print(table(header, lines, right=range(1, len(header))))
    print("\n".join([here, *failures(figures)]))
    return 0


def stem_of(trials: int) -> str:
    """The name of the files of searches of a number of trials."""
    return "tuning" if trials == TRIALS else f"tuning-{trials}"


def saved(path: Path, here: str) -> dict[str, Any]:
    """The figures that were saved in the same setting; none if there are none."""
    if path.exists():
        measured: dict[str, Any] = json.loads(path.read_text())
        if measured["setting"] == here:
            return measured
    return {"setting": here, "figures": {}}


def save(results: Path, stem: str, measured: dict[str, Any]) -> None:
    """Write the figures as JSON and Markdown."""
    in_order = {
        name: measured["figures"][name] for name in WORKLOADS if name in measured["figures"]
    }
    measured = {**measured, "figures": in_order}
    (results / f"{stem}.json").write_text(json.dumps(measured, indent=1) + "\n")
    (results / f"{stem}.md").write_text(f"# Searches\n\n{short(measured)}\n")


def short(measured: dict[str, Any]) -> str:
    """The setting and the table of saved figures, as Markdown."""
    header, lines = rows(measured["figures"])
    text = [measured["setting"], "", *markdown(header, lines)]
    failed = [f"- {one}" for one in failures(measured["figures"])]
    return "\n".join([*text, "", *failed] if failed else text)


def failures(figures: Figures) -> list[str]:
    """Which searches failed, and why."""
    return [
        f"{name}: {key.removeprefix('failed ')} failed: {why}"
        for name, one in figures.items()
        for key, why in one.items()
        if key.startswith("failed ")
    ]


def search(library: str, name: str, trials: int, folder: str) -> None:
    """Tune one workload with one library into a folder."""
    root = importlib.import_module(library)
    te = importlib.import_module(f"{library}.te")
    ms = importlib.import_module(f"{library}.meta_schedule")
    func = te.create_prim_func(WORKLOADS[name](te))
    ms.tune_tir(
        mod=func,
        target=root.target.Target(_target()),
        work_dir=folder,
        max_trials_global=trials,
        seed=1,
    )


def measure(
    name: str, libraries: Mapping[str, Any], trials: int, records: Path | None = None
) -> dict[str, Any]:
    """The seconds of the searches and of the best programs, and why others failed.

    records : a folder for the databases; searches that have ended there are not made again.
    """
    found: dict[str, Any] = {}
    timers = {}
    with tempfile.TemporaryDirectory() as unkept:
        for library, root in libraries.items():
            place = str((records or Path(unkept)) / f"{name}-{trials}" / library)
            try:
                found[f"search {library}"] = _search_once(library, name, trials, place)
                timers[library] = best(root, library, name, place)
            except Exception as error:  # of a library that cannot tune or build the workload
                found[f"failed {library}"] = f"{type(error).__name__}: {error}"[-300:]
    rival = _torch_timer(name)
    if rival is not None:
        timers[_TORCH] = rival
    return found | {library: statistics.median(one) for library, one in in_turn(timers).items()}


def in_turn(timers: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """The seconds of several programs, which are timed in turn, in each round."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            times[name].append(timer())
    return times


def _search_once(library: str, name: str, trials: int, folder: str) -> float:
    """The seconds of a search, which is made unless it has ended in the folder before."""
    kept = Path(folder) / "seconds.json"
    if not kept.exists():
        Path(folder).mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        _search_apart(library, name, trials, folder)
        kept.write_text(json.dumps(time.perf_counter() - began))
    seconds: float = json.loads(kept.read_text())
    return seconds


def _search_apart(library: str, name: str, trials: int, folder: str) -> None:
    """`search` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tuning", name, "--trials", str(trials)]
    done = subprocess.run(
        [*command, "--one", library, folder], capture_output=True, text=True, timeout=_LIMIT
    )
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr[-250:].strip()}")


def best(root: Any, library: str, name: str, folder: str) -> Callable[[], float]:
    """A function that times the best program of a database."""
    ms = importlib.import_module(f"{library}.meta_schedule")
    te = importlib.import_module(f"{library}.te")
    func = te.create_prim_func(WORKLOADS[name](te))
    database = ms.database.JSONDatabase(work_dir=folder)
    sch = ms.tir_integration.compile_tir(database, func, root.target.Target(_target()))
    if sch is None:
        raise RuntimeError("no trial could be measured")
    return timer_of(root, sch.mod, func)


def timer_of(root: Any, mod: Any, func: Any) -> Callable[[], float]:
    """A function that times a schedule of a function: the median of five."""
    built = root.build(mod, target=_target())
    arguments = [root.nd.array(one) for one in _arrays(func)]
    evaluator = built.time_evaluator("main", root.cpu(), number=3, repeat=5, min_repeat_ms=30)
    return lambda: float(np.median(evaluator(*arguments).results))


def _arrays(func: Any) -> list[np.ndarray[Any, Any]]:
    numbers = np.random.default_rng(0)
    found = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = [int(one) for one in buffer.shape]
        values = numbers.uniform(-1, 1, shape) * (8 if "int" in str(buffer.dtype) else 1)
        found.append(values.astype(str(buffer.dtype)))
    return found


def _torch_timer(name: str) -> Callable[[], float] | None:
    """A function that times torch's operators for a workload; None without torch."""
    try:
        torch = importlib.import_module(_TORCH)
    except ImportError:
        return None
    torch.set_num_threads(CORES)
    functional = torch.nn.functional
    square = {size: torch.rand(size, size) for size in (128, 512, 1024)}
    batch, image, wide = (
        torch.rand(16, 128, 128),
        torch.rand(1, 64, 28, 28),
        torch.rand(1, 128, 28, 28),
    )
    deep, small = torch.rand(1, 128, 56, 56), torch.randint(-8, 8, (512, 512), dtype=torch.int8)
    kernel, point = torch.rand(64, 64, 3, 3), torch.rand(128, 128, 1, 1)
    each, rows_of = torch.rand(128, 1, 3, 3), torch.rand(512, 768)
    calls = {
        "product-128": lambda: square[128] @ square[128],
        "product-512": lambda: square[512] @ square[512],
        "product-1024": lambda: square[1024] @ square[1024],
        "batch-product": lambda: batch @ batch,
        "conv2d-3x3": lambda: functional.conv2d(image, kernel, padding=1),
        "conv2d-1x1": lambda: functional.conv2d(wide, point),
        "depthwise": lambda: functional.conv2d(deep, each, padding=1, groups=128),
        "softmax": lambda: torch.softmax(square[1024], 1),
        "layer-norm": lambda: functional.layer_norm(rows_of, (768,)),
        "product-bias-relu": lambda: torch.relu(
            functional.linear(square[512], square[512], square[512][0])
        ),
        "int8-product": lambda: torch._int_mm(small, small),
    }
    call = calls[name]

    def timed() -> float:
        call()
        spent = []
        for _ in range(5):
            began, count = time.perf_counter(), 0
            while time.perf_counter() - began < 0.03:
                call()
                count += 1
            spent.append((time.perf_counter() - began) / count)
        return statistics.median(spent)

    return timed


def rows(figures: Figures) -> tuple[list[str], list[list[str]]]:
    """The figures as a table: how many times as fast te_sched is, and geometric means."""
    header = [
        "workload",
        "te_sched us",
        "TVM us",
        "times as fast as TVM",
        "torch us",
        "times as fast as torch",
        "search s",
        "TVM's s",
        "times as fast as TVM's",
    ]
    lines = []
    ratios: list[list[float]] = [[], [], []]
    for name, one in figures.items():
        pairs = ((OURS, PEER), (OURS, _TORCH), (f"search {OURS}", f"search {PEER}"))
        of_one = [_ratio(one.get(ours), one.get(others)) for ours, others in pairs]
        for kept, ratio in zip(ratios, of_one, strict=True):
            kept += [] if ratio is None else [ratio]
        speeds = [_text(one.get(who), 1e6) for who in (OURS, PEER, _TORCH)]
        spent = [_text(one.get(f"search {who}")) for who in (OURS, PEER)]
        to_peer, to_torch, to_search = map(_text, of_one)
        lines.append([name, *speeds[:2], to_peer, speeds[2], to_torch, *spent, to_search])
    to_peer, to_torch, to_search = (
        _text(statistics.geometric_mean(kept)) if kept else "-" for kept in ratios
    )
    lines.append(["geometric mean", "", "", to_peer, "", to_torch, "", "", to_search])
    return header, lines


def _ratio(ours: float | None, others: float | None) -> float | None:
    return None if ours is None or others is None else others / ours


def _text(value: float | None, scale: float = 1.0) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    value *= scale
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _target() -> str:
    return f"llvm -num-cores={CORES}"


def setting(trials: int, libraries: Mapping[str, Any]) -> str:
    """How and where the figures were measured."""
    versions = [f"{name} {one.__version__}" for name, one in libraries.items()]
    with suppress(ImportError):
        versions.append(f"{_TORCH} {importlib.import_module(_TORCH).__version__}")
    return f"{processor()}, {CORES} cores; {trials} trials; {', '.join(versions)}"


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.tuning", main, sys.argv[1:]))
