"""Guarded loops as one: the index has the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.analysis.checks.guarded_sums import joined
from te_sched.arith.evaluate import evaluate
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.scopes import Loop

OUTER, INNER, OTHER, N = (Var(name) for name in "oijn")


def loop(var: Var, extent: Any, begin: Any = 0) -> Loop:
    return Loop(var, ops.convert(begin), ops.convert(extent), "serial")


def values(
    index: Expr, loops: list[Loop], conditions: list[Expr], sizes: dict[Var, int]
) -> set[int]:
    """The values of an index in loops, where conditions hold."""
    points: list[dict[Var, Any]] = [{var: np.int64(value) for var, value in sizes.items()}]
    for one in loops:
        points = [
            point | {one.var: begin + number}
            for point in points
            for begin in [np.int64(evaluate(one.min, point, {}))]
            for number in range(int(evaluate(one.extent, point, {})))
        ]
    return {
        int(evaluate(index, point, {}))
        for point in points
        if all(evaluate(condition, point, {}) for condition in conditions)
    }


TILED = OUTER * 8 + INNER
TILES = [loop(OUTER, (N + 7) // 8), loop(INNER, 8)]


@pytest.mark.parametrize(
    ("index", "loops", "conditions", "count"),
    [
        (TILED + 1, TILES, [TILED < N], 1),
        (TILED + OTHER * 100, [*TILES, loop(OTHER, 3)], [TILED < N], 2),
        ((TILED) * 4, [loop(OUTER, 3), loop(INNER, 8)], [TILED < 20], 1),
        (
            TILED,
            [loop(OUTER, 3), loop(INNER, 8)],
            [TILED < 20, ops.less_equal(3, TILED)],
            1,
        ),
    ],
)
def test_sums_have_the_values_that_the_guard_leaves(
    index: Expr, loops: list[Loop], conditions: list[Expr], count: int
) -> None:
    result = joined(index, loops, conditions, [N])
    assert result is not None
    assert len(result.loops) == count
    for size in (1, 8, 13, 16):
        assert values(result.total, result.loops, [], {N: size}) == values(
            index, loops, conditions, {N: size}
        )


@pytest.mark.parametrize(
    ("index", "loops", "conditions"),
    [
        (TILED, TILES, [ops.floormod(TILED, 3) < 1]),
        (TILED, TILES, [TILED < OTHER]),
        (
            TILED + OTHER,
            [*TILES, loop(OTHER, OUTER + 1)],
            [TILED < N],
        ),
    ],
)
def test_other_guards_and_loops_that_depend_on_them_are_left_alone(
    index: Expr, loops: list[Loop], conditions: list[Expr]
) -> None:
    assert joined(index, loops, conditions, [N]) is None
