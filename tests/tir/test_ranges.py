"""Ranges of integers."""

from __future__ import annotations

from te_sched import tir


def test_a_range_has_a_begin_and_an_end() -> None:
    bound = tir.Range(2, 8)
    assert (bound.min.value, bound.extent.value) == (2, 6)
    assert str(tir.Range(8)) == "I.Range(0, 8)"


def test_a_range_has_a_begin_and_an_extent() -> None:
    assert str(tir.Range.from_min_extent(2, 6)) == "I.Range(2, 8)"


def test_both_numbers_have_one_dtype() -> None:
    bound = tir.Range(0, tir.Var("n", "int64"))
    assert bound.min.dtype == bound.extent.dtype == "int64"
