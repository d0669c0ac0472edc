"""Full simplification: `Analyzer.simplify`.

Index arithmetic and comparisons go through canonical form, rules, and canonical form again, as in
TVM. Other expressions (loads, floating-point arithmetic, calls, choices) are rebuilt once. Sums of
variables (`simplified`) and their comparisons with numbers (`Comparisons`) have fast paths.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from te_sched.arith import build
from te_sched.arith.build import INDEX_TYPES
from te_sched.arith.canonical import Canonicalizer
from te_sched.arith.comparisons import Comparisons
from te_sched.arith.iter_expr import NotAffine, collect, simplified, sum_of
from te_sched.arith.rewrite import Rewriter
from te_sched.ir.expr import (
    GE,
    GT,
    LE,
    LT,
    FloatImm,
    IntImm,
    Select,
    StringImm,
    Var,
)
from te_sched.ir.term_keys import same

# The greatest difference a - b for which a comparison holds, or the one for which it does not.
_DECIDED: dict[type, tuple[int, bool]] = {
    LT: (-1, False), LE: (0, False), GE: (-1, True), GT: (0, True),
}  # fmt: skip
_LEAVES = frozenset((IntImm, FloatImm, StringImm))


class Simplifier(Rewriter):
    """Simplifies under facts; returns the same object if nothing changes."""

    @cached_property  # most analyzers simplify sums of variables only, which need neither
    def rewriter(self) -> Rewriter:
        """Implements `Analyzer.rewrite_simplify`."""
        return Rewriter(self.facts)

    @cached_property
    def canonicalizer(self) -> Canonicalizer:
        """Implements `Analyzer.canonical_simplify`."""
        return Canonicalizer(self.facts)

    def visit(self, e: Any) -> Any:
        """The simplified expression."""
        if type(e) in _LEAVES:
            return e
        done = self.memo.get(e)
        if done is None:
            done = self.methods[type(e)](self, e)
            if done is not e and same(done, e):
                done = e
            self.memo[e] = done
        return done

    def visit_BinaryOp(self, e: Any) -> Any:
        """Arithmetic: of indices in three steps, of other numbers by folding."""
        if e.dtype not in INDEX_TYPES:
            return Rewriter.visit_BinaryOp(self, e)
        done = simplified(e, self.facts.values)
        return self.in_steps(e) if done is None else done

    def in_steps(self, e: Any) -> Any:
        """Apply canonical form, rules, and canonical form again."""
        e = self.canonicalizer.visit(e)
        if type(e) is IntImm:
            return e
        e = self.rewriter.visit(e)
        return e if type(e) is IntImm else self.canonicalizer.visit(e)

    visit_Not = in_steps

    def visit_Select(self, e: Any) -> Any:
        """Choices; equal values are one before the condition makes them differ: i % 4 and 1."""
        if type(e) is Select:
            first, second = e.true_value, e.false_value
            if type(first) is Select:
                first, second = second, first
            value = self.canonicalizer.visit(first)
            if self.canonicalizer.is_always(second, value):
                return self.visit(value)
        return Rewriter.visit_Select(self, e)

    def visit_Cast(self, e: Any) -> Any:
        """Conversions: those of indices move into sums."""
        if e.dtype in INDEX_TYPES and e.value.dtype in INDEX_TYPES:
            return self.in_steps(e)
        return Rewriter.visit_Cast(self, e)

    def visit_CompareOp(self, e: Any) -> Any:
        """Comparisons."""
        dtype = e.a.dtype
        if dtype not in INDEX_TYPES:
            return Rewriter.visit_CompareOp(self, e)
        done = Comparisons(self).form(e)
        if done is None and not self.facts.differences:
            done = self.decided(e)
        return self.in_steps(e) if done is None else done

    def decided(self, e: Any) -> Any | None:
        """An inequality of sums that the bounds of their difference decide; otherwise None."""
        limits = _DECIDED.get(type(e))
        if limits is None:
            return None
        scales: dict[Var, int] = {}
        values = self.facts.values
        try:
            low = high = collect(e.a, 1, scales, values) + collect(e.b, -1, scales, values)
            if any(scales.values()):
                least, most = self.facts.bounds.of(sum_of(scales, 0, e.a.dtype))
                low, high = low + least, high + most
        except (NotAffine, build.Overflow):
            return None
        highest_true, is_negated = limits
        if high <= highest_true:
            return build.truth(not is_negated)
        return build.truth(is_negated) if low > highest_true else None
