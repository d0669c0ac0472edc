"""The data model of explain reports."""

from __future__ import annotations

from dataclasses import replace

from te_sched.story.model import Line, StoryStep, Timing, to_json
from tests.story.page_sample import figures, step


def test_stories_become_data_for_json():
    assert to_json((Line("a", ("A",)), None)) == [
        {"text": "a", "stages": ["A"], "numbers": []},
        None,
    ]


def test_a_time_is_repeated_if_it_was_measured_several_times():
    assert not Timing(note="not measured").is_timed
    assert Timing(2.0, runs=1).shortest == 2.0
    assert [Timing(2.0, runs=runs).is_repeated for runs in (1, 2)] == [False, True]


def test_the_figures_of_a_step_are_those_of_its_function():
    assert step(0, "As declared").operations is None
    row = replace(step(0, "x").nest[0], figures=figures(256))
    assert StoryStep(0, "x", nest=(row,)).operations == 64
