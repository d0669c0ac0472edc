"""build: from schedules and programs to modules that run."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import te
from te_sched.driver import build
from te_sched.errors import BuildError, LoweringError
from te_sched.ir.stmt import IRModule
from te_sched.lower.pipeline import lower
from te_sched.schedule.schedule import create_schedule
from te_sched.target import Target

N = 37


def declare():
    a = te.placeholder((N, N), name="A")
    b = te.placeholder((N, N), name="B")
    k = te.reduce_axis((0, N), name="k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return create_schedule(c.op), [a, b, c], k


def check(module) -> None:
    a, b = np.random.default_rng(0).random((2, N, N), "float32")
    c = np.zeros((N, N), "float32")
    module(a, b, c)
    np.testing.assert_allclose(c, a @ b, 1e-5)


def test_schedule_builds_and_runs() -> None:
    schedule, args, k = declare()
    check(build(schedule, args))
    stage = schedule[args[2]]
    outer, inner = stage.split(stage.op.axis[0], factor=8)
    k_outer, k_inner = stage.split(k, factor=4)
    stage.reorder(outer, k_outer, inner, k_inner)
    stage.parallel(outer)
    check(build(schedule, args, Target("llvm"), name="matmul"))


def test_lowered_programs_build() -> None:
    schedule, args, _ = declare()
    module = lower(schedule, args, name="first")
    check(build(module))
    check(build(module.functions["first"]))
    check(build(IRModule({"other": module.functions["first"]})))
    check(build({"f": module.functions["first"]}))


def test_race_is_refused_unless_insisted_on() -> None:
    schedule, args, k = declare()
    schedule[args[2]].parallel(k)
    with pytest.raises(BuildError, match="parallel axis k of stage C"):
        build(schedule, args)
    build(schedule, args, verify=False)


def test_rejects() -> None:
    schedule, args, _ = declare()
    with pytest.raises(LoweringError, match="without args"):
        build(schedule)
    with pytest.raises(BuildError, match="no loop round it is bound to a thread"):
        build(schedule, args, "cuda")
    with pytest.raises(BuildError, match="build an int"):
        build(3)  # type: ignore[arg-type]
