"""Sums of scaled parts of iterators: the one affine form of index expressions.

A part of an iterator is ((source // lower_factor) % extent) * scale. Splitting and fusing loops
give indices of exactly this kind, and joining the parts of one source (x // 4 * 4 + x % 4 is x) is
merging of parts. `canonical` simplifies sums whose sources are expressions and whose numbers are
integers; `iter_map` analyses maps of iterators, with marks as sources.
Must not know how expressions are visited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from te_sched.arith import build
from te_sched.ir.expr import Add, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, Sub, Var
from te_sched.ir.term_keys import same

UNBOUNDED = (1 << 63) - 1
Factor = Any  # an int or an expression


@dataclass(frozen=True, slots=True, eq=False)
class IterMark:
    """A source that takes all integers from 0 to extent - 1: an iterator, or a sum of parts."""

    source: Expr | IterSumExpr
    extent: Factor


class IterSplitExpr(NamedTuple):
    """((source // lower_factor) % extent) * scale.

    The extent is UNBOUNDED if there is no remainder. `trunc` means that / and % round towards zero.
    In the order of parts, it also separates parts that were never divided from joined ones.
    Of a reversed iterator, lower_factor or extent is negative: x % -4 // -2 has -2 and 2.
    """

    source: Any  # an expression or a mark
    lower_factor: Factor = 1
    extent: Factor = UNBOUNDED
    scale: Factor = 1
    trunc: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the part is the source itself."""
        return self.lower_factor == 1 and self.extent == UNBOUNDED  # type: ignore[no-any-return]

    def scaled(self, factor: int) -> IterSplitExpr:
        """The part times a factor."""
        source, lower, extent, scale, trunc = self  # _replace takes three times as long
        return IterSplitExpr(source, lower, extent, scale * factor, trunc)

    def unscaled(self) -> Expr:
        """(source % upper) // lower_factor of a source that is an expression."""
        e = self.source
        if self.extent != UNBOUNDED:
            kind: Any = Mod if self.trunc else FloorMod
            e = build.BINARY[kind](e, build.fitting(self.lower_factor * self.extent, e.dtype))
        if self.lower_factor != 1:
            kind = Div if self.trunc else FloorDiv
            e = build.BINARY[kind](e, build.fitting(self.lower_factor, e.dtype))
        return e  # type: ignore[no-any-return]

    def expr(self) -> Expr:
        """The part of a source that is an expression."""
        return _scaled(self.unscaled(), self.scale)


def _scaled(e: Expr, scale: int) -> Expr:
    return e if scale == 1 else Mul(e, build.fitting(scale, e.dtype))


class IterSumExpr(NamedTuple):
    """The sum of parts and a constant. Parts of one source are adjacent, the coarsest first."""

    args: tuple[IterSplitExpr, ...]
    base: Factor
    dtype: str = "int32"
    is_sum: bool = True  # a lone negative part prints as `0 - x` in a sum, as `x * -1` by itself


def _same_source(a: IterSplitExpr, b: IterSplitExpr) -> bool:
    return a.source is b.source or same(a.source, b.source)


def _same_rounding(a: IterSplitExpr, b: IterSplitExpr) -> bool:
    return a.trunc == b.trunc or a.is_whole or b.is_whole


def _insert(args: list[IterSplitExpr], new: IterSplitExpr) -> None:
    """Add a part to a list, keeping parts of one source together."""
    if new.scale == 0:
        return
    position = 0
    while position < len(args) and not _same_source(args[position], new):
        position += 1
    while position < len(args):
        old = args[position]
        if not _same_source(old, new) or new.lower_factor > old.lower_factor:
            args.insert(position, new)
            return
        is_equal = new.lower_factor == old.lower_factor and new.extent == old.extent
        if is_equal and _same_rounding(new, old):
            args[position] = old._replace(scale=old.scale + new.scale)
            return
        position += 1
    args.append(new)


def plus(a: IterSumExpr, b: IterSumExpr, sign: int = 1) -> IterSumExpr:
    """a + b, or a - b for sign -1."""
    if not b.args:
        return IterSumExpr(a.args, a.base + sign * b.base, a.dtype)
    args = list(a.args)
    for part in b.args:
        _insert(args, part if sign == 1 else part.scaled(sign))
    return IterSumExpr(tuple(args), a.base + sign * b.base, a.dtype)


def times(a: IterSumExpr, factor: int) -> IterSumExpr:
    """a * factor"""
    if factor == 1:
        return a
    if factor == 0:
        return IterSumExpr((), 0, a.dtype)
    args = tuple([part.scaled(factor) for part in a.args])
    return IterSumExpr(args, a.base * factor, a.dtype, a.is_sum)


def divided(a: IterSumExpr, divisor: int) -> IterSumExpr:
    """a / divisor, of which all scales and the base are multiples."""
    args = tuple([part._replace(scale=part.scale // divisor) for part in a.args])
    return IterSumExpr(args, a.base // divisor, a.dtype)


def split_multiples(a: IterSumExpr, divisor: int) -> tuple[IterSumExpr, IterSumExpr]:
    """The parts whose scales are multiples of the divisor, and the others."""
    multiples = tuple([part for part in a.args if part.scale % divisor == 0])
    others = tuple([part for part in a.args if part.scale % divisor != 0])
    base_fits = a.base % divisor == 0
    return (
        IterSumExpr(multiples, a.base if base_fits else 0, a.dtype),
        IterSumExpr(others, 0 if base_fits else a.base, a.dtype),
    )


def merged(args: tuple[IterSplitExpr, ...]) -> list[IterSplitExpr]:
    """The parts merged: a coarse and a fine part of one source become one."""
    parts = list(args)
    for i, coarse in enumerate(parts):
        if coarse.scale == 0:
            continue
        for j in range(i + 1, len(parts)):
            fine = parts[j]
            if not _same_source(coarse, fine):
                break
            if not _same_rounding(coarse, fine):
                continue
            if coarse.extent == fine.extent and coarse.lower_factor == fine.lower_factor:
                parts[j] = fine._replace(scale=fine.scale + coarse.scale)
                parts[i] = coarse._replace(scale=0)
                break
            if (
                fine.scale != 0
                and coarse.lower_factor == fine.lower_factor * fine.extent
                and coarse.scale == fine.scale * fine.extent
            ):
                is_whole = coarse.extent == UNBOUNDED
                extent = UNBOUNDED if is_whole else coarse.extent * fine.extent
                parts[j] = fine._replace(extent=extent, trunc=coarse.trunc)
                parts[i] = coarse._replace(scale=0)
                break
    return [part for part in parts if part.scale != 0]


def _order(part: IterSplitExpr) -> tuple[int, int, int, bool]:
    # Last: parts joined from floor quotients and remainders, before those never divided.
    return (-part.scale, -part.lower_factor, -part.extent, part.trunc)


def to_expr(a: IterSumExpr) -> Expr:
    """The expression: positive scales in decreasing order, the constant, then negative scales.

    Raises build.Overflow if its type cannot represent one of these.
    """
    if not a.args:
        return build.fitting(a.base, a.dtype)
    args = merged(a.args)
    args.sort(key=_order)
    if len(args) == 1 and a.base == 0 and not a.is_sum:
        return args[0].expr()
    return _written([(part.scale, part.unscaled()) for part in args], a.base, a.dtype)


def _written(parts: list[tuple[int, Expr]], base: int, dtype: str) -> Expr:
    """The sum of parts with decreasing scales, and a constant."""
    e: Any = None
    start = 0
    for scale, part in parts:
        if scale <= 0:
            break
        term = part if scale == 1 else Mul(part, build.fitting(scale, part.dtype))
        e = term if e is None else Add(e, term)
        start += 1
    if base > 0 or e is None:
        constant = build.fitting(base if base > 0 or not parts else 0, dtype)
        e = constant if e is None else Add(e, constant)
    for scale, part in parts[start:]:
        if scale == 0:
            continue
        e = Sub(e, part if scale == -1 else Mul(part, build.fitting(-scale, part.dtype)))
    return Sub(e, build.fitting(-base, dtype)) if base < 0 and parts else e


def split_of(e: Any) -> IterSplitExpr:
    """An expression as one part, recognized if it is written as ((x % u) // l) * s."""
    scale, lower, extent = 1, 1, UNBOUNDED
    if type(e) is Mul and type(e.b) is IntImm:
        e, scale = e.a, e.b.value
    trunc = type(e) in (Div, Mod)
    quotient: type[Any] = Div if trunc else FloorDiv
    remainder: type[Any] = Mod if trunc else FloorMod
    if type(e) is quotient and _is_positive(e.b):
        e, lower = e.a, e.b.value
    if type(e) is remainder and _is_positive(e.b) and e.b.value % lower == 0:
        e, extent = e.a, e.b.value // lower
    return IterSplitExpr(e, lower, extent, scale, trunc or (lower == 1 and extent == UNBOUNDED))


def _is_positive(e: Any) -> bool:
    return type(e) is IntImm and e.value > 0


# -- sums of whole variables: over 90 % of all index expressions -----------------------


class NotAffine(Exception):
    """The expression is not a sum of scaled variables, or of parts of iterators."""


def collect(
    e: Any,
    factor: int,
    scales: dict[Any, int],
    values: Mapping[Var, Expr],
    term: Callable[[Any], Any] | None = None,
) -> int:
    """Add e * factor to the scales of variables and return its constant part; raises NotAffine.

    `term` may give other expressions that count as variables; it returns their form, or None.
    """
    kind = type(e)
    if kind is Var:
        if e in values:
            return collect(values[e], factor, scales, values, term)
        scales[e] = scales.get(e, 0) + factor
        return 0
    if kind is IntImm:
        return e.value * factor  # type: ignore[no-any-return]
    if kind is Add:
        left = collect(e.a, factor, scales, values, term)
        return left + collect(e.b, factor, scales, values, term)
    if kind is Mul and type(e.b) is IntImm:
        return collect(e.a, factor * e.b.value, scales, values, term)
    if kind is Sub:
        left = collect(e.a, factor, scales, values, term)
        return left + collect(e.b, -factor, scales, values, term)
    if kind is Mul and type(e.a) is IntImm:
        return collect(e.b, factor * e.a.value, scales, values, term)
    form = None if term is None else term(e)
    if form is None:
        raise NotAffine
    scales[form] = scales.get(form, 0) + factor
    return 0


def sum_of(scales: Mapping[Any, int], base: int, dtype: str) -> Expr:
    """The sum of scaled variables and a constant, written as `to_expr` does."""
    parts: list[tuple[int, Expr]] = [(scale, var) for var, scale in scales.items() if scale]
    if len(parts) == 1 and base == 0 and parts[0][0] < -1:
        return _scaled(parts[0][1], parts[0][0])
    parts.sort(key=itemgetter(0), reverse=True)
    return _written(parts, base, dtype)


def _is_negated(e: Any) -> bool:
    """Whether e is x * -1 or -1 * x: TVM keeps that, and writes 0 - x for results of sums."""
    factor = 1
    while type(e) is Mul:
        e, number = (e.b, e.a) if type(e.a) is IntImm else (e.a, e.b)
        factor *= number.value if type(number) is IntImm else 0
    return factor == -1 and type(e) is Var


def _is_written(e: Any, values: Mapping[Var, Expr]) -> bool:
    """Whether e is a sum as `_written` makes it: different variables with positive scales, the
    largest first, and a constant.
    """
    if (type(e) is Add or type(e) is Sub) and type(e.b) is IntImm:
        if e.b.value <= 0:
            return False
        e = e.a
    least = 1
    seen: set[Var] = set()
    while True:
        term: Any = e.b if type(e) is Add else e
        scale = 1
        if type(term) is Mul and type(term.b) is IntImm:
            term, scale = term.a, term.b.value
            if scale == 1:
                return False
        if type(term) is not Var or scale < least or term in seen or term in values:
            return False
        if type(e) is not Add:
            return True
        seen.add(term)
        e, least = e.a, scale


def simplified(e: Expr, values: Mapping[Var, Expr]) -> Expr | None:
    """The simplified sum, or None when e is not a sum of scaled variables."""
    if _is_written(e, values):
        return e
    scales: dict[Var, int] = {}
    try:
        base = collect(e, 1, scales, values)
        if base == 0 and len(scales) == 1 and _is_negated(e):
            return Mul(next(iter(scales)), build.imm(-1, e.dtype))
        return sum_of(scales, base, e.dtype)
    except (NotAffine, build.Overflow):
        return None
