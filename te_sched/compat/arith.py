"""tvm.arith: the Analyzer, with TVM's types of results."""

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
    """The minimum and maximum of an expression.

    >>> from te_sched import te
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.const_int_bound(i % 4)
    ConstIntBound(min_value=0, max_value=3)
    """

    min_value: int
    max_value: int

    POS_INF, NEG_INF = (1 << 63) - 1, -((1 << 63) - 1)


@dataclass(frozen=True)
class ModularSet:
    """The set of integers coeff * k + base.

    >>> from te_sched import te
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.modular_set(i * 4 + 1)
    ModularSet(coeff=4, base=1)
    """

    coeff: int
    base: int


_deeply = walks_deeply("analyse an expression", DeclarationError)


class Analyzer(analyzer.Analyzer):
    """tvm.arith.Analyzer: uses the current settings and converts numbers to expressions.

    >>> from te_sched import te, tir
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.bind(i, tir.Range(0, 8))
    >>> analyzer.simplify(i // 8)
    0
    """

    def __init__(self) -> None:
        super().__init__(config.current().lowering)

    @checked
    @_deeply
    def bind(self, var: Var, expr: Any) -> None:
        """Assume the range or the value of a variable."""
        super().bind(var, expr if isinstance(expr, Range) else ops.convert(expr))

    @_deeply
    def simplify(self, e: Any, steps: int = 2) -> Expr:
        """The expression in simplified form; `steps` is ignored."""
        del steps
        return super().simplify(ops.convert(e))

    @_deeply
    def rewrite_simplify(self, e: Any) -> Expr:
        """The expression simplified by the rewrite rules only."""
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
        """The minimum and maximum of the expression; None where it is unbounded."""
        return super().const_bounds(ops.convert(e))

    def mark_nonnegative(self, e: Any) -> None:
        """Assume that a variable, or the sum of a variable and constants, is at least 0."""
        super().mark_nonnegative(ops.convert(e))

    @_deeply
    def const_int_bound(self, e: Any) -> ConstIntBound:
        """The minimum and maximum of the expression.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.const_int_bound(i + 1)
        ConstIntBound(min_value=1, max_value=8)
        """
        low, high = self.const_bounds(e)
        return ConstIntBound(
            ConstIntBound.NEG_INF if low is None else low,
            ConstIntBound.POS_INF if high is None else high,
        )

    @_deeply
    def modular_set(self, e: Any) -> Any:
        """The values of the expression as coeff * k + base.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.modular_set(i * 4 + 1)
        ModularSet(coeff=4, base=1)
        """
        return ModularSet(*super().modular_set(ops.convert(e)))

    @checked
    def constraint_scope(self, constraint: Expr) -> AbstractContextManager[None]:
        """A context manager inside which a condition is assumed.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> with analyzer.constraint_scope(i > 3):
        ...     print(analyzer.can_prove(i >= 2))
        True
        """
        return self.constraint(constraint)

    @_deeply
    def can_prove(self, condition: Any, strength: int = 0) -> bool:
        """Whether the condition is known to hold; `strength` is ignored."""
        del strength
        return super().can_prove(ops.convert(condition))

    @_deeply
    def can_prove_equal(self, a: Any, b: Any) -> bool:
        """Whether two values are known to be equal."""
        return super().can_prove_equal(*ops.operands(a, b))


@checked
@_deeply
def detect_linear_equation(expr: Any, var_list: Sequence[Var]) -> list[Expr]:
    """Coefficients of the variables and the rest; [] if the expression is not linear in them.

    >>> from te_sched import te
    >>> i, j, n = te.var("i"), te.var("j"), te.var("n")
    >>> detect_linear_equation(i * n + j * 2 + 1, [i, j])
    [n, 2, 1]
    """
    return list(detect.detect_linear_equation(ops.convert(expr), var_list) or ())
