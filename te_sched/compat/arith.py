"""tvm.arith: the Analyzer, with the objects that TVM's gives."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from te_sched.arith import analyzer, detect, int_set
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var

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


class Analyzer(analyzer.Analyzer):
    """te_sched's Analyzer; numbers may stand for expressions."""

    def simplify(self, e: Any, steps: int = 2) -> Expr:
        """The simple form of an expression; `steps` is for TVM's sake."""
        del steps
        return super().simplify(ops.convert(e))

    def const_int_bound(self, e: Any) -> ConstIntBound:
        """The least and the greatest value of an expression."""
        low, high = self.const_bounds(ops.convert(e))
        return ConstIntBound(
            ConstIntBound.NEG_INF if low is None else low,
            ConstIntBound.POS_INF if high is None else high,
        )

    def modular_set(self, e: Any) -> Any:
        """The form coeff * k + base of the values of an expression."""
        return ModularSet(*super().modular_set(ops.convert(e)))

    def constraint_scope(self, constraint: Expr) -> AbstractContextManager[None]:
        """A scope inside of which a condition is known to hold."""
        return self.constraint(constraint)

    def can_prove(self, condition: Any, strength: int = 0) -> bool:
        """Whether a condition certainly holds; `strength` is for TVM's sake."""
        del strength
        return super().can_prove(ops.convert(condition))

    def can_prove_equal(self, a: Any, b: Any) -> bool:
        """Whether two values are certainly equal."""
        return super().can_prove_equal(*ops.operands(a, b))


def detect_linear_equation(expr: Any, var_list: list[Var]) -> list[Expr]:
    """The coefficients of the variables and the rest; [] when the expression is not linear."""
    return list(detect.detect_linear_equation(ops.convert(expr), var_list) or ())
