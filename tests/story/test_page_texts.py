"""Parts shared by the page: stages, the table of lines, figures as text."""

from __future__ import annotations

import re

import pytest

from te_sched.story.model import Line
from te_sched.story.page import page_html
from te_sched.story.page_texts import bytes_text, count_text, factor_text, time_text
from tests.story.outlines import lines_of, texts_of
from tests.story.page_sample import output, sample, step


def test_equal_texts_are_kept_once():
    one = tuple(step(number, "split", outputs=(output("llvm", "LLVM", 7),)) for number in range(3))
    table = texts_of(page_html(sample(steps=one)))
    runs = [text["runs"] for number in "012" for text in table["texts"][number][1:]]
    assert runs[0] == runs[1] == runs[2]
    assert sum("add i32" in re.sub("<[^>]*>", "", line) for line in table["lines"]) == 38


def test_lines_keep_their_order_and_text():
    lines = lines_of(page_html(sample()), 2, "assembly")
    plain = [re.sub("<[^>]*>", "", line) for line in lines]
    assert plain == [line.text for line in output("assembly", "Assembly", 2).lines]


def test_lines_with_other_breaks_stay_one_line():
    odd = tuple(Line(text) for text in ("a\x0cb", "", "c\u2028d", "x = 1"))
    html = page_html(sample(steps=(step(0, "As declared", program=odd),)))
    assert len(lines_of(html, 0, "program")) == 4


def test_pictures_share_their_style_and_name_stages_by_number():
    html = page_html(sample())
    assert html.count(".te-flow {}") == 1
    assert "data-stages=" not in html
    assert html.count('<g data-s="0">') == 4


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        (1 << 22, "4 MiB"),
        (None, ""),
        (150_000, "146 KiB"),
    ],
)
def test_sizes_are_said_shortly(count, text):
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(64, "64"), (2.5e9, "2.5 G"), (None, ""), (0.25, "0.25")]
)
def test_counts_are_said_shortly(count, text):
    assert count_text(count) == text


@pytest.mark.parametrize(
    ("factor", "text"), [(None, ""), (1.5, "1.5x"), (682.4, "682x"), (1.7e7, "17Mx")]
)
def test_factors_are_said_shortly(factor, text):
    assert factor_text(factor) == text


@pytest.mark.parametrize(("ms", "text"), [(0.0123, "12.3 µs"), (4.5, "4.5 ms"), (1250, "1.25 s")])
def test_times_are_said_with_three_digits(ms, text):
    assert time_text(ms) == text
