"""Blocks: the units of computation of TensorIR, and the buffers that they allocate and match.

A `Block` has an iteration domain (`iter_vars`), the regions that it reads and writes, and a
computation; a `BlockRealize` binds the iteration variables to values of the surrounding loops.
Follows the conventions of `ir.stmt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from te_sched.ir.expr import (
    Buffer,
    BufferRegion,
    Expr,
    IntImm,
    IterVar,
    Node,
    Range,
    Var,
    node,
)
from te_sched.ir.roles import Role, role
from te_sched.ir.stmt import Stmt

if TYPE_CHECKING:
    import numpy as np


@node
class MatchBufferRegion(Node):
    """A buffer that is a view of a region of another buffer."""

    buffer: Buffer = role(Role.DEFINITION)
    source: BufferRegion = role(Role.CHILD)


# The letters of block iterators in T.axis.remap, and their names in T.axis, by kind.
BLOCK_KINDS = {
    "DataPar": ("S", "spatial"),
    "CommReduce": ("R", "reduce"),
    "Ordered": ("O", "scan"),
    "Opaque": ("O", "opaque"),
}


# The annotation of a block whose read (1) or written (2) regions, or both (3), must be inferred.
DETECT_ACCESS = "tir.script_parsing_detect_access"


@node
class Block(Stmt):
    """A computation over the domains of `iter_vars`, which reads and writes regions of buffers.

    `init` is executed before `body` in the first iteration of the reduction iterators.
    The scope of `alloc_buffers` and of the buffers of `match_buffers` is the block.
    """

    iter_vars: tuple[IterVar, ...] = role(Role.DEFINITION)
    reads: tuple[BufferRegion, ...] = role(Role.HEADER)
    writes: tuple[BufferRegion, ...] = role(Role.HEADER)
    name_hint: str
    init: Stmt | None = role(Role.BODY)
    body: Stmt = role(Role.BODY)
    alloc_buffers: tuple[Buffer, ...] = role(Role.DEFINITION, default=())
    match_buffers: tuple[MatchBufferRegion, ...] = role(Role.HEADER, default=())
    annotations: Mapping[str, Any] = role(Role.ANNOTATION, default_factory=dict)


@node
class BlockRealize(Stmt):
    """An instance of a block: the values of its iterators; executed if `predicate` holds."""

    iter_values: tuple[Expr, ...] = role(Role.CHILD)
    predicate: Expr = role(Role.CHILD)
    block: Block = role(Role.BODY)


@node
class DeclBuffer(Stmt):
    """body, in which `buffer` is a view of existing memory.

    >>> from te_sched import tir
    >>> A = tir.decl_buffer((8,), name="A")
    >>> print(DeclBuffer(A, tir.Evaluate(0)))
    A = T.handle("float32", "global")
    with T.decl_buffer((8,), data=A) as A_1:
        T.evaluate(0)
    """

    buffer: Buffer = role(Role.BUFFER)
    body: Stmt = role(Role.BODY)


@node
class AllocateConst(Stmt):
    """body, in which `buffer_var` points to the elements of `data`, a numpy array."""

    buffer_var: Var = role(Role.DEFINITION)
    dtype: str
    extents: tuple[Expr, ...] = role(Role.CHILD)
    data: np.ndarray[Any, Any]
    body: Stmt = role(Role.BODY)
    annotations: Mapping[str, Any] = role(Role.ANNOTATION, default_factory=dict)


def whole_buffer(buffer: Buffer) -> BufferRegion:
    """The region of a whole buffer."""
    return BufferRegion(
        buffer, tuple([Range(IntImm(0, size.dtype), size) for size in buffer.shape])
    )
