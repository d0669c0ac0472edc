"""Shrink the buffers of blocks to the region that is accessed, and move indices by its begin.

    B = T.alloc_buffer((128, 128))              B = T.alloc_buffer((1, 16))
    for j in range(16):                    ->   for j in range(16):
        B[i, j0 * 16 + j] = ...                     B[0, j] = ...

The region is taken over the loops inside of the block that allocates the buffer, and over the
enclosing threads that share the memory. In programs to run (`to_run`), memory of kernels has a
constant size where there is one, also if a call may declare the buffer to be smaller. Rows are
aligned by the annotation `buffer_dim_align` of blocks that write the buffer, or of its allocation.
(TVM's name: CompactBufferAllocation.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, from_range
from te_sched.arith.regions import accessed_sets
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import Block, DeclBuffer, MatchBufferRegion, whole_buffer
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import Allocate, AttrStmt, BufferRealize, BufferStore, For, PrimFunc, Stmt
from te_sched.ir.storage_scopes import StorageScope, storage_scope
from te_sched.ir.term_keys import all_same
from te_sched.ir.visitor import AccessMapper, replace, statements, variables_of, walk
from te_sched.lowering.blocks.declarations import ALIGN, memory_extents
from te_sched.lowering.positions import aligned_strides


def compact_buffers(
    func: PrimFunc, settings: Lowering = AS_TVM, is_strict: bool = True
) -> PrimFunc:
    """The function with buffers that are as large as their accessed regions.

    `is_strict` means that buffers do not become larger than they are declared.
    """
    compaction = _Compaction(settings, alignments(func.body), func, is_strict)
    return func.with_body(compaction.visit(func.body))


# The factor and offset of strides, by the pointer of a buffer and by dimension.
Alignments = dict[Var, dict[int, tuple[int, int]]]


def alignments(root: Stmt) -> Alignments:
    """The alignments of allocated buffers, from the annotations of blocks and allocations."""
    dims_of: Alignments = {}
    allocated: set[Var] = set()  # parameters have the strides that callers expect
    for node in statements(root):
        if type(node) is Block:
            allocated.update([buffer.data for buffer in node.alloc_buffers])
            pointers = [region.buffer.data for region in node.writes]
        elif type(node) is Allocate:
            allocated.add(node.buffer_var)
            pointers = [node.buffer_var]
        else:
            continue
        for position, dim, factor, offset in node.annotations.get(ALIGN, ()):
            pointer = pointers[int(position)]
            dims_of.setdefault(pointer, {})[int(dim)] = int(factor), int(offset)
    return {pointer: dims for pointer, dims in dims_of.items() if pointer in allocated}


class _Compaction(AccessMapper):
    """Rebuilds accesses; `regions` has the remaining region of each buffer."""

    def __init__(
        self, settings: Lowering, aligned: Alignments, func: PrimFunc, is_strict: bool
    ) -> None:
        self.analyzer, self.alignments, self.is_strict = Analyzer(settings), aligned, is_strict
        self.func, self.to_run = func, settings.to_run
        self.threads: list[tuple[str, Var, Range]] = []
        self.loops: set[Var] = set()
        self.regions: dict[Buffer, tuple[Range, ...]] = {}

    def visit_For(self, node: For) -> Stmt:
        return self._in_loop(node)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        return self.generic(node) if loop_of(node) is None else self._in_loop(node)

    def _in_loop(self, node: For | AttrStmt) -> Stmt:
        loop = loop_of(node)
        assert loop is not None
        self.analyzer.bind(loop.var, loop.range)
        self.loops.add(loop.var)
        outside = self.threads
        if loop.tag:
            self.threads = [*outside, (loop.tag, loop.var, loop.range)]
        inside: Stmt = self.generic(node)
        self.threads = outside
        return inside

    def visit_Block(self, node: Block) -> Stmt:
        self._compact(node.alloc_buffers, node.body, node.match_buffers)
        buffers = tuple([self.visit(buffer) for buffer in node.alloc_buffers])
        return self.generic(replace(node, alloc_buffers=buffers))

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        self._compact([node.buffer], node.body)
        buffer = self.visit(node.buffer)
        condition, body = self.visit(node.condition), self.visit(node.body)
        return BufferRealize(buffer, whole_buffer(buffer).region, condition, body)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        buffer = self._only_buffer(node)
        if buffer is None:
            return self.generic(node)
        self._compact([buffer], node.body)
        extents = memory_extents(self.visit(buffer))
        return self.generic(replace(node, extents=extents))

    def _only_buffer(self, node: Allocate) -> Buffer | None:
        """The buffer in an allocation, if there is one of its dtype and shape."""
        candidates = self.buffers.get(node.buffer_var, ())
        if len(candidates) != 1:
            return None
        (buffer,) = candidates
        is_all = buffer.dtype == node.dtype and all_same(buffer.shape, node.extents)
        return buffer if is_all else None

    @cached_property
    def buffers(self) -> dict[Var, set[Buffer]]:
        """The buffers that the function declares or accesses, by their pointers."""
        buffers_of: dict[Var, set[Buffer]] = {}
        for node in walk(self.func.body):
            if isinstance(node, BufferLoad | BufferStore | DeclBuffer | BufferRegion):
                buffers_of.setdefault(node.buffer.data, set()).add(node.buffer)
        return buffers_of

    def _compact(
        self, buffers: Sequence[Buffer], body: Stmt, views: tuple[MatchBufferRegion, ...] = ()
    ) -> None:
        """Determine the accessed regions of buffers within their lifetime."""
        by_level: dict[int, list[Buffer]] = {}
        for buffer in buffers:
            by_level.setdefault(storage_scope(buffer.scope()).level, []).append(buffer)
        for some in by_level.values():
            relaxed = self._relaxed(storage_scope(some[0].scope()))
            for buffer, sets in accessed_sets(body, some, relaxed, views, self.analyzer).items():
                if not buffer.strides:
                    self.regions[buffer] = self._region(buffer, sets)

    def _relaxed(self, scope: StorageScope) -> dict[Var, IntervalSet]:
        """The enclosing threads that have memory of a scope in common."""
        return {var: from_range(r) for tag, var, r in self.threads if scope.is_common(tag)}

    def _region(self, buffer: Buffer, sets: list[IntervalSet]) -> tuple[Range, ...]:
        is_of_kernel = self.to_run and storage_scope(buffer.scope()).level > 0
        pairs = zip(sets, buffer.shape, strict=True)
        return tuple([self._range(interval, size, is_of_kernel) for interval, size in pairs])

    def _range(self, interval: IntervalSet, size: Expr, is_of_kernel: bool) -> Range:
        """The accessed range of a dimension, within its bounds."""
        zero = IntImm(0, size.dtype)
        if interval.min is None or interval.max is None:
            return Range(zero, size)
        simplify = self.analyzer.simplify
        low = simplify(interval.min)
        extent = simplify(ops.add(ops.sub(simplify(interval.max), low), 1))
        if self.is_strict and not self.analyzer.can_prove(ops.greater_equal(low, zero)):
            low = simplify(ops.maximum(zero, low))
        is_fixed = variables_of(extent).isdisjoint(self.loops) and not _has_elements(extent)
        bound = self._bound(extent)
        if is_of_kernel and bound is not None and type(size) is not IntImm:
            return Range(low, IntImm(bound, size.dtype))
        if is_fixed:
            return Range(low, self._within(size, extent) if self.is_strict else extent)
        if bound is None:
            return Range(low if self.is_strict else zero, size)
        is_whole = self.is_strict and type(size) is IntImm and size.value <= bound
        return Range(zero, size) if is_whole else Range(low, IntImm(bound, size.dtype))

    def _bound(self, extent: Expr) -> int | None:
        """The upper bound of an extent that depends on loops or memory. A bound close to the limit
        of the type only follows from that limit.
        """
        bound = self.analyzer.const_bounds(extent)[1]
        return None if bound is None or bound > ops.int_limits(extent.dtype)[1] // 2 else bound

    def _within(self, size: Expr, extent: Expr) -> Expr:
        """The smaller one of a size, which is positive, and an extent."""
        if self.analyzer.can_prove(ops.less_equal(extent, size)):
            return extent
        bounds, most = self.analyzer.const_bounds, self.analyzer.const_bounds(extent)[1]
        with self.analyzer.constraint(self.analyzer.simplify(ops.greater(size, 0))):
            least = bounds(size)[0]
        if most is not None and least is not None and most <= least:
            return extent
        return self.analyzer.simplify(ops.minimum(size, extent))

    def renewed(self, node: Any) -> Any:
        if not isinstance(node, Buffer):
            return self.generic(node)
        aligned = self.alignments.get(node.data)
        if aligned is None and node not in self.regions:
            return self.generic(node)
        region = self.regions.get(node)
        shape = node.shape if region is None else tuple([dim_range.extent for dim_range in region])
        strides = node.strides
        if aligned is not None:
            strides = aligned_strides(shape, aligned, self.analyzer)
        buffer = replace(node, shape=shape, strides=strides)
        is_moved = region is not None and not all(
            ops.is_const(dim_range.min, 0) for dim_range in region
        )
        return replace(buffer) if buffer is node and is_moved else buffer

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        region = self.regions.get(buffer)
        if region is None:
            return indices
        return tuple(
            [
                ops.sub(index, dim_range.min)
                for index, dim_range in zip(indices, region, strict=True)
            ]
        )

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        region = self.regions.get(node.buffer)
        inside: BufferRegion = self.generic(node)
        if region is None:
            return inside
        moved = [
            Range(ops.sub(dim_range.min, own.min), dim_range.extent)
            for dim_range, own in zip(inside.region, region, strict=True)
        ]
        return replace(inside, region=tuple(moved))


def _has_elements(e: Expr) -> bool:
    """Whether an expression depends on memory, which may change."""
    return any(isinstance(part, BufferLoad) for part in walk(e))
