"""Counts of executions and of distinct elements."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.story.footprint import ArrayReference, Box, Unknown, distinct, executions

ROW, COLUMN = tir.Var("i"), tir.Var("j")
BOX = Box({ROW: (0, 8), COLUMN: (0, 4)}, {}, {})


def reference(*begins):
    return ArrayReference(begins, tuple(tir.const(1) for _ in begins), ())


def test_conditions_are_counted_where_they_hold():
    assert executions((), BOX) == 32
    assert executions((ROW < 3,), BOX) == 12
    assert executions((ROW < COLUMN,), BOX) == 6


def test_elements_that_iterations_share_are_counted_once():
    assert distinct([reference(ROW)], BOX) == 8
    assert distinct([reference(ROW + COLUMN)], BOX) == 11
    assert distinct([reference(ROW, COLUMN), reference(ROW, COLUMN + 1)], BOX) == 40


def test_unknown_values_are_named():
    with pytest.raises(Unknown, match="the value of n is not known"):
        executions((tir.Var("n") > ROW,), BOX)
