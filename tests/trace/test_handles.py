"""Traces of schedules of another kind: loops are found by name, lengths are sampled."""

from __future__ import annotations

from te_sched.trace.trace import Trace
from tests.trace.loop_schedules import LoopSchedule, scheduled

TEXT = """def apply_trace(sch):
  l0 = sch.get_loop(name='i')
  v1, v2 = sch.sample(loop=l0, decision=[8, 2])
  l3, l4 = sch.split(l0, factors=[v1, v2])"""


def test_program_and_replay() -> None:
    s = scheduled()
    assert str(s.trace) == TEXT
    again = s.trace.replay(LoopSchedule())
    assert list(again.loops) == ["i", "i0", "i1"]
    assert str(again.trace) == TEXT


def test_json_keeps_decisions() -> None:
    s, again = scheduled(), LoopSchedule()
    saved = s.trace.as_json()
    assert saved == [
        [
            ["Get_loop", [], ["i"], ["l0"]],
            ["Sample", ["l0"], [8], ["v1", "v2"]],
            ["Split", ["l0", ["v1", "v2"]], [], ["l3", "l4"]],
        ],
        [[1, [8, 2]]],
    ]
    saved[1][0][1] = [4, 4]
    Trace.apply_json_to_schedule(saved, again)
    assert again.trace.entries[1].decision == [4, 4]


def test_replay_keeps_decisions() -> None:
    s = scheduled()
    again = s.trace.replay(LoopSchedule())
    assert again.trace.entries[1].decision == s.trace.entries[1].decision
    assert again.loops["i0"] is not s.loops["i0"]
