"""Schedules for the target in scope."""

from __future__ import annotations

import pytest

from te_sched import te, topi
from te_sched.compat import generic_schedules
from te_sched.target import Target


@pytest.mark.parametrize(("target", "has_threads"), [("llvm", False), ("cuda", True)])
def test_schedules_are_those_of_the_target_in_scope(target: str, has_threads: bool) -> None:
    A = te.placeholder((64,), name="A")
    B = topi.nn.relu(A)
    with Target(target):
        s = generic_schedules.schedule_injective([B])
    assert ("threadIdx.x" in str(s)) is has_threads
