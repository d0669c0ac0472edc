"""Sizes of torch, formulas of symbols (sympy), as expressions. Must not know graphs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.relax.frontend.tensors import Size

_COMBINATIONS: Mapping[str, Callable[..., Size]] = {
    "Add": lambda *terms: reduce(operator.add, terms),
    "Mul": lambda *factors: reduce(operator.mul, factors),
    "Pow": lambda base, power: reduce(operator.mul, [base] * power),
    "FloorDiv": lambda a, b: ops.floordiv(a, b),
    "CleanDiv": lambda a, b: ops.floordiv(a, b),
    "Mod": lambda a, b: ops.floormod(a, b),
    "PythonMod": lambda a, b: ops.floormod(a, b),
    "Max": lambda *sizes: reduce(ops.maximum, sizes),
    "Min": lambda *sizes: reduce(ops.minimum, sizes),
}
Formula = Any  # of sympy, which has no types
TorchSize = Any  # an int, or a SymInt with a formula
Sizes = dict[Formula, Expr]  # sizes by the name of torch's symbol, or by a formula
_Ratio = tuple[Size, int]  # a numerator and a denominator
_MOST = 1 << 16  # of the denominator of a factor


def size_expr(size: TorchSize, sizes: Sizes) -> Size:
    """A size of torch as an int, or an expression of what `sizes` has for formulas and symbols, to
    which variables for the symbols that it lacks are added.

    GraphError for functions of sizes that have no translation.

    >>> size_expr(3, {})
    3
    """
    if isinstance(size, int):
        return size
    return _of_sympy(size.node.expr, sizes)


def solve_dimensions(dimensions: Iterable[tuple[str, TorchSize]], sizes: Sizes) -> None:
    """Give values to the symbols that are not a dimension alone, from dimensions that are a
    multiple of one of them and a constant: for a dimension 3 * s + 1, `sizes` gets a variable m of
    that dimension, and (m - 1) // 3 for s. A call whose m does not fit is refused by the relations
    of sizes that torch knows.

    Parameters
    ----------
    dimensions : the sizes of inputs as torch has them, each with the name of its variable.
    sizes : what is known of symbols, which gets more.
    """
    formulas = [(name, size.node.expr) for name, size in dimensions if not isinstance(size, int)]
    alone = {expr.name for _, expr in formulas if expr.is_Symbol}
    for name, expr in formulas:
        symbols = [
            symbol for symbol in expr.free_symbols if symbol.name not in alone | sizes.keys()
        ]
        if len(symbols) != 1:
            continue
        (symbol,) = symbols
        factor = expr.coeff(symbol)
        rest = expr - factor * symbol
        if factor.is_Integer and rest.is_Integer and factor > 0:
            variable = sizes[expr] = Var(name, "int64")
            sizes[symbol.name] = ops.floordiv(variable - int(rest), int(factor))


def _of_sympy(expr: Formula, sizes: Sizes) -> Size:
    """A formula of sympy as an expression."""
    if expr.is_Integer:
        return int(expr)
    if expr.is_Symbol:
        return sizes.setdefault(expr.name, Var(expr.name, "int64"))
    if (size := sizes.get(expr)) is not None:
        return size
    name = type(expr).__name__
    if name in ("TruncToInt", "FloorToInt", "CeilToInt"):  # sizes are positive
        numerator, denominator = _ratio_of(expr.args[0], sizes)
        rest = denominator - 1 if name == "CeilToInt" else 0
        return ops.floordiv(numerator + rest, denominator)
    if name not in _COMBINATIONS:
        raise _unknown(expr)
    return _COMBINATIONS[name](*[_of_sympy(part, sizes) for part in expr.args])


def _ratio_of(expr: Formula, sizes: Sizes) -> _Ratio:
    """A formula of floats as a ratio of sizes."""
    name = type(expr).__name__
    if expr.is_Float or expr.is_Rational:
        ratio = Fraction(float(expr)).limit_denominator(_MOST)
        return ratio.numerator, ratio.denominator
    if name == "ToFloat":
        return _of_sympy(expr.args[0], sizes), 1
    if name == "Mul":
        parts = [_ratio_of(part, sizes) for part in expr.args]
        numerator = reduce(operator.mul, [part for part, _ in parts])
        return numerator, reduce(operator.mul, [part for _, part in parts])
    raise _unknown(expr)


def _unknown(expr: object) -> GraphError:
    return GraphError(
        f"size {expr} of an input has no translation",
        f"it is computed by {type(expr).__name__}",
        "use sums, products, quotients and remainders of dimensions",
    )
