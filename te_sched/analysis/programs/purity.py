"""Purity: a pure function writes its own memory only, and calls pure functions only.

Must not know how functions are called.
"""

from __future__ import annotations

from te_sched.ir.blocks import AllocateConst, Block
from te_sched.ir.expr import Call, Var
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.stmt import Allocate, BufferRealize, BufferStore, PrimFunc
from te_sched.ir.visitor import walk

_TELLING = frozenset((Allocate, AllocateConst, Block, BufferRealize, BufferStore, Call))


def impurity(func: PrimFunc) -> str | None:
    """The reason why a function is not pure, or None."""
    own: set[Var] = set()
    arguments = {buffer.data for buffer in func.buffer_map.values()}
    for node in walk(func.body):
        if type(node) not in _TELLING:
            continue
        if isinstance(node, Allocate | AllocateConst):
            own.add(node.buffer_var)
        elif isinstance(node, Block):
            own |= {buffer.data for buffer in node.alloc_buffers}
        elif isinstance(node, BufferRealize) and node.buffer.data not in arguments:
            own.add(node.buffer.data)
        elif isinstance(node, BufferStore) and node.buffer.data not in own:
            return f"it writes to {node.buffer.name}, which it does not allocate"
        elif isinstance(node, Call) and call_effect(node.op) is Effect.UPDATE_STATE:
            return f"it calls {node}, which may have side effects"
    return None
