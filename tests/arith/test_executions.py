"""Sampled executions: the iterations of nests, the elements of accesses, groups and numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import (
    Execution,
    TooMany,
    connected,
    distinct_numbers,
    distinct_rows,
    numbered,
    sample_sizes,
    sizes_text,
)
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.scopes import Loop

ROW, COLUMN, N = Var("i"), Var("j"), Var("n")


ZERO = IntImm(0)


OUTER = Loop(ROW, ZERO, IntImm(4), "serial")


@dataclass
class Reference:
    """An access of a vector of two elements."""

    index: tuple[Expr, ...] | None
    sizes: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]


def test_points_of_a_triangle_are_in_execution_order() -> None:
    inner = Loop(COLUMN, ROW, ops.sub(IntImm(4), ROW), "serial")
    points = Execution({}, {}, 100).points([OUTER, inner])
    pairs = [(i, j) for i in range(4) for j in range(i, 4)]
    assert [*zip(points.of(ROW).tolist(), points.of(COLUMN).tolist(), strict=True)] == pairs
    assert points.digits[inner].tolist() == [j - i for i, j in pairs]
    assert points.held([ops.less(COLUMN, IntImm(2))]).count == 3


@pytest.mark.parametrize("extent", [0, -3])
def test_loops_without_iterations_have_no_points(extent: int) -> None:
    points = Execution({}, {}, 100).points([OUTER, Loop(COLUMN, ZERO, IntImm(extent), "serial")])
    assert points.count == 0
    assert points.held([ops.less(ROW, COLUMN)]).count == 0


def test_limits_and_unknown_sizes() -> None:
    run = Execution({}, {}, 3)
    with pytest.raises(TooMany):
        run.points([OUTER])
    points, is_whole = run.first_points([OUTER])
    assert (points.of(ROW).tolist(), is_whole) == ([0, 1, 2], False)
    assert run.points([OUTER], {OUTER: 2}).count == 2
    with pytest.raises(Unevaluable):
        run.points([Loop(COLUMN, ZERO, N, "serial")])


def test_elements_of_an_access_begin_with_outer_iterations() -> None:
    access = Reference(
        (ops.mul(ROW, IntImm(2)),), (IntImm(2),), (OUTER,), (ops.less(ROW, IntImm(2)),)
    )
    points, rows, which = Execution({}, {}, 100).touched(access, [OUTER])
    assert points.count == 2
    assert rows.tolist() == [[0, 0], [0, 1], [1, 2], [1, 3]]
    assert which.tolist() == [0, 0, 1, 1]


def test_groups_numbers_and_samples() -> None:
    sets = [("a", frozenset("x")), ("b", frozenset("y")), ("c", frozenset("xz"))]
    assert [sorted(items) for _, items in connected(sets)] == [["b"], ["a", "c"]]
    (numbers, others), _ = numbered([np.array([[0, 5], [2, 1]]), np.array([[0, 5]])])
    assert numbers[0] == others[0] != numbers[1]
    rows = distinct_rows([np.array([1, 1, 0]), np.array([2, 2, 9])])
    assert rows.tolist() == [[0, 9], [1, 2]]
    sizes = [*sample_sizes([N])]
    assert len({int(one[N]) for one in sizes}) == 3
    assert sizes_text(sizes[0]) == "n = 16"
    assert [*sample_sizes([])] == [{}]


@pytest.mark.parametrize("seed", range(20))
def test_distinct_numbers_and_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.integers(1, 9)
    columns = [rng.integers(-scale, scale, seed) for _ in range(3)]
    assert np.array_equal(distinct_numbers(columns[0]), np.unique(columns[0]))
    rows = np.unique(np.stack(columns, axis=-1), axis=0)
    assert np.array_equal(distinct_rows(columns), rows)
