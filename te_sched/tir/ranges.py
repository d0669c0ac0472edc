"""Range with TVM's constructor, which takes the begin and the end."""

from __future__ import annotations

from typing import Any

from te_sched.ir import expr, ops
from te_sched.tir.constructors import Constructor


class _RangeConstructor(Constructor):
    """Range(begin, end), or Range(extent): the integers begin, ..., end - 1."""

    def from_min_extent(self, min_value: Any, extent: Any, span: object = None) -> expr.Range:
        """The range that begins at `min_value` and has `extent` integers.

        >>> Range.from_min_extent(2, 6)
        I.Range(2, 8)
        """
        del span
        low, size = ops.operands(min_value, extent)
        return expr.Range(low, size)


def _range(begin: Any, end: Any = None, span: object = None) -> expr.Range:
    del span
    low, high = (0, begin) if end is None else (begin, end)
    low, high = ops.operands(low, high)
    return expr.Range(low, ops.sub(high, low))


Range = _RangeConstructor(expr.Range, _range)
