"""Index expressions as sums of products with integer coefficients, and their lower bounds.

    (i_outer * 8 + i_inner) * m + j   ->   8 * (i_outer, m) + 1 * (i_inner, m) + 1 * (j)

Factors may be symbolic, such as the extents of arguments. A quotient or remainder is one factor,
identified by its parts. Forms are for proofs; printed expressions are made of the sums of
`iter_expr`, in which a product of variables is not part of an iterator. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from te_sched.arith.interval import Interval
from te_sched.arith.iter_expr import NotAffine, collect
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Add,
    BufferLoad,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Sub,
    Var,
)
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import walk

Form = dict[tuple[Any, ...], int]  # factors, in the order of their ids, and how often
Span = Interval[Form]
Ends = Interval[Form | None]  # where a fact may be unknown
Parts = dict[Any, "Part"]  # quotients and remainders, by their kinds and operands
_MOST_TERMS = 40
_DEEPEST = 24
_MOST_SUMS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A quotient or remainder of forms, or (kind None) an opaque expression. Those that contain
    others have greater numbers; opaque expressions have negative ones.
    """

    kind: type | None
    number: int
    whole: Form
    divisor: Form
    variables: frozenset[Var]

    def __hash__(self) -> int:
        return self.number


def constant(value: int) -> Form:
    """The form of a number."""
    return {(): value} if value else {}


def plus(a: Form, b: Form, factor: int = 1) -> Form:
    """a + factor * b"""
    if not b:
        return a
    total = dict(a)
    for term, scale in b.items():
        new = total.get(term, 0) + factor * scale
        if new:
            total[term] = new
        else:
            total.pop(term, None)
    return total


def times(a: Form, b: Form) -> Form:
    """a * b"""
    total: Form = {}
    for monomial, scale in a.items():
        for other, factor in b.items():
            term = (
                tuple(sorted(monomial + other, key=id)) if monomial and other else monomial or other
            )
            total[term] = total.get(term, 0) + scale * factor
    return {term: scale for term, scale in total.items() if scale}


def linear_form(e: Expr) -> Form | None:
    """A sum of scaled variables as a form, quickly; None for other expressions."""
    scales: dict[Var, int] = {}
    try:
        base = collect(e, 1, scales, {})
    except NotAffine:
        return None
    form: Form = {(var,): scale for var, scale in scales.items() if scale}
    return {**form, (): base} if base else form


def expr_of(a: Form, dtype: str) -> Expr:
    """The expression of a form of variables, quotients and remainders."""
    total: Expr = IntImm(0, dtype)
    for term, scale in a.items():
        if term:
            product = IntImm(scale, dtype)
            for factor in term:
                product = _factor(factor, dtype) * product
            total = total + product
    return ops.add(total, IntImm(a.get((), 0), dtype))


def _factor(factor: Any, dtype: str) -> Any:
    if type(factor) is not Part:
        return factor.astype(dtype)
    assert factor.kind is not None
    return factor.kind(expr_of(factor.whole, dtype), expr_of(factor.divisor, dtype))


def number_of(a: Form) -> int | None:
    """The value of a form without variables."""
    if not a:
        return 0
    return a.get(()) if len(a) == 1 else None


def factors(a: Form) -> set[Any]:
    """The variables and parts of a form."""
    return {factor for term in a for factor in term}


