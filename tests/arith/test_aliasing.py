"""Proofs that two accesses meet in one iteration alone."""

from __future__ import annotations

import pytest

from te_sched.arith.aliasing import Apart, Touch
from te_sched.arith.forms import Forms
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var

i, j, n = Var("i"), Var("j"), Var("n")  # i < 4, j < 8
x, y, z, m = (Var(name) for name in "xyzm")


def is_apart(a: Expr, b: Expr, *conditions: Expr, size: int = 1) -> bool:
    forms = Forms({}, {})
    forms.bind(i, ops.const(0), ops.const(4))
    forms.bind(j, ops.const(0), ops.const(8))
    touches = [Touch((e,), (IntImm(size),), conditions) for e in (a, b)]
    return Apart(forms, (i, j), (n,), ()).is_proved(*touches)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (i * 8 + j, True),
        (i * 9 + j + n, True),
        (i * 7 + j, False),  # (0, 7) and (1, 0)
        (i + j, False),
        (i * 8, False),
        ((i * 8 + j) // 2 * 2 + j % 2, True),
    ],
    ids=str,
)
def test_one_access_in_two_iterations(index: Expr, expected: bool) -> None:
    assert is_apart(index, index) is expected


def test_two_accesses() -> None:
    assert is_apart(i * 16 + j, i * 16 + j + 8)
    assert not is_apart(i * 8 + j, i * 8 + j + 8)


def test_several_elements_at_once_need_room() -> None:
    assert is_apart(i * 32 + j * 4, i * 32 + j * 4, size=4)
    assert not is_apart(i * 32 + j * 4, i * 32 + j * 4, size=5)


def test_condition_leaves_one_value() -> None:
    assert not is_apart(j, j)
    assert is_apart(j, j, i < 1)


def is_apart_where(index: Expr, extents: dict[Var, Expr], *conditions: Expr) -> bool:
    forms = Forms({n: 1, m: 1}, {})
    for var, extent in extents.items():
        forms.bind(var, ops.const(0), extent)
    touch = Touch((index,), (IntImm(1),), conditions)
    return Apart(forms, extents, (), ()).is_proved(touch, touch)


@pytest.mark.parametrize(("row", "expected"), [(n - 1, True), (n - 2, False)], ids=str)
def test_conditions_keep_parts_of_a_symbolic_size_apart(row: Expr, expected: bool) -> None:
    """Rows of n - 1 elements in 4 parts of (n + 5) // 4, each of 8s with a rest."""
    size, inside = (n + 5) // 4, x * 8 + j
    at, extents = y * size + inside, {i: n, y: ops.const(4), x: (n + 31) // 32, j: ops.const(8)}
    assert is_apart_where(i * row + at, extents, at + 1 < n, inside < size) is expected


@pytest.mark.parametrize(("limit", "expected"), [(m, True), (m + 1, False)], ids=str)
def test_conditions_on_tiles_of_symbolic_sizes_join(limit: Expr, expected: bool) -> None:
    """Planes of n * m elements, in tiles of 3 * 8 with rests."""
    row, column = x * 3 + i, y * 8 + j
    extents = {z: IntImm(5), x: (n + 2) // 3, y: (m + 7) // 8, i: IntImm(3), j: IntImm(8)}
    index = (z * n + row) * m + column
    assert is_apart_where(index, extents, row < n, column < limit) is expected
