"""Layouts map each index to one place, and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.schedule.layouts import LayoutMap, layout_map
from tests.arith.brute import value

i, j = Var("i"), Var("j")
Rule = Callable[[Any, Any], list[Any]]


def layout(rule: Rule, rows: int = 12, columns: int = 8) -> LayoutMap:
    results = tuple(map(ops.convert, rule(i, j)))
    return layout_map((i, j), (IntImm(rows), IntImm(columns)), results, (), "here")


RULES: list[tuple[Rule, list[int]]] = [
    (lambda i, j: [j, i], [8, 12]),
    (lambda i, j: [i // 4, j, i % 4], [3, 8, 4]),
    (lambda i, j: [i * 8 + j], [96]),
    (lambda i, j: [(i * 8 + j) // 32, (i * 8 + j) % 32], [3, 32]),
    (lambda i, j: [j % 2, i // 2, j // 2 * 2 + i % 2], [2, 6, 8]),
    (lambda i, j: [i, 0, j], [12, 1, 8]),
]


@pytest.mark.parametrize(("rule", "extents"), RULES)
def test_layouts_are_one_to_one_and_go_back(rule: Rule, extents: list[int]) -> None:
    made = layout(rule)
    assert [extent.value for extent in made.extents] == extents
    places = [Var(f"p{n}") for n in range(len(extents))]
    back = made.backward(places)
    seen = set()
    finals = made.index_map.final_indices
    for old in itertools.product(range(12), range(8)):
        new = [value(one, dict(zip((i, j), old, strict=True))) for one in finals]
        assert all(0 <= one < extent for one, extent in zip(new, extents, strict=True))
        assert tuple(value(one, dict(zip(places, new, strict=True))) for one in back) == old
        seen.add(tuple(new))
    assert len(seen) == 96


def test_forward_takes_any_indices() -> None:
    x = Var("x")
    indices: list[Expr] = [x, IntImm(3)]
    assert [str(one) for one in layout(lambda i, j: [i // 4, j, i % 4]).forward(indices)] == [
        *("x // 4", "3", "x % 4")
    ]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (lambda i, j: [i], "do not map"),
        (lambda i, j: [i, i, j], "do not map"),
        (lambda i, j: [i // 5, i % 5, j], "do not map"),
        (lambda i, j: [i * 9 + j], "do not map"),
        (lambda i, j: [i + 1, j], "must begin at 0, begins at 1"),
        (lambda i, j: [i // 4, j], "do not map"),
    ],
)
def test_layouts_reject_what_is_not_one_to_one(rule: Rule, why: str) -> None:
    with pytest.raises(ScheduleError, match=why):
        layout(rule)
