"""Canonical forms, in which sums are sums of parts: `Analyzer.canonical_simplify`.

Owns the arithmetic of floor division and remainder on sums of parts. The rules of `tables` apply
to everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from te_sched.arith import build
from te_sched.arith.build import INDEX_TYPES
from te_sched.arith.iter_expr import (
    UNBOUNDED,
    IterSplitExpr,
    IterSumExpr,
    divided,
    plus,
    simplified,
    split_multiples,
    split_of,
    times,
    to_expr,
)
from te_sched.arith.rewrite import Rewriter
from te_sched.ir.expr import (
    GT,
    LT,
    Add,
    Cast,
    Div,
    Expr,
    FloorDiv,
    IntImm,
    Mod,
    Mul,
    Not,
    Select,
    Sub,
)
from te_sched.ir.term_keys import same


class Canonicalizer(Rewriter):
    """Rewrites expressions to canonical form."""

    def visit_form(self, e: Any) -> Any:
        """+, -, *, floordiv and floormod through sums of parts."""
        if e.dtype not in INDEX_TYPES:
            return Rewriter.methods[type(e)](self, e)
        done = simplified(e, self.facts.values)
        if type(done) is Mul and self.high(done.b) < 0:
            done = None  # `0 - x * 2` or `x * -2`, as its form tells
        try:
            return to_expr(self.form(e)) if done is None else done
        except build.Overflow:
            return Rewriter.methods[type(e)](self, e)

    visit_Add = visit_Sub = visit_Mul = visit_Cast = visit_form
    visit_FloorDiv = visit_FloorMod = visit_Div = visit_Mod = visit_form

    def is_always(self, e: Any, value: Any) -> bool:
        """Whether the canonical form of an expression is a value. Of nested choices, those after
        the first other value are not looked at.
        """
        if type(e) is not Select or type(value) is Select:
            return same(value, self.visit(e))
        condition = self.visit(e.condition)
        if type(condition) is IntImm:
            return self.is_always(e.true_value if condition.value else e.false_value, value)
        facts = condition, self.negated(condition)
        for fact, part in zip(facts, (e.true_value, e.false_value), strict=True):
            with self.facts.under(fact):
                if not self.is_always(part, value):
                    return False
        return True

    def form(self, e: Any) -> IterSumExpr:
        """The sum of parts of an index expression."""
        kind = type(e)
        if kind is IntImm:
            return IterSumExpr((), e.value, e.dtype)
        method = _FORMS.get(kind)
        if method is None:
            return self.atom(self.visit(e))
        return method(self, e)

    def atom(self, e: Any) -> IterSumExpr:
        """The form of a simplified expression; a sum that replaced another stays one part."""
        if type(e) is IntImm:
            return IterSumExpr((), e.value, e.dtype)
        return IterSumExpr((split_of(e),), 0, e.dtype, False)

    def single(self, form: IterSumExpr) -> IterSplitExpr:
        """A form as one part."""
        if len(form.args) == 1 and form.base == 0:
            return form.args[0]
        return IterSplitExpr(to_expr(form))

    def form_add(self, e: Any) -> IterSumExpr:
        return plus(self.form(e.a), self.form(e.b))

    def form_sub(self, e: Any) -> IterSumExpr:
        return plus(self.form(e.a), self.form(e.b), -1)

    def form_mul(self, e: Any) -> IterSumExpr:
        a, b = self.form(e.a), self.form(e.b)
        if not b.args:
            return times(a, b.base)
        if not a.args:
            return times(b, a.base)
        constant = 1
        product: Any = None
        for factor in (*build.factors_of(to_expr(a)), *build.factors_of(to_expr(b))):
            if type(factor) is IntImm:
                constant *= factor.value
            else:
                product = factor if product is None else Mul(product, factor)
        if product is None or not constant:  # the parts of a factor cancelled each other
            return IterSumExpr((), constant, a.dtype)
        if constant != 1:
            product = Mul(product, build.imm(constant, a.dtype))
        return IterSumExpr((IterSplitExpr(product),), 0, a.dtype, False)

    def form_division(self, e: Any) -> IterSumExpr:
        """Floor and truncating division, and their remainders."""
        kind, is_quotient = type(e), type(e) in (FloorDiv, Div)
        a, b = self.form(e.a), self.form(e.b)
        divisor, trunc, of_numbers = b.base, kind in (Div, Mod), build.DIVISIONS[kind]
        if b.args or divisor <= 0:
            return self._opaque(kind, a, b)
        if divisor == 1:
            return a if is_quotient else IterSumExpr((), 0, a.dtype)
        if not a.args:
            return IterSumExpr((), of_numbers(a.base, divisor), a.dtype)
        is_one = len(a.args) == 1 and a.base == 0
        if is_quotient and is_one and not a.is_sum:
            return self._sum_of(self.divide(a.args[0], divisor, trunc), a.dtype)
        multiples, rest = split_multiples(a, divisor)
        whole = divided(multiples, divisor) if is_quotient else IterSumExpr((), 0, a.dtype)
        if not rest.args and rest.base == 0:
            return whole
        if trunc and (is_quotient or not is_one) and not self._both_nonnegative(multiples, rest):
            return self._opaque(kind, a, b)
        if not rest.args:
            return plus(whole, IterSumExpr((), of_numbers(rest.base, divisor), a.dtype))
        if self._is_within(small := to_expr(rest), divisor):
            return whole if is_quotient else rest
        if is_quotient:
            extra = self.divide(IterSplitExpr(small), divisor, trunc)
            return plus(whole, self._sum_of(extra, a.dtype))
        if rest.base and not trunc:
            rest = rest._replace(base=rest.base % divisor)
        return self._sum_of(self.remainder(self.single(rest), divisor, trunc), a.dtype)

    def _both_nonnegative(self, multiples: IterSumExpr, rest: IterSumExpr) -> bool:
        return self.low(to_expr(multiples)) >= 0 and self.low(to_expr(rest)) >= 0

    def _is_within(self, e: Expr, divisor: int) -> bool:
        """Whether 0 <= e < divisor."""
        low, high = self.facts.bounds.of(e)
        return low >= 0 and high < divisor

    def _sum_of(self, part: IterSplitExpr, dtype: str) -> IterSumExpr:
        if type(part.source) is IntImm:
            return IterSumExpr((), part.source.value * part.scale, dtype)
        return IterSumExpr((part,) if part.scale else (), 0, dtype, False)

    def _opaque(self, kind: type[Any], a: IterSumExpr, b: IterSumExpr) -> IterSumExpr:
        """A division to which only the rules apply."""
        left, right = to_expr(a), to_expr(b)
        folded = build.BINARY[kind](left, right)
        done = self.finish_arithmetic(folded) if type(folded) is kind else folded
        return self.atom(done)

    def divide(self, part: IterSplitExpr, divisor: int, trunc: bool) -> IterSplitExpr:
        """A part // divisor, or truncating."""
        source, lower, extent, scale, _ = part
        if scale % divisor == 0:
            return part._replace(scale=scale // divisor)
        share = _share(part, divisor, trunc)
        if not share:
            return IterSplitExpr(part.expr(), divisor, trunc=trunc)
        lowest = lower * share
        if 0 < extent <= share or self._is_within(source, lowest):
            return self._nothing(part)
        if self.facts.bounds.facts and self._is_within(part.expr(), divisor):  # a bounded quotient
            return self._nothing(part)
        if extent == UNBOUNDED:
            return IterSplitExpr(source, lowest, trunc=trunc)
        if extent % share == 0:
            return IterSplitExpr(source, lowest, extent // share, trunc=trunc)
        # x % 6 // 4 is not part of x: it differs from x // 4 % 2
        rest = IterSplitExpr(source, 1, lower * extent, trunc=trunc)
        return IterSplitExpr(rest.expr(), lowest, trunc=trunc)

    def _nothing(self, part: IterSplitExpr) -> IterSplitExpr:
        return IterSplitExpr(build.imm(0, part.source.dtype), scale=0)

    def remainder(self, part: IterSplitExpr, divisor: int, trunc: bool) -> IterSplitExpr:
        """A part % divisor, or truncating."""
        source, lower, extent, scale, _ = part
        if scale % divisor == 0:
            return self._nothing(part)
        share = _share(part, divisor, trunc)
        if share:
            if extent == UNBOUNDED or extent % share == 0:
                if self._is_within(source, lower * share):
                    return part._replace(extent=UNBOUNDED)
                return IterSplitExpr(source, lower, share, scale, trunc)
            if share > 0 and share % extent == 0:
                return part
        return IterSplitExpr(part.expr(), 1, divisor, trunc=trunc)

    def visit_LT(self, e: Any) -> Any:
        """a < b (and b > a), divided by a common factor; terms too small to matter are dropped.

        TVM also drops small args that may be negative, which changes the condition (it takes
        x * 8 < y for x < 0, wrong at x = 0, y = 1); here those stay.
        """
        a, b = self.visit(e.a), self.visit(e.b)
        if type(e) is GT:
            a, b = b, a
        if a.dtype not in INDEX_TYPES or (type(a) is IntImm and type(b) is IntImm):
            return self.less(a, b)
        try:
            reduced = self._reduced(plus(self.form(a), self.form(b), -1))
            gap = None if reduced is None else to_expr(reduced)
        except build.Overflow:
            gap = None
        if gap is None:
            return self.less(a, b)
        return Rewriter.visit_CompareOp(self, LT(gap, build.imm(0, a.dtype)))

    visit_GT = visit_LT

    def not_less(self, e: Any) -> Any:
        """As TVM's canonical form, which does not fold the negation."""
        is_folded = self.facts.is_exact or type(e) is not IntImm
        return self.negated(e) if is_folded else Not(e)

    def _reduced(self, gap: IterSumExpr) -> IterSumExpr | None:
        """gap / d for the greatest d for which gap < 0 exactly when gap / d < 0, or None."""
        small = tuple([term for term in gap.args if abs(term.scale) == 1])
        large = tuple([term for term in gap.args if abs(term.scale) > 1])
        divisor = gcd(gap.base, *(term.scale for term in large)) if large else 1
        if divisor == 1:
            return None
        whole = divided(IterSumExpr(large, gap.base, gap.dtype), divisor)
        if not small or self._is_within(to_expr(IterSumExpr(small, 0, gap.dtype)), divisor):
            return whole
        part = small[0]
        splits = part.extent != UNBOUNDED and part.extent % divisor == 0
        if len(small) == 1 and splits and part.scale == 1:
            coarse = self.divide(part, divisor, part.trunc)
            return plus(whole, self._sum_of(coarse, gap.dtype))
        return None

    def form_cast(self, e: Any) -> IterSumExpr:
        """A conversion between index types, moved to the atoms of the sum."""
        if e.value.dtype not in INDEX_TYPES or e.dtype not in INDEX_TYPES:
            return self.atom(Rewriter.visit_Cast(self, e))
        inner = self.form(e.value)
        if e.dtype != "int64" and not self._fits(inner):
            return self.atom(Rewriter.visit_Cast(self, Cast(e.dtype, to_expr(inner))))
        args = [part._replace(source=build.cast(e.dtype, part.source)) for part in inner.args]
        return IterSumExpr(tuple(args), inner.base, e.dtype, inner.is_sum)

    def _fits(self, form: IterSumExpr) -> bool:
        """Whether every part of a sum, and each partial sum, fits into int32."""
        low = high = 0
        limit = 1 << 31
        for split in form.args:
            for part in (
                self.facts.bounds.of(split.source),
                self.facts.bounds.of(split.expr()),
            ):
                if part[0] < -limit or part[1] >= limit:
                    return False
            low, high = low + part[0], high + part[1]
            if low < -limit or high >= limit:
                return False
        return bool(-limit <= low + form.base and high + form.base < limit)


def _share(part: IterSplitExpr, divisor: int, trunc: bool) -> int:
    """By what the digit of a part is divided if the part is divided by a number; 0 if it cannot be.

    Negative shares are for parts with lower = 1 alone: x // 2 * -1 // 2 rounds x // 2 down and then
    up, so that it is not x // -4 (which TVM makes of it).
    """
    if divisor % part.scale or not (part.is_whole or part.trunc == trunc):
        return 0
    share = divisor // part.scale
    return share if share > 0 or part.lower_factor == 1 else 0


_FORMS: dict[type, Callable[[Canonicalizer, Any], IterSumExpr]] = {
    Add: Canonicalizer.form_add,
    Sub: Canonicalizer.form_sub,
    Mul: Canonicalizer.form_mul,
    **dict.fromkeys(build.DIVISIONS, Canonicalizer.form_division),
    Cast: Canonicalizer.form_cast,
}
