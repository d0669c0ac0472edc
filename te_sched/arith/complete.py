"""Completion of functions from scripts: their root blocks, and the regions of their blocks.

A script may omit the root block, and the regions that blocks read and write. Must not know
Python's syntax.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from te_sched.arith.regions import access_regions
from te_sched.errors import ScriptError
from te_sched.ir import ops
from te_sched.ir.blocks import DETECT_ACCESS, Block, BlockRealize
from te_sched.ir.expr import Buffer, IntImm, Var
from te_sched.ir.root_block import ROOT, has_blocks
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper


def complete(func: PrimFunc, buffers: list[Buffer]) -> PrimFunc:
    """The function with a root block that allocates these buffers, and with the regions that its
    blocks read and write.
    """
    body = func.body
    buffer_of = {buffer.data: buffer for buffer in (*func.buffer_map.values(), *buffers)}
    is_root = type(body) is BlockRealize and not body.block.iter_vars and not buffers
    if is_root:
        assert isinstance(body, BlockRealize)
        block = _without_detection(body.block)
        inside = _Completion(
            {**buffer_of, **{buffer.data: buffer for buffer in block.alloc_buffers}}
        )
        body = replace(body, block=inside.in_block(block))
    else:
        body = _Completion(buffer_of).visit(body)
        if buffers or has_blocks(body):
            block = Block((), (), (), ROOT, None, body, tuple(buffers))
            body = BlockRealize((), ops.TRUE, block)
    return func.with_body(body)


def _without_detection(block: Block) -> Block:
    if DETECT_ACCESS not in block.annotations:
        return block
    kept = {key: value for key, value in block.annotations.items() if key != DETECT_ACCESS}
    return replace(block, annotations=kept)


class _Completion(StatementMapper):
    """Adds the accessed regions of blocks, inner blocks first."""

    def __init__(self, buffers: dict[Var, Buffer]) -> None:
        self.buffers = buffers

    def in_block(self, block: Block) -> Block:
        """The block with complete blocks inside."""
        own = (*block.alloc_buffers, *(match.buffer for match in block.match_buffers))
        outside = self.buffers
        self.buffers = {**outside, **{buffer.data: buffer for buffer in own}}
        done: Block = self.generic(block)
        self.buffers = outside
        return done

    def visit_Block(self, node: Block) -> Stmt:
        block = self.in_block(node)
        missing = block.annotations.get(DETECT_ACCESS)
        if missing is None:
            return block
        mask = missing.value if isinstance(missing, IntImm) else int(missing)
        block = _without_detection(block)
        own = {match.buffer.data: match.buffer for match in block.match_buffers}
        own |= {buffer.data: buffer for buffer in block.alloc_buffers}
        reads, writes, opaque = access_regions(block, {**self.buffers, **own})
        if opaque:
            raise ScriptError(
                f"block {block.name_hint} accesses {opaque[0].buffer.name} in an unknown way",
                "its pointer is given to a function, so that its regions cannot be found",
                "write T.reads(...) and T.writes(...) in the block",
            )
        changes: dict[str, Any] = {}
        if mask & 1:
            changes["reads"] = reads
        if mask & 2:
            changes["writes"] = writes
        return replace(block, **changes)
