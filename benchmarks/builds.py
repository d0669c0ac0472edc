"""Times of cold builds and of LLVM's stages in them: processor time, and wall time.

    python -m benchmarks.builds                     all programs; the models need torch
    python -m benchmarks.builds add-relu resnet18   some of them
    python -m benchmarks.builds --rounds 9          more rounds (default 5)

"text" is writing LLVM IR; "parse", "passes" and "emit" are LLVM, "link" loads the code. These are
processor times of the threads that do them. Long modules are compiled in parts on all processors,
so the wall time of a build may be less than its processor time. The first round warms up; the
figures are those of the round that took least processor time.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm

import te_sched
from benchmarks import graphs, peer_environment
from te_sched import config, relax, te
from te_sched.codegen.llvm import compile as code_generation
from te_sched.runtime import jit
from te_sched.tools.table import table

Build = Callable[[], Any]
STAGES: dict[str, tuple[Any, str]] = {
    "text": (code_generation, "_write_module"),
    "parse": (llvm, "parse_assembly"),
    "passes": (llvm.NewPassManager, "run"),
    "emit": (llvm.TargetMachine, "emit_object"),
    "link": (jit, "_link"),
}
MODELS = ("cnn", "transformer", "vit-224", "resnet18", "efficient-160")


def add_relu() -> Build:
    """A graph of one kernel, which computes relu(x + y) of 4 x 5 elements."""
    info = relax.TensorStructInfo((4, 5), "float32")
    x, y = relax.Var("x", info), relax.Var("y", info)
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.nn.relu(relax.op.add(x, y)))
        builder.emit_func_output(result)
    module = builder.get()
    return lambda: relax.build(module, "llvm")


def product() -> Build:
    """A product of 64 x 64 matrices, as a schedule of tensors without primitives."""
    a, b = (te.placeholder((64, 64), name=name) for name in "AB")
    k = te.reduce_axis((0, 64), "k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return lambda: te_sched.build(te.create_schedule(c.op), [a, b, c])


def model(name: str) -> Build:
    """A network of `benchmarks.networks`."""
    torch = importlib.import_module("torch")
    network, inputs, _ = graphs._made(torch, name)
    module = graphs._imported("te_sched", torch, network, inputs)
    return lambda: relax.build(module, "llvm")


PROGRAMS: dict[str, Callable[[], Build]] = {
    "add-relu": add_relu,
    "product-64": product,
    **{name: lambda name=name: model(name) for name in MODELS},  # type: ignore[misc]
}


@contextmanager
def stages_timed() -> Iterator[Counter[str]]:
    """Add up the processor time of each stage, in all threads, inside the `with`."""
    spent: Counter[str] = Counter()

    def timed(stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            start = time.thread_time()
            try:
                return call(*args, **named)
            finally:
                spent[stage] += time.thread_time() - start  # type: ignore[assignment]

        return run

    originals = {stage: getattr(owner, name) for stage, (owner, name) in STAGES.items()}
    for stage, (owner, name) in STAGES.items():
        setattr(owner, name, timed(stage, originals[stage]))
    try:
        yield spent
    finally:
        for stage, (owner, name) in STAGES.items():
            setattr(owner, name, originals[stage])


def measure(build: Build, rounds: int) -> dict[str, float]:
    """The seconds of the best round: "processor" and "wall" of the build, and its stages."""
    figures = []
    with config.scoped(cache=False):
        build()
        for _ in range(rounds):
            with stages_timed() as spent:
                start, began = time.process_time(), time.perf_counter()
                build()
                whole = {
                    "wall": time.perf_counter() - began,
                    "processor": time.process_time() - start,
                }
            figures.append(whole | spent)
    return min(figures, key=lambda one: one["processor"])


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.builds", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", choices=[[], *PROGRAMS], metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    columns = ("wall", "processor", *STAGES)
    lines = []
    for name in options.names or PROGRAMS:
        try:
            build = PROGRAMS[name]()
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        figures = measure(build, options.rounds)
        lines.append([name, *(f"{figures.get(column, 0.0) * 1e3:.2f}" for column in columns)])
    header = ["program", *(f"{column} ms" for column in columns)]
    print(table(header, lines, right=range(1, len(header))))
    return 0


if __name__ == "__main__":
    import sys

    sys.exit(peer_environment.run("benchmarks.builds", main, sys.argv[1:]))
