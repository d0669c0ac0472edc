"""Conversion of arguments to expressions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.relax.utils import args_converter


def is_expr(*values: Any) -> bool:
    return all(isinstance(one, relax.Expr) for one in values)


def test_arguments_by_name() -> None:
    @args_converter.to_expr("x", "rest", "named")
    def function(x: Any, plain: Any, *rest: Any, **named: Any) -> Any:
        return x, plain, rest, named

    x, plain, rest, named = function((1, "a"), 2, 3, None, key="b")
    assert is_expr(x, rest[0], named["key"])
    assert (plain, rest[1]) == (2, None)


def test_lists_of_expressions() -> None:
    @args_converter.to_list_expr("x")
    def function(x: Any) -> Any:
        return x

    assert is_expr(*function([1, (2, 3)]))
    assert function(None) is None
    with pytest.raises(TypeError, match="1 is an int, expected a list or tuple of expressions"):
        function(1)


def test_arguments_by_annotation() -> None:
    @args_converter.auto
    def function(
        a: relax.Expr, b: relax.Expr | None, c: list[relax.Expr], d: int, e: str | relax.Expr = "s"
    ) -> Any:
        return a, b, c, d, e

    a, b, c, d, e = function((), None, [1], 4)
    assert isinstance(a, relax.Tuple)
    assert is_expr(*c)
    assert (b, d, e) == (None, 4, "s")


def test_copies_of_functions_are_among_the_helpers():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    assert relax.utils.copy_with_new_vars(relax.Function([x], x)).params[0] is not x
