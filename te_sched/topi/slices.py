"""Slices begin:end:stride of sizes that are not constants: the first element, and the number.

Follows numpy: a bound below 0 counts from the end, and bounds out of range are moved into it.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError
from te_sched.ir import intrinsics, ops
from te_sched.ir.expr import Expr
from te_sched.topi.utils import as_constant


def cut(
    begin: Any,
    end: Any,
    stride: Any,
    extent: Any,
    assume_inbound: bool = False,
    analyzer: Analyzer | None = None,
) -> tuple[Any, Any]:
    """The index of the first element of a slice, and the number of its elements.

    `assume_inbound` promises 0 <= begin <= end <= extent, so that nothing has to be moved.

    >>> n = te.var("n")
    >>> cut(1, 3, 1, n)
    (1, T.min(3, n) - T.min(1, n))
    >>> cut(0, n, 2, n)
    (0, (T.max(n, 0) + 1) // 2)
    """
    analyzer = analyzer or Analyzer()
    step = as_constant(stride)
    if step == 0:
        raise DeclarationError(
            "a slice has stride 0", "it would have infinitely many elements", "use another stride"
        )
    if all(as_constant(bound) is not None for bound in (begin, end, stride, extent)):
        whole = range(as_constant(extent))[as_constant(begin) : as_constant(end) : step]  # type: ignore[arg-type]
        if not assume_inbound:
            return whole.start, len(whole)
    if assume_inbound:
        is_down = step is not None and step < 0
        return begin, analyzer.simplify(_count(begin, end, stride, is_down))
    if step is not None:
        return _cut(begin, end, stride, extent, step < 0, analyzer)
    if analyzer.can_prove(ops.convert(stride) >= 0):  # it is not 0
        first, last = (_moved(bound, extent, False, analyzer) for bound in (begin, end))
        count = ops.floordiv(ops.convert(last - first - 1), stride) + 1
        return first, analyzer.simplify(ops.maximum(count, 0))
    up = _cut(begin, end, stride, extent, False, analyzer, is_clamped=False)
    down = _cut(begin, end, stride, extent, True, analyzer, is_clamped=False)
    goes_down = ops.convert(stride) < 0
    first = up[0]
    if not analyzer.can_prove_equal(ops.convert(up[0]), ops.convert(down[0])):
        first = intrinsics.if_then_else(goes_down, down[0], up[0])
    return first, intrinsics.if_then_else(goes_down, down[1], up[1])


def _cut(
    begin: Any,
    end: Any,
    stride: Any,
    extent: Any,
    is_down: bool,
    analyzer: Analyzer,
    is_clamped: bool = True,
) -> tuple[Any, Any]:
    first = _moved(begin, extent, is_down, analyzer)
    last = _moved(end, extent, is_down, analyzer)
    count = analyzer.simplify(_count(first, last, stride, is_down))
    is_ordered = _is_ordered(begin, end, is_down) or (end is extent and not is_down)
    if is_clamped and not is_ordered and not analyzer.can_prove(count >= 0):
        count = analyzer.simplify(ops.maximum(count, 0))
    number = as_constant(begin)
    is_safe = number is not None and number >= 0
    is_safe = is_safe or analyzer.can_prove(ops.convert(begin) >= 0)
    # beyond the extent the slice is empty, unless it goes down
    return (begin if is_safe and not is_down else analyzer.simplify(first)), count


def _moved(bound: Any, extent: Any, is_down: bool, analyzer: Analyzer) -> Any:
    """A bound as an index from 0 to the extent; from -1 to the extent - 1 for slices downwards."""
    low, high = (-1, extent - 1) if is_down else (0, extent)
    number = as_constant(bound)
    if number is not None and number >= _LARGE:
        return high
    if bound is extent:
        return high
    if number is not None and number < 0:  # below `high`, as extents are not negative
        return ops.maximum(number + extent, low)
    if number is not None or analyzer.can_prove(ops.convert(bound) >= 0):
        moved = bound
    else:
        bound_expr = ops.convert(bound)
        moved = ops.maximum(
            intrinsics.if_then_else(bound_expr < 0, bound_expr + extent, bound_expr), low
        )
    return ops.minimum(moved, high)


_LARGE = (1 << 31) - 1  # "to the end", of which the distance to other numbers may overflow


def _count(first: Any, last: Any, stride: Any, is_down: bool) -> Expr:
    first, last, stride = (ops.convert(value) for value in (first, last, stride))
    if not is_down:
        return ops.floordiv(last - first + stride - 1, stride)
    back = ops.subtract(ops.const(0, stride.dtype), stride)
    if as_constant(stride) is not None:
        return ops.floordiv(first - last + back - 1, back)
    return ops.floordiv(first - last - 1, back) + 1


def _is_ordered(begin: Any, end: Any, is_down: bool) -> bool:
    """Whether constants of one sign are in order, which moving them keeps."""
    first, last = as_constant(begin), as_constant(end)
    if first is None or last is None or (first < 0) != (last < 0):
        return False
    return last <= first if is_down else first <= last
