"""Detection of indices that are sums of iterator parts, and proofs about them.

A sum with matching scales is fused into a new mark, which may be divided into parts again. A
condition on a sum gives a mark with fewer values. Must not know the uses of maps.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.facts import MIRROR
from te_sched.arith.forms import Form, Forms, divided, factors, plus, times_what
from te_sched.arith.forms import expr_of as form_expr
from te_sched.arith.iter_expr import Factor, IterMark, IterSplitExpr, IterSumExpr, NotAffine
from te_sched.ir import ops
from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Cast,
    Expr,
    IntImm,
    Mul,
    Range,
    Sub,
    Var,
)
from te_sched.ir.visitor import Visitor, variables_of


class IterMapLevel(enum.IntEnum):
    """The property that a map must have.

    SURJECTIVE: the indices take all combinations of their values. BIJECTIVE: and no two iterations
    give the same. NO_CHECK: only the form is checked.
    """

    BIJECTIVE = 0
    SURJECTIVE = 1
    NO_CHECK = 3


class Dividing(enum.Enum):
    """How a sum is divided: as one mark, without multiples of the divisor, or part by part.

    A map divides its fused sums in one of these ways, so that all digits are of one mark.
    """

    WHOLE = enum.auto()
    REST = enum.auto()
    PARTS = enum.auto()


@dataclass(frozen=True, slots=True)
class IterMapResult:
    """The sums that are equal to the indices, or the reason why there are none."""

    indices: tuple[IterSumExpr, ...]
    errors: tuple[str, ...] = ()


# -- numbers ---------------------------------------------------------------------------------------


def _without(parts: list[IterSplitExpr], part: IterSplitExpr) -> list[IterSplitExpr]:
    """The parts without the first occurrence of one of them."""
    position = next(i for i, other in enumerate(parts) if other is part)
    return parts[:position] + parts[position + 1 :]


def is_number(a: Factor, number: int) -> bool:
    return isinstance(a, int) and a == number


def expr_of(e: Any) -> Any:
    """A number or an expression, of a number or of a part of a map."""
    if isinstance(e, IterMark):
        shifted = _shifted(e.source)
        return expr_of(e.source) if shifted is None else shifted
    if isinstance(e, IterSplitExpr):
        source, lower, extent, scale, _ = e
        part = expr_of(source)
        upper = lower * extent
        is_highest = upper is source.extent or _is_at_least(upper, source.extent)
        part = part if is_highest else part % upper
        part = part if is_number(lower, 1) else part // lower
        return part if is_number(scale, 1) else part * scale
    if isinstance(e, IterSumExpr):
        total: Any = None
        for split in e.args:
            total = expr_of(split) if total is None else total + expr_of(split)
        if total is None:
            return e.base
        return total if is_number(e.base, 0) else total + e.base
    return e


def _shifted(source: Any) -> Any:
    """A variable less the first value that a condition leaves to it; None of other sources."""
    if not isinstance(source, IterSumExpr) or len(source.args) != 1:
        return None
    (part,) = source.args
    is_whole = is_number(part.lower_factor, 1) and part.extent is part.source.extent
    if not is_whole or type(part.source.source) is not Var or not is_number(part.scale, 1):
        return None
    return part.source.source - -source.base if _is_negative(source.base) else None


def _is_negative(a: Factor) -> bool:
    """Whether a number is known to be negative: the extents of parts whose values are 0 and less,
    and the scales of sums that count downwards.
    """
    return isinstance(a, int) and a < 0


def _size(a: Factor) -> Factor:
    """A number without its sign; a size that is not known is positive."""
    return abs(a) if isinstance(a, int) else a


def _is_at_least(a: Factor, b: Factor) -> bool:
    """Whether a >= b, both being numbers, or the same."""
    if isinstance(a, int) and isinstance(b, int):
        return a >= b
    return Prover(None).is_equal(a, b)


def _is_multiple(e: Expr) -> bool:
    """Whether e is a variable times a number, which TVM does not simplify here."""
    return type(e) is Mul and {type(e.a), type(e.b)} == {Var, IntImm}


def chained(args: Iterable[IterSplitExpr], prover: Prover | None = None) -> list[IterSplitExpr]:
    """Parts with numbers as scales, such that each, as far as possible, continues the one before.
    Units come before other parts of the expected scale; those that continue none are last.
    """
    prover = prover or Prover(None)
    left = list(reversed(list(args)))
    digits: list[IterSplitExpr] = []
    expected: Factor = min(abs(part.scale) for part in left)
    while left:
        units = [part for part in left if is_number(part.extent, 1)]
        choice = [part for part in units if part.scale == expected] or left
        sizes = [abs(part.scale) for part in choice]
        position = prover.continuing(sizes, expected)
        if position is None:
            choice = [part for part in left if part not in units] or left[:1]
            sizes = [abs(part.scale) for part in choice]
            position = sizes.index(min(sizes))
        digits.append(choice[position])
        left = _without(left, digits[-1])
        expected = digits[-1].scale * digits[-1].extent
    return digits


class Prover:
    """Arithmetic on numbers and symbols; unknown comparisons are false."""

    def __init__(self, analyzer: Analyzer | None) -> None:
        self._given = analyzer

    @cached_property
    def analyzer(self) -> Analyzer:
        """What proves equations of symbols."""
        return Analyzer() if self._given is None else self._given

    def number(self, e: Factor) -> Factor:
        """An expression, simplified; a number if it is constant."""
        if isinstance(e, int):
            return e
        is_simple = isinstance(e, IntImm | Var) or _is_multiple(e)
        done = e if is_simple else self.analyzer.simplify(e)
        return done.value if isinstance(done, IntImm) else done

    def forms(self, *numbers: Factor) -> tuple[Forms, list[Form]]:
        """Numbers as sums of products of variables. Those whose values are unknown are at least 1,
        as sizes are.
        """
        parts = [ops.convert(number) for number in numbers]
        forms = Forms({var: self._least(var) for var in variables_of(*parts)}, {})
        return forms, [forms.of(part) for part in parts]

    def _least(self, var: Var) -> int:
        low = None if self._given is None else self._given.const_bounds(var)[0]
        return 1 if low is None else low

    def is_equal(self, a: Factor, b: Factor) -> bool:
        """Whether a == b is known."""
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        if a is b:
            return True
        _, (x, y) = self.forms(a, b)
        return x == y or self.analyzer.can_prove_equal(*ops.operands(a, b))

    def is_at_least(self, a: Factor, b: Factor) -> bool:
        """Whether a >= b is known."""
        if isinstance(a, int) and isinstance(b, int):
            return a >= b
        forms, (x, y) = self.forms(a, b)
        return forms.is_nonnegative(plus(x, y, -1)) or self.analyzer.can_prove(
            ops.greater_equal(a, b)
        )

    def is_within(self, scale: Factor, reach: Factor) -> bool:
        """Whether steps of a scale leave no gaps between values up to `reach`, as far as TVM
        knows, which assumes nothing about symbols.
        """
        if isinstance(scale, int) and isinstance(reach, int):
            return 0 < scale <= reach
        prove = self.analyzer.can_prove
        return prove(ops.greater_equal(scale, 0)) and prove(ops.less_equal(scale, reach))

    def continuing(self, scales: Sequence[Factor | None], reach: Factor) -> int | None:
        """The place of the scale that continues values below `reach`: an equal one, or the largest
        that leaves no gap.
        """
        best: tuple[int, Factor] | None = None
        for position, scale in enumerate(scales):
            if scale is None:
                continue
            if self.is_equal(scale, reach):
                return position
            is_within = self.is_within(scale, reach)
            if is_within and (best is None or not self.is_within(scale, best[1])):
                best = position, scale
        return None if best is None else best[0]

    def quotient(self, a: Factor, b: Factor) -> Factor | None:
        """a / b, if a is known to be a multiple of b."""
        if isinstance(a, int) and isinstance(b, int):
            return None if a % b else a // b
        if is_number(b, 1) or is_number(a, 0):
            return a
        _, (x, y) = self.forms(a, b)
        multiples, rest = divided(x, y)
        if rest and (whole := times_what(y, x)) is not None:
            multiples, rest = whole, {}
        if not rest and all(isinstance(factor, Var) for factor in factors(multiples)):
            return self.number(form_expr(multiples, (a if isinstance(b, int) else b).dtype))
        result = self.number(ops.floordiv(*ops.operands(a, b)))
        return result if self.is_equal(result * b, a) else None

    def ceildiv(self, a: Factor, b: Factor) -> Factor:
        """a / b, rounded away from zero."""
        exact = self.quotient(a, b)
        if exact is not None:
            return exact
        if isinstance(a, int) and isinstance(b, int):
            return -(-a // b) if (a < 0) == (b < 0) else a // b
        return self.number((a + b - 1) // b)

    def least(self, a: Factor | None, b: Factor) -> Factor:
        """The minimum of two numbers; None is infinity."""
        if a is None or self.is_at_least(a, b):
            return b
        return a if self.is_at_least(b, a) else self.number(ops.minimum(a, b))

    def most(self, a: Factor | None, b: Factor) -> Factor:
        """The maximum of two numbers; None is minus infinity."""
        if a is None or self.is_at_least(b, a):
            return b
        return a if self.is_at_least(a, b) else self.number(ops.maximum(a, b))


# -- detection -------------------------------------------------------------------------------------


class _Bound(NamedTuple):
    """A condition: low <= sum of args < high."""

    args: tuple[IterSplitExpr, ...]
    low: Factor | None
    high: Factor | None


@dataclass(slots=True)
class Constraint:
    """A fused sum under a condition: the sum of args is mark + low."""

    args: tuple[IterSplitExpr, ...]
    mark: IterMark
    low: Factor

    def condition(self) -> Expr:
        """The condition on the sum."""
        total = expr_of(IterSumExpr(self.args, -self.low))
        least = is_number(self.low, 0)
        below = total < self.mark.extent
        return ops.convert(below if least else ops.logical_and(total >= 0, below))


@dataclass(slots=True)
class Detector(Visitor):
    """One detection of indices. Iterators of extent 1 are treated as constants, except if
    `keeps_units`. `as_tvm`: a sum that is always below a divisor is not divided, an iterator
    that a predicate restricts to one value is a constant, the sum of a condition that always
    holds is kept together, and a sum with the finest part of a condition's sum has all of them.
    """

    input_iters: Mapping[Var, Range]
    level: IterMapLevel
    prover: Prover
    dividing: Dividing
    lenient: bool = False
    keeps_units: bool = False
    as_tvm: bool = False
    inputs: list[IterMark] = field(default_factory=list)
    sums: dict[Var, IterSumExpr] = field(default_factory=dict)
    fused_marks: list[IterMark] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)

    def __post_init__(self) -> None:
        for var, domain in self.input_iters.items():
            low, extent = self.prover.number(domain.min), self.prover.number(domain.extent)
            if is_number(extent, 1) and not self.keeps_units:
                self.sums[var] = IterSumExpr((), low)
                continue
            mark = IterMark(var if is_number(low, 0) else Sub(var, domain.min), extent)
            self.inputs.append(mark)
            self.sums[var] = IterSumExpr((IterSplitExpr(mark, 1, extent),), low)

    def detect(self, indices: Sequence[Expr], predicate: Expr | None) -> IterMapResult:
        """The indices as sums of one part each, or the reason why they do not satisfy `level`."""
        try:
            if any(isinstance(mark.extent, int) and mark.extent < 1 for mark in self.inputs):
                raise NotAffine("an iterator has no values")
            if predicate is not None:
                self.constrain(predicate)
            sums = tuple([self.fused(self.sum_of(index)) for index in indices])
            if self.level != IterMapLevel.NO_CHECK:
                self.check(sums)
        except NotAffine as reason:
            return IterMapResult((), (str(reason),))
        return IterMapResult(sums)

    # -- sums --------------------------------------------------------------------------------------

    def sum_of(self, e: Any) -> IterSumExpr:
        """An expression as a sum of parts.

        Raises
        ------
        NotAffine
        """
        method = self.methods.get(type(e))
        try:
            if method is not None:
                iter_sum: IterSumExpr = method(self, e)
                return iter_sum
            if not variables_of(e).isdisjoint(self.sums):
                raise NotAffine(f"{e} is not a sum of parts of iterators")
        except NotAffine:
            if not self.lenient:
                raise
        return IterSumExpr((), self.prover.number(e))

    def visit_Var(self, e: Var) -> IterSumExpr:
        iter_sum = self.sums.get(e)
        return IterSumExpr((), e) if iter_sum is None else iter_sum

    def visit_Add(self, e: Any) -> IterSumExpr:
        return self.plus(self.sum_of(e.a), self.sum_of(e.b))

    def visit_Sub(self, e: Any) -> IterSumExpr:
        return self.plus(self.sum_of(e.a), self.times(self.sum_of(e.b), -1))

    def visit_Mul(self, e: Any) -> IterSumExpr:
        a, b = self.sum_of(e.a), self.sum_of(e.b)
        if a.args and b.args:
            raise NotAffine(f"{e} is a product of iterators")
        return self.times(b, a.base) if b.args else self.times(a, b.base)

    def visit_Cast(self, e: Cast) -> IterSumExpr:
        iter_sum = self.sum_of(e.value)
        if not iter_sum.args:
            return IterSumExpr((), self.prover.number(e))
        if (e.value.dtype, e.dtype) != ("int32", "int64"):
            raise NotAffine(f"{e} may change the value")
        return iter_sum

    def visit_FloorDiv(self, e: Any) -> IterSumExpr:
        a, divisor = self.sum_of(e.a), self.divisor(e.b)
        return IterSumExpr((), e) if self._is_unit(a, e) else self.divided(a, divisor)[0]

    def visit_FloorMod(self, e: Any) -> IterSumExpr:
        a, divisor = self.sum_of(e.a), self.divisor(e.b)
        return IterSumExpr((), e) if self._is_unit(a, e) else self.divided(a, divisor)[1]

    def _is_unit(self, a: IterSumExpr, division: Expr) -> bool:
        """Whether a division is of iterators of one value only, which TVM leaves in it."""
        if not self.as_tvm or self.keeps_units or a.args:
            return False
        return not variables_of(division).isdisjoint(self.sums)

    def divisor(self, e: Expr) -> Factor:
        """A divisor that does not depend on iterators."""
        iter_sum = self.sum_of(e)
        if iter_sum.args or (isinstance(iter_sum.base, int) and iter_sum.base < 1):
            raise NotAffine(f"{e} is not a positive constant")
        return iter_sum.base

    def plus(self, a: IterSumExpr, b: IterSumExpr) -> IterSumExpr:
        """a + b"""
        args = list(a.args)
        for new in b.args:
            for position, old in enumerate(args):
                if self.is_same_part(old, new):
                    scale = self.prover.number(old.scale + new.scale)
                    args[position] = old._replace(scale=scale)
                    break
            else:
                args.append(new)
        left = tuple([part for part in args if not is_number(part.scale, 0)])
        return IterSumExpr(left, self.prover.number(a.base + b.base))

    def times(self, a: IterSumExpr, factor: Factor) -> IterSumExpr:
        """a * factor"""
        if is_number(factor, 0):
            return IterSumExpr((), 0)
        number = self.prover.number
        args = [
            part._replace(
                scale=number(
                    factor * part.scale if isinstance(part.scale, int) else part.scale * factor
                )
            )
            for part in a.args
        ]
        return IterSumExpr(tuple(args), number(a.base * factor))

    def is_same_part(self, a: IterSplitExpr, b: IterSplitExpr) -> bool:
        """Whether two parts differ only in their scale."""
        is_equal = self.prover.is_equal
        return (
            a.source is b.source
            and is_equal(a.lower_factor, b.lower_factor)
            and is_equal(a.extent, b.extent)
        )

    def joined(self, args: Iterable[IterSplitExpr]) -> list[IterSplitExpr]:
        """The parts, with coarse and fine ones of one source joined: x // 4 * 4 + x % 4 is x."""
        parts = list(args)
        for coarse in parts:
            for position, fine in enumerate(parts):
                if (
                    fine.source is not coarse.source
                    or fine is coarse
                    or not self._follows(fine, coarse)
                ):
                    continue
                extent = self.prover.number(fine.extent * coarse.extent)
                whole = fine._replace(extent=extent)
                if self.is_highest(whole):
                    most = self.prover.ceildiv(fine.source.extent, fine.lower_factor)
                    whole = whole._replace(extent=most)
                parts[position] = whole
                return self.joined([part for part in parts if part is not coarse])
        return parts

    def _follows(self, fine: IterSplitExpr, coarse: IterSplitExpr) -> bool:
        is_equal = self.prover.is_equal
        return is_equal(fine.lower_factor * fine.extent, coarse.lower_factor) and is_equal(
            fine.scale * fine.extent, coarse.scale
        )

    def is_highest(self, part: IterSplitExpr) -> bool:
        """Whether the part is the most significant one of its source."""
        upper = part.lower_factor * part.extent
        return self.prover.is_at_least(upper, part.source.extent)

    # -- fusing ------------------------------------------------------------------------------------

    def matched(self, a: IterSumExpr) -> IterSumExpr:
        """A sum in which the sums of conditions are replaced by their marks."""
        for constraint in self.constraints:
            a = self._matched(a._replace(args=tuple(self.joined(a.args))), constraint)
        return a._replace(args=tuple(self.joined(a.args)))

    def _matched(self, a: IterSumExpr, constraint: Constraint) -> IterSumExpr:
        left = list(a.args)
        factor: Factor | None = None
        for part in constraint.args:
            mine = next((other for other in left if self.is_same_part(part, other)), None)
            by = None if mine is None else self.prover.quotient(mine.scale, part.scale)
            if by is None or (factor is not None and not self.prover.is_equal(by, factor)):
                return a
            factor = by
            left = [other for other in left if other is not mine]
        mark = constraint.mark
        left.append(IterSplitExpr(mark, 1, mark.extent, factor))
        return IterSumExpr(tuple(left), self.prover.number(a.base + factor * constraint.low))

    def ordered(self, args: Sequence[IterSplitExpr]) -> list[IterSplitExpr]:
        """The parts of a sum by increasing scale; of equal scales, the last one first."""
        if all(isinstance(part.scale, int) for part in args):
            return chained(args, self.prover)
        left, parts = list(reversed(args)), list[IterSplitExpr]()
        quotient = self.prover.quotient

        def is_finest(part: IterSplitExpr) -> bool:
            return all(quotient(other.scale, part.scale) is not None for other in left)

        while left:
            parts.append(next(filter(is_finest, left), left[0]))
            left = _without(left, parts[-1])
        return parts

    def fused(self, a: IterSumExpr) -> IterSumExpr:
        """A sum as one part, of a new mark if the sum has several parts.

        Raises
        ------
        NotAffine if the sum does not take all values between its minimum and its maximum.
        """
        a = a._replace(args=tuple(self.joined(a.args)))
        if len(a.args) < 2:
            return self.matched(a)
        left = self.ordered(a.args)
        unit = left[0].scale
        base = a.base
        scaled: list[IterSplitExpr] = []
        count: Factor = 1  # of the values of the finer parts, in units
        expected: Factor = 1  # the scale of the next part, if values do not come more than once
        while left:
            part, by = self._next(a, left, unit, expected)
            begun = self._begun_by(part)
            while (group := self._group_of(part, IterSumExpr(tuple(left), base))) is not None:
                left, base = list(group.args), group.base
                part = left[-1]
                begun = [constraint for constraint in begun if constraint.mark is not part.source]
                begun += self._begun_by(part)
            if begun and self.as_tvm:
                raise NotAffine(f"{expr_of(a)} has a part of a sum under a condition")
            left = _without(left, part)
            scaled.append(part._replace(scale=by))
            is_next = self.prover.is_equal(by, count)
            count = by * part.extent if is_next else count + by * (part.extent - 1)
            count, expected = self.prover.number(count), self.prover.number(by * part.extent)
        if len(scaled) == 1:
            return IterSumExpr((scaled[0]._replace(scale=unit),), base)
        mark = self._mark(tuple(reversed(scaled)), count)
        return IterSumExpr((IterSplitExpr(mark, 1, count, unit),), base)

    def _group_of(self, part: IterSplitExpr, a: IterSumExpr) -> IterSumExpr | None:
        """A sum in which the sum of a condition, of which a part is the finest, is replaced by its
        mark, the last part; None if there is none.
        """
        for constraint in self._begun_by(part):
            inside = self._with_marks(a, constraint)
            group = self._matched(inside, constraint)
            if group is not inside:
                return group
        return None

    def _begun_by(self, part: IterSplitExpr) -> list[Constraint]:
        """The conditions of whose sums a part is the finest."""
        return [
            constraint
            for constraint in self.constraints
            if self.is_same_part(self.ordered(constraint.args)[0], part)
        ]

    def _with_marks(self, a: IterSumExpr, constraint: Constraint) -> IterSumExpr:
        """A sum in which the sums are replaced whose marks are in the sum of a condition."""
        for other in self.constraints:
            if any(part.source is other.mark for part in constraint.args):
                a = self._matched(self._with_marks(a, other), other)
        return a

    def _next(
        self, a: IterSumExpr, left: Sequence[IterSplitExpr], unit: Factor, expected: Factor
    ) -> tuple[IterSplitExpr, Factor]:
        """The part of a sum that follows finer parts, with its scale in units: that of the expected
        scale, or the coarsest below, if values may come more than once.
        """
        scales = [self.prover.quotient(part.scale, unit) for part in left]
        position = self.prover.continuing(scales, expected)
        by = None if position is None else scales[position]
        is_once = by is not None and self.prover.is_equal(by, expected)
        may_repeat = self.level != IterMapLevel.BIJECTIVE and is_number(unit, 1)
        if position is None or by is None or not (is_once or may_repeat):
            raise NotAffine(f"the values of {expr_of(a)} have gaps, or come more than once")
        return left[position], by

    def _mark(self, args: tuple[IterSplitExpr, ...], extent: Factor, base: int = 0) -> IterMark:
        """The mark of a sum: one for each sum."""
        for mark in self.fused_marks:
            assert isinstance(mark.source, IterSumExpr)
            if mark.source.base == base and self._are_same(mark.source.args, args):
                return mark
        mark = IterMark(IterSumExpr(args, base), extent)
        self.fused_marks.append(mark)
        return mark

    # -- quotients and remainders ------------------------------------------------------------------

    def divided(self, a: IterSumExpr, divisor: Factor) -> tuple[IterSumExpr, IterSumExpr]:
        """a // divisor and a % divisor"""
        a = self.matched(a)
        quotient = self.prover.quotient
        multiples: list[IterSplitExpr] = []
        rest: list[IterSplitExpr] = []
        for part in a.args:
            by = quotient(part.scale, divisor)
            if by is None:
                rest.append(part)
            else:
                multiples.append(part._replace(scale=by))
        if isinstance(a.base, int) and isinstance(divisor, int):
            base, left = divmod(a.base, divisor)
        else:
            exact = quotient(a.base, divisor)
            base, left = (0, a.base) if exact is None else (exact, 0)
            if exact is None and not rest:
                base, left = self.prover.number(a.base // divisor), a.base % divisor
        if self.dividing == Dividing.WHOLE and rest:
            multiples, rest = [], list(a.args)
        whole = IterSumExpr(tuple(multiples), base)
        remainder = IterSumExpr(tuple(rest), left)
        is_alone = len(rest) == 1 or self.dividing != Dividing.WHOLE
        is_divided = multiples or not self.as_tvm
        if not rest or (is_alone and is_divided and self._is_below(remainder, divisor)):
            return whole, remainder
        if not is_number(left, 0):
            remainder = self._raised(remainder, divisor)
        coarse, fine = self._split(remainder, divisor)
        return self.plus(whole, coarse), fine

    def _raised(self, a: IterSumExpr, divisor: Factor) -> IterSumExpr:
        """A part and a number as one part: its values begin at 0, although the first ones do not
        occur, which TVM allows where it simplifies.

        Raises
        ------
        NotAffine
        """
        is_part = self.as_tvm and len(a.args) == 1 and is_number(a.args[0].scale, 1)
        if not is_part or _is_negative(a.args[0].extent) or not _is_at_least(a.base, 0):
            raise NotAffine(f"({expr_of(a)}) // {divisor} does not begin with a whole quotient")
        mark = self._mark(a.args, self.prover.number(a.args[0].extent + a.base), a.base)
        return IterSumExpr((IterSplitExpr(mark, 1, mark.extent),), 0)

    def _is_below(self, a: IterSumExpr, limit: Factor) -> bool:
        """Whether 0 <= a < limit."""
        most = a.base
        if _is_negative(most):
            return False
        for part in a.args:
            if _is_negative(part.extent) or _is_negative(part.scale):
                return False
            most = most + part.scale * (part.extent - 1)
        return self.prover.is_at_least(limit, self.prover.number(most + 1))

    def _split(self, a: IterSumExpr, divisor: Factor) -> tuple[IterSumExpr, IterSumExpr]:
        """Quotient and remainder of a sum without multiples of the divisor."""
        if self.dividing == Dividing.PARTS:
            args = self.ordered(a.args)
            for position in range(len(args) - 1, 0, -1):
                fine = IterSumExpr(tuple(args[:position]), 0)
                unit = args[position].scale
                if self.prover.quotient(divisor, unit) and self._is_below(fine, unit):
                    coarse = IterSumExpr(tuple(args[position:]), 0)
                    whole, rest = self.divided(coarse, divisor)
                    return whole, self.plus(rest, fine)
        fused = self.fused(a)
        (part,) = fused.args
        share = self.prover.quotient(divisor, part.scale)
        is_reversed = isinstance(share, int) and share < 1
        may_be_reversed = self.as_tvm and is_number(part.lower_factor, 1)
        if share is None or (is_reversed and not may_be_reversed):
            raise NotAffine(
                f"{divisor} is not a multiple of {part.scale}, the scale of {expr_of(a)}"
            )
        coarse_part, fine_part = self._split_part(part._replace(scale=1), share)
        fine_part = fine_part._replace(scale=part.scale)
        return IterSumExpr((coarse_part,), 0), IterSumExpr((fine_part,), 0)

    def _split_part(
        self, part: IterSplitExpr, divisor: Factor
    ) -> tuple[IterSplitExpr, IterSplitExpr]:
        """Quotient and remainder of a part with scale 1, which may be as large as the divisor.

        A quotient of a reversed iterator is by a negative number, as TVM writes it where it
        simplifies: `i // -2` for `(0 - i) // 2`. An extent is negative where its values are.
        """
        extent = self.prover.quotient(part.extent, divisor)
        if extent is None:
            if not self.is_highest(part):  # x % 6 // 4 is not part of x
                if _is_negative(divisor) or _is_negative(part.extent):
                    raise NotAffine(f"{expr_of(part)} is not a multiple of {divisor}")
                mark = self._mark((part,), part.extent)
                part = IterSplitExpr(mark, 1, mark.extent)
            extent = self.prover.ceildiv(part.extent, divisor)
        lower = self.prover.number(part.lower_factor * divisor)
        coarse = part._replace(lower_factor=lower, extent=extent)
        return coarse, part._replace(extent=divisor)

    # -- conditions --------------------------------------------------------------------------------

    def constrain(self, predicate: Expr) -> None:
        """Record marks for the sums in conditions, those of fewer iterators first."""
        conditions = list(conjuncts(predicate))
        bounds = self._bounds(conditions)
        if self.as_tvm and not self.keeps_units:
            for limit in bounds:
                if len(limit.args) == 1 and not is_number(limit.args[0].scale, 1):
                    raise NotAffine(
                        f"a condition is on a multiple of {expr_of(limit.args[0].source)}"
                    )
            rest = self._without_units(conditions)
            bounds = bounds if len(rest) == len(conditions) else self._bounds(rest)
        for bound in sorted(bounds, key=lambda bound: len(bound.args)):
            self._constrain(bound)

    def _bounds(self, conditions: Iterable[Expr]) -> list[_Bound]:
        """The conditions as bounds of sums."""
        bounds: list[_Bound] = []
        for condition in conditions:
            try:
                self._note_bound(condition, bounds)
            except NotAffine:
                if not self._always_holds(condition):
                    raise
        return bounds

    def _without_units(self, conditions: list[Expr]) -> list[Expr]:
        """The conditions without those that give an iterator its only value."""
        limit_of = {
            condition: limit
            for condition in conditions
            if (limit := self._limit(condition)) is not None
        }
        for var in {limit[0] for limit in limit_of.values()}:
            limits = [(low, high) for other, low, high in limit_of.values() if other is var]
            low, high = max(low for low, _ in limits), min(high for _, high in limits)
            if high - low == 1:
                (part,) = self.sums[var].args
                self.inputs.remove(part.source)
                self.sums[var] = IterSumExpr((), low)
                of_var = {condition for condition, limit in limit_of.items() if limit[0] is var}
                conditions = [condition for condition in conditions if condition not in of_var]
        return conditions

    def _limit(self, condition: Any) -> tuple[Var, int, int] | None:
        """An iterator that is compared with a number, its least value and the end of its values."""
        kind = type(condition)
        if kind not in (LT, LE, GT, GE):
            return None
        var, number = condition.a, condition.b
        if type(number) is Var:
            var, number, kind = number, var, MIRROR[kind]
        domain = self.input_iters.get(var) if type(var) is Var else None
        if domain is None or not self.sums[var].args or type(number) is not IntImm:
            return None
        if type(domain.min) is not IntImm or type(domain.extent) is not IntImm:
            return None
        low, high = domain.min.value, domain.min.value + domain.extent.value
        if kind in (LT, LE):
            return var, low, min(high, number.value + (kind is LE))
        return var, max(low, number.value + (kind is GT)), high

    def _always_holds(self, condition: Expr) -> bool:
        analyzer = Analyzer()
        for var, domain in self.input_iters.items():
            analyzer.bind(var, domain)
        return analyzer.can_prove(condition)

    def _note_bound(self, condition: Any, bounds: list[_Bound]) -> None:
        kind = type(condition)
        if kind is IntImm and condition.value:
            return
        if self.as_tvm and self.input_iters.keys().isdisjoint(variables_of(condition)):
            return
        if kind not in (LT, LE, GT, GE, EQ) or (kind is EQ and self.as_tvm):
            raise NotAffine(f"{condition} is not a comparison of a sum of parts of iterators")
        a, b = self.sum_of(condition.a), self.sum_of(condition.b)
        gap = self.plus(a, self.times(b, -1))
        if kind in (GT, GE):
            gap, kind = self.times(gap, -1), MIRROR[kind]
        if not gap.args:
            raise NotAffine(f"{condition} is not about iterators")
        number, args = self.prover.number, gap.args
        low = number(-gap.base) if kind is EQ else None
        high = number((0 if kind is LT else 1) - gap.base)
        if all(_is_negative(part.scale) for part in args):
            # -s < high is s >= 1 - high
            args = self.times(gap, -1).args
            low, high = number(1 - high), None if low is None else number(1 - low)
        for position, other in enumerate(bounds):
            if self._are_same(other.args, args):
                low = other.low if low is None else self.prover.most(other.low, low)
                high = other.high if high is None else self.prover.least(other.high, high)
                bounds[position] = _Bound(other.args, low, high)
                return
        bounds.append(_Bound(args, low, high))

    def _are_same(self, a: Sequence[IterSplitExpr], b: Sequence[IterSplitExpr]) -> bool:
        return len(a) == len(b) and all(
            any(
                self.is_same_part(part, other) and self.prover.is_equal(part.scale, other.scale)
                for other in b
            )
            for part in a
        )

    def _values(self, bound: _Bound) -> tuple[IterSplitExpr, Factor, Factor]:
        """The sum of a bound as one part, with the least of its values and their number."""
        iter_sum = self.fused(IterSumExpr(bound.args, 0))
        (part,) = iter_sum.args
        if _is_negative(part.scale):
            raise NotAffine(f"{expr_of(iter_sum)} counts downwards under a condition")
        # scale * part + base < high
        number, ceildiv = self.prover.number, self.prover.ceildiv
        low, high = [
            None if end is None else ceildiv(number(end - iter_sum.base), part.scale)
            for end in (bound.low, bound.high)
        ]
        least = self.prover.least
        low = self.prover.most(low, 0)
        high = part.extent if high is None else least(part.extent, high)
        extent = number(high - low)
        if isinstance(extent, int) and extent < 1:
            raise NotAffine("no iteration fulfills the predicate")
        return part, low, extent

    def _constrain(self, bound: _Bound) -> None:
        split, low, extent = self._values(bound)
        number = self.prover.number
        source = split.source.source
        is_always = is_number(low, 0) and self.prover.is_equal(extent, split.extent)
        if is_always and not (self.as_tvm and isinstance(source, IterSumExpr)):
            return
        part = split._replace(scale=1)
        if (
            isinstance(source, IterSumExpr)
            and self.is_highest(part)
            and is_number(split.lower_factor, 1)
        ):
            args, base = source.args, number(source.base - low)
        else:
            args, base = (part,), number(-low)
        mark = IterMark(IterSumExpr(args, base), extent)
        self.constraints.append(Constraint((part,) if args[0] is part else args, mark, low))

    # -- proofs ------------------------------------------------------------------------------------

    def check(self, indices: Sequence[IterSumExpr]) -> None:
        """Check that parts are independent of each other, and for BIJECTIVE that all are used. TVM
        does not ask whether a condition makes the parts of an index depend on others.

        Raises
        ------
        NotAffine
        """
        exact = self.level == IterMapLevel.BIJECTIVE
        used: dict[IterMark, list[IterSplitExpr]] = {}
        for constraint in self.constraints if exact or not self.as_tvm else ():
            self._use(constraint.mark, used)
        for index in indices:
            for part in index.args:
                self._use(part.source, used)
                used[part.source].append(part)
        for mark, parts in used.items():
            if (parts or exact) and not self._are_digits(mark, parts, exact):
                raise NotAffine(
                    f"the parts of {expr_of(mark)} are not independent"
                    if not exact
                    else f"the parts of {expr_of(mark)} are not all of it, each once"
                )
        if exact and any(mark not in used for mark in self.inputs):
            raise NotAffine("an iterator is not used")

    def _use(self, mark: IterMark, used: dict[IterMark, list[IterSplitExpr]]) -> None:
        """Record the parts of a mark."""
        if mark in used:
            return
        used[mark] = []
        if isinstance(mark.source, IterSumExpr):
            for part in mark.source.args:
                self._use(part.source, used)
                used[part.source].append(part)

    def _are_digits(self, mark: IterMark, parts: list[IterSplitExpr], exact: bool) -> bool:
        """Whether parts of a mark take all combinations of their values (exact: each once). Those
        of a reversed iterator do so as those of the iterator itself.
        """
        whole = _size(mark.extent)
        parts = [
            part._replace(lower_factor=_size(part.lower_factor), extent=_size(part.extent))
            for part in parts
        ]
        is_equal, quotient = self.prover.is_equal, self.prover.quotient
        base = mark.source.base if isinstance(mark.source, IterSumExpr) else 0
        if isinstance(base, int) and base > 0:  # the first values of the mark do not occur
            finest = [part for part in parts if is_number(part.lower_factor, 1)]
            if not all(self.prover.is_at_least(whole - base, part.extent) for part in finest):
                return False
        left = sorted(
            parts,
            key=lambda part: part.lower_factor if isinstance(part.lower_factor, int) else 1 << 63,
        )
        below: Factor = 1
        upper: Factor = 1
        last: IterSplitExpr | None = None
        while left:
            last = next((part for part in left if is_equal(part.lower_factor, upper)), None)
            if last is None and not exact:
                follow = (part for part in left if quotient(part.lower_factor, upper) is not None)
                last = next(follow, None)
            if last is None:
                return False
            left = _without(left, last)
            below, upper = upper, self.prover.number(last.lower_factor * last.extent)
        if is_equal(upper, whole):
            return True
        if exact or last is None:
            return False
        if self.prover.is_at_least(whole, upper):
            return True
        # the last value of the coarsest part occurs with all values of the others
        if is_number(below, 1) and is_equal(
            last.extent, self.prover.ceildiv(whole, last.lower_factor)
        ):
            return True
        reached = self.prover.number(whole - last.lower_factor * (last.extent - 1))
        return self.prover.is_at_least(reached, below)
