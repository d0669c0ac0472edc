"""Figures in README, FAQ and the performance page come from benchmarks/results."""

import json
import re

import pytest

from benchmarks import pages


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_figures_are_those_of_the_results(page):
    """`python -m benchmarks.pages` writes them."""
    text = page.read_text()
    assert text == pages.filled(text, pages.figures())


def test_no_figure_of_speed_is_written_by_hand():
    """In README and FAQ; the performance page explains measurements that are not in the results."""
    for page in pages.PAGES[:2]:
        by_hand = pages.MARKED.sub("", re.sub(r"(?s)```.*?```", "", page.read_text()))
        assert re.findall(r"[\d.]+ ?(?:%|x |ms\b|us\b|GFLOP|times)|[\d.]+ of TVM", by_hand) == []


def test_figures_stand_between_their_marks():
    text = "a <!-- x -->old<!-- end --> b <!-- t -->\nold\n<!-- end --> <!-- a comment -->"
    new = "a <!-- x -->1 %<!-- end --> b <!-- t -->\nr\ns\n<!-- end --> <!-- a comment -->"
    assert pages.filled(text, {"x": "1 %", "t": "r\ns"}) == new


def test_unknown_figures_are_refused():
    with pytest.raises(SystemExit, match="no figure 'y'; there are x"):
        pages.filled("<!-- y --><!-- end -->", {"x": "1"})


def test_searches_have_tables_once_they_are_measured(tmp_path):
    assert pages._of_searches(tmp_path) == {}
    measured = {"setting": "here", "figures": {"softmax": {"te_sched": 1e-6}}}
    (tmp_path / "tuning.json").write_text(json.dumps(measured))
    (tmp_path / "cluster.json").write_text(
        json.dumps({"setting": "there", "searches": [], "problems": []})
    )
    found = pages._of_searches(tmp_path)
    assert "| softmax | 1.00 |" in found["searches"]
    assert found["search on a cluster"].startswith("there")
