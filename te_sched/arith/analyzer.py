"""The Analyzer: simplifying, bounding and proving index expressions where variables have ranges
and conditions hold.

Its face is TVM's `tvm.arith.Analyzer`, its canonical forms are TVM's: terms of a sum by falling
scale, constants last.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from te_sched.arith import build
from te_sched.arith.const_bounds import INFINITY
from te_sched.arith.facts import Facts, Memo
from te_sched.arith.full import Simplifier
from te_sched.config import AS_TVM, Lowering
from te_sched.ir.data import DataDependence
from te_sched.ir.expr import Add, Expr, IntImm, Range, Sub, Var
from te_sched.ir.visitor import walk


class Analyzer:
    """What is known at a place of a program, and simplification under it."""

    def __init__(self, settings: Lowering = AS_TVM) -> None:
        """`settings` of what is lowered: whether numbers are those of a machine (`arith.facts`)."""
        self._facts = Facts(settings)
        self._simplifier = Simplifier(self._facts)

    # -- facts -------------------------------------------------------------------

    def bind(self, var: Var, value: Range | Expr) -> None:
        """Note the range of a variable, or the value that it stands for.

        A range of one value is that value. The last binding holds.
        """
        facts = self._facts
        if isinstance(value, Range) and type(value.extent) is IntImm and value.extent.value == 1:
            value = value.min
        facts.bounds.bind(var, value)
        facts.unbind(var)
        if isinstance(value, Range):
            facts.assume_range(var, value)
        else:
            facts.modular.bind(var, value)
            facts.values[var] = self._simplifier.canonicalizer.visit(value)
        facts.forget()

    def keep(self, holder: Memo) -> None:
        """Note an object whose memo is worth only as long as what is known."""
        self._facts.keep(holder)

    @property
    def settings(self) -> Lowering:
        """How what is simplified is lowered."""
        return self._facts.settings

    @property
    def is_exact(self) -> bool:
        """Whether floats and computations with data have the types they have at run time."""
        return self._facts.is_exact

    @property
    def data(self) -> DataDependence:
        """What depends on integers in memory, or on numbers that a call gives."""
        return self._facts.bounds.data

    def mark_nonnegative(self, e: Expr) -> None:
        """Note that a variable, or a variable and constants, is never negative.

        The last note holds, as in TVM: x >= 0, then x + 2 >= 0, leaves x >= -2.
        """
        least = 0
        while isinstance(e, Add | Sub):
            if isinstance(e.b, IntImm):
                least += -e.b.value if isinstance(e, Add) else e.b.value
                e = e.a
            elif isinstance(e, Add) and isinstance(e.a, IntImm):
                least -= e.a.value
                e = e.b
            else:
                return
        if not isinstance(e, Var):
            return
        self._facts.bounds.variables[e] = (least, self._facts.bounds.of(e)[1])
        self._facts.forget()

    def constraint(self, condition: Expr) -> AbstractContextManager[None]:
        """A scope inside of which a condition is known to hold."""
        return self._facts.under(condition)

    # -- simplifying -------------------------------------------------------------

    def simplify(self, e: Expr) -> Expr:
        """The expression in TVM's simplified form; the same object when it already is."""
        done: Expr = self._simplifier.visit(e)
        return done

    def rewrite_simplify(self, e: Expr) -> Expr:
        """The expression rewritten by rules alone."""
        done: Expr = self._simplifier.rewriter.visit(e)
        return done

    def canonical_simplify(self, e: Expr) -> Expr:
        """The expression in canonical form: sums as linear forms."""
        done: Expr = self._simplifier.canonicalizer.visit(e)
        return done

    # -- questions ---------------------------------------------------------------

    def const_bounds(self, e: Expr) -> tuple[int | None, int | None]:
        """The smallest and the largest value; None where there is no bound."""
        low, high = self._facts.bounds.of(e)
        return (None if low == -INFINITY else low), (None if high == INFINITY else high)

    def may_wrap(self, e: Expr) -> bool:
        """Whether a part that depends on integers in memory may not fit its type."""
        bounds = self._facts.bounds
        return any(bounds.wraps(part) and bounds.data.of(part) for part in walk(e))

    def wraps(self, e: Expr) -> bool:
        """Whether an operation may not fit its type, where that wraps around."""
        return self._facts.bounds.wraps(e)

    def modular_set(self, e: Expr) -> tuple[int, int]:
        """(coeff, base): e is coeff * k + base for some integer k."""
        return self._facts.modular.of(e)

    def can_prove(self, condition: Expr) -> bool:
        """Whether the condition is known to hold."""
        done = self.simplify(condition)
        return type(done) is IntImm and done.value != 0

    def can_prove_equal(self, a: Expr, b: Expr) -> bool:
        """Whether a and b are known to be equal."""
        if a is b:
            return True
        if type(a) is IntImm and type(b) is IntImm:
            return a.value == b.value
        done = self.simplify(build.sub(a, b))
        return self._facts.bounds.of(done) == (0, 0)

    def can_prove_greater_equal(self, e: Expr, limit: int) -> bool:
        """Whether e >= limit is known."""
        return self._facts.bounds.of(self.rewrite_simplify(e))[0] >= limit

    def can_prove_less(self, e: Expr, limit: int) -> bool:
        """Whether e < limit is known."""
        return self._facts.bounds.of(self.rewrite_simplify(e))[1] < limit
