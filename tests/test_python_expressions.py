"""Limits of what the text of a program may compute."""

from __future__ import annotations

import ast

import pytest

from te_sched.errors import DeclarationError
from te_sched.python_expressions import Limits, check_operation, is_long, length_of


@pytest.mark.parametrize(
    ("kind", "a", "b", "items"),
    [
        (ast.Mult, [0, 0], 3, 6),
        (ast.Mult, 3, "ab", 6),
        (ast.Mult, "ab", -1, 0),
        (ast.Add, [1], [2, 3], 3),
        (ast.Pow, 2, 64, 1),
        (ast.Pow, 1, 10**30, 1),
        (ast.Pow, 2, -(10**30), 1),
        (ast.LShift, 1, 64, 1),
        (ast.Add, 1.0, 2, 1),
    ],
)
def test_operations_of_texts(kind: type, a: object, b: object, items: int) -> None:
    assert check_operation(kind, a, b) == items


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        (ast.Mult, [0], 10**9),
        (ast.Mult, 10**9, b"x"),
        (ast.Pow, 3, 10**9),
        (ast.Pow, -3, 10**9),
        (ast.LShift, 1, 10**9),
        (ast.Mult, 1 << 2000, 1 << 2000),
        (ast.Mod, "%d", 1),
        (ast.Mod, b"%d", 1),
    ],
)
def test_operations_that_are_refused(kind: type, a: object, b: object) -> None:
    with pytest.raises(DeclarationError, match=r"a text (computes|formats)"):
        check_operation(kind, a, b)


def test_steps_depend_on_the_text() -> None:
    limits = Limits("x" * 100)
    limits.spend(1_000_000)
    with pytest.raises(DeclarationError, match="a text takes more than 1001600 steps"):
        limits.spend(2000)


def test_lengths() -> None:
    assert (length_of("abc"), length_of(3), length_of(x for x in "ab")) == (3, 1, 1)
    assert is_long(range(10**30))
    assert not is_long(range(10))
