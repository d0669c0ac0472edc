"""Proofs that statements write all elements of a region.

    for i_outer in range(3):
        for i_inner in range(8):
            if i_inner + i_outer * 8 < 20:       writes C[0:20]: digits i_inner * 1, i_outer * 8
                C[i_inner + i_outer * 8] = ...

An index whose loops are digits of a mixed radix takes all values between its bounds; loops that
appear in one index only do so independently of the other indices. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from te_sched.analysis.programs.accesses import Access, ProgramAccesses
from te_sched.arith.conditions import conjuncts, gap_of
from te_sched.arith.forms import (
    Form,
    Forms,
    Part,
    Span,
    constant,
    factors,
    number_of,
    plus,
    rank,
    split,
    times,
)
from te_sched.arith.interval import Interval
from te_sched.ir.expr import EQ, Expr, FloorDiv, IntImm, Var
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import variables_of

FormInterval = Interval[tuple[Form, ...]]  # maximum of lower, minimum of upper bounds


class _Unknown(Exception):
    """The set of values is unknown."""


class Cover:
    """The part of a region that an access writes for fixed values of some loops (`fixed`)."""

    def __init__(
        self,
        program: ProgramAccesses,
        access: Access,
        region: Sequence[FormInterval],
        fixed: Iterable[Var],
        conditions: Sequence[Expr] = (),
        also: Iterable[Access] = (),
    ) -> None:
        self.access, self.region = access, region
        self.forms: Forms = program.forms(access, *also)
        own = {loop.var for loop in access.loops}
        self.own = own.difference(fixed)
        self.given = conditions
        self.users: dict[Any, Any] = {}  # the index or sum that uses a loop as a digit
        self.wholes: list[tuple[Form, Form]] = []  # sums and their divisors
        self.indices: list[Form] = []
        self.maybe_empty: set[Var] = set()  # loops that may have no iterations

    def spans(self) -> list[Span] | None:
        """The values written in each dimension; None if unknown."""
        if self.access.index is None or len(self.access.index) != len(self.region):
            return None
        try:
            self._check_loops()
            spans: list[Span] = []
            for number, index in enumerate(self.access.index):
                size = self.forms.of(self.access.sizes[number])
                form = self.forms.of(index)
                self.indices.append(form)
                beyond = plus(size, constant(-1))
                spans.append(self._values(form, beyond, ("index", number), self.region[number]))
            if self.maybe_empty - self.users.keys():
                return None
            if not all(map(self._holds, self._conditions())):
                return None
            return spans
        except _Unknown:
            return None

    def covers(self, dim: int, values: Span) -> bool:
        """Whether the written values contain a dimension of the region."""
        begins = any(self._is_most(values.min, low) for low in self.region[dim].min)
        return begins and self.ends_after(dim, values.max)

    def ends_after(self, dim: int, last: Form) -> bool:
        """Whether a dimension of the region ends at `last` or before."""
        return any(self._is_most(high, last) for high in self.region[dim].max)

    def _is_most(self, a: Form, b: Form) -> bool:
        return self.forms.is_nonnegative(plus(b, a, -1))

    def _check_loops(self) -> None:
        for loop in self.access.loops:
            if loop.var in self.own:
                low, extent = self.forms.of(loop.min), self.forms.of(loop.extent)
                if (self.forms.variables(low) | self.forms.variables(extent)) & self.own:
                    raise _Unknown
                if not self._is_most(constant(1), extent):
                    self.maybe_empty.add(loop.var)

    def _values(self, form: Form, reach: Form, user: Any, wanted: FormInterval | None) -> Span:
        """The values of a form extended by `reach`, if they are contiguous. Its factors are digits
        of a mixed radix.
        """
        forms = self.forms
        low = form
        digits: list[tuple[Form, Form]] = []
        for factor in factors(form):
            if not self._is_own(factor):
                continue
            scale, low = split(low, factor)
            if scale is None or forms.variables(scale) & self.own:
                raise _Unknown
            begin, most = self._range(factor, user, wanted if len(form) == 1 else None)
            low = plus(low, times(scale, begin))
            sign = forms.sign_of(scale)
            if not sign:
                raise _Unknown
            if sign < 0:
                scale = plus({}, scale, -1)
                low = plus(low, times(scale, most), -1)
            digits.append((scale, most))
        for scale, most in sorted(digits, key=lambda digit: rank(digit[0])):
            if not forms.is_nonnegative(plus(plus(reach, constant(1)), scale, -1)):
                if forms.is_nonnegative(plus({}, most, -1)):
                    continue  # a digit of one value
                raise _Unknown
            reach = plus(reach, times(scale, most))
        return Interval(low, plus(low, reach))

    def _is_own(self, factor: Any) -> bool:
        if type(factor) is Part:
            return bool(factor.variables & self.own)
        return factor in self.own

    def _range(self, factor: Any, user: Any, wanted: FormInterval | None) -> tuple[Form, Form]:
        """The minimum of a loop or of a part of a sum, and its largest offset from the minimum."""
        if self.users.setdefault(factor, user) != user:
            raise _Unknown  # two indices are not independent in one loop
        if type(factor) is not Part:
            low, high = self.forms.ranges[factor]
            if low is None or high is None:
                raise _Unknown
            return low, plus(high, low, -1)
        if factor.kind is None:
            raise _Unknown
        key = self._key_of(factor.whole, factor.divisor)
        whole = self._values(factor.whole, {}, ("whole", key), None)
        if whole.min:
            raise _Unknown
        count = plus(whole.max, constant(1))
        divisor = factor.divisor
        if factor.kind is not FloorDiv:
            if not self._is_most(divisor, count):
                raise _Unknown
            return {}, plus(divisor, constant(-1))
        quotient = self._quotient(count, divisor, wanted)
        return {}, plus(quotient, constant(-1))

    def _quotient(self, count: Form, divisor: Form, wanted: FormInterval | None) -> Form:
        """The number of multiples of the divisor below count, or a lower bound of it."""
        exact = self.forms.quotient(count, divisor)
        if not any(type(factor) is Part for factor in factors(exact)):
            return exact
        for high in wanted.max if wanted is not None else ():
            enough = plus(high, constant(1))
            if self._is_most(times(enough, divisor), count):
                return enough
        return exact

    def _key_of(self, whole: Form, divisor: Form) -> int:
        """A number for a sum, which must have only one divisor."""
        for key, (other, by) in enumerate(self.wholes):
            if other == whole:
                if by != divisor:
                    raise _Unknown
                return key
        self.wholes.append((whole, divisor))
        return len(self.wholes) - 1

    # -- conditions --------------------------------------------------------------------------------

    def _conditions(self) -> list[Expr]:
        return [part for condition in self.access.conditions for part in conjuncts(condition)]

    def _holds(self, condition: Any) -> bool:
        """Whether a condition holds for all elements of the region."""
        kind = type(condition)
        if kind is IntImm:
            return bool(condition.value)
        if kind is EQ:
            return self._is_chosen(condition.a, condition.b)
        gap = gap_of(condition, self.forms)
        if gap is None:
            is_known = any(same(condition, other) for other in self.given)
            return is_known and self.own.isdisjoint(variables_of(condition))
        is_nonnegative = self.forms.is_nonnegative
        if is_nonnegative(gap):
            return True
        if any(is_nonnegative(plus(gap, other_gap, -1)) for other_gap in self._known_gaps()):
            return True
        return any(
            is_nonnegative(other)
            for multiple in self._multiples(gap)
            for other in self._within_region(multiple)
        )

    def _multiples(self, gap: Form) -> Iterable[Form]:
        """A condition `e >= 0` of integers, tightened to `e > -1`."""
        yield gap
        for factor in factors(gap):
            times_ = number_of(factor.divisor) if type(factor) is Part else None
            if times_ is not None and times_ > 1 and factor.kind is FloorDiv:
                yield plus(times(gap, constant(times_)), constant(times_ - 1))

    def _known_gaps(self) -> Iterable[Form]:
        """Forms that are nonnegative where the region is used; they contain no own loops."""
        for condition in self.given:
            gap = gap_of(condition, self.forms)
            if gap is not None and not self.forms.variables(gap) & self.own:
                yield gap

    def _is_chosen(self, a: Expr, b: Expr) -> bool:
        """Whether a condition only selects one iteration of a loop that no index uses."""
        if type(a) is not Var or a not in self.own or a in self.users:
            return False
        self.users[a] = ("chosen", 0)
        value = self.forms.of(b)
        low, high = self.forms.ranges[a]
        if low is None or high is None or self.forms.variables(value) & self.own:
            return False
        return self._is_most(low, value) and self._is_most(value, high)

    def _within_region(self, gap: Form) -> list[Form]:
        """Lower bounds of a sum for indices in the region."""
        candidates = [gap]
        for whole, divisor in self.wholes:
            candidates.extend(
                self._by_parts(gap_form, whole, divisor) for gap_form in list(candidates)
            )
        for index, span in zip(self.indices, self.region, strict=True):
            for candidate in list(candidates):
                candidates.extend(self._by_index(candidate, index, span))
        return candidates[1:]

    def _by_parts(self, gap: Form, whole: Form, divisor: Form) -> Form:
        """The sum with `whole` replaced by divisor * quotient + remainder."""
        ratio = self._ratio(gap, whole)
        if ratio is None:
            return gap
        quotient, rest = self.forms.quotient(whole, divisor), self.forms.remainder(whole, divisor)
        total = plus(times(quotient, divisor), rest)
        return plus(plus(gap, times(ratio, whole), -1), times(ratio, total))

    def _by_index(self, gap: Form, index: Form, span: FormInterval) -> Iterable[Form]:
        ratio = self._ratio(gap, index)
        if ratio is None:
            return
        without = plus(gap, times(ratio, index), -1)
        ends = {1: span.min, -1: span.max}.get(self.forms.sign_of(ratio), ())
        for end in ends:
            yield plus(without, times(ratio, end))

    def _ratio(self, gap: Form, index: Form) -> Form | None:
        """The factor of an index in a sum."""
        for factor in factors(index):
            scale, _ = split(index, factor)
            share, _ = split(gap, factor)
            number = number_of(scale) if scale is not None else None
            if number and share:
                if any(value % number for value in share.values()):
                    return None
                return {term: value // number for term, value in share.items()}
        return None


def covers_region(
    program: ProgramAccesses,
    writes: Sequence[Access],
    region: Sequence[FormInterval],
    fixed: Iterable[Var] = (),
    conditions: Sequence[Expr] = (),
    also: Iterable[Access] = (),
) -> bool:
    """Whether one access, or several adjacent ones, write all of a region."""
    held_loops, held_conditions, others = list(fixed), list(conditions), list(also)
    parts: list[tuple[Cover, list[Span], list[int]]] = []
    for access in writes:
        if not (access.is_sure or access.by_call):
            continue
        cover = Cover(program, access, region, held_loops, held_conditions, others)
        spans = cover.spans()
        if spans is None:
            continue
        missing = [dim for dim, span in enumerate(spans) if not cover.covers(dim, span)]
        if not missing:
            return True
        parts.append((cover, spans, missing))
    return _side_by_side(parts, len(region))


def _side_by_side(parts: list[tuple[Cover, list[Span], list[int]]], count: int) -> bool:
    """Whether parts of a region that differ in one dimension are contiguous in it."""
    for dim in range(count):
        chain = [(cover, spans[dim]) for cover, spans, missing in parts if missing == [dim]]
        if len(chain) < 2:
            continue
        cover = chain[0][0]
        reached = plus(cover.region[dim].min[0], constant(-1))
        while chain:
            following = [
                pair
                for pair in chain
                if pair[0].forms.is_nonnegative(plus(plus(reached, constant(1)), pair[1].min, -1))
            ]
            if not following:
                break
            chain = [pair for pair in chain if pair not in following]
            for cover, values in following:
                if cover.forms.is_nonnegative(plus(values.max, reached, -1)):
                    reached = values.max
                if cover.ends_after(dim, values.max):
                    return True
    return False
