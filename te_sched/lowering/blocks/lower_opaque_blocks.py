"""Lower opaque blocks to loops, conditions and realized buffers.

A loop of one iteration is replaced by its body, a loop that is bound to threads becomes their
launch, the predicate of a block a condition. (TVM's name: LowerOpaqueBlock.)
"""

from __future__ import annotations

from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import BlockRealize, whole_buffer
from te_sched.ir.expr import Expr, IntImm, IterVar, Range, StringImm, Var
from te_sched.ir.stmt import AttrStmt, BufferRealize, For, IfThenElse, PrimFunc, Stmt
from te_sched.ir.visitor import ReferenceMapper, replace
from te_sched.lowering.blocks.unify_threads import is_virtual

PRAGMA = "pragma_"


def lower_opaque_blocks(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without blocks."""
    return func.with_body(_OpaqueBlocks().visit(func.body))


class _OpaqueBlocks(ReferenceMapper):
    """Rebuilds statements; `values` has the values of variables of single-iteration loops."""

    def __init__(self) -> None:
        self.values: dict[Var, Expr] = {}

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_BlockRealize(self, node: BlockRealize) -> Stmt:
        block, predicate = node.block, self.visit(node.predicate)
        body = self.visit(block.body)
        if not ops.is_const(predicate, 1):
            body = IfThenElse(predicate, body)
        for key, value in sorted(block.annotations.items(), reverse=True):
            if key.startswith(PRAGMA):
                body = AttrStmt(IntImm(0), key, _as_value(value), body)
        for buffer in reversed(block.alloc_buffers):
            allocated = self.visit(buffer)
            body = BufferRealize(allocated, whole_buffer(allocated).region, ops.TRUE, body)
        return body

    def visit_For(self, node: For) -> Stmt:
        low, extent = self.visit(node.min), self.visit(node.extent)
        if node.thread_binding is not None:
            return self._launch(node, low, extent)
        notes = {key: value for key, value in node.annotations.items() if _is_kept(key)}
        if ops.is_const(extent, 1) and not notes and not _pragmas(node):
            self.values[node.loop_var] = low
            return self.visit(node.body)
        body = self.visit(node.body)
        loop: Stmt = replace(node, min=low, extent=extent, body=body, annotations=notes)
        for key, value in reversed(_pragmas(node)):
            loop = AttrStmt(node.loop_var, key, _as_value(value), loop)
        return loop

    def _launch(self, node: For, low: Expr, extent: Expr) -> Stmt:
        assert node.thread_binding is not None
        tag = node.thread_binding.thread_tag
        axis = IterVar(Range(low, extent), node.loop_var, "ThreadIndex", tag)
        body = self.visit(node.body)
        launch: Stmt = AttrStmt(
            axis, "virtual_thread" if is_virtual(tag) else "thread_extent", extent, body
        )
        for key, value in reversed(_pragmas(node)):
            launch = AttrStmt(node.loop_var, key, _as_value(value), launch)
        return launch


def _pragmas(node: For) -> list[tuple[str, Any]]:
    return [
        (key, node.annotations[key]) for key in sorted(node.annotations) if key.startswith(PRAGMA)
    ]


def _is_kept(key: str) -> bool:
    return not key.startswith(PRAGMA)


def _as_value(value: Any) -> Expr:
    return StringImm(value) if isinstance(value, str) else ops.convert(value)
