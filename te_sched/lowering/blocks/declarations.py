"""Realized buffers as allocations with declared buffers, as TVM prints them, and the reverse.

    with T.realize(B[0:4, 0:8]):     <->    B = T.decl_buffer((4, 8))
        ...                                 ...

Passes and analyses use realized buffers. Must not know how storage is flattened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import DeclBuffer, whole_buffer
from te_sched.ir.expr import Buffer, Expr, Var
from te_sched.ir.stmt import Allocate, BufferRealize, PrimFunc, Stmt
from te_sched.ir.visitor import Mapper, replace, statements

ALIGN = "buffer_dim_align"


def declare_buffers(
    func: PrimFunc,
    settings: Lowering = AS_TVM,
    aligned: Mapping[Var, Mapping[int, tuple[int, int]]] = {},
) -> PrimFunc:
    """The function with an allocation and a declaration for each realized buffer.

    `aligned` has the factors and offsets of strides by pointer and dimension, which the annotations
    of the allocations state.
    """
    return func.with_body(_Declaring(aligned).visit(func.body))


def realize_buffers(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with realized buffers for allocations that have one declaration.

    Other declarations remain: their buffers are views of existing memory.
    """
    return func.with_body(_Realizing(func.body).visit(func.body))


def drop_declarations(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with realized buffers; views are identified by their pointers only."""
    return replace(func, body=_Dropping().visit(realize_buffers(func).body), origin="blocks")


def has_declarations(statement: Stmt) -> bool:
    """Whether a statement declares buffers."""
    return any(type(stmt) is DeclBuffer for stmt in statements(statement))


class _Declaring(Mapper):
    def __init__(self, aligned: Mapping[Var, Mapping[int, tuple[int, int]]]) -> None:
        self.aligned = aligned

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        buffer = node.buffer
        declared = DeclBuffer(buffer, self.visit(node.body))
        rows = [[-1, dim, *of] for dim, of in self.aligned.get(buffer.data, {}).items()]
        notes = {ALIGN: rows} if rows else {}
        extents = memory_extents(buffer)
        return Allocate(buffer.data, buffer.dtype, extents, node.condition, declared, notes)


class _Realizing(Mapper):
    def __init__(self, body: Stmt) -> None:
        self.declared = Counter(
            [stmt.buffer.data for stmt in statements(body) if type(stmt) is DeclBuffer]
        )

    def visit_Allocate(self, node: Allocate) -> Stmt:
        inner = node.body
        if (
            type(inner) is not DeclBuffer
            or inner.buffer.data is not node.buffer_var
            or inner.buffer.dtype != node.dtype
            or self.declared[node.buffer_var] > 1
            or memory_extents(inner.buffer) != node.extents
        ):
            return self.generic(node)
        body = self.visit(inner.body)
        region = whole_buffer(inner.buffer).region
        return BufferRealize(inner.buffer, region, node.condition, body)


class _Dropping(Mapper):
    def visit_DeclBuffer(self, node: DeclBuffer) -> Stmt:
        return self.visit(node.body)


def memory_extents(buffer: Buffer) -> tuple[Expr, ...]:
    """The extents of the memory of a buffer: its shape, with the gaps between rows."""
    if not buffer.strides:
        return buffer.shape
    strides = buffer.strides
    rows = [ops.floordiv(outer, inner) for outer, inner in pairwise(strides)]
    return (buffer.shape[0], *rows)
