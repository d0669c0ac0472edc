"""Pages of searches and graphs on a phone and a screen: they fit, and their words can be read."""

from __future__ import annotations

import pytest

from te_sched.story.graph import graph_report
from te_sched.story.tuning import tuning_report
from tests.browser.looking import contrasts
from tests.meta_schedule.here import tuned
from tests.story.graph_model import model

WIDTHS = (390, 1440)
SECONDS = [9e-3, 8.5e-3, 8e-3, *(4e-3 / number for number in range(1, 30)), 9.2e-3]


@pytest.fixture(scope="module", params=["search", "graph"])
def html(request):
    if request.param == "graph":
        return graph_report(model()).html()
    return tuning_report(tuned(seconds=SECONDS, trials=len(SECONDS) - 1)).html()


@pytest.fixture(params=WIDTHS)
def show(open_page, request):
    """A function that opens a page of a width; it has no scripts."""
    size = {"width": request.param, "height": 900}
    return lambda html, **options: open_page(
        html, viewport=size, java_script_enabled=False, **options
    )


def test_page_is_as_wide_as_the_window(show, html):
    assert show(html).evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_words_of_pictures_are_large_enough(show, html):
    heights = show(html).evaluate(
        """() => [...document.querySelectorAll("svg text")]
          .filter((it) => it.checkVisibility() && it.textContent.length > 1)
          .map((it) => it.getBoundingClientRect().height)"""
    )
    assert len(heights) > 5
    assert min(heights) >= 11  # pixels of a line


def test_words_of_charts_cover_no_other_mark(show, html):
    covered = show(html).evaluate(
        """() => [...document.querySelectorAll(".chart, .te-timeline")]
          .filter((it) => it.checkVisibility()).flatMap((chart) => {
            const box = (it) => it.getBoundingClientRect();
            const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
              && a.top < b.bottom - 1 && b.top < a.bottom - 1;
            const words = [...chart.querySelectorAll("text:not(.failed)")];
            const marks = [...chart.querySelectorAll("text, circle, rect")];
            return words.flatMap((word) => marks.filter((it) => it !== word
              && meet(box(word), box(it))).map((it) => [word.textContent, it.outerHTML]));
          })"""
    )
    assert covered == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(show, html, scheme):
    page = show(html, color_scheme=scheme)
    assert len(contrasts(page)) > 20
    assert contrasts(page, below=4.5) == []
