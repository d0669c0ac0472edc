"""Kinds and extents of iterators of blocks, axes of tensors, and loops. Must not know blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import IntImm, IterVar, Var
from te_sched.ir.stmt import For
from te_sched.ir.visitor import variables_of

SPATIAL, REDUCTION = "DataPar", "CommReduce"  # the kinds of iterators
_LETTERS = {SPATIAL: "S", REDUCTION: "R"}
MANY = 64  # the guess for extents that are not constant


def extent_of(axis: IterVar | For) -> int | None:
    """The extent of an iterator or a loop, if it is constant.

    >>> extent_of(te.reduce_axis((0, 8), name="k"))
    8
    """
    if isinstance(axis, IterVar):
        extent = None if axis.dom is None else axis.dom.extent
    else:
        extent = axis.extent
    return extent.value if isinstance(extent, IntImm) else None


def multiple_of(axis: IterVar) -> int:
    """A number that divides the extent of an iterator: the extent itself, if it is constant.

    >>> multiple_of(te.reduce_axis((0, (te.var("n") + 3) // 4 * 4), name="k"))
    4
    """
    extent = None if axis.dom is None else axis.dom.extent
    if extent is None or isinstance(extent, IntImm):
        return 1 if extent is None else extent.value
    coefficient, base = Analyzer().modular_set(extent)
    return math.gcd(coefficient, base)


def size_of(axes: Iterable[IterVar | For], unknown: int = 1) -> int:
    """The product of extents, with `unknown` for each that is not constant."""
    extents = [extent_of(axis) for axis in axes]
    return math.prod([unknown if extent is None else extent for extent in extents])


def assumed_size(axes: Iterable[IterVar | For]) -> int:
    """The product of extents, with a guess for those that are not constant."""
    return size_of(axes, MANY)


def largest_divisor(extent: int | None, most: int) -> int:
    """The largest divisor of an extent up to a limit; 1 if it is not constant.

    >>> largest_divisor(12, 5)
    4
    """
    if extent is None or extent < 1:
        return 1
    return max(factor for factor in range(1, min(most, extent) + 1) if extent % factor == 0)


def are_spatial(axes: Iterable[IterVar]) -> bool:
    """Whether all iterators are data parallel."""
    return all(axis.kind == SPATIAL for axis in axes)


def letter_of(kind: str) -> str:
    """A kind as rules and structures of tiles write it: "S", "R", or "O" for all others."""
    return _LETTERS.get(kind, "O")


def values_of_kind(realize: BlockRealize, kind: str) -> set[Var]:
    """The variables in the values of the iterators of a kind."""
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return variables_of(*[value for axis, value in pairs if axis.kind == kind])


def bound_axes(realize: BlockRealize, loop: Var) -> list[IterVar]:
    """The iterators of a block whose values depend on a loop."""
    return [
        axis
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if loop is value or loop in variables_of(value)
    ]
