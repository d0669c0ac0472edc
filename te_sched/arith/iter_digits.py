"""Detection of indices that are sums of whole iterators, with constant numbers: most are. The
result is the detector's (`iter_detect`). Must not know the uses of maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from te_sched.arith.iter_detect import IterMapLevel, IterMapResult, chained
from te_sched.arith.iter_expr import (
    Factor,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    NotAffine,
    collect,
    sum_of,
)
from te_sched.ir.expr import Expr, IntImm, Range, Sub, Var


def detect_whole_iterators(
    indices: Sequence[Expr],
    input_iters: Mapping[Var, Range],
    level: IterMapLevel,
    keeps_units: bool = False,
) -> IterMapResult | None:
    """The indices as sums of iterators, each of which is in one index, whole, and takes all values
    below its scale's next; None if they are not.
    """
    parts: dict[Var, IterSplitExpr] = {}
    bases: dict[Var, int] = {}
    for var, domain in input_iters.items():
        low, extent = domain.min, domain.extent
        if type(low) is not IntImm or type(extent) is not IntImm or extent.value < 1:
            return None
        bases[var] = low.value
        if extent.value > 1 or keeps_units:
            mark = IterMark(Sub(var, low) if low.value else var, extent.value)
            parts[var] = IterSplitExpr(mark, 1, extent.value)
    sums: list[IterSumExpr] = []
    for index in indices:
        scales: dict[Var, int] = {}
        try:
            base = collect(index, 1, scales, {})
        except NotAffine:
            return None
        own: list[IterSplitExpr] = []
        symbols: dict[Var, int] = {}
        for var, scale in scales.items():
            if scale == 0:
                return None
            if var not in bases:
                symbols[var] = scale
                continue
            base += bases[var] * scale
            part = parts.pop(var, None)
            if part is not None:
                own.append(part._replace(scale=scale))
            elif keeps_units or input_iters[var].extent.value > 1:  # type: ignore[attr-defined]
                return None  # it is in another index, too
        fused = _fused(own, sum_of(symbols, base, index.dtype) if symbols else base)
        if fused is None:
            return None
        sums.append(fused)
    is_complete = not parts or level is not IterMapLevel.BIJECTIVE
    return IterMapResult(tuple(sums)) if is_complete else None


def _fused(own: list[IterSplitExpr], base: Factor) -> IterSumExpr | None:
    """A sum as one part, if its iterators are its digits."""
    if len(own) < 2:
        return IterSumExpr(tuple(own), base)
    has_units = any(digit.extent == 1 for digit in own)
    own = chained(own) if has_units else sorted(own, key=attrgetter("scale"))
    unit = next_scale = own[0].scale
    for part in own:
        if part.scale != next_scale or part.scale < 1:
            return None
        next_scale = part.scale * part.extent
    digits = tuple([digit._replace(scale=digit.scale // unit) for digit in reversed(own)])
    count = next_scale // unit
    mark = IterMark(IterSumExpr(digits, 0), count)
    return IterSumExpr((IterSplitExpr(mark, 1, count, unit),), base)
