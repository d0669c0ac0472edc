"""Templates that tests tune."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched import autotvm, te, tir
from te_sched.autotvm.measure import MeasureInput, MeasureResult, Runner
from te_sched.autotvm.task.task import Task


@autotvm.template("tests/product")
def product(n: int, dtype: str = "float32") -> Any:
    """A product with two tiles: 16 configurations of n = 8."""
    A = te.placeholder((n, n), name="A", dtype=dtype)
    B = te.placeholder((n, n), name="B", dtype=dtype)
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    y, x = C.op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, C, y)
    xo, xi = cfg["tile_x"].apply(s, C, x)
    s[C].reorder(yo, xo, k, yi, xi)
    return s, [A, B, C]


@autotvm.template("tests/faults")
def faults(n: int) -> Any:
    """A knob with one good choice, and a way to fail for each other one."""
    A = te.placeholder((n,), name="A")
    cfg = autotvm.get_config()
    cfg.define_knob("how", ["well", "refuse", "raise", "race", "crash", "hang", "wrong"])
    cfg.add_flop(n)
    how = cfg["how"].val
    B = te.compute((n,), lambda i: A[i] * (3.0 if how == "wrong" else 2.0), name="B")
    if how in ("crash", "hang"):
        call = "abort" if how == "crash" else "pause"
        B = te.extern((n,), [A], lambda ins, outs: tir.call_extern("int32", call), name="B")
    if how == "refuse":
        cfg.raise_error("there is no such choice")
    if how == "raise":
        raise ValueError("the template fails")
    s = te.create_schedule(B.op)
    if how == "race":
        s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    return s, [A, B]


def task_of(n: int = 8) -> Task:
    """The task of a small product."""
    return autotvm.task.create("tests/product", args=(n,), target="llvm")


def records_of(task: Task, costs: list[float]) -> list[tuple[MeasureInput, MeasureResult]]:
    """Made-up measurements of the first configurations."""
    space: Any = task.config_space
    target: Any = task.target
    return [
        (
            MeasureInput(target, task, space.get(number)),
            MeasureResult((cost,), 0, 0.5, 10.0 + number),
        )
        for number, cost in enumerate(costs)
    ]


class MadeUpRunner(Runner):
    """Gives each configuration a cost by a function of its index, without running it."""

    def __init__(self, cost: Callable[[int], float] = lambda index: 1.0 + index) -> None:
        super().__init__(1, 1)
        self.cost = cost

    def run(self, measure_inputs: Any, build_results: Any) -> list[MeasureResult]:
        """The made-up results."""
        return [
            MeasureResult((self.cost(one.config.index),), 0, 0.1, 1.0) for one in measure_inputs
        ]


class NoBuilder(autotvm.measure.Builder):
    """Builds nothing."""

    def build(self, measure_inputs: Any) -> list[Any]:
        """Nothing."""
        return [None for _ in measure_inputs]


def made_up(cost: Callable[[int], float] = lambda index: 1.0 + index) -> dict[str, Any]:
    """The option to measure with made-up costs."""
    return autotvm.measure_option(NoBuilder(1, 4), MadeUpRunner(cost))


def expected_product(n: int) -> tuple[Any, Any, Any]:
    """Two random matrices and their product."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((n, n)).astype("float32") for _ in range(2))
    return a, b, a @ b
