"""The trace prints as a program and can be replayed."""

from __future__ import annotations

import pytest

from te_sched.errors import ScheduleError
from te_sched.trace.trace import check_schedule
from tests.schedule.programs import chain


def test_a_normalized_schedule_has_a_trace_of_its_own() -> None:
    p = chain()
    p.s[p.C].split(p.C.op.axis[0], 4)
    normal = p.s.normalize()
    normal[p.C].unroll(normal[p.C].leaf_iter_vars[0])
    assert (len(p.s.trace), len(normal.trace)) == (2, 3)


def test_a_trace_is_of_a_schedule() -> None:
    with pytest.raises(ScheduleError, match="a str"):
        check_schedule("s", "replay a trace")


def test_entries_are_counted_and_listed() -> None:
    p = chain()
    p.s[p.C].split(p.C.op.axis[0], 4)
    assert [entry.method for entry in p.s.trace] == ["axis", "split"]
