"""Verdicts, as data and as text."""

from __future__ import annotations

import pytest

from te_sched.analysis.findings import Finding, Findings
from te_sched.errors import BuildError

VERDICTS = ("proved", "hint", "unproved", "refuted")
ALL = Findings([Finding("race", verdict, f"{verdict} message") for verdict in VERDICTS])


def test_the_worst_findings_are_first() -> None:
    assert ALL[0].verdict == "refuted"
    for verdict in VERDICTS:
        (finding,) = ALL.of(verdict)
        name = {"hint": "hints"}.get(verdict, verdict)
        assert getattr(ALL, name) == (finding,)


def test_a_refuted_finding_is_an_error() -> None:
    with pytest.raises(BuildError, match="refuted message") as caught:
        ALL.raise_refuted()
    assert caught.value.can_override
    assert Findings(ALL.proved).raise_refuted() is None


def test_records_have_the_fields_of_findings() -> None:
    (record, *_) = ALL.records()
    assert record["verdict"] == "refuted"
    assert "words" not in record
    assert set(map(len, ALL.records())) == {len(record)}


def test_a_text_has_what_is_known() -> None:
    finding = Finding("bounds", "refuted", "it is outside", stage="B", why="8 <= i", line="a.py:3")
    assert str(finding).splitlines() == [
        "refuted (bounds): it is outside",
        "  where: stage B, a.py:3",
        "  why: 8 <= i",
    ]
