"""The regions that blocks access after a change. Must not know any primitive."""

from __future__ import annotations

from te_sched.arith.regions import access_regions
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.visitor import replace, walk


def buffers_in(block: Block) -> dict[Var, Buffer]:
    """The buffers that a block accesses, by their data."""
    buffers: dict[Var, Buffer] = {}
    for node in walk(block):
        buffer = getattr(node, "buffer", None)
        if type(buffer) is Buffer:
            buffers.setdefault(buffer.data, buffer)
    return buffers


def with_regions(block: Block) -> Block:
    """A block with the regions that its body reads and writes."""
    reads, writes, opaque = access_regions(block, buffers_in(block))
    return replace(block, reads=reads + opaque, writes=writes + opaque)
