"""Stories for terminals."""

from __future__ import annotations

from dataclasses import replace

import pytest

import te_sched
from te_sched.story.model import StoryStep, Timing
from te_sched.story.text import step_text, times_text
from tests.story.schedules import matmul


def test_the_text_has_steps_loops_changes_and_problems() -> None:
    s, A, B, C = matmul()
    s[C].parallel(C.op.reduce_axis[0])
    text = te_sched.explain(s, [A, B, C], measure=False).text()
    assert "step 1: Run the iterations of k (16) in parallel" in text
    assert "s[C].parallel(k)" in text
    assert "parallel k  0:16" in text
    assert "BuildError (build): " in text
    assert "\n+ " in text
    assert str(te_sched.explain(s, [A, B, C], measure=False)) == text


def test_large_ratios_have_no_exponent():
    assert [times_text(one) for one in (1.0512, 99.5, 488.2, 1105.3)] == [
        "1.05",
        "99.5",
        "488",
        "1,105",
    ]


@pytest.mark.parametrize(
    ("factor", "text"),
    [(35.0, "35 times as fast as"), (0.5, "2 times as slow as"), (1.01, "about as fast as")],
)
def test_times_are_compared_with_those_of_the_step_before(factor: float, text: str) -> None:
    timing = Timing(
        *(7.0, 7.0, 9.0, 5, factor), first=0, against_previous=factor, previous=2, median=8.0
    )
    said = step_text(StoryStep(3, "split", timing=timing)).splitlines()[-1]
    spread = "7 ms (median 8 ms, longest 9 ms, 5 runs)"
    assert said == f"{spread}, {text} step 2, {text} at first"
    said = step_text(StoryStep(3, "split", timing=replace(timing, first=1))).splitlines()[-1]
    assert said == f"{spread}, {text} step 2, {text} step 1"