class Forms:
    """Makes forms, and bounds them by the ranges of variables.

    `ranges` has the ranges of loop variables, `least` the least values of others, `values` those of
    lets. Forms that are compared with those of other ranges share their `parts`; what is opaque is
    not shared, since it may depend on memory.
    """

    def __init__(
        self, least: dict[Var, int], values: dict[Var, Expr], parts: Parts | None = None
    ) -> None:
        self.least = least
        self.values = values
        self.ranges: dict[Var, Ends] = {}
        self.depth: dict[Var, int] = {}
        self.parts: Parts = {} if parts is None else parts
        self.opaque: list[tuple[Expr, Part]] = []
        self.known: dict[Expr, Form] = {}
        self.limits: dict[tuple[frozenset[Any], frozenset[Any]], Ends] = {}

    def bind(self, var: Var, least: Expr, extent: Expr) -> None:
        """Set the range of a loop variable."""
        low = self.of(least)
        self.ranges[var] = Interval(low, plus(plus(low, self.of(extent)), constant(-1)))
        self.depth[var] = len(self.depth)
        self.limits = {}

    def alike(self) -> Forms:
        """Forms with the same ranges, which share their bounds, but not what is opaque."""
        forms = Forms(self.least, self.values, self.parts)
        forms.ranges, forms.depth, forms.limits = {**self.ranges}, {**self.depth}, self.limits
        return forms

    # -- making forms ------------------------------------------------------------------------------

    def of(self, e: Expr) -> Form:
        """The form of an expression."""
        kind = type(e)
        if kind is IntImm:
            return constant(e.value)  # type: ignore[attr-defined]
        if kind is Var:
            value = self.values.get(e)  # type: ignore[call-overload]
            return {(e,): 1} if value is None else self.of(value)
        form = self.known.get(e)
        if form is None:
            form = self.known[e] = self._made(e, kind)
        return form

    def _made(self, e: Any, kind: type) -> Form:
        if kind is Add or kind is Sub:
            return plus(self.of(e.a), self.of(e.b), 1 if kind is Add else -1)
        if kind is Mul:
            a, b = self.of(e.a), self.of(e.b)
            if len(a) * len(b) <= _MOST_TERMS:
                return times(a, b)
        elif kind is FloorDiv:
            return self.quotient(self.of(e.a), self.of(e.b))
        elif kind is FloorMod:
            return self.remainder(self.of(e.a), self.of(e.b))
        elif kind is Cast and dtypes.counts(e.dtype):  # other types may drop bits
            if e.value.dtype.startswith(("int", "uint")):
                return self.of(e.value)
        elif kind is Call and e.op == "tir.likely":
            return self.of(e.args[0])
        return {(self._unknown(e),): 1}

    def _unknown(self, e: Expr) -> Part:
        for other, part in self.opaque:
            if same(e, other):
                return part
        variables: set[Var] = set()
        for node in walk(e):
            if type(node) is Var:
                value = self.values.get(node)
                more = (node,) if value is None else self.variables(self.of(value))
                variables.update(more)
            elif type(node) is BufferLoad:
                variables.add(node.buffer.data)  # its memory may change
        part = Part(None, -1 - len(self.opaque), {}, {}, frozenset(variables))
        self.opaque.append((e, part))
        return part

    def _part(self, kind: type, whole: Form, divisor: Form) -> Part:
        key = kind, frozenset(whole.items()), frozenset(divisor.items())
        part = self.parts.get(key)
        if part is None:
            variables = frozenset(self.variables(whole) | self.variables(divisor))
            part = self.parts[key] = Part(kind, len(self.parts), whole, divisor, variables)
        return part

    def quotient(self, whole: Form, divisor: Form) -> Form:
        """whole // divisor"""
        if number_of(divisor) == 1:
            return whole
        multiples, rest = divided(whole, divisor)
        if not rest or self.is_within(rest, divisor):
            return multiples
        return plus(multiples, {(self._part(FloorDiv, rest, divisor),): 1})

    def remainder(self, whole: Form, divisor: Form) -> Form:
        """whole % divisor"""
        _, rest = divided(whole, divisor)
        if not rest or self.is_within(rest, divisor):
            return rest
        return {(self._part(FloorMod, rest, divisor),): 1}

    def is_within(self, rest: Form, divisor: Form) -> bool:
        """Whether 0 <= rest < divisor is known."""
        low, high = self.bounds(rest)
        if low is None or high is None:
            return False
        return self.is_nonnegative(low) and self.is_less(high, divisor)

    # -- variables ---------------------------------------------------------------------------------

    def variables(self, a: Form) -> set[Var]:
        """The variables in a form, also in its parts."""
        variables: set[Var] = set()
        for factor in factors(a):
            if type(factor) is Part:
                variables |= factor.variables
            else:
                variables.add(factor)
        return variables

    # -- bounds ------------------------------------------------------------------------------------

    def bounds(self, a: Form, kept: Iterable[Any] = ()) -> Ends:
        """Bounds without the variables of loops and the parts, but for those in `kept`."""
        stays = frozenset(kept)
        key = frozenset(a.items()), stays
        ends = self.limits.get(key)
        if ends is None:
            low, high = self._extreme(a, stays, False), self._extreme(a, stays, True)
            ends = self.limits[key] = Interval(low, high)
        return ends

    def _extreme(self, a: Form, kept: frozenset[Any], highest: bool) -> Form | None:
        for _ in range(_DEEPEST):
            bound = [f for f in factors(a) if f not in kept and self._has_range(f)]
            if not bound:
                return a
            factor = max(bound, key=self._order)
            scale, rest = split(a, factor)
            if scale is None:
                return None
            sign = self.sign_of(scale)
            if not sign:
                return None
            low, high = self._interval(factor)
            end = high if highest == (sign > 0) else low
            if end is None:
                return None
            a = plus(rest, times(scale, end))
            if len(a) > _MOST_TERMS:
                return None
        return None

    def _order(self, factor: Any) -> tuple[int, int]:
        if type(factor) is Part:
            return (1 << 20, factor.number)
        return (self.depth.get(factor, 0), 0)

    def _has_range(self, factor: Any) -> bool:
        if type(factor) is not Part:
            return factor in self.ranges
        return factor.kind is not None and not self._is_number(factor)

    def _is_number(self, factor: Part) -> bool:
        """Whether a part is the same in all iterations, like (n + 7) // 8."""
        return _is_quotient(factor) and self.ranges.keys().isdisjoint(factor.variables)

    def _interval(self, factor: Any) -> Ends:
        if type(factor) is not Part:
            return self.ranges[factor]
        if not self.is_nonnegative(factor.divisor):
            return Interval(None, None)  # a remainder has the sign of its divisor
        if factor.kind is FloorMod:
            return Interval({}, plus(factor.divisor, constant(-1)))
        divisor = number_of(factor.divisor)
        if divisor is None or divisor < 1:
            positive = self.is_nonnegative(factor.whole)
            low: Form | None = {} if positive else None
            # z // m is at most what z // m times m is at most
            return Interval(low, self._symbolic_quotient(factor))
        ends = self.bounds(factor.whole)
        quotients = [None if end is None else self.quotient(end, factor.divisor) for end in ends]
        return Interval(quotients[0], quotients[1])

    def _symbolic_quotient(self, factor: Part) -> Form | None:
        high = self.bounds(factor.whole).max
        if high is None:
            return None
        multiples, rest = divided(high, factor.divisor)
        if self.is_less(rest, {}):
            return plus(multiples, constant(-1))
        if self.is_less(rest, factor.divisor):
            return multiples
        return None

    def is_less(self, a: Form, b: Form) -> bool:
        """Whether a < b is known."""
        return self.is_nonnegative(plus(plus(b, a, -1), constant(-1)))

    def is_nonnegative(self, a: Form) -> bool:
        """Whether a >= 0 is known for all values of the variables."""
        number = number_of(a)
        if number is not None:
            return number >= 0
        if self._varies(a):
            low = self._extreme(a, frozenset(self._numbers(a)), False)
            if low is not None and not self._varies(low) and self.is_nonnegative(low):
                return True
        return self._is_sum_nonnegative(a) or any(
            self._is_sum_nonnegative(other) for other in self._without_quotients(a)
        )

    def where(self, a: Form, gaps: Iterable[Form]) -> list[Form]:
        """Forms that are at most `a` where some others, the gaps, are not negative: `a`, and its
        differences with multiples of gaps.
        """
        forms = [a]
        for gap in gaps:
            for form in tuple(forms)[:_MOST_SUMS]:
                forms += [less for less in self._less(form, gap) if less not in forms]
        return forms[:_MOST_SUMS]

    def _less(self, a: Form, gap: Form) -> Iterator[Form]:
        """Differences with multiples of a gap, which have one factor less."""
        for factor in factors(a) & factors(gap):
            scale, share = split(a, factor)[0], split(gap, factor)[0]
            if scale and share:
                multiple, rest = divided(scale, share)
                if not rest and self.is_nonnegative(multiple):
                    yield plus(a, times(gap, multiple), -1)

    def sign_of(self, a: Form) -> int:
        """1 where a >= 0 is known, else -1 where a <= 0 is, else 0."""
        if self.is_nonnegative(a):
            return 1
        return -1 if self.is_nonnegative(plus({}, a, -1)) else 0

    def _varies(self, a: Form) -> bool:
        """Whether a form depends on variables of loops."""
        return not self.ranges.keys().isdisjoint(self.variables(a))

    def _numbers(self, a: Form) -> Iterator[Any]:
        """The quotients of symbolic numbers such as (n + 7) // 8."""
        for factor in factors(a):
            if type(factor) is Part and not (factor.variables & self.ranges.keys()):
                yield factor

    def _without_quotients(self, a: Form) -> Iterator[Form]:
        """A lower bound of `a`: (x // 8) * 8 is at least x - 7."""
        changed = False
        for factor in factors(a):
            if not _is_quotient(factor):
                continue
            divisor = factor.divisor[()]
            scale, rest = split(a, factor)
            if scale is None or any(value % divisor for value in scale.values()):
                continue
            share = {term: value // divisor for term, value in scale.items()}
            sign = self.sign_of(share)
            if not sign:
                continue
            least = plus(factor.whole, constant(1 - divisor)) if sign > 0 else factor.whole
            a = plus(rest, times(share, least))
            changed = True
        if changed:
            yield a

    def _is_sum_nonnegative(self, a: Form) -> bool:
        """Whether a sum of products is nonnegative when each factor has its least value or more."""
        total: Form = {}
        for term, scale in a.items():
            product: Form = {(): scale}
            for factor in term:
                least = self._least(factor)
                if least is None:
                    return False
                product = times(product, {(factor,): 1, (): least} if least else {(factor,): 1})
                if len(product) > _MOST_TERMS:
                    return False
            total = plus(total, product)
        return all(scale > 0 for scale in total.values())

    def _least(self, factor: Any) -> int | None:
        if type(factor) is not Part:
            return self.least.get(factor)
        if factor.kind is FloorMod:
            return 0 if self.is_nonnegative(factor.divisor) else None
        if _is_quotient(factor):
            low = plus(factor.whole, factor.divisor, -1)
            return (
                1 if self.is_nonnegative(low) else 0 if self.is_nonnegative(factor.whole) else None
            )
        return None


def _is_quotient(factor: Any) -> bool:
    """Whether a factor is a quotient by a positive number."""
    is_quotient = type(factor) is Part and factor.kind is FloorDiv
    return is_quotient and (number_of(factor.divisor) or 0) > 0


def split(a: Form, factor: Any) -> tuple[Form | None, Form]:
    """`a` as scale * factor + rest; no scale where the factor is squared."""
    scale: Form = {}
    rest: Form = {}
    for term, value in a.items():
        others = tuple([other for other in term if other is not factor])
        missing = len(term) - len(others)
        if missing > 1:
            return None, rest
        if missing:
            scale[others] = value
        else:
            rest[term] = value
    return scale, rest


def divided(whole: Form, divisor: Form) -> tuple[Form, Form]:
    """The multiples of a divisor of one term in a form, and the rest."""
    if len(divisor) != 1:
        return {}, whole
    ((factors_of, by),) = divisor.items()
    multiples: Form = {}
    rest: Form = {}
    for term, scale in whole.items():
        left = _without(term, factors_of)
        is_whole = left is not None and (bool(factors_of) or not term or not scale % by)
        quotient, remains = divmod(scale, by) if is_whole else (0, scale)
        if quotient:
            multiples[left or ()] = quotient
        if remains:
            rest[term] = remains
    return multiples, rest


def times_what(divisor: Form, whole: Form) -> Form | None:
    """The single term by which a form is multiplied to give another, n * 4 + 4 of n + 1; None if
    there is none.
    """
    if not divisor or len(divisor) != len(whole):
        return None
    factors_of, by = next(iter(divisor.items()))
    for term, scale in whole.items():
        left = _without(term, factors_of)
        if left is None or scale % by:
            continue
        quotient = {left: scale // by}
        if times(quotient, divisor) == whole:
            return quotient
    return None


def _without(term: tuple[Any, ...], factors_of: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The other factors of a product; None if it does not have all of these."""
    left = list(term)
    for factor in factors_of:
        position = next((i for i, other in enumerate(left) if other is factor), None)
        if position is None:
            return None
        del left[position]
    return tuple(left)


def rank(a: Form) -> float:
    """A heuristic estimate of the size of a form; proofs do not depend on it."""
    total = 0.0
    for term, scale in a.items():
        value = float(scale)
        for factor in term:
            value *= _rank_of(factor)
        total += value
    return abs(total)


def _rank_of(factor: Any) -> float:
    if _is_quotient(factor):
        return rank(factor.whole) / rank(factor.divisor)
    return 1009.0
