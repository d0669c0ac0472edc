"""The root block, which scripts leave out.

A function with blocks, or with buffers that it allocates for all of its body, has a block at its
root, of the name "root". Must not know how programs are printed or parsed.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.stmt import Stmt
from te_sched.ir.visitor import parts_of

ROOT = "root"


def is_root(realize: Any) -> TypeGuard[BlockRealize]:
    """Whether a statement is a root block that a script leaves out: nothing but what it allocates,
    and a body with blocks.
    """
    if type(realize) is not BlockRealize:
        return False
    block = realize.block
    is_bare = not (
        block.iter_vars or block.reads or block.writes or block.match_buffers or block.annotations
    )
    if not is_bare or block.name_hint != ROOT or block.init is not None:
        return False
    return bool(block.alloc_buffers) or has_blocks(block.body)


def has_blocks(statement: Stmt) -> bool:
    """Whether there is a block in a statement."""
    stack: list[Any] = [statement]
    while stack:
        one = stack.pop()
        if type(one) is BlockRealize or type(one) is Block:
            return True
        stack += parts_of(one)
    return False
