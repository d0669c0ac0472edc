"""Bring divisions and bounds of split axes into the form that simplifies best (TVM's
RenormalizeSplitPattern).

Before::

    if likely(i.outer * 32 + i.inner < 100): A[(i.outer * 32 + i.inner) // 8]

After (and the simplifier that follows drops `// 25 < 1` again)::

    if likely((i.outer * 8 + i.inner // 4) // 25 < 1): A[i.outer * 4 + i.inner // 8]
"""

from __future__ import annotations

import math
from typing import Any

from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import Mapper, replace


def renormalize_split_patterns(func: PrimFunc) -> PrimFunc:
    """Bring divisions and bounds of split axes into the form that simplifies best."""
    body = _Renormalizer().visit(func.body)
    return func if body is func.body else replace(func, body=body)


def _factor(expr: Expr) -> int | None:
    """The value of an integer constant, or of each lane of a constant vector."""
    if type(expr) is E.Broadcast:
        expr = expr.value
    return expr.value if type(expr) is IntImm else None


def _like(value: int, expr: Expr) -> Expr:
    return ops.const(value, expr.dtype)


class _Renormalizer(Mapper):
    """Rewrites floor divisions by constants and comparisons with constants."""

    def visit_FloorDiv(self, node: FloorDiv) -> Any:
        a, b = self.visit(node.a), self.visit(node.b)
        divisor = _factor(b)
        rewritten = None
        if divisor is not None and divisor > 0:
            rewrite = self._of_remainder if type(a) is FloorMod else self._of_sum
            rewritten = rewrite(a, b, divisor)
        if rewritten is not None:
            return self.visit(rewritten)
        return node if a is node.a and b is node.b else ops.floordiv(a, b)

    def _of_remainder(self, a: Any, b: Expr, divisor: int) -> Any:
        """x % (m * d) // d is x // d % m"""
        modulus = _factor(a.b)
        if modulus is None or modulus % divisor:
            return None
        return ops.floormod(ops.floordiv(a.a, b), _like(modulus // divisor, b))

    def _of_sum(self, a: Expr, b: Expr, divisor: int) -> Any:
        """(x * (k * g) + y) // (d * g) is (x * k + y // g) // d"""
        if type(a) is not Add:
            return None
        first, rest = a.a, a.b
        if type(first) is Add:
            first, rest = first.a, ops.add(first.b, rest)
        if type(first) is not Mul:
            return None
        scale = _factor(first.b)
        if scale is None:
            return None
        common = math.gcd(scale, divisor)
        if common < 2:
            return None
        quotient = ops.floordiv(rest, _like(common, b))
        scaled = ops.mul(first.a, _like(scale // common, b))
        return ops.floordiv(ops.add(scaled, quotient), _like(divisor // common, b))

    def _less(self, a: Expr, b: Expr) -> tuple[Any, Any]:
        """The operands of a < b; x < c becomes x // c < 1."""
        a, b = self.visit(a), self.visit(b)
        bound = b.value if type(b) is IntImm else 0
        if bound < 2 or not ops.is_index_type(a.dtype):
            return a, b
        return self.visit(ops.floordiv(a, b)), _like(1, b)

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
