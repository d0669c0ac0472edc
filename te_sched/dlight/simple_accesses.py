"""Indices of reshapes as iterators, where the domains of these make them so.

A reshape between transpositions divides by extents: what it reads is an iterator, but does not say
so. Rules look for products and rows by their indices. Must not know rules.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferRegion, FloorDiv, FloorMod
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import replace, walk
from te_sched.tensorir.rewriting import SimplifiedValues


def with_simple_accesses(func: PrimFunc) -> PrimFunc:
    """The function with the indices of its blocks simplified by the domains of their iterators."""
    if not any(type(one) in (FloorDiv, FloorMod) for one in walk(func.body)):
        return func
    return replace(func, body=_Accesses().visit(func.body))


class _Accesses(SimplifiedValues):
    """Simplifies what blocks read and write."""

    def __init__(self) -> None:
        super().__init__({}, {})

    def visit_Block(self, node: Block) -> Any:
        self.ranges |= {one.var: one.dom for one in node.iter_vars if one.dom is not None}
        return super().visit_Block(node)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        return self.simplified_region(node)
