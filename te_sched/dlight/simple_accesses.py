"""Indices as iterators, where the domains of these make them so.

A reshape between transpositions divides by extents, a convolution of one element adds an iterator
that is 0: what they read is an iterator, but does not say so. Rules look for products and rows by
their indices. Must not know rules.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferRegion, FloorDiv, FloorMod
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import replace, walk
from te_sched.tensorir.rewriting import SimplifiedValues


def with_simple_accesses(func: PrimFunc) -> PrimFunc:
    """The function with the indices of its blocks simplified by the domains of their iterators."""
    if not any(map(_is_worth, walk(func.body))):
        return func
    return replace(func, body=_Accesses().visit(func.body))


def _is_worth(node: Any) -> bool:
    """Whether there may be indices that domains simplify: quotients, or sums with one value."""
    if type(node) is not Block:
        return type(node) in (FloorDiv, FloorMod)
    return any(one.dom is not None and is_const(one.dom.extent, 1) for one in node.iter_vars)


class _Accesses(SimplifiedValues):
    """Simplifies what blocks read and write."""

    def __init__(self) -> None:
        super().__init__({}, {})

    def visit_Block(self, node: Block) -> Any:
        self.ranges |= {one.var: one.dom for one in node.iter_vars if one.dom is not None}
        return super().visit_Block(node)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        return self.simplified_region(node)
