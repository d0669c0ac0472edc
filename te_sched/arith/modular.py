"""Modular sets: expressions known to be coeff * k + base for some integer k.

coeff 0 means the constant base. Otherwise 0 <= base < coeff. Must not know how expressions are
rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from te_sched.ir import dtypes
from te_sched.ir.expr import (
    Add,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Range,
    Sub,
    Var,
)
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Visitor

Residue = tuple[int, int]
ANYTHING: Residue = (1, 0)


def _normalized(coeff: int, base: int) -> Residue:
    coeff = abs(coeff)
    return (coeff, base % coeff) if coeff else (0, base)


def _union(a: Residue, b: Residue) -> Residue:
    """The modular set of a value that is in a or in b."""
    return _normalized(gcd(a[0], b[0], abs(a[1] - b[1])), a[1])


class ModularSets(Visitor):
    """The modular sets of expressions, under known facts."""

    __slots__ = ("__weakref__", "facts", "memo", "variables")

    def __init__(self) -> None:
        self.variables: dict[Var, Residue] = {}
        self.facts: list[tuple[Expr, int, int]] = []
        self.memo: dict[Expr, Residue] = {}

    def bind(self, var: Var, value: Range | Expr) -> None:
        """Record the value of a variable; a range of more than one value gives no fact."""
        if not isinstance(value, Range):
            self.variables[var] = self.of(value)
        elif type(value.extent) is IntImm and value.extent.value == 1:
            self.variables[var] = self.of(value.min)

    def of(self, e: Expr) -> Residue:
        """(coeff, base) of e."""
        kind = type(e)
        if kind is IntImm:
            return (0, e.value)  # type: ignore[attr-defined]
        result = self.memo.get(e)
        if result is None:
            combine = _BINARY.get(kind)
            if combine is not None:
                result = combine(self.of(e.a), self.of(e.b))  # type: ignore[attr-defined]
            else:
                method = self.methods.get(kind)
                result = method(self, e) if method is not None else ANYTHING
            for fact, coeff, base in self.facts:
                if result == ANYTHING and same(fact, e):
                    result = (coeff, base)
            self.memo[e] = result
        return result

    def visit_Select(self, e: Any) -> Residue:
        return _union(self.of(e.true_value), self.of(e.false_value))

    def visit_Cast(self, e: Any) -> Residue:
        return self.of(e.value) if dtypes.is_integral(e.value.dtype) else ANYTHING

    def visit_Let(self, e: Any) -> Residue:
        self.bind(e.var, e.value)
        return self.of(e.body)

    def visit_Call(self, e: Any) -> Residue:
        if e.op != "tir.shift_right":
            return ANYTHING
        b = self.of(e.args[1])
        return _divided(self.of(e.args[0]), 1 << b[1]) if b[0] == 0 and 0 <= b[1] < 63 else ANYTHING

    def visit_Var(self, e: Any) -> Residue:
        return self.variables.get(e, ANYTHING)


def _add(a: Residue, b: Residue) -> Residue:
    return _normalized(gcd(a[0], b[0]), a[1] + b[1])


def _sub(a: Residue, b: Residue) -> Residue:
    return _normalized(gcd(a[0], b[0]), a[1] - b[1])


def _mul(a: Residue, b: Residue) -> Residue:
    coeff = gcd(a[0] * b[0], a[0] * b[1], a[1] * b[0])
    return _normalized(coeff, a[1] * b[1])


def _divided(a: Residue, divisor: int) -> Residue:
    if divisor > 0 and a[0] % divisor == 0:
        return _normalized(a[0] // divisor, a[1] // divisor)
    return ANYTHING


def _floordiv(a: Residue, b: Residue) -> Residue:
    return _divided(a, b[1]) if b[0] == 0 and b[1] else ANYTHING


def _floormod(a: Residue, b: Residue) -> Residue:
    if b[0] != 0 or b[1] <= 0:
        return ANYTHING
    return _normalized(gcd(a[0], b[1]), a[1]) if a[0] else (0, a[1] % b[1])


# The result of an operation on two sets.
_BINARY: dict[type, Callable[[Residue, Residue], Residue]] = {
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    Min: _union,
    Max: _union,
}
