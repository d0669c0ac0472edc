"""Timelines of calls as pictures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from te_sched.views.timeline import TimedCall, timeline_svg

CALLS = [TimedCall("fused<add>", 0.0, 2.0, "float32[4]"), TimedCall("exp", 4.0, 6.0, "")]


def bars(picture: str) -> list[tuple[float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
    return [(float(left), float(width)) for left, width in found]


def test_bars_have_the_places_and_lengths_of_the_times() -> None:
    (first, short), (second, long) = bars(timeline_svg(CALLS))
    assert long == 3 * short
    assert second - first == 2 * short


def test_a_given_whole_scales_the_picture() -> None:
    whole, half = bars(timeline_svg(CALLS)), bars(timeline_svg(CALLS, whole=20.0))
    assert half[1][1] == whole[1][1] / 2


def test_names_are_escaped_and_the_picture_is_xml() -> None:
    root = ElementTree.fromstring(timeline_svg(CALLS))
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["fused<add>", "2.0 us", "exp", "6.0 us"]


def test_without_calls_the_picture_is_empty() -> None:
    assert bars(timeline_svg([])) == []
