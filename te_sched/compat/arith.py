"""tvm.arith: the Analyzer, with the objects that TVM's gives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from te_sched import config
from te_sched.arith import analyzer, detect, int_set
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Range, Var
from te_sched.signatures import checked

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntervalSet",
    "ModularSet",
    "detect_linear_equation",
]

IntervalSet = int_set.IntervalSet


@dataclass(frozen=True)
class ConstIntBound:
    """The least and the greatest value of an expression."""

    min_value: int
    max_value: int

    POS_INF, NEG_INF = (1 << 63) - 1, -((1 << 63) - 1)


@dataclass(frozen=True)
class ModularSet:
    """The numbers coeff * k + base."""

    coeff: int
    base: int


_deeply = walks_deeply("analyse an expression", DeclarationError)


class Analyzer(analyzer.Analyzer):
    """te_sched's Analyzer, with the settings in force; numbers may stand for expressions."""

    def __init__(self) -> None:
        super().__init__(config.current().lowering)

    @checked
    @_deeply
    def bind(self, var: Var, expr: Any) -> None:
        """Note the range of a variable, or the value that it stands for."""
        super().bind(var, expr if isinstance(expr, Range) else ops.convert(expr))

    @_deeply
    def simplify(self, e: Any, steps: int = 2) -> Expr:
        """The simple form of an expression; `steps` is for TVM's sake."""
        del steps
        return super().simplify(ops.convert(e))

    @_deeply
    def rewrite_simplify(self, e: Any) -> Expr:
        """The expression rewritten by rules alone."""
        return super().rewrite_simplify(ops.convert(e))

    @_deeply
    def canonical_simplify(self, e: Any) -> Expr:
        """The expression in canonical form."""
        return super().canonical_simplify(ops.convert(e))

    @checked
    @_deeply
    def can_prove_greater_equal(self, e: Any, limit: int) -> bool:
        """Whether e >= limit is known."""
        return super().can_prove_greater_equal(ops.convert(e), limit)

    @checked
    @_deeply
    def can_prove_less(self, e: Any, limit: int) -> bool:
        """Whether e < limit is known."""
        return super().can_prove_less(ops.convert(e), limit)

    @_deeply
    def const_bounds(self, e: Any) -> tuple[int | None, int | None]:
        """The smallest and the largest value; None where there is no bound."""
        return super().const_bounds(ops.convert(e))

    def mark_nonnegative(self, e: Any) -> None:
        """Note that a variable, or a variable and constants, is never negative."""
        super().mark_nonnegative(ops.convert(e))

    @_deeply
    def const_int_bound(self, e: Any) -> ConstIntBound:
        """The least and the greatest value of an expression."""
        low, high = self.const_bounds(e)
        return ConstIntBound(
            ConstIntBound.NEG_INF if low is None else low,
            ConstIntBound.POS_INF if high is None else high,
        )

    @_deeply
    def modular_set(self, e: Any) -> Any:
        """The form coeff * k + base of the values of an expression."""
        return ModularSet(*super().modular_set(ops.convert(e)))

    @checked
    def constraint_scope(self, constraint: Expr) -> AbstractContextManager[None]:
        """A scope inside of which a condition is known to hold."""
        return self.constraint(constraint)

    @_deeply
    def can_prove(self, condition: Any, strength: int = 0) -> bool:
        """Whether a condition certainly holds; `strength` is for TVM's sake."""
        del strength
        return super().can_prove(ops.convert(condition))

    @_deeply
    def can_prove_equal(self, a: Any, b: Any) -> bool:
        """Whether two values are certainly equal."""
        return super().can_prove_equal(*ops.operands(a, b))


@checked
@_deeply
def detect_linear_equation(expr: Any, var_list: Sequence[Var]) -> list[Expr]:
    """The coefficients of the variables and the rest; [] when the expression is not linear."""
    return list(detect.detect_linear_equation(ops.convert(expr), var_list) or ())
