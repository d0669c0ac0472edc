"""Loops under guards as one loop: what an uneven split or bound leaves of an axis.

    for o in range((n + 63) // 64):
        for i in range(64):
            if o * 64 + i < n:                      for y in range(n):
                B[o * 64 + i] = A[o * 64 + i + 1]  ->    B[y] = A[y + 1]

So the ends of an index are known although a guard stands before it. Must not know accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from te_sched.analysis.programs.accesses import Loop
from te_sched.arith.conditions import conjuncts
from te_sched.arith.forms import Form, constant, expr_of, linear_form, number_of, plus
from te_sched.ir.expr import GE, GT, LE, LT, Expr, FloorDiv, IntImm, Var
from te_sched.ir.visitor import variables_of


class Joined(NamedTuple):
    """A sum of loops that no guard stands in; it has all values that it had under guards."""

    total: Expr
    loops: list[Loop]


class Guard(NamedTuple):
    """A condition: the sum of scaled loop variables in it is below something."""

    scales: dict[Var, int]
    below: Form


def joined(
    index: Expr, loops: Sequence[Loop], conditions: Iterable[Expr], symbols: Iterable[Var]
) -> Joined | None:
    """The index with each guarded sum as one variable; None where a condition is something else.

    Parameters
    ----------
    loops : what stands round the index, of which some are under the conditions.
    symbols : what depends on the call alone.
    """
    form, left, known = linear_form(index), list(loops), frozenset(symbols)
    if form is None:
        return None
    for condition in conditions:
        for part in conjuncts(condition):
            guard = _guard(part, {loop.var for loop in left}, known)
            if guard is None:
                return None
            own = [loop for loop in left if loop.var in guard.scales]
            left = [loop for loop in left if loop.var not in guard.scales]
            if any(not variables_of(e).isdisjoint(guard.scales) for e in _ends(left)):
                return None
            if not _takes_all(own, guard):
                return None
            factors = {form.pop((var,), 0) / scale for var, scale in guard.scales.items()}
            if len(factors) > 1 or (factor := factors.pop()) % 1:
                return None
            var = Var("guarded", index.dtype)
            if factor:
                form[(var,)] = int(factor)
            extent = expr_of(guard.below, index.dtype)
            left.append(Loop(var, IntImm(0, extent.dtype), extent, "serial"))
    return Joined(expr_of(form, index.dtype), left)


def _ends(loops: Iterable[Loop]) -> Iterable[Expr]:
    return [end for loop in loops for end in (loop.min, loop.extent)]


def _guard(condition: Expr, loops: set[Var], symbols: frozenset[Var]) -> Guard | None:
    """A comparison of a sum of loops with what the call alone says; each loop adds to it."""
    if not isinstance(condition, LT | LE | GT | GE):
        return None
    sides = [linear_form(condition.a), linear_form(condition.b)]
    if isinstance(condition, GT | GE):
        sides.reverse()
    lower, upper = sides
    if lower is None or upper is None:
        return None
    difference = plus(lower, upper, -1)
    if isinstance(condition, LE | GE):
        difference = plus(difference, constant(-1))
    scales = {term[0]: scale for term, scale in difference.items() if term and term[0] in loops}
    below = {term: -scale for term, scale in difference.items() if not term or term[0] not in loops}
    if not scales or min(scales.values()) < 1:
        return None
    if any(term and term[0] not in symbols for term in below):
        return None
    return Guard(scales, below)


def _takes_all(loops: Sequence[Loop], guard: Guard) -> bool:
    """Whether a sum has all values from 0 to the last that its guard lets through."""
    last: Form = {}  # the last value of the sum of the loops so far
    for loop in sorted(loops, key=lambda loop: guard.scales[loop.var]):
        scale, gap = guard.scales[loop.var], number_of(last)
        if gap is None or scale > gap + 1 or not _is_zero(loop.min):
            return False
        extent = _least_extent(loop.extent, scale)
        if extent is None:
            return False
        last = plus(last, plus(extent, constant(-scale)))
    beyond = number_of(plus(plus(last, guard.below, -1), constant(1)))
    return beyond is not None and beyond >= 0 and (number_of(guard.below) or 1) > 0


def _least_extent(extent: Expr, scale: int) -> Form | None:
    """At least how many elements a loop is long, `scale` of them to an iteration."""
    if type(extent) is FloorDiv and isinstance(extent.b, IntImm):
        size, whole = extent.b.value, linear_form(extent.a)
        if whole is None or size < 1 or scale % size:
            return None
        rounded = plus(whole, constant(1 - size))
        return {term: factor * (scale // size) for term, factor in rounded.items()}
    form = linear_form(extent)
    return None if form is None else {term: factor * scale for term, factor in form.items()}


def _is_zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0
