"""Bring divisions and bounds of split axes into the form that simplifies best (TVM's
RenormalizeSplitPattern).

Before::

    if likely(i.outer * 32 + i.inner < 100): A[(i.outer * 32 + i.inner) // 8]

After (and the simplifier that follows drops `// 25 < 1` again)::

    if likely((i.outer * 8 + i.inner // 4) // 25 < 1): A[i.outer * 4 + i.inner // 8]

In programs to run, what may wrap around is not changed: integers in memory, and those of other
types than indices.
"""

from __future__ import annotations

import math
from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.data import DataDependence, numbers_of_calls
from te_sched.ir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul
from te_sched.ir.stmt import LetStmt, PrimFunc
from te_sched.ir.visitor import Mapper


def renormalize_split_patterns(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """Bring divisions and bounds of split axes into the form that simplifies best."""
    return func.with_body(_Renormalizer(func, settings).visit(func.body))


def _factor(expr: Expr) -> int | None:
    """The value of an integer constant, or of each lane of a constant vector."""
    if type(expr) is E.Broadcast:
        expr = expr.value
    return expr.value if type(expr) is IntImm else None


def _like(value: int, expr: Expr) -> Expr:
    return ops.const(value, expr.dtype)


def _quotient(a: Any, b: Expr) -> Expr:
    """a // b, of operands that are renormalized already."""
    divisor = _factor(b)
    if divisor is not None and divisor > 0:
        if type(a) is FloorMod:
            return _of_remainder(a, b, divisor)
        if type(a) is Add:
            return _of_sum(a, b, divisor)
    return ops.floordiv(a, b)


def _of_remainder(a: FloorMod, b: Expr, divisor: int) -> Expr:
    """x % (m * d) // d is x // d % m"""
    modulus = _factor(a.b)
    if modulus is None or modulus % divisor:
        return ops.floordiv(a, b)
    return ops.floormod(_quotient(a.a, b), _like(modulus // divisor, b))


def _of_sum(a: Add, b: Expr, divisor: int) -> Expr:
    """(x * (k * g) + y) // (d * g) is (x * k + y // g) // d"""
    first: Any = a.a
    rest = a.b
    if type(first) is Add:
        first, rest = first.a, ops.add(first.b, rest)
    scale = _factor(first.b) if type(first) is Mul else None
    common = 1 if scale is None else math.gcd(scale, divisor)
    if scale is None or common < 2:
        return ops.floordiv(a, b)
    scaled = ops.mul(first.a, _like(scale // common, b))
    total = ops.add(scaled, _quotient(rest, _like(common, b)))
    return _quotient(total, _like(divisor // common, b))


class _Renormalizer(Mapper):
    """Rewrites floor divisions by constants and comparisons with constants."""

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        self.is_exact = settings.to_run
        self.data = DataDependence()
        if self.is_exact:
            self.data.add(*numbers_of_calls(func))

    def may_wrap(self, e: Expr) -> bool:
        is_index = ops.is_index_type(dtypes.element(e.dtype))
        return self.is_exact and (not is_index or self.data.of(e))

    def visit_let(self, node: LetStmt | E.Let) -> LetStmt | E.Let:
        if self.may_wrap(node.value):
            self.data.add(node.var)
        return self.generic(node)

    visit_LetStmt = visit_Let = visit_let

    def visit_FloorDiv(self, node: FloorDiv) -> Any:
        a, b = self.visit(node.a), self.visit(node.b)
        new = ops.floordiv(a, b) if self.may_wrap(a) else _quotient(a, b)
        unchanged = type(new) is FloorDiv and new.a is node.a and new.b is node.b
        return node if unchanged else new

    def _less(self, a: Expr, b: Expr) -> tuple[Any, Any]:
        """The operands of a < b; x < c becomes x // c < 1."""
        a, b = self.visit(a), self.visit(b)
        bound = b.value if type(b) is IntImm else 0
        if bound < 2 or self.may_wrap(a):
            return a, b
        return _quotient(a, b), _like(1, b)

    def visit_LT(self, node: E.LT) -> Any:
        a, b = self._less(node.a, node.b)
        return node if a is node.a and b is node.b else E.LT(a, b)

    def visit_GT(self, node: E.GT) -> Any:
        return E.LT(*self._less(node.b, node.a))

    def visit_GE(self, node: E.GE) -> Any:
        a, b = self._less(node.a, node.b)
        return E.LE(b, a)

    def visit_LE(self, node: E.LE) -> Any:
        b, a = self._less(node.b, node.a)
        return node if a is node.a and b is node.b else E.LE(a, b)
