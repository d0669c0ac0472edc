"""The door between expressions and sympy, the only place that knows sympy.

`sympy.sympify(expression)` gives an integer expression as mathematics: each variable is an
`ExpressionSymbol` that remembers it, and so is each part that sympy has no form for. The way back,
`from_sympy`, freezes any integer expression of such symbols into IR wherever an expression is
taken.
Inside te_sched an expression is always IR. sympy is imported when it is first needed.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any
from weakref import WeakValueDictionary

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, expr, intrinsics, ops
from te_sched.ir.expr import Expr, IterVar, Operand, Var
from te_sched.ir.operators import declaring

_not_deeply = walks_deeply("convert an expression to sympy", DeclarationError, again=False)


def _sympy() -> Any:
    """The module, imported when first needed: that takes longer than importing te_sched."""
    return importlib.import_module("sympy")


def open_door() -> None:
    """Register both conversions: `sympify` of an expression, and sympy objects in expressions."""
    setattr(Operand, "_sympy_", to_sympy)  # noqa: B010
    if _converted not in ops.FOREIGN_CONVERSIONS:
        ops.FOREIGN_CONVERSIONS.append(_converted)


def _converted(value: Any) -> Expr | None:
    sympy = sys.modules.get("sympy")
    return from_sympy(value) if sympy is not None and isinstance(value, sympy.Basic) else None


# The symbol of a variable, or of a part without a form in sympy, by the address of the expression.
# A symbol keeps its expression alive, so an address in this table is never that of another one.
_SYMBOLS: WeakValueDictionary[int, Any] = WeakValueDictionary()
_symbol_class: Any = None
_symbols_made = 0


def _symbol(expression: Expr, is_nonnegative: bool = False) -> Any:
    """The symbol that stands for an expression: always the same one, equal to no other."""
    global _symbol_class, _symbols_made
    sympy = _sympy()

    if _symbol_class is None:
        # A symbol that remembers the expression it stands for, and when it was made.
        _symbol_class = type("ExpressionSymbol", (sympy.Dummy,), {})
    symbol = _SYMBOLS.get(id(expression))
    if symbol is None:
        name = expression.name if isinstance(expression, Var) else type(expression).__name__
        assumptions = {"integer": True, **({"nonnegative": True} if is_nonnegative else {})}
        symbol = _symbol_class(name, **assumptions)
        symbol.expression, symbol.serial = expression, _symbols_made
        _symbols_made += 1
        _SYMBOLS[id(expression)] = symbol
    return symbol


def _is_from_zero(axis: IterVar) -> bool:
    return axis.dom is not None and ops.is_const(axis.dom.min, 0)


@_not_deeply
def to_sympy(value: Any) -> Any:
    """An integer expression or a condition as a sympy expression."""
    if isinstance(value, IterVar):
        return _symbol(value.var, _is_from_zero(value))
    expression = ops.convert(value)
    if not dtypes.is_integral(expression.dtype) and not dtypes.is_bool(expression.dtype):
        raise DeclarationError(
            f"cannot convert an expression of dtype {expression.dtype} to sympy",
            "only integer expressions and conditions have a form there",
            "keep it outside of the sympy expression",
        )
    return _forward(expression)


def _forward(e: Expr) -> Any:
    sympy = _sympy()

    kind = type(e)
    if isinstance(e, expr.IntImm):
        return sympy.Integer(e.value) if e.dtype != "bool" else sympy.S(bool(e.value))
    if isinstance(e, Var):
        axes = {axis.var: axis for axis in declaring.get() or ()}
        return _symbol(e, e.is_size or (e in axes and _is_from_zero(axes[e])))
    if isinstance(e, expr.Not):
        return sympy.Not(_forward(e.a))
    operation = _binary_forms().get(kind)
    if operation is not None:
        return operation(_forward(e.a), _forward(e.b))  # type: ignore[attr-defined]
    return _symbol(e)


# sympy's names of comparisons: the nodes that they are, and what makes such nodes.
_COMPARISONS: dict[str, tuple[type, Callable[[Any, Any], Expr]]] = {
    "Eq": (expr.EQ, ops.equal),
    "Ne": (expr.NE, ops.not_equal),
    "Lt": (expr.LT, ops.less),
    "Le": (expr.LE, ops.less_equal),
    "Gt": (expr.GT, ops.greater),
    "Ge": (expr.GE, ops.greater_equal),
}


def _binary_forms() -> dict[type, Callable[[Any, Any], Any]]:
    sympy = _sympy()

    return {
        expr.Add: lambda a, b: a + b,
        expr.Sub: lambda a, b: a - b,
        expr.Mul: lambda a, b: a * b,
        expr.FloorDiv: lambda a, b: sympy.floor(a / b),
        expr.FloorMod: sympy.Mod,
        expr.Min: sympy.Min,
        expr.Max: sympy.Max,
        **{kind: getattr(sympy, name) for name, (kind, _) in _COMPARISONS.items()},
        expr.And: sympy.And,
        expr.Or: sympy.Or,
    }


@_not_deeply
def from_sympy(value: Any) -> Expr:
    """A sympy expression of integers, or a condition on them, as IR.

    A sum is ordered by the scale of its terms, then by the order of the axes in the declaration,
    then by the order in which reduction axes and other variables were first seen; a constant comes
    last.
    """
    return _Freezer(value).freeze(value)


class _Freezer:
    """Freezes one sympy expression."""

    def __init__(self, whole: Any) -> None:
        sympy = _sympy()

        self.sympy, self.whole = sympy, whole
        self.ranks = {axis.var: rank for rank, axis in enumerate(declaring.get() or ())}
        self.forms: list[tuple[Any, Callable[[Any], Expr]]] = [
            (sympy.Integer, lambda e: ops.const(int(e))),
            (sympy.Symbol, self._of_symbol),
            (sympy.Add, self._of_sum),
            (sympy.Mul, self._of_product),
            (sympy.Pow, self._of_power),
            (sympy.floor, lambda e: self._of_floor(e.args[0])),
            (sympy.ceiling, self._of_ceiling),
            (sympy.Mod, self._of_modulo),
            (sympy.Min, lambda e: self._folded(ops.minimum, e)),
            (sympy.Max, lambda e: self._folded(ops.maximum, e)),
            (sympy.Abs, lambda e: intrinsics.abs(self.freeze(e.args[0]))),
            (sympy.Piecewise, self._of_piecewise),
            (sympy.And, lambda e: self._folded(ops.logical_and, e)),
            (sympy.Or, lambda e: self._folded(ops.logical_or, e)),
            (sympy.Not, lambda e: ops.logical_not(self.freeze(e.args[0]))),
            (type(sympy.true), lambda e: ops.TRUE),
            (type(sympy.false), lambda e: ops.FALSE),
            *(
                (getattr(sympy, name), self._comparison(function))
                for name, (_, function) in _COMPARISONS.items()
            ),
        ]

    def freeze(self, e: Any) -> Expr:
        """The expression for a part of the whole."""
        for kind, form in self.forms:
            if isinstance(e, kind):
                return form(e)
        if e.is_Number:
            raise self._not_an_integer(e)
        raise DeclarationError(
            f"cannot convert the sympy expression {self.whole}: no rule for {type(e).__name__}",
            "",
            "use +, -, *, powers, floor, ceiling, Mod, Min, Max, Abs, Piecewise and conditions",
        )

    def _not_an_integer(self, e: Any) -> DeclarationError:
        return DeclarationError(
            f"cannot convert the sympy expression {self.whole}: {e} may not be an integer",
            "sympy cannot prove it",
            "round it: sympy.floor(...) or sympy.ceiling(...)",
        )

    def _of_symbol(self, symbol: Any) -> Expr:
        if _symbol_class is not None and isinstance(symbol, _symbol_class):
            expression: Expr = symbol.expression
            return expression
        raise DeclarationError(
            f"cannot convert the sympy expression {self.whole}: symbol {symbol} is not an axis or "
            "variable",
            "",
            "build it from axes and te.var: sympy.sympify(axis) gives the symbol of an axis",
        )

    def _order(self, term: Any) -> tuple[Any, ...]:
        """Where a term stands in a sum, or a part among others."""
        is_value = isinstance(term, self.sympy.Expr)
        coefficient, rest = term.as_coeff_Mul() if is_value else (self.sympy.S.One, term)
        places = sorted(self._place(symbol) for symbol in rest.free_symbols)
        scale = -abs(coefficient) if places else 1
        return (not places, scale, places, self.sympy.default_sort_key(rest))

    def _place(self, symbol: Any) -> tuple[int, int]:
        expression = getattr(symbol, "expression", None)
        rank = self.ranks.get(expression) if isinstance(expression, Var) else None
        return (1, getattr(symbol, "serial", 0)) if rank is None else (0, rank)

    def _of_sum(self, e: Any) -> Expr:
        if any(not term.as_coeff_Mul()[0].is_Integer for term in e.args):
            return self._exact_quotient(e)
        total: Expr | None = None
        for term in sorted(e.args, key=self._order):
            coefficient, rest = term.as_coeff_Mul()
            if total is None:
                total = self.freeze(term)
            elif coefficient < 0:
                total = ops.sub(total, self.freeze(-coefficient * rest))
            else:
                total = ops.add(total, self.freeze(term))
        assert total is not None  # a sum has terms
        return total

    def _of_product(self, e: Any) -> Expr:
        coefficient, rest = e.as_coeff_Mul()
        if not coefficient.is_Integer:
            return self._exact_quotient(e)
        factors = sorted(self.sympy.Mul.make_args(rest), key=self._order)
        product = reduce(ops.mul, [self.freeze(factor) for factor in factors])
        return ops.mul(product, int(coefficient))

    def _exact_quotient(self, e: Any) -> Expr:
        """A quotient that is an integer, though its terms may not be."""
        numerator, denominator = self.sympy.fraction(self.sympy.together(e))
        if not e.is_integer or e.has(self.sympy.Float):
            raise self._not_an_integer(e)
        return ops.floordiv(self.freeze(numerator), self.freeze(denominator))

    def _of_power(self, e: Any) -> Expr:
        base, exponent = e.args
        if not exponent.is_Integer or exponent < 1:
            raise self._not_an_integer(e)
        return reduce(ops.mul, [self.freeze(base)] * int(exponent))

    def _of_floor(self, e: Any) -> Expr:
        numerator, denominator = self.sympy.fraction(self.sympy.together(e))
        if denominator == 1:
            return self.freeze(numerator)
        return ops.floordiv(self.freeze(self.sympy.expand(numerator)), self.freeze(denominator))

    def _of_ceiling(self, e: Any) -> Expr:
        numerator, denominator = self.sympy.fraction(self.sympy.together(e.args[0]))
        if denominator.is_Integer and denominator > 0:
            raised = self.sympy.expand(numerator) + (denominator - 1)
            return ops.floordiv(self.freeze(raised), self.freeze(denominator))
        return ops.sub(0, self._of_floor(-e.args[0]))

    def _of_modulo(self, e: Any) -> Expr:
        return ops.floormod(self.freeze(e.args[0]), self.freeze(e.args[1]))

    def _folded(self, function: Callable[[Any, Any], Expr], e: Any) -> Expr:
        parts = sorted(e.args, key=self._order)
        return reduce(function, [self.freeze(part) for part in parts])

    def _of_piecewise(self, e: Any) -> Expr:
        *cases, (value, condition) = e.args
        if condition != True:  # noqa: E712  (sympy's own truth)
            raise DeclarationError(
                f"cannot convert the sympy expression {self.whole}: a Piecewise has no default",
                "it has no value where none of its conditions holds",
                "end it with (value, True)",
            )
        result = self.freeze(value)
        for value, condition in reversed(cases):
            result = intrinsics.if_then_else(self.freeze(condition), self.freeze(value), result)
        return result

    def _comparison(self, function: Callable[[Any, Any], Expr]) -> Callable[[Any], Expr]:
        def compare(e: Any) -> Expr:
            left, right = e.args
            factor = math.lcm(*[_denominator(self.sympy, side) for side in (left, right)])
            if factor != 1:
                left, right = self.sympy.expand(left * factor), self.sympy.expand(right * factor)
            return function(self.freeze(left), self.freeze(right))

        return compare


def _denominator(sympy: Any, e: Any) -> int:
    denominator = sympy.fraction(sympy.together(e))[1]
    return int(denominator) if denominator.is_Integer else 1
