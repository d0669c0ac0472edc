"""Sizes that a call of a function checks, from its arguments: an attribute of functions.

Judges and schedules add them, `codegen.signature` tells how arguments determine them, and calls
check them. Must not know any of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Add, Cast, Expr, Mul, Sub
from te_sched.ir.visitor import walk

ATTRIBUTE = "te_sched.sizes"  # the attribute of a function that holds its symbolic sizes
NOT_NEGATIVE = "an extent is 0 or more"


@dataclass(frozen=True, slots=True)
class Size:
    """An extent or index, its name for messages ("axis k of B"), its lower bound and the reason.

    It is not checked if one of `loops`, the extents of the enclosing loops, is 0. `most` is the
    upper bound. A `needed` size must be determined by the arguments of the call, which then checks
    it.
    """

    what: str
    extent: Expr
    least: int | Expr = 0
    why: str = NOT_NEGATIVE
    loops: tuple[Expr, ...] = ()
    most: int | None = None
    needed: bool = False


def within_types(size: Size) -> Iterator[Size]:
    """Intermediate values of a size, bounded by the ranges of their dtypes."""
    for part in walk(size.extent):
        if type(part) in (Add, Sub, Mul, Cast) and dtypes.is_integral(part.dtype):
            low, high = ops.int_limits(part.dtype)
            why = f"{part.dtype} holds {low} to {high}"
            what = size.what if part is size.extent else f"a term of {size.what}"
            yield Size(what, part, low, why, size.loops, high)
