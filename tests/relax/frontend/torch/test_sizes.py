"""Sizes of torch as expressions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from te_sched import arith
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.relax.frontend.torch.sizes import Sizes, size_expr, solve_dimensions

sympy = pytest.importorskip("sympy")
functions = pytest.importorskip("torch.utils._sympy.functions")
S, T = sympy.Symbol("s", integer=True, positive=True), sympy.Symbol("t", integer=True)


def symbolic(expr: Any) -> Any:
    """A size of torch that is a formula."""
    return SimpleNamespace(node=SimpleNamespace(expr=expr))


def of(expr: Any, **values: int) -> int:
    """The value of a formula."""
    sizes: Sizes = {}
    size = size_expr(symbolic(expr), sizes)
    analyzer = arith.Analyzer()
    for name, value in values.items():
        analyzer.bind(sizes[name], ops.const(value, "int64"))
    return int(analyzer.simplify(size).value)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (S * 2 + T, 17),
        (S**2 - T, 46),
        (functions.FloorDiv(S, T), 2),
        (functions.Mod(S, T), 1),
        (functions.TruncToInt(1.7 * functions.ToFloat(S)), 11),
        (functions.FloorToInt(0.5 * functions.ToFloat(S)), 3),
        (functions.CeilToInt(0.5 * functions.ToFloat(S)), 4),
    ],
)
def test_formulas(expr: Any, expected: int) -> None:
    names = [symbol.name for symbol in expr.free_symbols]
    assert of(expr, **{name: {"s": 7, "t": 3}[name] for name in names}) == expected


@pytest.mark.parametrize(
    "expr", [sympy.sin(S), functions.TruncToInt(sympy.sin(functions.ToFloat(S)))]
)
def test_formulas_without_a_translation(expr: Any) -> None:
    with pytest.raises(GraphError, match="has no translation"):
        of(expr, s=7)


def test_ints_are_sizes() -> None:
    assert size_expr(3, {}) == 3


def test_dimensions_give_values_to_their_symbols() -> None:
    sizes: Sizes = {}
    dimensions = [("m", symbolic(3 * S + 1)), ("n", symbolic(T)), ("k", symbolic(S * T)), ("l", 4)]
    solve_dimensions(dimensions, sizes)
    texts = [str(size_expr(symbolic(expr), sizes)) for expr in (3 * S + 1, S, T, S * T)]
    assert texts == [
        "m",
        "(m - T.int64(1)) // T.int64(3)",
        "t",
        "t * ((m - T.int64(1)) // T.int64(3))",
    ]
