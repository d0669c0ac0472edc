"""Files of ONNX as they are, with the sizes that they leave open: te_sched beside onnxruntime.

    python -m benchmarks.onnx_files FOLDER                    all files in it, and in folders below
    python -m benchmarks.onnx_files a.onnx --size N=16000     with a number for a size

Each file is imported, built for llvm and called in a process of its own, with a limit of time. A
size is called by its name in the file, or "?"; sizes without a number are tried until onnxruntime
takes the inputs, which are random. Results must equal onnxruntime's to 1e-3 of the largest element
of an output, or to four times the distance that its own optimizations make. Times are medians with
two threads, "build" is of the processor.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peer_environment
from benchmarks.graphs import setting
from benchmarks.models import ROUNDS, TOLERANCE, apart, arrays_of, timed
from te_sched.tools.table import table

FIRST = (2, 1)  # numbers that are tried for the first dimension, then for the others
OTHERS = (64, 320, 1, 224, 576, 48, 16000)
LIMITS = (256, 2)  # of integers: bytes and words, else truths and small indices
THREADS = 2
_DTYPES = {"float": "float32", "double": "float64"}

Inputs = dict[str, np.ndarray[Any, Any]]


def all_inputs(session: Any, sizes: Mapping[str, int]) -> Iterator[Inputs]:
    """Random inputs of a session, for each choice of open sizes and of the range of integers."""
    for limit, first, other in itertools.product(LIMITS, FIRST, OTHERS):
        rng = np.random.default_rng(0)
        inputs = {}
        for value in session.get_inputs():
            shape = [
                size
                if isinstance(size, int)
                else sizes.get(size or "?", first if place == 0 else other)
                for place, size in enumerate(value.shape)
            ]
            kind = value.type.removeprefix("tensor(").removesuffix(")")
            dtype = np.dtype(_DTYPES.get(kind, kind))
            is_float = dtype.kind == "f"
            array = rng.standard_normal(shape) if is_float else rng.integers(0, limit, shape)
            inputs[value.name] = np.asarray(array).astype(dtype)
        yield inputs


def measure(path: Path, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The figures of a file; ValueError for results that are wrong."""
    onnx, peer = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    te_sched = importlib.import_module("te_sched")
    relax = importlib.import_module("te_sched.relax")
    frontend = importlib.import_module("te_sched.relax.frontend.onnx")
    peer.set_default_logger_severity(4)
    sessions = []
    for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"):
        options = peer.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.graph_optimization_level = getattr(peer.GraphOptimizationLevel, level)
        sessions.append(peer.InferenceSession(str(path), options))
    inputs, expected = _taken(sessions[0], sizes)
    model = onnx.load(path)
    module, importing = timed(lambda: frontend.from_onnx(model))
    began = time.process_time()
    machine = relax.VirtualMachine(relax.build(module, target="llvm"))
    building = time.process_time() - began
    arrays = [te_sched.nd.array(value) for value in inputs.values()]
    pairs = list(zip(arrays_of(machine["main"](*arrays)), expected, strict=True))
    distance = max(apart(ours, theirs) for ours, theirs in pairs)
    if not distance <= TOLERANCE:
        plain = sessions[1].run(None, inputs)
        own = max(apart(one, theirs) for one, theirs in zip(plain, expected, strict=True))
        if not distance <= 4 * own:
            raise ValueError(f"differs by {distance:.1e}; onnxruntime from itself by {own:.1e}")
    calls = {"te_sched": lambda: machine["main"](*arrays)}
    calls["onnxruntime"] = lambda: sessions[0].run(None, inputs)
    medians = {
        library: statistics.median(timed(call)[1] for _ in range(ROUNDS))
        for library, call in calls.items()
    }
    opsets = {one.domain: one.version for one in model.opset_import}
    counts = {"nodes": len(model.graph.node), "opset": opsets.get("", 0)}
    return counts | {"distance": distance, "import": importing, "build": building} | medians


def _taken(session: Any, sizes: Mapping[str, int]) -> tuple[Inputs, list[Any]]:
    """The first inputs that onnxruntime takes, and its results."""
    fault = ""
    for inputs in all_inputs(session, sizes):
        try:
            return inputs, session.run(None, inputs)
        except Exception as error:  # of each kind of its own
            fault = fault or str(error)
    raise ValueError(f"onnxruntime takes no sizes that were tried (use --size): {fault}")


def figure_of(path: Path, sizes: Sequence[str], limit: float) -> dict[str, Any]:
    """The figures of a file that another process measures, or why there are none."""
    command = [sys.executable, "-m", "benchmarks.onnx_files", "--one", str(path)]
    command += [part for size in sizes for part in ("--size", size)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {limit:.0f} s"}
    lines = done.stdout.splitlines()
    if done.returncode < 0:
        return {"failed": f"ended by signal {-done.returncode}, in te_sched or in onnxruntime"}
    if done.returncode or not lines:
        return {"failed": (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1]}
    figure: dict[str, Any] = json.loads(lines[-1])
    return figure


def rows(figures: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header and lines of the table; the last is of all files."""
    header = ["file", "nodes", "opset", "distance", "import s", "build s", "te_sched ms", "ort ms"]
    lines = []
    for one in figures:
        if "failed" in one:
            lines.append([one["file"], "", "", one["failed"].splitlines()[0][:70], *[""] * 4])
            continue
        times = [f"{one[name]:.1f}" for name in ("import", "build")]
        times += [f"{1e3 * one[name]:.2f}" for name in ("te_sched", "onnxruntime")]
        counts = [str(one["nodes"]), str(one["opset"])]
        lines.append([one["file"], *counts, f"{one['distance']:.0e}", *times])
    right = sum("failed" not in one for one in figures)
    return header, [*lines, [f"{right} of {len(figures)} right", *[""] * 7]]


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.onnx_files", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=NUMBER")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="of a file")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        sizes = {name: int(number) for name, number in (one.split("=") for one in options.size)}
        try:
            figure = measure(options.paths[0], sizes)
        except Exception as error:  # the table tells which files fail, and why
            figure = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(figure))
        return 0
    files = [
        file
        for path in options.paths
        for file in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])
    ]
    figures = []
    for file in files:
        figures.append({"file": file.name} | figure_of(file, options.size, options.limit))
        print(json.dumps(figures[-1]), flush=True)
    header, lines = rows(figures)
    print(table(header, lines, right=range(1, len(header))))
    importlib.import_module("onnxruntime")  # whose version is told
    print(setting(THREADS))
    return 0


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.onnx_files", main, sys.argv[1:]))
