"""The cost of run-time checks of indices from memory: gathers and scatters with and without checks.

    python -m benchmarks.checks                everything
    python -m benchmarks.checks --rounds 500   more rounds

Each program is built with `check_accesses` on and off; the two alternate after a few calls, timed
from native code, and the figure is the shortest call of each. Tables "in the cache" have 4,096
elements, those "in memory" 16 million; indices are random.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import te_sched
from benchmarks import peer_environment
from te_sched import config, te, tir
from te_sched.tools.table import table

SMALL, LARGE, COUNT, WIDTH = 1 << 12, 1 << 24, 1 << 20, 256
TURN = 5  # calls
Program = tuple[Any, list[Any]]


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=100, help="turns of each (default 100)")
    options = parser.parse_args(arguments)
    rows = []
    for name, make in PROGRAMS.items():
        without, with_checks = (1e3 * seconds for seconds in measure(make, options.rounds))
        more = f"{100 * (with_checks / without - 1):.0f} %"
        rows.append([name, f"{without:.3f}", f"{with_checks:.3f}", more])
    print(table(["program", "ms without", "ms with checks", "more"], rows, right=[1, 2, 3]))
    return 0


def measure(make: Callable[[], Program], rounds: int) -> tuple[float, float]:
    """Seconds of a call without and with the checks."""
    schedule, arguments = make()
    values = [_value(argument) for argument in arguments]
    best = {False: float("inf"), True: float("inf")}
    timers = {}
    for checked in best:
        with config.scoped(check_accesses=checked, cache=False):
            module = te_sched.build(schedule, arguments)
        timers[checked] = module.time_evaluator("main", te_sched.cpu(0), number=1, repeat=TURN)
    for _ in range(rounds):
        for checked, timer in timers.items():
            best[checked] = min(best[checked], timer(*values).min)
    return best[False], best[True]


def _value(argument: Any) -> Any:
    """Ones, or indices into the table given by the name of an argument."""
    shape = tuple(extent.value for extent in argument.shape)
    if argument.dtype != "int32":
        return te_sched.nd.array(np.ones(shape, argument.dtype))
    end = {"small": SMALL, "large": LARGE, "rows": SMALL}[argument.name]
    random = np.random.default_rng(0)
    return te_sched.nd.array(random.integers(0, end, shape).astype("int32"))


def gather(size: str, parallel: bool = False) -> Program:
    """B[i] = A[I[i]]."""
    places = te.placeholder((COUNT,), "int32", name=size)
    source = te.placeholder((_elements(size),), name="A")
    result = te.compute((COUNT,), lambda i: source[places[i]], name="B")
    s = te.create_schedule(result.op)
    if parallel:
        s[result].parallel(result.op.axis[0])
    return s, [places, source, result]


def gather_rows() -> Program:
    """B[i, j] = A[I[i], j]."""
    places = te.placeholder((SMALL,), "int32", name="rows")
    source = te.placeholder((SMALL, WIDTH), name="A")
    result = te.compute((SMALL, WIDTH), lambda i, j: source[places[i], j], name="B")
    return te.create_schedule(result.op), [places, source, result]


def scatter(size: str, adds: bool = False, kind: str = "serial") -> Program:
    """B[I[i]] = A[i], or += A[i]."""
    places = te.placeholder((COUNT,), "int32", name=size)
    source = te.placeholder((COUNT,), name="A")

    def body(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        places, source = (builder.buffer_ptr(one) for one in ins)
        result = builder.buffer_ptr(outs[0])
        with builder.for_range(0, COUNT, name="i", kind=kind) as i:
            before = result[places[i]] if adds else 0.0
            result[places[i]] = source[i] + before
        return builder.get()

    result = te.extern([(_elements(size),)], [places, source], body, dtype="float32", name="B")
    return te.create_schedule(result.op), [places, source, result]


def scatter_rows() -> Program:
    """B[I[i], j] = A[i, j]."""
    places = te.placeholder((SMALL,), "int32", name="rows")
    source = te.placeholder((SMALL, WIDTH), name="A")

    def body(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        places, source = (builder.buffer_ptr(one) for one in ins)
        result = builder.buffer_ptr(outs[0])
        with (
            builder.for_range(0, SMALL, name="i") as i,
            builder.for_range(0, WIDTH, name="j") as j,
        ):
            result[places[i], j] = source[i, j]
        return builder.get()

    result = te.extern([(SMALL, WIDTH)], [places, source], body, dtype="float32", name="B")
    return te.create_schedule(result.op), [places, source, result]


def scatter_hybrid() -> Program:
    """B[I[i]] = A[i], as a hybrid script."""
    places = te.placeholder((COUNT,), "int32", name="small")
    source = te.placeholder((COUNT,), name="A")

    @te.hybrid.script
    def spread(places, source):  # type: ignore[no-untyped-def]
        result = output_tensor((SMALL,), "float32")  # noqa: F821
        for i in range(COUNT):
            result[places[i]] = source[i]
        return result

    result = spread(places, source)
    return te.create_schedule(result.op), [places, source, result]


def _elements(size: str) -> int:
    return {"small": SMALL, "large": LARGE}[size]


PROGRAMS: dict[str, Callable[[], Program]] = {
    f"gather of rows of {WIDTH}": gather_rows,
    "gather, table in the cache": lambda: gather("small"),
    "gather, table in memory": lambda: gather("large"),
    "gather in a parallel loop": lambda: gather("small", parallel=True),
    f"scatter of rows of {WIDTH}": scatter_rows,
    "scatter, table in the cache": lambda: scatter("small"),
    "scatter, table in memory": lambda: scatter("large"),
    "scatter by a hybrid script": scatter_hybrid,
    "scatter that adds, table in the cache": lambda: scatter("small", adds=True),
    "scatter that adds, table in memory": lambda: scatter("large", adds=True),
}


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.checks", main, sys.argv[1:]))
