"""Merges guarded loops into one: the axis of an uneven split or bound.

    for o in range((n + 63) // 64):
        for i in range(64):
            if o * 64 + i < n:                      for y in range(n):
                B[o * 64 + i] = A[o * 64 + i + 1]  ->    B[y] = A[y + 1]

The bounds of an index are thus known although it is guarded. Must not know accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from te_sched.arith.iter_expr import IterMark, IterSumExpr
from te_sched.arith.iter_map import join_constrained
from te_sched.ir import ops
from te_sched.ir.expr import And, Expr, Range, Var
from te_sched.ir.scopes import Loop
from te_sched.ir.visitor import variables_of


class Joined(NamedTuple):
    """A sum of loops without guards; it has the same values as the guarded sum."""

    total: Expr
    loops: list[Loop]


def joined(
    index: Expr, loops: Sequence[Loop], conditions: Iterable[Expr], symbols: Iterable[Var]
) -> Joined | None:
    """The index with each guarded sum as one variable; None if there are other conditions.

    Parameters
    ----------
    loops : the loops around the index; the conditions guard some of them.
    symbols : the variables that are constant during a call.
    """
    iters = {loop.var: Range(loop.min, loop.extent) for loop in loops}
    fusion = join_constrained(index, iters, reduce(And, conditions))
    if fusion is None:
        return None
    sum_, marks = fusion
    guarded = set[Var]().union(*map(_iterators, marks))
    own = [loop for loop in loops if loop.var in guarded]
    left = [loop for loop in loops if loop.var not in guarded]
    extents = [ops.cast(index.dtype, mark.extent) for mark in marks]
    if not variables_of(*_ends(own), *extents) <= frozenset(symbols):
        return None
    if not variables_of(*_ends(left)).isdisjoint(guarded):
        return None
    variables = {mark: Var("guarded", index.dtype) for mark in marks}
    total: Any = sum_.base
    for part in sum_.args:
        total = total + variables.get(part.source, part.source.source) * part.scale
    zero = ops.const(0, index.dtype)
    left += [
        Loop(var, zero, extent, "serial")
        for var, extent in zip(variables.values(), extents, strict=True)
    ]
    return Joined(ops.cast(index.dtype, total), left)


def _iterators(mark: IterMark) -> set[Var]:
    """The variables of a mark."""
    if isinstance(mark.source, IterSumExpr):
        return set[Var]().union(*(_iterators(part.source) for part in mark.source.args))
    return set(variables_of(mark.source))


def _ends(loops: Iterable[Loop]) -> Iterable[Expr]:
    return [end for loop in loops for end in (loop.min, loop.extent)]
