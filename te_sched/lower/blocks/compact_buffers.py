"""Shrink the buffers of blocks to the region that is accessed, and move indices by its begin.

    B = T.alloc_buffer((128, 128))              B = T.alloc_buffer((1, 16))
    for j in range(16):                    ->   for j in range(16):
        B[i, j0 * 16 + j] = ...                     B[0, j] = ...

The region is taken over the loops inside of the block that allocates the buffer, and over the
enclosing threads that share the memory. Rows are aligned by the annotation `buffer_dim_align` of
blocks that write the buffer. (TVM's name: CompactBufferAllocation.)
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, from_range
from te_sched.arith.regions import accessed_sets
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import Block, MatchBufferRegion, whole_buffer
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.stmt import AttrStmt, BufferRealize, For, PrimFunc, Stmt
from te_sched.ir.visitor import AccessMapper, replace
from te_sched.lower.positions import aligned_strides
from te_sched.lower.statements import statements


def compact_buffers(
    func: PrimFunc, settings: Lowering = AS_TVM, is_strict: bool = True
) -> PrimFunc:
    """The function with buffers that are as large as their accessed regions.

    `is_strict` means that buffers do not become larger than they are declared.
    """
    compaction = _Compaction(Analyzer(settings), _alignments(func.body), is_strict)
    return func.with_body(compaction.visit(func.body))


# The factor and offset of strides, by buffer and dimension.
_Alignments = dict[Buffer, dict[int, tuple[int, int]]]


def _alignments(root: Stmt) -> _Alignments:
    found: _Alignments = {}
    allocated: set[Buffer] = set()  # parameters have the strides that callers expect
    for node in statements(root):
        if type(node) is Block:
            allocated.update(node.alloc_buffers)
            for place, dim, factor, offset in node.annotations.get("buffer_dim_align", ()):
                buffer = node.writes[int(place)].buffer
                found.setdefault(buffer, {})[int(dim)] = int(factor), int(offset)
    return {buffer: dims for buffer, dims in found.items() if buffer in allocated}


# The threads that share memory, by scope.
_COMMON: dict[str, tuple[str, ...]] = {
    "global": ("blockIdx", "threadIdx"),
    "shared": ("threadIdx", "vthread", "cthread"),
    "warp": ("threadIdx",),
    "wmma": ("threadIdx",),
}


class _Compaction(AccessMapper):
    """Rebuilds accesses; `regions` has the remaining region of each buffer."""

    def __init__(self, analyzer: Analyzer, alignments: _Alignments, is_strict: bool) -> None:
        self.analyzer, self.alignments, self.is_strict = analyzer, alignments, is_strict
        self.threads: list[tuple[str, Var, Range]] = []
        self.regions: dict[Buffer, tuple[Range, ...]] = {}

    def visit_For(self, node: For) -> Stmt:
        values = Range(node.min, node.extent)
        self.analyzer.bind(node.loop_var, values)
        if node.thread_binding is None:
            return self.generic(node)
        return self._in_thread(node, node.thread_binding.thread_tag, node.loop_var, values)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key not in ("thread_extent", "virtual_thread"):
            return self.generic(node)
        axis, values = node.node, Range(IntImm(0), node.value)
        self.analyzer.bind(axis.var, values)
        return self._in_thread(node, axis.thread_tag, axis.var, values)

    def _in_thread(self, node: Stmt, tag: str, var: Var, values: Range) -> Stmt:
        self.threads.append((tag, var, values))
        inside: Stmt = self.generic(node)
        self.threads.pop()
        return inside

    def visit_Block(self, node: Block) -> Stmt:
        for buffer in node.alloc_buffers:
            self._compact(buffer, node.body, node.match_buffers)
        buffers = tuple([self.visit(buffer) for buffer in node.alloc_buffers])
        return self.generic(replace(node, alloc_buffers=buffers))

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        self._compact(node.buffer, node.body)
        buffer = self.visit(node.buffer)
        condition, body = self.visit(node.condition), self.visit(node.body)
        return BufferRealize(buffer, whole_buffer(buffer).region, condition, body)

    def _compact(
        self, buffer: Buffer, body: Stmt, views: tuple[MatchBufferRegion, ...] = ()
    ) -> None:
        """Determine the accessed region of a buffer within its lifetime."""
        sets = accessed_sets(body, buffer, self._relaxed(buffer), views)
        if sets is not None and not buffer.strides:
            self.regions[buffer] = self._region(buffer, sets)

    def _relaxed(self, buffer: Buffer) -> dict[Var, IntervalSet]:
        """The enclosing threads that share the memory of a buffer."""
        scope = buffer.scope()
        common = _COMMON.get(scope.partition(".")[0], ())
        return {var: from_range(r) for tag, var, r in self.threads if tag.startswith(common)}

    def _region(self, buffer: Buffer, sets: list[IntervalSet]) -> tuple[Range, ...]:
        return tuple([self._range(one, size) for one, size in zip(sets, buffer.shape, strict=True)])

    def _range(self, one: IntervalSet, size: Expr) -> Range:
        """The accessed range of a dimension, within its bounds."""
        zero = IntImm(0, size.dtype)
        if one.min is None or one.max is None:
            return Range(zero, size)
        simplify = self.analyzer.simplify
        low, last = simplify(one.min), simplify(one.max)
        whole = simplify(ops.add(ops.sub(last, low), 1))
        if self.is_strict and not self.analyzer.can_prove(ops.greater_equal(low, zero)):
            low = simplify(ops.maximum(low, zero))
        if self.is_strict and not self.analyzer.can_prove(ops.less(last, size)):
            last = simplify(ops.minimum(last, ops.sub(size, 1)))
        extent = simplify(ops.add(ops.sub(last, low), 1))
        if type(extent) is not IntImm:
            largest = ops.int_limits(size.dtype)[1]
            bounds = [self.analyzer.const_bounds(e)[1] for e in (extent, whole)]
            known = [bound for bound in bounds if bound is not None and bound < largest]
            if not known:
                return Range(zero, size)
            extent = IntImm(min(known), size.dtype)
        if self.is_strict and type(size) is IntImm and extent.value >= size.value:
            return Range(zero, size)
        return Range(low, extent)

    def renewed(self, node: Any) -> Any:
        if not isinstance(node, Buffer) or not (node in self.regions or node in self.alignments):
            return self.generic(node)
        region = self.regions.get(node)
        shape = node.shape if region is None else tuple([one.extent for one in region])
        strides = node.strides
        if node in self.alignments:
            strides = aligned_strides(shape, self.alignments[node], self.analyzer)
        return replace(node, shape=shape, strides=strides)

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        region = self.regions.get(buffer)
        if region is None:
            return indices
        return tuple(
            [
                self.analyzer.simplify(ops.sub(index, one.min))
                for index, one in zip(indices, region, strict=True)
            ]
        )

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        region = self.regions.get(node.buffer)
        inside: BufferRegion = self.generic(node)
        if region is None:
            return inside
        moved = [
            Range(self.analyzer.simplify(ops.sub(one.min, own.min)), one.extent)
            for one, own in zip(inside.region, region, strict=True)
        ]
        return replace(inside, region=tuple(moved))
