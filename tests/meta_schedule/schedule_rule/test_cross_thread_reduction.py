"""Reductions across threads."""

from __future__ import annotations

from te_sched import te
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    GPU,
    space,
    steps,
)


def test_cross_thread_reduction_is_computed_beside_its_consumer() -> None:
    A, k = te.placeholder((16, 64), name="A"), te.reduce_axis((0, 64), "k")
    S = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="S")
    func = te.create_prim_func([A, te.compute((16, 64), lambda i, j: A[i, j] / S[i], name="D")])
    found, plain = space(func, rules.CrossThreadReduction([4, 8]), target=GPU)[::-1]
    assert steps(plain) == []
    assert steps(found) == ["split", "bind", "compute_at", "set_scope", "split", "bind"]
