"""Apply the layouts of transformed tensors (`Stage.transform_layout`) to their accesses.

Their buffers get new shapes, and all reads and stores new indices. A transformed tensor is always
allocated whole. Must not know loops.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.errors import LoweringError
from te_sched.ir.expr import Buffer, Expr, IntImm, Range
from te_sched.ir.stmt import AttrStmt, BufferRealize, PrimFunc, Stmt
from te_sched.ir.visitor import AccessMapper, replace
from te_sched.schedule.layouts import LayoutMap
from te_sched.wording import wording

Layouts = Mapping[Buffer, tuple[LayoutMap, ...]]


def apply_layouts(func: PrimFunc, layouts: Layouts) -> PrimFunc:
    """The function with its buffers in these layouts."""
    if not layouts:
        return func
    mapper = _Rearranger(layouts)
    buffers = {var: mapper.renewed(buffer) for var, buffer in func.buffer_map.items()}
    return replace(func, body=mapper.visit(func.body), buffer_map=buffers)


class _Rearranger(AccessMapper):
    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self.rearranged = {buffer: _renewed(buffer, row[-1]) for buffer, row in layouts.items()}

    def renewed(self, node: Buffer) -> Buffer:
        return self.rearranged.get(node, node)

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        for layout in self.layouts[buffer]:
            indices = layout.forward(indices)
        return indices

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        body = self.visit(node.body)
        buffer = self.rearranged.get(node.buffer)
        if buffer is None:
            return replace(node, body=body)
        whole = tuple([Range(IntImm(0, extent.dtype), extent) for extent in buffer.shape])
        return BufferRealize(buffer, whole, node.condition, body)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        renewed = self.rearranged
        if type(node.node) is tuple and any(part in renewed for part in node.node):
            raise _refusal(node.node[-1], "an extern operation or a tensor intrinsic")
        if type(node.node) is Buffer and node.node in renewed:
            if node.key in ("buffer_dim_align", "prefetch_scope"):
                raise _refusal(node.node, "storage_align or prefetch")
            node = AttrStmt(renewed[node.node], node.key, node.value, node.body)
        return self.generic(node)


def _renewed(buffer: Buffer, layout: LayoutMap) -> Buffer:
    return replace(buffer, shape=layout.extents, strides=(), axis_separators=layout.separators)


def _refusal(buffer: Buffer, user: str) -> LoweringError:
    return LoweringError(
        f"cannot transform the layout of {buffer.name}, which is used by {user}",
        "accesses there use the dimensions that were declared",
        "copy it with cache_read or cache_write and rearrange the copy",
        where=wording().subject(buffer.name),
    )
