"""Where an element lies in storage: positions in rows and in memory with strides.

An index that was split by a division, x // n in one dimension and x % n in the next one of n
elements, is x again in the position. (TVM's name: MergeMulMod.) Must not know buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from te_sched.arith.same import same
from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Sub


def row_major(indices: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The position of an element of an array without gaps, not simplified."""
    total: Expr | None = None
    for index, extent in zip(indices, shape, strict=True):
        total = index if total is None else _one_more(total, extent, index)
    return IntImm(0) if total is None else total


def weighted_sum(indices: Sequence[Expr], strides: Sequence[Expr]) -> Expr:
    """The position of an element of an array with strides, not simplified."""
    return reduce(ops.add, [ops.mul(i, s) for i, s in zip(indices, strides, strict=True)])


def _one_more(position: Expr, extent: Expr, index: Expr) -> Expr:
    """position * extent + index, where quotients and remainders are joined."""
    if type(index) in (FloorMod, Add, Sub):
        for remainder in _addends(index):
            if type(remainder) is FloorMod and same(remainder.b, extent):
                quotient = _quotient_in(position, remainder)
                if quotient is not None:
                    rest = ops.mul(_without(position, quotient), extent)
                    joined = ops.add(rest, remainder.a)
                    if type(extent) is not IntImm:  # constants come out in this order anyhow
                        joined = ops.add(remainder.a, rest)
                    return ops.add(joined, _without(index, remainder))
    return ops.add(ops.mul(position, extent), index)


def _addends(e: Expr) -> list[Expr]:
    """The terms that an expression adds up, those it subtracts left out."""
    if type(e) is Add:
        return [*_addends(e.a), *_addends(e.b)]
    return _addends(e.a) if type(e) is Sub else [e]


def _quotient_in(position: Expr, remainder: FloorMod) -> Expr | None:
    """The addend x // n of a position that belongs to x % n."""
    for term in _addends(position):
        if type(term) is FloorDiv and same(term.b, remainder.b) and same(term.a, remainder.a):
            return term
    return None


def _without(e: Expr, term: Expr) -> Expr:
    """An expression less one of its addends."""
    if e is term:
        return IntImm(0, e.dtype)
    if type(e) is Add:
        left, right = _without(e.a, term), e.b
        return ops.add(left, right if left is not e.a else _without(e.b, term))
    if type(e) is Sub:
        return ops.sub(_without(e.a, term), e.b)
    return e
