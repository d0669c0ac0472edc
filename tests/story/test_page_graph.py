"""The page of a graph."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from te_sched.ir.structural import structural_equal
from te_sched.story.graph import GraphReport


def test_text_and_page(report: GraphReport, tmp_path: Any) -> None:
    assert "memory and checks" in str(report)
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for part in ("After each pass", "Timeline of a call", "Memory over time", "te-flow"):
        assert part in page
    assert "<script" not in page


def test_passes_that_change_nothing_are_names_alone(report: GraphReport) -> None:
    shown = [one.name for one in report.stages]
    assert "DecomposeOpsForInference" in report.unchanged
    assert not {*report.unchanged} & {"as given", "LegalizeOps", "FuseTIR"}
    for before, after in pairwise(report.stages):
        assert not structural_equal(before.module, after.module), after.name
    page = report.html()
    assert f"<summary>{len(report.unchanged)} passes changed nothing</summary>" in page
    assert [name for name in shown if name not in page] == []


def test_equal_pictures_are_shown_once(report: GraphReport) -> None:
    page = report.html()
    pictures = re.findall(r'(?s)<svg [^>]*class="te-flow".*?</svg>', page)
    assert len(pictures) > 2
    assert all(before != after for before, after in pairwise(pictures))
    assert "The calls are the same after" in page


def test_numbers_of_the_page_have_a_legend(report: GraphReport) -> None:
    page = report.html()
    heads = re.findall(r'<th scope="col">([^<]*)</th>', page)
    assert page.count("<table>") == page.count("<thead>")
    assert {*heads} == {"function", "calls", "call", "bytes"}
    assert page.count("s since the call began</text>") == 2  # for screens and for phones
    assert page.count(">128 B</text>") == 2
    assert "at most 128 B" in page
