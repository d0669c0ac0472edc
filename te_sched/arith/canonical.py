"""Canonical forms: rewriting that keeps sums as linear forms; what `Analyzer.canonical_simplify`
does.

Owns the arithmetic of floor division and remainder on linear forms. The rules of `tables` apply
to everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from te_sched.arith import affine, build
from te_sched.arith.build import INDEX_TYPES
from te_sched.arith.linear import (
    UNBOUNDED,
    Form,
    Term,
    divided,
    plus,
    split_multiples,
    term_of,
    times,
    to_expr,
)
from te_sched.arith.rewrite import Rewriter
from te_sched.ir.expr import GT, LT, Add, Cast, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, Sub


class Canonicalizer(Rewriter):
    """Rewrites expressions to canonical form."""

    def visit_form(self, e: Any) -> Any:
        """+, -, *, floordiv and floormod through linear forms."""
        if e.dtype not in INDEX_TYPES:
            return _PLAIN[type(e)](self, e)
        done = affine.simplified(e, self.facts.values)
        return to_expr(self.form(e)) if done is None else done

    def form(self, e: Any) -> Form:
        """The linear form of an index expression."""
        kind = type(e)
        if kind is IntImm:
            return Form((), e.value, e.dtype)
        method = _FORMS.get(kind)
        if method is None:
            return self.atom(self.visit(e))
        return method(self, e)

    def atom(self, e: Any) -> Form:
        """An expression that is done, as a form: a sum that took another's place stays one term."""
        if type(e) is IntImm:
            return Form((), e.value, e.dtype)
        return Form((term_of(e),), 0, e.dtype, False)

    def single(self, form: Form) -> Term:
        """A form as one term."""
        if len(form.terms) == 1 and form.base == 0:
            return form.terms[0]
        return Term(to_expr(form))

    def form_add(self, e: Any) -> Form:
        return plus(self.form(e.a), self.form(e.b))

    def form_sub(self, e: Any) -> Form:
        return plus(self.form(e.a), self.form(e.b), -1)

    def form_mul(self, e: Any) -> Form:
        a, b = self.form(e.a), self.form(e.b)
        if not b.terms:
            return times(a, b.base)
        if not a.terms:
            return times(b, a.base)
        constant = 1
        product: Any = None
        for factor in (*_factors(to_expr(a)), *_factors(to_expr(b))):
            if type(factor) is IntImm:
                constant *= factor.value
            else:
                product = factor if product is None else Mul(product, factor)
        if product is None:  # the terms of a factor cancelled each other
            return Form((), constant, a.dtype)
        if constant != 1:
            product = Mul(product, build.imm(constant, a.dtype))
        return Form((Term(product),), 0, a.dtype, False)

    def form_quotient(self, e: Any) -> Form:
        """Floor and truncating division."""
        a, b = self.form(e.a), self.form(e.b)
        divisor, trunc = b.base, type(e) is Div
        if b.terms or divisor <= 0:
            return self._opaque(type(e), a, b)
        if divisor == 1:
            return a
        if not a.terms:
            return Form((), _constant(type(e), a.base, divisor), a.dtype)
        if len(a.terms) == 1 and a.base == 0 and not a.is_sum:
            return self._term_form(self.divide(a.terms[0], divisor, trunc), a.dtype)
        multiples, rest = split_multiples(a, divisor)
        whole = divided(multiples, divisor)
        if not rest.terms and rest.base == 0:
            return whole
        if trunc and not self._both_nonnegative(multiples, rest):
            return self._opaque(type(e), a, b)
        if not rest.terms:
            return plus(whole, Form((), _constant(type(e), rest.base, divisor), a.dtype))
        if self._is_within(to_expr(rest), divisor):
            return whole
        extra = self.divide(Term(to_expr(rest)), divisor, trunc)
        return plus(whole, self._term_form(extra, a.dtype))

    def form_remainder(self, e: Any) -> Form:
        """Floor and truncating remainder."""
        a, b = self.form(e.a), self.form(e.b)
        divisor, trunc = b.base, type(e) is Mod
        if b.terms or divisor <= 0:
            return self._opaque(type(e), a, b)
        if divisor == 1:
            return Form((), 0, a.dtype)
        if not a.terms:
            return Form((), _constant(type(e), a.base, divisor), a.dtype)
        multiples, rest = split_multiples(a, divisor)
        if not rest.terms and rest.base == 0:
            return Form((), 0, a.dtype)
        is_several = len(a.terms) + (a.base != 0) > 1
        if trunc and is_several and not self._both_nonnegative(multiples, rest):
            return self._opaque(type(e), a, b)
        if not rest.terms:
            return Form((), _constant(type(e), rest.base, divisor), a.dtype)
        if self._is_within(to_expr(rest), divisor):
            return rest
        if not trunc:
            rest = rest._replace(base=rest.base % divisor)
        term = self.remainder(self.single(rest), divisor, trunc)
        return self._term_form(term, a.dtype)

    def _both_nonnegative(self, multiples: Form, rest: Form) -> bool:
        return self.low(to_expr(multiples)) >= 0 and self.low(to_expr(rest)) >= 0

    def _is_within(self, e: Expr, divisor: int) -> bool:
        """Whether 0 <= e < divisor."""
        low, high = self.facts.bounds.of(e)
        return low >= 0 and high < divisor

    def _term_form(self, term: Term, dtype: str) -> Form:
        if type(term.atom) is IntImm:
            return Form((), term.atom.value * term.scale, dtype)
        return Form((term,) if term.scale else (), 0, dtype, False)

    def _opaque(self, kind: type[Any], a: Form, b: Form) -> Form:
        """A division of which nothing is known here: only the rules apply."""
        left, right = to_expr(a), to_expr(b)
        folded = build.BINARY[kind](left, right)
        done = self.finish_arithmetic(folded) if type(folded) is kind else folded
        return self.atom(done)

    def divide(self, term: Term, divisor: int, trunc: bool) -> Term:
        """term // divisor, or truncating."""
        scale, lower, upper = term.scale, term.lower, term.upper
        if scale % divisor == 0:
            return term._replace(scale=scale // divisor)
        if divisor % scale == 0 and (term.is_whole or term.trunc == trunc):
            lowest = lower * (divisor // scale)
            if 0 < upper <= lowest:
                return Term(build.imm(0, term.atom.dtype), 0)
            return self._bounded(Term(term.atom, 1, lowest, upper, trunc))
        return Term(term.expr(scale), 1, divisor, UNBOUNDED, trunc)

    def _bounded(self, term: Term) -> Term:
        """The term, or zero when its atom is too small to reach the digit."""
        if self._is_within(term.atom, term.lower):
            return Term(build.imm(0, term.atom.dtype), 0)
        return term

    def remainder(self, term: Term, divisor: int, trunc: bool) -> Term:
        """term % divisor, or truncating."""
        scale, lower, upper = term.scale, term.lower, term.upper
        if scale % divisor == 0:
            return Term(build.imm(0, term.atom.dtype), 0)
        if divisor % scale == 0 and (term.is_whole or term.trunc == trunc):
            highest = lower * (divisor // scale)
            if upper == UNBOUNDED or upper % highest == 0:
                if self._is_within(term.atom, highest):
                    return term._replace(upper=UNBOUNDED)
                return term._replace(upper=highest, trunc=trunc)
            if highest % upper == 0:
                return term
        return Term(term.expr(scale), 1, 1, divisor, trunc)

    def visit_less(self, e: Any) -> Any:
        """a < b (and b > a): a common factor is divided out with what is too small.

        TVM also drops small terms that may be negative, which changes the condition (it takes
        x * 8 < y for x < 0, wrong at x = 0, y = 1); here those stay.
        """
        a, b = self.visit(e.a), self.visit(e.b)
        if type(e) is GT:
            a, b = b, a
        if a.dtype not in INDEX_TYPES or (type(a) is IntImm and type(b) is IntImm):
            return self.less(a, b)
        reduced = self._reduced(plus(self.form(a), self.form(b), -1))
        if reduced is not None:
            zero = build.imm(0, a.dtype)
            return Rewriter.visit_comparison(self, LT(to_expr(reduced), zero))
        return self.less(a, b)

    def _reduced(self, gap: Form) -> Form | None:
        """gap / d for the greatest d for which gap < 0 exactly when gap / d < 0, or None."""
        small = tuple([term for term in gap.terms if abs(term.scale) == 1])
        large = tuple([term for term in gap.terms if abs(term.scale) > 1])
        divisor = gcd(gap.base, *(term.scale for term in large)) if large else 1
        if divisor == 1:
            return None
        whole = divided(Form(large, gap.base, gap.dtype), divisor)
        if not small or self._is_within(to_expr(Form(small, 0, gap.dtype)), divisor):
            return whole
        term = small[0]
        digit = term.upper != UNBOUNDED and term.upper % (term.lower * divisor) == 0
        if len(small) == 1 and digit and term.scale == 1:
            coarse = self.divide(term, divisor, term.trunc)
            return plus(whole, self._term_form(coarse, gap.dtype))
        return None

    def form_cast(self, e: Any) -> Form:
        """A conversion between index types moves into the sum, to its atoms."""
        if e.value.dtype not in INDEX_TYPES or e.dtype not in INDEX_TYPES:
            return self.atom(Rewriter.visit_cast(self, e))
        inner = self.form(e.value)
        if e.dtype != "int64" and not self._fits(inner):
            return self.atom(Rewriter.visit_cast(self, Cast(e.dtype, to_expr(inner))))
        terms = [term._replace(atom=build.cast(e.dtype, term.atom)) for term in inner.terms]
        return Form(tuple(terms), inner.base, e.dtype, inner.is_sum)

    def _fits(self, form: Form) -> bool:
        """Whether every part of a sum, and each partial sum, has a place in int32."""
        low = high = 0
        limit = 1 << 31
        for term in form.terms:
            for part in (
                self.facts.bounds.of(term.atom),
                self.facts.bounds.of(term.expr(term.scale)),
            ):
                if part[0] < -limit or part[1] >= limit:
                    return False
            low, high = low + part[0], high + part[1]
            if low < -limit or high >= limit:
                return False
        return -limit <= low + form.base and high + form.base < limit


def _factors(e: Any) -> list[Any]:
    """The factors of a product, from left to right."""
    return [*_factors(e.a), *_factors(e.b)] if type(e) is Mul else [e]


def _constant(kind: type[Any], a: int, divisor: int) -> int:
    """A division of constants by a positive constant."""
    if kind is FloorDiv:
        return a // divisor
    if kind is FloorMod:
        return a % divisor
    result = abs(a) // divisor if kind is Div else abs(a) % divisor
    return result if a >= 0 else -result


_FORMS: dict[type, Callable[[Canonicalizer, Any], Form]] = {
    Add: Canonicalizer.form_add,
    Sub: Canonicalizer.form_sub,
    Mul: Canonicalizer.form_mul,
    FloorDiv: Canonicalizer.form_quotient,
    FloorMod: Canonicalizer.form_remainder,
    Div: Canonicalizer.form_quotient,
    Mod: Canonicalizer.form_remainder,
    Cast: Canonicalizer.form_cast,
}
_PLAIN = dict(Rewriter.methods)
Canonicalizer.methods = {
    **Rewriter.methods,
    **dict.fromkeys(_FORMS, Canonicalizer.visit_form),
    LT: Canonicalizer.visit_less,
    GT: Canonicalizer.visit_less,
}
