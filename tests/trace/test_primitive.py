"""Declarations of primitives."""

from __future__ import annotations

import pytest

from te_sched.trace.primitive import as_results
from tests.trace.loop_schedules import LoopSchedule


def test_a_declaration_has_the_signature_and_the_summary() -> None:
    declared = LoopSchedule.sample.declared  # type: ignore[attr-defined]
    assert [one.name for one in declared.parameters] == ["loop", "most"]
    assert LoopSchedule.split.declared.summary == "Make several loops of one."  # type: ignore[attr-defined]


def test_results_are_always_several() -> None:
    assert as_results(None) == ()
    assert as_results(3) == (3,)
    assert as_results([3, 4]) == (3, 4)


def test_calls_bind_arguments_as_python_does() -> None:
    s = LoopSchedule()
    loop = s.get_loop("i")
    with pytest.raises(TypeError, match="factors"):
        s.split(loop)  # type: ignore[call-arg]
    assert len(s.trace) == 1
