"""Every primitive that is timed applies, and the trace has thirty instructions."""

from __future__ import annotations

import te_sched
from benchmarks.primitives import PRIMITIVES, measure, scheduled, source
from te_sched import tir
from te_sched.script import from_source


def test_each_primitive_is_timed() -> None:
    figures = measure({"te_sched": te_sched}, 10, 1)
    assert set(figures) == {*PRIMITIVES, "replay of 30"}
    assert all(one["te_sched"] > 0 for one in figures.values())


def test_scheduled_program_runs() -> None:
    sch = tir.Schedule(from_source(source(10)))
    assert len(scheduled(sch)) >= 30
    te_sched.build(sch.mod)
