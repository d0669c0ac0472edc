"""The root block, which scripts omit.

The body of a function with blocks, or with buffers allocated for the whole body, is a block named
"root". Must not know printing and parsing.
"""

from __future__ import annotations

from typing import TypeGuard

from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import Stmt
from te_sched.ir.visitor import parts_of

ROOT = "root"


def is_root(realize: object) -> TypeGuard[BlockRealize]:
    """Whether a statement is a root block that a script omits: it only allocates buffers, and its
    body contains blocks and is not such a block itself.
    """
    if type(realize) is not BlockRealize or not is_const(realize.predicate, 1):
        return False
    block, body = realize.block, realize.block.body
    is_bare = not (
        block.iter_vars or block.reads or block.writes or block.match_buffers or block.annotations
    )
    if not is_bare or block.init is not None:
        return False
    if block.alloc_buffers:
        return True
    return has_blocks(body) and not (type(body) is BlockRealize and not body.block.iter_vars)


def has_blocks(statement: Stmt) -> bool:
    """Whether a statement contains a block."""
    stack: list[Stmt] = [statement]
    while stack:
        node = stack.pop()
        if type(node) is BlockRealize or type(node) is Block:
            return True
        stack += parts_of(node)
    return False
