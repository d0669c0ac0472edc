"""Iterator maps: index expressions as sums of parts of iterators, and properties of such maps.

    y // 4, y % 4      of y in [0, 32)                      bijective
    x * 4 + y          of x in [0, 8), y in [0, 4)          bijective, onto [0, 32)
    x * 4 + y          where also x * 4 + y < 30            bijective, onto [0, 30)
    x * 2 + y          of x in [0, 8), y in [0, 4)          surjective, onto [0, 18)

Symbols in extents are assumed to be positive, as sizes are. (TVM's names: arith.detect_iter_map and
related functions.) Must not know statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import (
    Constraint,
    Detector,
    Dividing,
    IterMapLevel,
    IterMapResult,
    Prover,
    expr_of,
    is_number,
)
from te_sched.arith.iter_digits import detect_whole_iterators
from te_sched.arith.iter_expr import Factor, IterMark, IterSplitExpr, IterSumExpr, NotAffine
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Range, Sub, Var
from te_sched.ir.ops import is_const
from te_sched.ir.visitor import variables_of

Domains = Mapping[Var, Range]


@dataclass(frozen=True, slots=True)
class Division:
    """Indices as outer * extent of inner + inner; iterators of a subspace are in inner alone."""

    bindings: tuple[tuple[IterMark, IterMark], ...]
    predicates: tuple[Expr, Expr]  # of the iterators outside and inside


# -- detection of maps -----------------------------------------------------------------------------


def detect_iter_map(
    indices: Sequence[Expr],
    input_iters: Domains,
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
    keeps_units: bool = False,
) -> IterMapResult:
    """The indices as sums of parts of iterators, if the map satisfies `level`. Each detected index
    is one part, times a scale, plus a constant: the values of the index are those of the part.

    Parameters
    ----------
    input_iters : the range of each iterator.
    predicate : iterations for which it does not hold are excluded.
    keeps_units : iterators of extent 1 are parts, too, and not constants.
    """
    return _detected(indices, input_iters, predicate, level, Prover(analyzer), keeps_units)[0]


def _detected(
    indices: Sequence[Expr],
    input_iters: Domains,
    predicate: Expr | None,
    level: IterMapLevel,
    prover: Prover,
    keeps_units: bool = False,
    as_tvm: bool = False,
) -> tuple[IterMapResult, Sequence[Constraint]]:
    """What is detected, and the conditions of the predicate."""
    if predicate is None or is_const(predicate, 1):
        quick = detect_whole_iterators(indices, input_iters, level, keeps_units)
        if quick is not None:
            return quick, ()
    for dividing in Dividing:
        detector = Detector(
            input_iters, level, prover, dividing, keeps_units=keeps_units, as_tvm=as_tvm
        )
        result = detector.detect(indices, predicate)
        if not result.errors:
            break
    return result, detector.constraints


def normalize_to_iter_sum(
    index: Expr, input_iters: Domains, analyzer: Analyzer | None = None
) -> IterSumExpr:
    """The index as a sum of parts of iterators; other terms are part of the base. As in TVM, parts
    are in decreasing order of the constants in their scales, then of the number of symbols.
    """
    prover = Prover(analyzer)
    detector = Detector(input_iters, IterMapLevel.NO_CHECK, prover, Dividing.REST, lenient=True)
    iter_sum = detector.sum_of(index)
    return iter_sum._replace(
        args=tuple(sorted(detector.joined(iter_sum.args), key=_constant_first))
    )


def _constant_first(split: IterSplitExpr) -> tuple[int, int]:
    parts = build.factors_of(ops.convert(split.scale))
    numbers = [part.value for part in parts if isinstance(part, IntImm)]
    return -prod(numbers), len(numbers) - len(parts)


def join_constrained(
    index: Expr, input_iters: Domains, predicate: Expr, analyzer: Analyzer | None = None
) -> tuple[IterSumExpr, tuple[IterMark, ...]] | None:
    """The index as a sum of iterators without conditions and of marks, and these marks: the sums in
    conditions, each with the values that satisfy its condition. None if the index or a condition is
    not such a sum.
    """
    prover = Prover(analyzer)
    detector = Detector(input_iters, IterMapLevel.SURJECTIVE, prover, Dividing.REST)
    try:
        detector.constrain(predicate)
        iter_sum = detector.matched(detector.sum_of(index))
        detector.check([iter_sum])
    except NotAffine:
        return None
    marks = tuple([constraint.mark for constraint in detector.constraints])
    is_whole = [
        is_number(part.lower_factor, 1) and part.extent is part.source.extent
        for part in iter_sum.args
    ]
    return (iter_sum, marks) if all(is_whole) else None


def iter_map_simplify(
    indices: Sequence[Expr],
    input_iters: Domains,
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
    keeps_units: bool = False,
) -> tuple[Expr, ...]:
    """The indices as `detect_iter_map` finds them, if necessary without the predicate; unchanged if
    it finds none. `keeps_units`: iterators of extent 1 remain in them.
    """
    prover = Prover(analyzer)
    for condition in (predicate, None):
        result = _detected(indices, input_iters, condition, level, prover, keeps_units, True)[0]
        if not result.errors:
            sums = result.indices if keeps_units else map(_without_units, result.indices)
            pairs = zip(indices, map(normalize_iter_map_to_expr, sums), strict=True)
            return tuple([ops.cast(index.dtype, total) for index, total in pairs])
        if condition is None:
            break
    return tuple(indices)


def _without_units(a: IterSumExpr) -> IterSumExpr:
    """A sum without the quotients that have one value."""
    left = []
    for part in a.args:
        if is_number(part.extent, 1) and not is_number(part.lower_factor, 1):
            continue
        if isinstance(part.source.source, IterSumExpr):
            mark = IterMark(_without_units(part.source.source), part.source.extent)
            part = part._replace(source=mark)
        left.append(part)
    return a._replace(args=tuple(left))


def normalize_iter_map_to_expr(e: IterSumExpr | IterSplitExpr | IterMark | Expr) -> Expr:
    """A sum, a part or a mark as an expression of the iterators."""
    return ops.convert(expr_of(e))


def inverse_affine_iter_map(
    iter_map: Sequence[IterSumExpr], outputs: Sequence[Expr]
) -> dict[Var, Expr]:
    """The iterators of a bijective map as expressions of the outputs. Iterators of extent 1, which
    `detect_iter_map` treats as constants, are not included.
    """
    values: dict[IterMark, Factor] = {}
    inverse: dict[Var, Expr] = {}
    order: list[IterMark] = []
    for index in iter_map:
        for part in index.args:
            _note_sources(part.source, order)
    for index, output in reversed(list(zip(iter_map, outputs, strict=True))):
        _spread(index.args, output - index.base, values)
    for mark in reversed(order):
        source, value = mark.source, values[mark]
        if isinstance(source, IterSumExpr):
            _spread(source.args, value - source.base, values)
        elif isinstance(source, Var):
            inverse[source] = ops.convert(value)
        else:
            assert isinstance(source, Sub)  # a variable less its minimum
            assert isinstance(source.a, Var)
            inverse[source.a] = value + source.b
    return inverse


def _note_sources(mark: IterMark, order: list[IterMark]) -> None:
    """List a mark after its sources."""
    if mark in order:
        return
    if isinstance(mark.source, IterSumExpr):
        for part in mark.source.args:
            _note_sources(part.source, order)
    order.append(mark)


def _spread(args: Sequence[IterSplitExpr], value: Factor, values: dict[IterMark, Factor]) -> None:
    """Add to the value of each source the share of its part in the sum's value, finest first."""
    for position, part in reversed(list(enumerate(args))):
        is_sign = is_number(part.scale, 1) or is_number(part.scale, -1)
        share = value // part.scale if not is_sign else value * part.scale
        if position:
            share = share % part.extent
        share = share if is_number(part.lower_factor, 1) else share * part.lower_factor
        values[part.source] = values[part.source] + share if part.source in values else share


