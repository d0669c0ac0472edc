"""Primitives that copy buffers into the order of a block's iterators: reindex."""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import BufferStore
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.accesses import BUFFER, place_from
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import accessed
from te_sched.tensorir.handles import BlockRV, instruction
from te_sched.tensorir.insertion import Place, number_in, statements_of
from te_sched.tensorir.primitives.caching import (
    CopyMapper,
    CopyPrimitives,
    check_written_in,
    copy_nest,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.state import BlockKey, outermost_blocks


class ReindexPrimitives(CopyPrimitives):
    """Primitives that copy buffers into the order of a block's iterators."""

    __slots__ = ()

    @instruction("Copy a buffer of {block} to the layout of its iterators", buffer=BUFFER)
    def reindex(self, block: BlockRV | str, buffer: Any) -> BlockRV:
        """Copy a buffer that a block accesses to a buffer whose indices are the block's iterators.

        A buffer that is read is copied before the block, one that is written after it. The block
        accesses the copy.

        Parameters
        ----------
        buffer : ("read", number) or ("write", number), the name of the buffer, or the buffer.

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> copy = sch.reindex("C", ("read", 1))
        >>> sch.get(copy).reads[0], sch.get(sch.get_block("C")).reads[1]
        (B[v1, v0], B_reindex[vj, vk])
        """
        key = self.block_key(block, "reindex")
        check_not_root(self, key, "apply reindex to")
        scope = self.scope(key)
        assert scope is not None
        place = place_from(self, key, buffer)
        own, writes = self.block(key), place.kind == "write"
        whole = place.buffer_in(own)
        others = own.reads if writes else own.writes
        if any(region.buffer is whole for region in others) and not (writes and own.init):
            why = "it reads and writes it: the copy would not have what it updates"
            raise _refused(key, whole, why, "let the block read one buffer and write another")
        indices = _indices(key, own, whole)
        used = variables_of(*indices)
        axes = [axis for axis in own.iter_vars if axis.var in used]
        for axis in own.iter_vars if writes else ():
            if axis.var in used and axis.kind != "DataPar":
                why = f"its reduction iterator {axis.var.name} is an index"
                raise _refused(key, whole, why, "write the elements of a reduction once")
            if axis.var not in used and axis.kind == "DataPar" and not _is_unit(axis):
                why = f"its iterator {axis.var.name} is not an index, so elements are written twice"
                raise _refused(key, whole, why, "make it an index of the buffer")
        position = number_in(self, scope, key)
        if position is None:
            raise _refused(
                key, whole, f"it is in T.init() of block {scope.name}", "reindex that block"
            )
        _check_alone(self, scope, key, position, whole, writes)
        if writes:
            check_written_in(self, scope, key, whole)
        copy = decl_buffer([_extent(axis) for axis in axes], whole.dtype, f"{whole.name}_reindex")
        new = [
            IterVar(axis.dom, Var(f"v{number}", axis.var.dtype), "DataPar")
            for number, axis in enumerate(axes)
        ]
        renamed: dict[Var, Expr] = {a.var: b.var for a, b in zip(axes, new, strict=True)}
        there = tuple([substitute(one, renamed) for one in indices])
        name = copy.name if writes else f"{copy.name}_reindex"
        made = copy_nest(name, new, copy, whole, there, is_back=writes)
        where = Place(scope, position + writes)
        mapper = _Reindexed(whole, copy, tuple([axis.var for axis in axes]))
        return self._insert_copy(scope, where, made, mapper, [key], place.kind)


class _Reindexed(CopyMapper):
    """Replaces the accesses of a buffer by those of its copy, at the iterators of a block."""

    def __init__(self, buffer: Buffer, copy: Buffer, own: tuple[Expr, ...]) -> None:
        super().__init__(buffer, copy)
        self.own = own

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        return new if node.buffer is not self.buffer else replace(new, indices=self.own)

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        if node.buffer is not self.buffer:
            return self.generic(node)
        point = tuple([Range(one, IntImm(1, one.dtype)) for one in self.own])
        return BufferRegion(self.copy, point)


def _is_unit(axis: IterVar) -> bool:
    return axis.dom is not None and ops.is_const(axis.dom.extent, 1)


def _extent(axis: IterVar) -> Expr:
    assert axis.dom is not None
    return axis.dom.extent


def _indices(key: BlockKey, block: Block, buffer: Buffer) -> tuple[Expr, ...]:
    """The indices at which a block accesses a buffer, the same everywhere."""
    if outermost_blocks(block.body) or block.match_buffers:
        raise _refused(key, buffer, "it has blocks or views in it", "reindex the inner block")
    parts = [block.body] if block.init is None else [block.body, block.init]
    found = [
        one
        for part in parts
        for one in walk(part)
        if type(one) in (BufferLoad, BufferStore) and one.buffer is buffer
    ]
    if not found:
        raise _refused(key, buffer, "it has no load or store of it", "give a buffer it accesses")
    for one in found:
        if not structural_equal(one.indices, found[0].indices):
            raise _refused(
                key,
                buffer,
                f"it accesses it at {', '.join(map(str, found[0].indices))} and at "
                f"{', '.join(map(str, one.indices))}",
                "use cache_read, which copies the buffer as it is",
            )
    indices: tuple[Expr, ...] = found[0].indices
    inner = variables_of(*indices) - {axis.var for axis in block.iter_vars}
    if inner:
        (var, *_) = inner
        raise _refused(
            key, buffer, f"{var.name} is an index and not an iterator of the block", "bind it"
        )
    if any(isinstance(part, BufferLoad) for one in indices for part in walk(one)):
        raise _refused(key, buffer, "an index is an element of a buffer", "use cache_read")
    for axis in block.iter_vars:
        if axis.dom is not None and not ops.is_const(axis.dom.min, 0):
            raise _refused(
                key, buffer, f"its iterator {axis.var.name} does not begin at 0", "shift it"
            )
    analyzer = Analyzer()
    for axis in block.iter_vars:
        if axis.dom is not None and not _is_unit(axis):  # a unit iterator stays an index
            analyzer.bind(axis.var, axis.dom)
    return tuple([analyzer.simplify(one) for one in indices])


def _check_alone(
    schedule: ScheduleBase,
    scope: BlockKey,
    key: BlockKey,
    position: int,
    buffer: Buffer,
    writes: bool,
) -> None:
    """Refuse a copy that would be made too early or too late: other blocks of the statement of the
    block write the buffer, or read what the block writes.
    """
    statement = statements_of(schedule, scope)[position]
    for one in schedule.blocks_in(statement):
        if one is key:
            continue
        regions = accessed(schedule, one, writes=True)
        if writes:
            regions += accessed(schedule, one, writes=False)
        if any(region.buffer is buffer for region in regions):
            raise _refused(
                key,
                buffer,
                f"block {one.name} in the same loops accesses it, too",
                "compute that block outside of the loops",
            )


def _refused(key: BlockKey, buffer: Buffer, why: str, help: str) -> ScheduleError:
    fault = f"cannot reindex {buffer.name} of block {key.name}"
    return ScheduleError(fault, why, help, of_block(key.name))
