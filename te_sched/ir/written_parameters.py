"""The parameters of a function whose memory it writes.

Must not know callers.
"""

from __future__ import annotations

from te_sched.ir.blocks import MatchBufferRegion
from te_sched.ir.expr import Var
from te_sched.ir.occurrences import occurrences_of
from te_sched.ir.stmt import LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import walk


def written_parameters(func: PrimFunc) -> set[Var]:
    """The parameters whose buffers a function writes, also through views of blocks.

    Arguments of external functions do not count: they may be read only.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    ...     for i in range(4):
    ...         B[i] = A[i]
    >>> written_parameters(copy)
    {B_handle}
    """
    sources: dict[Var, Var] = {}  # the memory that a pointer refers to
    written: set[Var] = set()
    for node in walk(func.body):
        if type(node) is MatchBufferRegion:
            sources[node.buffer.data] = node.source.buffer.data
        elif type(node) is LetStmt and type(node.value) is Var:
            sources[node.var] = node.value
        if isinstance(node, Stmt):
            written |= {
                occurrence.data
                for occurrence in occurrences_of(node)
                if occurrence.writes
                and (occurrence.buffer is not None or occurrence.extent is not None)
            }
    for data in list(written):
        while data in sources:
            data = sources[data]
            written.add(data)
    return {param for param, buffer in func.buffer_map.items() if buffer.data in written}
