"""The method `offset_of` of `Buffer`, whose results are simplified."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.buffer import checked_indices, element_offset
from te_sched.ir.expr import Add, Buffer, Expr, FloorDiv, FloorMod, IntImm
from te_sched.ir.structural import structural_equal
from te_sched.signatures import bound


@bound
@walks_deeply("compute the offset of an element", DeclarationError)
def offset_of(self: Buffer, indices: Any) -> list[Expr]:
    """The offset of an element from the data pointer, in elements: one number, or one for each
    dimension of the flattened buffer if there are axis separators.

    >>> from te_sched import tir
    >>> n = te.var("n")
    >>> tir.decl_buffer((4, n)).offset_of([2, 3])
    [n * 2 + 3]
    """
    analyzer = Analyzer()
    if self.strides:
        return [analyzer.simplify(element_offset(self, indices))]
    index_list, cuts = checked_indices(self, indices), (0, *self.axis_separators, len(self.shape))
    parts = [
        _row_major(index_list[low:high], self.shape[low:high], analyzer)
        for low, high in pairwise(cuts)
    ]
    parts[-1] = ops.add(parts[-1], self.elem_offset)
    return [analyzer.simplify(part) for part in parts]


def _row_major(indices: Sequence[Expr], shape: Sequence[Expr], analyzer: Analyzer) -> Expr:
    offset: Expr | None = None
    for index, extent in zip(indices, shape, strict=True):
        offset = index if offset is None else _joined(offset, extent, index, analyzer)
    return IntImm(0) if offset is None else offset


def _joined(high: Expr, extent: Expr, low: Expr, analyzer: Analyzer) -> Expr:
    """high * extent + low, where x // extent in `high` and x % extent in `low` become x."""
    lows, highs, whole = _terms(low), [], []
    for term in _terms(high):
        at = _remainder_of(term, extent, lows, analyzer)
        if at is None:
            highs.append(term)
        else:
            assert isinstance(term, FloorDiv)
            del lows[at]
            whole.append(term.a)
    result: Expr = IntImm(0)
    for term in highs:
        result = ops.add(result, term)
    result = ops.mul(result, extent)
    for term in (*whole, *lows):
        result = ops.add(result, term)
    return result


def _remainder_of(
    quotient: Expr, extent: Expr, terms: list[Expr], analyzer: Analyzer
) -> int | None:
    """The position of x % extent among terms, if the quotient is x // extent."""
    if not isinstance(quotient, FloorDiv) or not structural_equal(quotient.b, extent):
        return None
    wanted = analyzer.simplify(ops.floormod(quotient.a, extent))
    for at, term in enumerate(terms):
        if isinstance(term, FloorMod) and structural_equal(analyzer.simplify(term), wanted):
            return at
    return None


def _terms(e: Expr) -> list[Expr]:
    return [*_terms(e.a), *_terms(e.b)] if isinstance(e, Add) else [e]
