"""Linear forms: sums of scaled terms, a term being a digit of an index.

A term stands for ((index % upper) // lower) * scale; upper UNBOUNDED means no remainder.
Splitting and fusing loops make indices of exactly this kind, and putting digits together again
(x // 4 * 4 + x % 4 is x) is merging of terms. Forms are immutable. Must not know how
expressions are visited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from te_sched.arith import build
from te_sched.arith.same import same
from te_sched.ir.expr import Add, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, Sub

UNBOUNDED = (1 << 63) - 1


class Term(NamedTuple):
    """((atom % upper) // lower) * scale; `trunc` says that / and % round towards zero.

    It tells also, for the order of terms, what never was divided from what was put together again.
    """

    atom: Expr
    scale: int = 1
    lower: int = 1
    upper: int = UNBOUNDED
    trunc: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the digit is the atom itself."""
        return self.lower == 1 and self.upper == UNBOUNDED

    def scaled(self, factor: int) -> Term:
        """The term times a factor."""
        return Term(self.atom, self.scale * factor, self.lower, self.upper, self.trunc)

    def expr(self, scale: int) -> Expr:
        """The digit times a scale."""
        e = self.atom
        if self.upper != UNBOUNDED:
            kind: Any = Mod if self.trunc else FloorMod
            e = build.BINARY[kind](e, IntImm(self.upper, e.dtype))
        if self.lower != 1:
            kind = Div if self.trunc else FloorDiv
            e = build.BINARY[kind](e, IntImm(self.lower, e.dtype))
        return e if scale == 1 else Mul(e, IntImm(scale, e.dtype))


class Form(NamedTuple):
    """The sum of terms and a constant. Digits of one atom stand together, the coarsest first."""

    terms: tuple[Term, ...]
    base: int
    dtype: str
    is_sum: bool = True  # a lone negative term prints as `0 - x` in a sum, as `x * -1` by itself


def _same_index(a: Term, b: Term) -> bool:
    return a.atom is b.atom or same(a.atom, b.atom)


def _same_rounding(a: Term, b: Term) -> bool:
    return a.trunc == b.trunc or a.is_whole or b.is_whole


def _insert(terms: list[Term], new: Term) -> None:
    """Add a term to a list, keeping digits of one index together."""
    if new.scale == 0:
        return
    place = 0
    while place < len(terms) and not _same_index(terms[place], new):
        place += 1
    while place < len(terms):
        old = terms[place]
        if not _same_index(old, new) or new.lower > old.lower:
            terms.insert(place, new)
            return
        if new.lower == old.lower and new.upper == old.upper and _same_rounding(new, old):
            terms[place] = old._replace(scale=old.scale + new.scale)
            return
        place += 1
    terms.append(new)


def plus(a: Form, b: Form, sign: int = 1) -> Form:
    """a + b, or a - b for sign -1."""
    if not b.terms:
        return Form(a.terms, a.base + sign * b.base, a.dtype)
    terms = list(a.terms)
    for term in b.terms:
        _insert(terms, term if sign == 1 else term.scaled(sign))
    return Form(tuple(terms), a.base + sign * b.base, a.dtype)


def times(a: Form, factor: int) -> Form:
    """a * factor"""
    if factor == 1:
        return a
    if factor == 0:
        return Form((), 0, a.dtype)
    terms = tuple([t.scaled(factor) for t in a.terms])
    return Form(terms, a.base * factor, a.dtype, a.is_sum)


def divided(a: Form, divisor: int) -> Form:
    """a / divisor, which every scale and the base are multiples of."""
    return Form(
        tuple([t._replace(scale=t.scale // divisor) for t in a.terms]), a.base // divisor, a.dtype
    )


def split_multiples(a: Form, divisor: int) -> tuple[Form, Form]:
    """The terms whose scales are multiples of the divisor, and the others."""
    multiples = tuple([t for t in a.terms if t.scale % divisor == 0])
    others = tuple([t for t in a.terms if t.scale % divisor != 0])
    base_fits = a.base % divisor == 0
    return (
        Form(multiples, a.base if base_fits else 0, a.dtype),
        Form(others, 0 if base_fits else a.base, a.dtype),
    )


def merged(terms: tuple[Term, ...]) -> list[Term]:
    """The terms with digits put together: a coarse and a fine digit of one atom become one."""
    found = list(terms)
    for i, coarse in enumerate(found):
        if coarse.scale == 0:
            continue
        for j in range(i + 1, len(found)):
            fine = found[j]
            if not _same_index(coarse, fine) or coarse.upper < fine.lower:
                break
            if not _same_rounding(coarse, fine):
                continue
            if coarse.upper == fine.upper and coarse.lower == fine.lower:
                found[j] = fine._replace(scale=fine.scale + coarse.scale)
                found[i] = coarse._replace(scale=0)
                break
            if (
                coarse.lower == fine.upper
                and fine.scale != 0
                and coarse.scale % fine.scale == 0
                and coarse.lower == coarse.scale // fine.scale * fine.lower
            ):
                found[j] = fine._replace(upper=coarse.upper, trunc=coarse.trunc)
                found[i] = coarse._replace(scale=0)
                break
    return [term for term in found if term.scale != 0]


def _order(term: Term) -> tuple[int, int, int, bool]:
    # Last: what was joined from floor quotients and remainders, before what never was divided.
    return (-term.scale, -term.lower, -term.upper, term.trunc)


def to_expr(a: Form) -> Expr:
    """The expression: positive scales in falling order, the constant, then negative scales."""
    if not a.terms:
        return build.imm(a.base, a.dtype)
    terms = merged(a.terms) if len(a.terms) > 1 else list(a.terms)
    if not terms:
        return build.imm(a.base, a.dtype)
    terms.sort(key=_order)
    if len(terms) == 1 and a.base == 0 and not a.is_sum:
        return terms[0].expr(terms[0].scale)
    e: Expr | None = None
    for term in terms:
        if term.scale > 0:
            part = term.expr(term.scale)
            e = part if e is None else Add(e, part)
    if a.base > 0 or e is None:
        constant = build.imm(max(a.base, 0), a.dtype)
        e = constant if e is None else Add(e, constant)
    for term in terms:
        if term.scale < 0:
            e = Sub(e, term.expr(-term.scale))
    if a.base < 0:
        e = Sub(e, build.imm(-a.base, a.dtype))
    return e


def term_of(e: Any) -> Term:
    """An expression as one term: its digits are seen when it is written as ((x % u) // l) * s."""
    scale, lower, upper = 1, 1, UNBOUNDED
    if type(e) is Mul and type(e.b) is IntImm:
        e, scale = e.a, e.b.value
    trunc = type(e) in (Div, Mod)
    quotient: type[Any] = Div if trunc else FloorDiv
    remainder: type[Any] = Mod if trunc else FloorMod
    if type(e) is quotient and _is_positive(e.b):
        e, lower = e.a, e.b.value
    if type(e) is remainder and _is_positive(e.b) and e.b.value % lower == 0:
        e, upper = e.a, e.b.value
    return Term(e, scale, lower, upper, trunc or (lower == 1 and upper == UNBOUNDED))


def _is_positive(e: Any) -> bool:
    return type(e) is IntImm and e.value > 0
