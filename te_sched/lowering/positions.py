"""Positions of elements in row-major and in strided storage.

An index that was split by a division, x // n in one dimension and x % n in the next one of n
elements, becomes x in the position. (TVM's name: MergeMulMod.) Must not know buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul, Sub, Var
from te_sched.ir.term_keys import same
from te_sched.lowering.simplify import index_simplifier


def row_major(indices: Sequence[Expr], shape: Sequence[Expr], settings: Lowering = AS_TVM) -> Expr:
    """The position of an element of a compact array, not simplified."""
    total: Expr | None = None
    for index, extent in zip(indices, shape, strict=True):
        total = index if total is None else _one_more(total, extent, index, settings)
    return IntImm(0) if total is None else total


def weighted_sum(
    indices: Sequence[Expr], strides: Sequence[Expr], settings: Lowering = AS_TVM
) -> Expr:
    """The position of an element of an array with strides, not simplified as a whole.

    It is simplified before the last product is added, so that its products keep their order.
    """
    products = [ops.mul(i, s) for i, s in zip(indices, strides, strict=True)]
    if len(products) < 3 or all(type(stride) in (IntImm, Var) for stride in strides):
        return reduce(ops.add, products)
    return ops.add(_simplified(reduce(ops.add, products[:-1]), settings), products[-1])


def _one_more(position: Expr, extent: Expr, index: Expr, settings: Lowering) -> Expr:
    """position * extent + index, where quotients and remainders are joined."""
    if type(index) is FloorDiv and type(index.b) is not IntImm:
        joined = _divided(position, extent, index, settings)
        if joined is not None:
            return joined
    total = ops.add(ops.mul(position, extent), index)
    if type(index) not in (FloorMod, Add, Sub) or not _has_remainder(index):
        return total
    for remainder in _addends(index):
        if type(remainder) is FloorMod and same(remainder.b, extent):
            quotient = _quotient_in(position, remainder, settings)
            if quotient is not None:
                rest = ops.mul(_without(position, quotient), extent)
                return ops.add(ops.add(quotient.a, rest), _without(index, remainder))
    # If simplified step by step, a remainder may no longer match the quotients of outer dimensions.
    return _joined(_simplified(total, settings), settings)


def _divided(position: Expr, extent: Expr, index: FloorDiv, settings: Lowering) -> Expr | None:
    """x // n for x // (n * extent) * extent + x % (n * extent) // n, of symbolic n."""
    quotient = None
    if type(index.a) is FloorMod:
        quotient = _quotient_in(position, index.a, settings)
    if quotient is None:
        return None
    gap = _simplified(ops.sub(quotient.b, ops.mul(extent, index.b)), settings)
    if not ops.is_const(gap, 0):
        return None
    rest = ops.mul(_without(position, quotient), extent)
    return ops.add(ops.floordiv(quotient.a, index.b), rest)


def _joined(total: Expr, settings: Lowering) -> Expr:
    """A sum with a quotient and its remainder replaced by the index that was divided."""
    for remainder in _addends(total):
        if type(remainder) is not FloorMod:
            continue
        for term in _addends(total):
            if type(term) is Mul and same(term.b, remainder.b):
                quotient = _quotient_in(term.a, remainder, settings)
                if quotient is not None:
                    part = ops.mul(_without(term.a, quotient), term.b)
                    rest = _without(_without(total, remainder), term)
                    return ops.add(ops.add(quotient.a, part), rest)
    return total


def _simplified(e: Expr, settings: Lowering) -> Expr:
    return index_simplifier(Analyzer(settings))(e)


def _has_remainder(e: Expr) -> bool:
    """Whether a sum or difference has a remainder among its terms."""
    if isinstance(e, Add | Sub):
        return _has_remainder(e.a) or _has_remainder(e.b)
    return type(e) is FloorMod


def _addends(e: Expr) -> list[Expr]:
    """The terms that an expression adds up."""
    return [*_addends(e.a), *_addends(e.b)] if type(e) is Add else [e]


def _quotient_in(position: Expr, remainder: FloorMod, settings: Lowering) -> FloorDiv | None:
    """The last addend x // n of a position that belongs to x % n, or to (x + k * n) % n."""
    last = position.b if isinstance(position, Add) else position
    if isinstance(last, FloorDiv) and same(last.b, remainder.b):
        if same(last.a, remainder.a):
            return last
        if isinstance(last.b, IntImm) and _is_multiple(
            ops.sub(last.a, remainder.a), last.b, settings
        ):
            return last
    return None


def _is_multiple(difference: Expr, divisor: IntImm, settings: Lowering) -> bool:
    rest = _simplified(ops.floormod(difference, divisor), settings)
    return type(rest) is IntImm and rest.value == 0


def _without(e: Expr, term: Expr) -> Expr:
    """An expression less one of its addends."""
    if e is term:
        return IntImm(0, e.dtype)
    if type(e) is not Add:
        return e
    left = _without(e.a, term)
    if left is not e.a:
        return ops.add(left, e.b)
    right = _without(e.b, term)
    return e if right is e.b else ops.add(e.a, right)


def aligned_strides(
    shape: Sequence[Expr], alignments: Mapping[int, tuple[int, int]], analyzer: Analyzer
) -> tuple[Expr, ...]:
    """The strides of an array, enlarged so that they have a remainder by a factor.

    `alignments` has the factor and the remainder of some dimensions.
    """
    strides: list[Expr] = []
    stride: Expr = IntImm(1, shape[-1].dtype)
    for dim in reversed(range(len(shape))):
        if strides:
            stride = ops.mul(strides[-1], shape[dim + 1])
        if dim in alignments:
            factor, offset = alignments[dim]
            gap = ops.floormod(ops.sub(factor + offset, ops.floormod(stride, factor)), factor)
            stride = analyzer.simplify(ops.add(stride, gap))
        strides.append(stride)
    return tuple(reversed(strides))
