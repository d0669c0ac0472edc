"""Canonical forms: rewriting that keeps sums as linear forms; what `Analyzer.canonical_simplify` does.

Owns the arithmetic of floor division and remainder on linear forms. The rules of `tables` apply to everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from te_sched.arith import build
from te_sched.arith.facts import Facts
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
from te_sched.arith.rewrite import INDEX_TYPES, Rewriter
from te_sched.ir.expr import LT, Add, Expr, FloorDiv, FloorMod, IntImm, Mul, Sub


class Canonicalizer(Rewriter):
    """Rewrites expressions to canonical form."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.forms: dict[Expr, Form] = {}

    def visit_form(self, e: Any) -> Any:
        """+, -, *, floordiv and floormod through linear forms."""
        if e.dtype not in INDEX_TYPES:
            return _PLAIN[type(e)](self, e)
        return to_expr(self.form(e))

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
        """An expression that is done, as a form."""
        kind = type(e)
        if kind is IntImm:
            return Form((), e.value, e.dtype)
        if kind in (Add, Sub):
            left, right = self.atom(e.a), self.atom(e.b)
            return plus(left, right, 1 if kind is Add else -1)
        return Form((term_of(e),), 0, e.dtype)

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
        product = self.finish_arithmetic(Mul(to_expr(a), to_expr(b)))
        return self.atom(product)

    def form_floordiv(self, e: Any) -> Form:
        a, b = self.form(e.a), self.form(e.b)
        if b.terms or b.base <= 0:
            return self._opaque(FloorDiv, a, b)
        divisor = b.base
        if divisor == 1 or not a.terms:
            return a if divisor == 1 else Form((), a.base // divisor, a.dtype)
        if len(a.terms) == 1 and a.base == 0:
            return self._term_form(self.divide(a.terms[0], divisor), a.dtype)
        multiples, rest = split_multiples(a, divisor)
        whole = divided(multiples, divisor)
        if not rest.terms:
            return plus(whole, Form((), rest.base // divisor, a.dtype))
        extra = self.single(self._renewed(rest))
        low, high = self.facts.bounds.of(to_expr(rest))
        if 0 <= low and high < divisor:
            return whole
        if not multiples.terms and multiples.base == 0:
            return self._term_form(self.divide(extra, divisor), a.dtype)
        return plus(whole, self._term_form(self.divide(extra, divisor), a.dtype))

    def form_floormod(self, e: Any) -> Form:
        a, b = self.form(e.a), self.form(e.b)
        if b.terms or b.base <= 0:
            return self._opaque(FloorMod, a, b)
        divisor = b.base
        if divisor == 1 or not a.terms:
            return Form((), a.base % divisor, a.dtype)
        _, rest = split_multiples(a, divisor)
        if not rest.terms:
            return Form((), rest.base % divisor, a.dtype)
        low, high = self.facts.bounds.of(to_expr(rest))
        if 0 <= low and high < divisor:
            return rest
        return self._term_form(self.remainder(self.single(self._renewed(rest)), divisor), a.dtype)

    def _renewed(self, form: Form) -> Form:
        """The form with its digits merged."""
        return self.atom(to_expr(form)) if len(form.terms) > 1 else form

    def _term_form(self, term: Term, dtype: str) -> Form:
        if type(term.index) is IntImm:
            return Form((), term.index.value * term.scale, dtype)
        return Form((term,) if term.scale else (), 0, dtype)

    def _opaque(self, kind: type[Any], a: Form, b: Form) -> Form:
        """A division by something that is not a positive constant: only the rules apply."""
        left, right = to_expr(a), to_expr(b)
        folded = build.BINARY[kind](left, right)
        done = self.finish_arithmetic(folded) if type(folded) is kind else folded
        return self.atom(done)

    def divide(self, term: Term, divisor: int) -> Term:
        """term // divisor"""
        scale, lower, upper = term.scale, term.lower, term.upper
        if scale % divisor == 0:
            return term._replace(scale=scale // divisor)
        if scale > 0 and divisor % scale == 0:
            lowest = lower * (divisor // scale)
            if upper == UNBOUNDED or upper % lowest == 0:
                return self._bounded(Term(term.index, 1, lowest, upper))
            if upper <= lowest:
                return Term(build.imm(0, term.index.dtype), 0)
        return Term(term.expr(scale), 1, divisor)

    def _bounded(self, term: Term) -> Term:
        """The term, or zero when its index is too small to reach the digit."""
        low, high = self.facts.bounds.of(term.index)
        if low >= 0 and high < term.lower:
            return Term(build.imm(0, term.index.dtype), 0)
        return term

    def remainder(self, term: Term, divisor: int) -> Term:
        """term % divisor"""
        scale, lower, upper = term.scale, term.lower, term.upper
        if scale % divisor == 0:
            return Term(build.imm(0, term.index.dtype), 0)
        if scale > 0 and divisor % scale == 0:
            highest = lower * (divisor // scale)
            if upper == UNBOUNDED or upper % highest == 0:
                low, high = self.facts.bounds.of(term.index)
                fits = low >= 0 and high < highest
                return term._replace(upper=UNBOUNDED if fits else highest)
            if highest % upper == 0:
                return term
        return Term(term.expr(scale), 1, 1, divisor)

    def visit_less(self, e: Any) -> Any:
        """a < b: a common factor of the scales is divided out, with what is too small to matter."""
        a, b = self.visit(e.a), self.visit(e.b)
        if a.dtype not in INDEX_TYPES or type(a) is IntImm and type(b) is IntImm:
            return self.less(a, b)
        reduced = self._reduced(plus(self.form(a), self.form(b), -1))
        if reduced is not None:
            return Rewriter.visit_comparison(self, LT(to_expr(reduced), build.imm(0, a.dtype)))
        return self.less(a, b)

    def _reduced(self, gap: Form) -> Form | None:
        """gap / d for the greatest d for which gap < 0 exactly when gap / d < 0, or None."""
        small = [term for term in gap.terms if abs(term.scale) == 1]
        large = tuple([term for term in gap.terms if abs(term.scale) != 1])
        if len(small) > 1 or not large:
            return None
        divisor = gcd(gap.base, *(term.scale for term in large))
        if divisor <= 1:
            return None
        if small:
            low, high = self.facts.bounds.of(to_expr(Form(tuple(small), 0, gap.dtype)))
            if not (0 <= low and high < divisor):
                return None
        return divided(Form(large, gap.base, gap.dtype), divisor)


_FORMS: dict[type, Callable[[Canonicalizer, Any], Form]] = {
    Add: Canonicalizer.form_add,
    Sub: Canonicalizer.form_sub,
    Mul: Canonicalizer.form_mul,
    FloorDiv: Canonicalizer.form_floordiv,
    FloorMod: Canonicalizer.form_floormod,
}
_PLAIN = dict(Rewriter.methods)
Canonicalizer.methods = {
    **Rewriter.methods,
    **dict.fromkeys(_FORMS, Canonicalizer.visit_form),
    LT: Canonicalizer.visit_less,
}
