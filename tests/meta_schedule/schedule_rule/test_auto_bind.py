"""Loops are bound to threads."""

from __future__ import annotations

from te_sched import te
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    GPU,
    elementwise,
    space,
)


def test_auto_bind_splits_the_fused_loops() -> None:
    func = elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)
    (sch,) = space(func, rules.AutoBind(), target=GPU)
    outer, inner = [sch.get(loop) for loop in sch.get_loops("C")]
    assert outer.thread_binding.thread_tag == "blockIdx.x"
    assert inner.thread_binding.thread_tag == "threadIdx.x"


def test_auto_bind_of_a_large_loop_runs_through_a_part() -> None:
    func = elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)
    (sch,) = space(func, rules.AutoBind(2, [32], 32), target=GPU)
    assert [sch.get(loop).extent for loop in sch.get_loops("C")] == [2, 32, 4]


def test_auto_bind_without_parallel_loops_adds_one() -> None:
    A, k = te.placeholder((16,), name="A"), te.reduce_axis((0, 16), "k")
    func = te.create_prim_func([A, te.compute((), lambda: te.sum(A[k], axis=k), name="C")])
    (sch,) = space(func, rules.AutoBind(), target=GPU)
    assert [sch.get(loop).extent for loop in sch.get_loops("C")] == [1, 1, 16]
