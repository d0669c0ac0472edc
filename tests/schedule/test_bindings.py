"""Which schedules are for a GPU."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.schedule.bindings import has_threads
from tests.schedule.programs import chain, scan


@pytest.mark.parametrize(
    ("tag", "is_gpu"), [("threadIdx.x", True), ("blockIdx.y", True), ("vthread", False)]
)
def test_bound_loops(tag: str, is_gpu: bool) -> None:
    p = chain()
    assert not has_threads(p.s)
    p.s[p.B].bind(p.B.op.axis[0], te.thread_axis(tag))
    assert has_threads(p.s) == is_gpu


def test_threads_round_a_scan() -> None:
    p = scan()
    p.s[p.scan].env_threads(te.thread_axis((0, 4), "threadIdx.x"))
    assert has_threads(p.s)


def test_other_marks_are_for_processors() -> None:
    p = chain()
    p.s[p.B].parallel(p.B.op.axis[0])
    p.s[p.C].vectorize(p.C.op.axis[1])
    assert not has_threads(p.s)
