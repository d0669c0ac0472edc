"""Primitives that copy buffers to other memory: cache_read, cache_write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Expr,
    IntImm,
    IterVar,
    Range,
    Var,
)
from te_sched.ir.stmt import BufferStore, For, Stmt
from te_sched.tensorir.accesses import check_scope, place_of
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import writers
from te_sched.tensorir.handles import ATTRIBUTE, LIST, BlockRV, instruction
from te_sched.tensorir.insertion import Place, common_parent, number_in, with_inserted
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.relaxation import bound_loops, joined, ranges_of, relaxed
from te_sched.tensorir.rewriting import Swap
from te_sched.tensorir.state import BlockKey, Key, with_block


def _read_place(schedule: Any, value: Any) -> Any:
    return value


class CachingPrimitives(ScheduleBase):
    """Primitives that copy buffers to other memory."""

    __slots__ = ()

    @instruction(read_buffer_index=ATTRIBUTE, storage_scope=ATTRIBUTE, consumer_blocks=LIST)
    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Copy a buffer that a block reads to other memory, and read the copy.

        Parameters
        ----------
        read_buffer_index : the buffer: its number among those that the block reads, its name, or
            itself.
        storage_scope : the memory of the copy: "shared", "local", ...
        consumer_blocks : the blocks that read the copy; by default all of the scope.

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> copy = sch.cache_read("C", 0, "shared")
        >>> copy, [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
        (tir.BlockRV(A_shared), ['A_shared', 'C', 'D'])
        """
        key = self.block_key(block, "cache_read")
        check_not_root(self, key, "cache what")
        place = place_of(self, key, read_buffer_index, writes=False)
        buffer = self.block(key).reads[place].buffer
        memory = check_scope(storage_scope)
        scope = self.scope(key)
        assert scope is not None
        readers = _readers(self, scope, buffer, consumer_blocks)
        copy = copy_of(buffer, f"{buffer.name}_{memory}", memory)
        makers = writers(self, key, buffer)
        if len(makers) > 1:
            raise _several(key, buffer, makers)
        if makers:
            region = _region(self, makers[0], buffer, True, scope, scope)
            where = _after(self, scope, makers[0], [one for one in readers if one != makers[0]])
        else:
            sets = [_sets(self, one, buffer, False, scope) for one in readers]
            region = ranges_of(joined(sets), buffer.shape, Analyzer())
            where = Place(scope, 0)
        if makers and where.parent is not scope:
            region = _region(self, makers[0], buffer, True, where.parent, scope)
        made = copying(buffer, copy, region, copy.name)
        return self._insert_copy(scope, where, made, {buffer: copy}, copy, readers)

    @instruction(write_buffer_index=ATTRIBUTE, storage_scope=ATTRIBUTE, consumer_blocks=LIST)
    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Write a buffer of a block to other memory first, and copy it to the buffer.

        Parameters
        ----------
        write_buffer_index : the buffer: its number among those that the block writes, its name, or
            itself.
        storage_scope : the memory that the block writes: "local", ...
        consumer_blocks : blocks that read the new memory instead of the buffer.

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> copy = sch.cache_write("D", 0, "local")
        >>> copy, [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
        (tir.BlockRV(D_local), ['C', 'D', 'D_local'])
        """
        key = self.block_key(block, "cache_write")
        check_not_root(self, key, "cache what")
        place = place_of(self, key, write_buffer_index, writes=True)
        buffer = self.block(key).writes[place].buffer
        memory = check_scope(storage_scope)
        scope = self.scope(key)
        assert scope is not None
        makers = writers(self, key, buffer)
        if len(makers) > 1:
            raise _several(key, buffer, makers)
        readers = [] if consumer_blocks is None else _readers(self, scope, buffer, consumer_blocks)
        others = [one for one in _reading(self, scope, buffer) if one not in readers and one != key]
        copy = copy_of(buffer, f"{buffer.name}_{memory}", memory)
        where = _after(self, scope, key, others)
        region = _region(self, key, buffer, True, where.parent, scope)
        made = copying(copy, buffer, region, copy.name)
        return self._insert_copy(scope, where, made, {buffer: copy}, copy, [key, *readers])

    def _insert_copy(
        self,
        scope: BlockKey,
        where: Place,
        made: Stmt,
        buffers: dict[Buffer, Buffer],
        copy: Buffer,
        users: Sequence[BlockKey],
    ) -> BlockRV:
        """Insert a block that copies, and redirect the accesses of some blocks."""
        draft = self.draft
        for user in users:
            swap = Swap(buffers)
            old = draft.realize(user)
            links: dict[Block, Block] = {}
            new = swap.visit(old.block)
            fields = {name: getattr(new, name) for name in _ACCESSES}
            draft.replace(user, with_block(old, links, **fields), links | swap.continued)
        links = {}
        draft.replace(where.parent, with_inserted(draft, where, made, links), links)
        links = {}
        owner = draft.realize(scope)
        buffers_of_scope = (*owner.block.alloc_buffers, copy)
        draft.replace(scope, with_block(owner, links, alloc_buffers=buffers_of_scope), links)
        (found,) = draft.blocks_in(made)
        return BlockRV(found)


_ACCESSES = ("reads", "writes", "init", "body", "match_buffers")


def copying(source: Buffer, target: Buffer, region: Sequence[Range], name: str) -> Stmt:
    """Loops around a block that copies a region of one buffer to another."""
    loops: list[tuple[Var, Expr]] = []
    axes: list[IterVar] = []
    values: list[Expr] = []
    for number, (bound, size) in enumerate(zip(region, source.shape, strict=True)):
        dtype = size.dtype
        loop = Var(f"ax{number}", dtype)
        loops.append((loop, ops.cast(dtype, bound.extent)))
        axes.append(IterVar(Range(IntImm(0, dtype), size), Var(f"v{number}", dtype), "DataPar"))
        values.append(ops.cast(dtype, bound.min) + loop)
    indices: tuple[Expr, ...] = tuple([axis.var for axis in axes])
    element = tuple([Range(one, IntImm(1, one.dtype)) for one in indices])
    block = Block(
        tuple(axes),
        (BufferRegion(source, element),),
        (BufferRegion(target, element),),
        name,
        None,
        BufferStore(target, BufferLoad(source, indices), indices),
    )
    body: Stmt = BlockRealize(tuple(values), ops.const(True), block)
    for loop, extent in reversed(loops):
        body = For(loop, IntImm(0, loop.dtype), extent, "serial", body)
    return body


def _reading(schedule: ScheduleBase, scope: BlockKey, buffer: Buffer) -> list[BlockKey]:
    return [
        one
        for one in schedule.blocks_of(scope)
        if any(region.buffer is buffer for region in schedule.block(one).reads)
    ]


def _readers(
    schedule: ScheduleBase, scope: BlockKey, buffer: Buffer, given: Sequence[Any] | None
) -> list[BlockKey]:
    """The blocks of a scope that read a buffer, or those of them that are given."""
    found = _reading(schedule, scope, buffer)
    if not given:
        return found
    wanted = [schedule.block_key(one, "consumer_blocks") for one in given]
    for one in wanted:
        if one not in found:
            raise ScheduleError(
                f"block {one.name} does not read {buffer.name}",
                "",
                "give blocks of the same scope that read it",
                of_block(one.name),
            )
    return wanted


def _several(key: BlockKey, buffer: Buffer, makers: Sequence[BlockKey]) -> ScheduleError:
    return ScheduleError(
        f"cannot cache {buffer.name} of block {key.name}",
        f"several blocks write it: {', '.join([one.name for one in makers])}",
        "write it in one block",
        of_block(key.name),
    )


def _sets(schedule: ScheduleBase, key: BlockKey, buffer: Buffer, writes: bool, parent: Key) -> Any:
    """The region of a buffer that a block accesses, over the loops inside of a parent."""
    block = schedule.block(key)
    loops = _loops_below(schedule, key, parent)
    regions = block.writes if writes else block.reads
    return joined([relaxed(schedule, key, one, loops) for one in regions if one.buffer is buffer])


def _loops_below(schedule: ScheduleBase, key: BlockKey, parent: Key) -> list[Var]:
    found: list[Var] = []
    for one in schedule.around(key):
        if one is parent or not isinstance(one, Var):
            break
        found.append(one)
    return found[::-1]


def _region(
    schedule: ScheduleBase,
    key: BlockKey,
    buffer: Buffer,
    writes: bool,
    parent: Key,
    scope: BlockKey,
) -> list[Range]:
    sets = _sets(schedule, key, buffer, writes, parent)
    loops = schedule.loops_above(key)
    return ranges_of(sets, buffer.shape, bound_loops(schedule, loops, Analyzer()))


def _after(
    schedule: ScheduleBase, scope: BlockKey, key: BlockKey, others: Sequence[BlockKey]
) -> Place:
    """The place after a block where it and the first of others that follow part."""
    parent = common_parent(schedule, scope, [key, *others[:1]]) if others else scope
    number = number_in(schedule, parent, key)
    assert number is not None
    return Place(parent, number + 1)
