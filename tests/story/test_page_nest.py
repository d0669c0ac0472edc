"""The loop nest as HTML."""

from __future__ import annotations

from te_sched.story.page import page_html
from te_sched.story.page_nest import figures_html, nest_html
from te_sched.story.page_texts import StageIds
from tests.story.page_sample import nest, sample, step


def test_figures_of_loops_are_explained_where_they_stand():
    html = page_html(sample())
    assert html.count("Bytes of distinct elements that one iteration") == html.count('class="heads')
    plain = page_html(sample(steps=(step(0, "As declared", nest=()),)))
    assert "Bytes of distinct elements" not in plain


def test_inner_rows_are_folded_into_outer_ones():
    html = nest_html(nest("for i  0:8", "vectorized j  0:8"), StageIds(("A", "B")))
    assert html.count("<details open>") == 3
    assert '<span class="annotation">vectorized</span> j  0:8' in html


def test_the_table_has_a_row_for_each_loop_and_buffer():
    html = figures_html(nest("for i  0:8"))
    assert html.count('<tr class="loop">') == 1
    assert html.count('class="of"') == 2
    assert figures_html(nest()) == ""
