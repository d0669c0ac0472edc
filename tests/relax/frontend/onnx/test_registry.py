"""Rows by domain, name and version."""

from __future__ import annotations

import pytest

from te_sched.relax.frontend.onnx import registry
from te_sched.relax.frontend.onnx.registry import find_row, full_name, row


@pytest.fixture(autouse=True)
def no_rows(monkeypatch) -> None:
    monkeypatch.setattr(registry, "_ROWS", {})


def first() -> int:
    return 1


def second() -> int:
    return 2


def test_the_greatest_version_that_is_not_above_the_one_of_the_model_counts() -> None:
    row("A", since=13)(second)
    row("A", "B")(first)
    assert [find_row("", "A", version) for version in (1, 12, 13, 20)] == [first] * 2 + [second] * 2
    assert find_row("", "B", 20) is first


def test_an_operator_of_a_later_version_has_no_row_before() -> None:
    row("A", since=13)(second)
    assert find_row("", "A", 12) is None
    assert find_row("", "C", 12) is None


def test_domains_are_apart() -> None:
    row("A")(first)
    row("A", domain="com.microsoft")(second)
    assert find_row("ai.onnx", "A", 1) is first
    assert find_row("com.microsoft", "A", 1) is second
    assert find_row("com.example", "A", 1) is None
    assert full_name("", "A") == "A"