def subspace_divide(
    bindings: Sequence[Expr],
    input_iters: Domains,
    sub_iters: Collection[Var],
    predicate: Expr | None = None,
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
    keeps_units: bool = False,
) -> Division | None:
    """Each binding as outer * extent + inner, of iterators outside of a subspace and inside.

        z * 12 + y * 3 + x, of the subspace of x    ->    outer z * 4 + y, inner x of extent 3

    None if the map does not satisfy `level`, or an index mixes both kinds of iterators.
    `keeps_units`: iterators of extent 1 remain in the parts.
    """
    prover = Prover(analyzer)
    result, constraints = _detected(bindings, input_iters, predicate, level, prover, keeps_units)
    if result.errors:
        return None
    inside = frozenset(sub_iters)
    divided = [_divided(index, inside, prover) for index in result.indices]
    predicates: list[Expr] = [ops.const(True), ops.const(True)]
    for constraint in constraints:
        where = _places((IterSplitExpr(constraint.mark),), inside)
        if len(where) > 1:
            return None
        if where:
            side = int(where.pop())
            predicates[side] = ops.logical_and(predicates[side], constraint.condition())
    if None in divided:
        return None
    return Division(tuple([pair for pair in divided if pair]), (predicates[0], predicates[1]))


def _divided(
    index: IterSumExpr, inside: frozenset[Var], prover: Prover
) -> tuple[IterMark, IterMark] | None:
    """The outer and the inner part of an index."""
    nothing = IterMark(IterSumExpr((), 0), 1)
    args = index.args
    where = _places(args, inside)
    if len(where) < 2:
        marks = IterMark(index, args[0].extent if args else 1)
        return (nothing, marks) if True in where else (marks, nothing)
    (part,) = args
    source = part.source.source
    is_all = prover.is_equal(part.extent, part.source.extent) and is_number(part.lower_factor, 1)
    if not is_all or source.base != 0 or not is_number(part.scale, 1):
        return None
    count = 0
    while _places(source.args[count:], inside) != {True}:
        count += 1
        if count == len(source.args):
            return None
    outer, inner = source.args[:count], source.args[count:]
    if _places(outer, inside) != {False}:
        return None
    extent = inner[0].scale * inner[0].extent
    quotients = [prover.quotient(outer_part.scale, extent) for outer_part in outer]
    if None in quotients or not prover.is_equal(outer[-1].scale, extent):
        return None
    scaled = [
        outer_part._replace(scale=by) for outer_part, by in zip(outer, quotients, strict=True)
    ]
    total = prover.quotient(part.source.extent, extent)
    return (
        IterMark(IterSumExpr(tuple(scaled), 0), total),
        IterMark(IterSumExpr(inner, index.base), extent),
    )


def _places(args: Iterable[IterSplitExpr], inside: frozenset[Var]) -> set[bool]:
    """Whether parts are of iterators inside of a subspace (True), outside (False), or both."""
    sides: set[bool] = set()
    for part in args:
        source = part.source.source
        if isinstance(source, IterSumExpr):
            sides |= _places(source.args, inside)
        else:
            sides.add(not variables_of(source).isdisjoint(inside))
    return sides
