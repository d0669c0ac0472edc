"""Timelines of calls as pictures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from te_sched.views.timeline import TimedCall, round_steps, timeline_svg

AXIS = "\N{MICRO SIGN}s since the call began"
CALLS = [TimedCall("fused<add>", 0.0, 2.0, "float32[4]"), TimedCall("exp", 4.0, 6.0, "")]


def bars(picture: str) -> list[tuple[float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
    return [(float(left), float(width)) for left, width in found]


def words(picture: str) -> list[str | None]:
    root = ElementTree.fromstring(picture)
    return [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]


def test_bars_have_the_places_and_lengths_of_the_times() -> None:
    (first, short), (second, long) = bars(timeline_svg(CALLS))
    assert long == pytest.approx(3 * short, abs=0.2)
    assert second - first == pytest.approx(2 * short, abs=0.2)


def test_a_given_whole_scales_the_picture() -> None:
    whole, half = bars(timeline_svg(CALLS)), bars(timeline_svg(CALLS, whole=20.0))
    assert half[1][1] == pytest.approx(whole[1][1] / 2, abs=0.2)


def test_names_are_escaped_and_the_picture_is_xml() -> None:
    texts = words(timeline_svg(CALLS))
    assert texts[-4:] == ["fused<add>", "2.0 \N{MICRO SIGN}s", "exp", "6.0 \N{MICRO SIGN}s"]


def test_an_axis_has_round_times() -> None:
    assert words(timeline_svg(CALLS))[:4] == ["0", "5", "10", AXIS]
    assert words(timeline_svg([]))[-1] == AXIS


def test_a_narrow_picture_has_the_names_above_their_bars() -> None:
    picture = timeline_svg(CALLS, width=358)
    right = max(left + width for left, width in bars(picture))
    assert right <= 358 - 60  # the time has room behind the bar
    names = re.findall(r'<text x="8" y="(\d+)">', picture)
    tops = re.findall(r'<rect x="[\d.]+" y="(\d+)"', picture)
    assert all(int(name) < int(top) + 4 for name, top in zip(names, tops, strict=True))


def test_round_steps_reach_to_the_end() -> None:
    assert round_steps(0.3, 5) == pytest.approx([0, 0.1, 0.2, 0.3])
    assert round_steps(950, 5) == [0, 200, 400, 600, 800]
    assert round_steps(2300, 4, base=2) == [0, 512, 1024, 1536, 2048]
    assert round_steps(0, 4) == [0]


def test_without_calls_the_picture_is_empty() -> None:
    assert bars(timeline_svg([])) == []
