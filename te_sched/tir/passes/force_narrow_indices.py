"""Compute all integers of a function in 32 bits. (TVM's name: ForceNarrowIndexToInt32.)

Must not know the origin of the function.
"""

from __future__ import annotations

from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Add, Buffer, Call, Cast, Expr, IntImm, Sub, Var
from te_sched.ir.index_dtype import IndexRetyper
from te_sched.ir.stmt import BufferStore, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import replace
from te_sched.lowering.narrow_index_types import NARROW, WIDE


def force_narrow_indices(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with all 64-bit integers computed in 32 bits, of parameters, variables and data
    alike. (TVM's name: ForceNarrowIndexToInt32.)

    Raises LoweringError if a buffer has elements of int64.
    """
    del settings
    mapper = _Narrowed(NARROW, set())
    buffers = {mapper.visit(p): mapper.visit(b) for p, b in func.buffer_map.items()}
    params = tuple(map(mapper.visit, func.params))
    return replace(func, params=params, buffer_map=buffers, body=mapper.visit(func.body))


class _Narrowed(IndexRetyper):
    """Changes every int64 into int32."""

    def visit_Var(self, node: Var) -> Var:
        return node if node.dtype != WIDE else super().visit_Var(node)

    def visit_IntImm(self, node: IntImm) -> Expr:
        return node if node.dtype != WIDE else IntImm(node.value, self.dtype)

    def visit_Cast(self, node: Cast) -> Expr:
        value = self.visit(node.value)
        if dtypes.element(node.dtype) != WIDE:
            return node if value is node.value else ops.cast(node.dtype, value)
        return ops.cast(dtypes.with_lanes(self.dtype, dtypes.lanes(node.dtype)), value)

    def visit_Call(self, node: Call) -> Expr:
        new = super().visit_Call(node)
        if node.op != "tir.clz" or node.args[0].dtype != WIDE:
            return new
        missing = [IntImm(dtypes.bits(dtype), new.dtype) for dtype in (self.dtype, WIDE)]
        return Add(Sub(new, missing[0]), missing[1])

    def renewed(self, node: Any) -> Any:
        if isinstance(node, Buffer) and dtypes.element(node.dtype) == WIDE:
            raise LoweringError(
                f"cannot force the indices of a function to {self.dtype}: buffer {node.name} has "
                f"elements of {WIDE}",
                "its elements would not fit",
                f"store {self.dtype}, or use NarrowDataType",
            )
        return super().renewed(node)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        buffer, indices = self.visit(node.buffer), tuple(map(self.index, node.indices))
        value = ops.cast(buffer.dtype, self.visit(node.value))
        return replace(node, buffer=buffer, value=value, indices=indices)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        value = self.visit(node.value)
        return LetStmt(self.define(node.var), value, self.visit(node.body))
