"""Shrink the buffers of blocks to the region that is accessed, and move indices by its begin.

    B = T.alloc_buffer((128, 128))              B = T.alloc_buffer((1, 16))
    for j in range(16):                    ->   for j in range(16):
        B[i, j0 * 16 + j] = ...                     B[0, j] = ...

Loops inside of the block that allocates a buffer are relaxed; of the threads around it, those that
have the memory in common. (TVM's name: CompactBufferAllocation.)
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, from_range
from te_sched.arith.regions import accessed_sets
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.scopes import OF_BLOCK
from te_sched.ir.stmt import For, PrimFunc, Stmt
from te_sched.ir.visitor import AccessMapper, replace


def compact_buffers(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with buffers of the size that is used."""
    return func.with_body(_Compaction(Analyzer(settings)).visit(func.body))


class _Compaction(AccessMapper):
    """Rebuilds accesses: `regions` has what is left of each buffer."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.threads: list[For] = []
        self.regions: dict[Buffer, tuple[Range, ...]] = {}

    def visit_For(self, node: For) -> Stmt:
        outside = self.analyzer
        if node.thread_binding is not None:
            self.threads.append(node)
        self.analyzer.bind(node.loop_var, Range(node.min, node.extent))
        loop = self.generic(node)
        if node.thread_binding is not None:
            self.threads.pop()
        self.analyzer = outside
        return loop

    def visit_Block(self, node: Block) -> Stmt:
        for buffer in node.alloc_buffers:
            sets = accessed_sets(node, buffer, self._relaxed(buffer))
            if sets is not None and not buffer.strides:
                self.regions[buffer] = self._region(buffer, sets)
        buffers = tuple([self.visit(buffer) for buffer in node.alloc_buffers])
        return self.generic(replace(node, alloc_buffers=buffers))

    def _relaxed(self, buffer: Buffer) -> dict[Var, IntervalSet]:
        """The threads around that have the memory of a buffer in common."""
        found = {}
        for loop in self.threads:
            assert loop.thread_binding is not None
            tag, scope = loop.thread_binding.thread_tag, buffer.scope()
            is_thread = tag.startswith("threadIdx")
            is_common = is_thread if scope.startswith(OF_BLOCK) else scope == "global"
            if is_common and not tag.startswith(("vthread", "cthread")):
                found[loop.loop_var] = from_range(Range(loop.min, loop.extent))
        return found

    def _region(self, buffer: Buffer, sets: list[IntervalSet]) -> tuple[Range, ...]:
        return tuple([self._range(one, size) for one, size in zip(sets, buffer.shape, strict=True)])

    def _range(self, one: IntervalSet, size: Expr) -> Range:
        """The part of a dimension that is accessed, within its bounds."""
        zero = IntImm(0, size.dtype)
        if one.min is None or one.max is None:
            return Range(zero, size)
        simplify = self.analyzer.simplify
        low, last = simplify(one.min), simplify(one.max)
        if not self.analyzer.can_prove(ops.greater_equal(low, zero)):
            low = simplify(ops.maximum(low, zero))
        if not self.analyzer.can_prove(ops.less(last, size)):
            last = simplify(ops.minimum(last, ops.sub(size, 1)))
        extent = simplify(ops.add(ops.sub(last, low), 1))
        if type(extent) is not IntImm:
            bound = self.analyzer.const_bounds(extent)[1]
            if bound is None:
                return Range(zero, size)
            extent = IntImm(bound, size.dtype)
        if type(size) is IntImm and extent.value >= size.value:
            return Range(zero, size)
        return Range(low, extent)

    def renewed(self, node: Any) -> Any:
        region = self.regions.get(node) if isinstance(node, Buffer) else None
        if region is None:
            return self.generic(node)
        return replace(node, shape=tuple([one.extent for one in region]))

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
