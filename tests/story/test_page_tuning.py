"""The page of a search: what a database has of one program."""

import re

from te_sched.meta_schedule.database import MemoryDatabase
from te_sched.story.tuning import tuning_report
from tests.meta_schedule.here import sums_without_init, tuned
from tests.story.outlines import Outline

SECONDS = [9e-3, 3e-3, 2e-3, 4e-3]


def test_page_shows_the_search():
    page = tuning_report(tuned(seconds=SECONDS, broken=3, name="product")).html()
    outline = Outline(page)
    assert outline.open == []
    assert "script" not in outline.tags
    assert all(address.startswith("data:") for address in outline.addresses)
    text = "".join(outline.texts)
    assert "Search for schedules of product" in text
    assert "The best schedule takes 2 ms, 4.5 times as fast as the unscheduled program" in text
    assert "1 \N{MULTIPLICATION SIGN} Builder: broken: for the test" in text
    assert "trial 1: failed" in text
    assert "trial 3: 2 ms" in text
    assert page.count("<title>trial") == 2 * 4  # for screens and for phones
    assert "library = te_sched.build(sch.mod" in text


def test_names_of_lines_are_beside_them_and_apart():
    page = tuning_report(tuned(seconds=[2.1e-3, 3e-3, 2e-3, 4e-3])).html()
    names = r'<text x="(\d+)" y="([\d.]+)">(unscheduled|best)</text>'
    for width in (900, 358):
        (chart,) = re.findall(rf'<svg class="chart" viewBox="0 0 {width} .*?</svg>', page)
        (x, upper, first), (_, lower, second) = re.findall(names, chart)
        assert (first, second) == ("unscheduled", "best")
        assert float(lower) - float(upper) >= 30  # two lines of words
        assert all(int(end) < int(x) for end in re.findall(r'class="plain" d=".*?H(\d+)"', chart))


def test_marks_of_the_chart_are_explained():
    page = tuning_report(tuned(seconds=SECONDS, broken=3)).html()
    (legend,) = re.findall(r'<ul class="legend">.*?</ul>', page)
    words = re.findall(r"</svg>([^<]*)</li>", legend)
    assert words == ["a candidate", "the best time until then", "the best of all", "a failure"]
    assert "a failure" not in tuning_report(tuned(seconds=SECONDS)).html()


def test_page_of_a_search_that_found_nothing_faster():
    text = tuning_report(tuned(seconds=[1e-3, 3e-3, 2e-3, 4e-3, 4e-3])).html()
    assert "No candidate is faster than the unscheduled program, which takes 1 ms" in text
    assert '<h2 id="failures">' not in text


def test_page_of_a_search_without_candidates():
    found = tuned(sums_without_init(), seconds=[1e-3], space="post-order-apply")
    text = tuning_report(found).html()
    assert "No candidate was tried besides the unscheduled program, which takes 1 ms" in text
    assert "block C adds to what argument C contains: it reduces without T.init()" in text


def test_failures_only():
    database = MemoryDatabase()
    found = tuned(trials=1, database=database, seconds=SECONDS)
    for record in database.records:
        record.error_msg = "Runner: killed"
    page = tuning_report(database, found.trials.module).html()
    assert "No candidate could be measured." in page
    assert "2 &times; Runner: killed" in page
