"""Primitives that copy buffers to other memory: cache_read, cache_write, cache_inplace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError
from te_sched.ir.blocks import Block, whole_buffer
from te_sched.ir.expr import (
    Buffer,
    BufferRegion,
    Expr,
    IntImm,
    Range,
    Var,
)
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import replace, variables_of
from te_sched.tensorir.accesses import check_scope, place_of
from te_sched.tensorir.base import ScheduleBase, listed, of_block
from te_sched.tensorir.blocks import (
    accessed,
    buffers_of,
    loops_around,
    stated_blocks,
    why_not_exact,
    writers,
)
from te_sched.tensorir.copies import copied_in_loops, copying, point_of
from te_sched.tensorir.handles import ATTRIBUTE, MAYBE_LIST, BlockRV, instruction
from te_sched.tensorir.insertion import (
    Place,
    common_parent,
    number_in,
    statements_of,
    with_inserted,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.relaxation import bound_loops, joined, ranges_of, relaxed
from te_sched.tensorir.rewriting import Swap
from te_sched.tensorir.state import BlockIndex, BlockKey, Key, with_block


class CopyPrimitives(ScheduleBase):
    """Primitives that copy buffers to other memory."""

    __slots__ = ()

    @instruction(
        "Copy what {block} reads to {storage_scope} memory, in {results}",
        read_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
        consumer_blocks=MAYBE_LIST,
    )
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
        read_buffer_index : its number among the buffers that the block reads, its name, or itself.
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
        key, scope, buffer = self._cached(block, read_buffer_index, "cache_read", writes=False)
        memory = check_scope(storage_scope)
        readers = _readers(self, scope, buffer, consumer_blocks)
        makers = makers_of(self, key, buffer)
        readers = [reader for reader in readers if reader not in makers]
        if not readers:
            raise ScheduleError(
                f"cannot cache {buffer.name} of block {key.name}",
                "no other block reads it",
                "cache_write copies what a block writes",
                of_block(key.name),
            )
        earlier = [maker for maker in makers if not _is_after(self, scope, maker, readers)]
        if makers and not earlier and buffer in self.block(scope).alloc_buffers:
            where = Place(scope, len(statements_of(self, scope)))  # it has no values to read yet
        else:
            makers = earlier
            where = place_before(self, scope, makers[0], readers) if makers else Place(scope, 0)
        users, writes = makers or readers, bool(makers)
        copy, begin = _cache(
            self, buffer, _region(self, users, buffer, writes, scope, scope), memory
        )
        region = _region(self, users, buffer, writes, where.parent, scope)
        nest = copying(buffer, copy, region, begin)
        return self._insert_copy(scope, where, nest, Shift(buffer, copy, begin), readers)

    @instruction(
        "Write the result of {block} to {storage_scope} memory, and copy it in {results}",
        write_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
        consumer_blocks=MAYBE_LIST,
    )
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
        write_buffer_index : its number among the buffers that the block writes, its name, or
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
        key, scope, buffer = self._cached(block, write_buffer_index, "cache_write", writes=True)
        memory = check_scope(storage_scope)
        makers_of(self, key, buffer)
        consumer_list = _given(consumer_blocks)
        readers = _readers(self, scope, buffer, consumer_list) if consumer_list else []
        others = [
            reader for reader in readers_of(self, scope, buffer) if reader not in (*readers, key)
        ]
        where = place_for_result(self, scope, key, others)
        _check_exact(self, key, [key], buffer)
        copy, begin = _cache(self, buffer, _region(self, [key], buffer, True, scope, scope), memory)
        shift = Shift(buffer, copy, begin)
        if loops_outside(self, key):
            nest = _copied_back(self, key, where.parent, shift)
        else:
            region = _region(self, [key], buffer, True, where.parent, scope)
            nest = copying(buffer, copy, region, begin, is_back=True)
        return self._insert_copy(scope, where, nest, shift, [key, *readers])

    @instruction(
        "Copy what {block} updates to {storage_scope} memory and back, in {results}",
        read_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
    )
    def cache_inplace(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
    ) -> list[BlockRV]:
        """Copy a buffer that a block updates to other memory right before it, and back after it.

        Parameters
        ----------
        read_buffer_index : its number among the buffers that the block reads, its name, or itself.
            The block must also write it.
        storage_scope : the memory of the copy: "local", ...

        Returns
        -------
        The block that copies before, and the one that copies after.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> init = sch.decompose_reduction("C", k)
        >>> before, after = sch.cache_inplace("C_update", "C", "local")
        >>> sch.get(before).writes, sch.get(after).writes
        ((C_local[v0, v1],), (C[v0, v1],))
        """
        key, scope, buffer = self._cached(block, read_buffer_index, "cache_inplace", writes=False)
        memory = check_scope(storage_scope)
        own = self.block(key)

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot cache {buffer.name} of block {key.name} in place"
            return ScheduleError(fault, why, help, of_block(key.name))

        if all(region.buffer is not buffer for region in own.writes):
            raise refused(f"it does not write {buffer.name}", "use cache_read")
        if own.init is not None:
            raise refused("it has T.init()", "decompose_reduction makes a block of that")
        parent = self.parents[key]
        assert parent is not None
        number = number_in(self, parent, key)
        if number is None or statements_of(self, parent)[number] is not self.nodes[key]:
            raise refused("it is in a condition, or in T.init()", "cache a block in loops")
        regions = _inplace_regions(self, key, buffer)
        copy = copy_of(buffer, f"{buffer.name}_{memory}", memory)
        begin = tuple([IntImm(0, size.dtype) for size in buffer.shape])
        predicate = self.realize(key).predicate
        before, after = [
            copying(buffer, copy, region, begin, is_back, predicate)
            for region, is_back in zip(regions, (False, True), strict=True)
        ]
        places = Place(parent, number), Place(parent, number + 1)
        shift = Shift(buffer, copy, begin)
        last = self._insert_copy(scope, places[1], after, shift, [key])
        return [self._insert(places[0], before), last]

    def _cached(
        self, block: Any, buffer_index: Any, action: str, writes: bool
    ) -> tuple[BlockKey, BlockKey, Buffer]:
        """A block, its scope, and one of the buffers that it accesses."""
        key = self.block_key(block, action)
        check_not_root(self, key, f"apply {action} to")
        scope = self.scope(key)
        assert scope is not None
        block_now = self.block(key)
        number = place_of(self, key, buffer_index, writes)
        return key, scope, (block_now.writes if writes else block_now.reads)[number].buffer

    def _insert_copy(
        self,
        scope: BlockKey,
        where: Place,
        nest: Stmt,
        shift: CopyMapper,
        users: Sequence[BlockKey],
    ) -> BlockRV:
        """Insert a block that copies, and redirect the accesses of some blocks."""
        draft = self.draft
        for user in users:
            shift.continued.clear()
            new = shift.visit(draft.realize(user))
            draft.replace(user, new, shift.continued)
        handle = self._insert(where, nest)
        links: dict[Block, Block] = {}
        owner = draft.realize(scope)
        buffers = (*owner.block.alloc_buffers, shift.copy)
        draft.replace(scope, with_block(owner, links, alloc_buffers=buffers), links)
        return handle

    def _insert(self, where: Place, nest: Stmt) -> BlockRV:
        """Insert a block in loops; its handle."""
        draft = self.draft
        links: dict[Block, Block] = {}
        draft.replace(where.parent, with_inserted(draft, where, nest, links), links)
        (block_key,) = draft.blocks_in(nest)
        return BlockRV(block_key)


class CopyMapper(Swap):
    """Replaces a buffer by a copy, at other indices."""

    def __init__(self, buffer: Buffer, copy: Buffer) -> None:
        super().__init__({buffer: copy})
        self.buffer, self.copy = buffer, copy


class Shift(CopyMapper):
    """Replaces a buffer by a copy of its region from `begin` on."""

    def __init__(self, buffer: Buffer, copy: Buffer, begin: Sequence[Expr]) -> None:
        super().__init__(buffer, copy)
        self.begin = begin
        self.analyzer = Analyzer()

    def moved(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Indices of the buffer as those of the copy."""
        return tuple(map(self._moved, indices, self.begin))

    def _moved(self, index: Expr, begin: Expr) -> Expr:
        return self.analyzer.simplify(index if is_const(begin, 0) else index - begin)

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        if node.buffer is not self.buffer:
            return new
        return replace(new, indices=self.moved(new.indices))

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        new = self.generic(node)
        if node.buffer is not self.buffer:
            return new
        both = zip(new.region, self.begin, strict=True)
        return replace(
            new,
            region=tuple([replace(bound, min=self._moved(bound.min, low)) for bound, low in both]),
        )


def _cache(
    schedule: ScheduleBase, buffer: Buffer, region: Sequence[Range], scope: str
) -> tuple[Buffer, tuple[Expr, ...]]:
    """A buffer for a region of another one, and the first indices of the region.

    Dimensions whose part depends on a loop outside of the scope, around a part of loop_partition,
    are whole, since a block must not use such loops.
    """
    region = [
        Range(size * 0, size) if variables_of(bound) & schedule.nodes.keys() else bound
        for bound, size in zip(region, buffer.shape, strict=True)
    ]
    is_whole = all(
        is_const(bound.min, 0) and same(bound.extent, size)
        for bound, size in zip(region, buffer.shape, strict=True)
    )
    copy = copy_of(buffer, f"{buffer.name}_{scope}", scope)
    if not is_whole:
        copy = replace(copy, shape=tuple([bound.extent for bound in region]))
    return copy, tuple([bound.min for bound in region])


def readers_of(schedule: ScheduleBase, scope: BlockKey, buffer: Buffer) -> list[BlockKey]:
    """The blocks of a scope that read a buffer."""
    return [
        key
        for key in schedule.blocks_of(scope)
        if any(region.buffer is buffer for region in accessed(schedule, key, writes=False))
    ]


def _given(consumer_blocks: Any) -> list[Any]:
    return [] if consumer_blocks is None else listed(consumer_blocks, "consumer_blocks")


def _readers(
    schedule: ScheduleBase, scope: BlockKey, buffer: Buffer, consumer_blocks: Sequence[Any] | None
) -> list[BlockKey]:
    """The blocks of a scope that read a buffer, or those of them that are given."""
    readers = readers_of(schedule, scope, buffer)
    wanted = [schedule.block_key(handle, "consumer_blocks") for handle in _given(consumer_blocks)]
    if not wanted:
        return readers
    for consumer in wanted:
        if consumer not in readers:
            raise ScheduleError(
                f"block {consumer.name} does not read {buffer.name}",
                "",
                "give blocks of the same scope that read it",
                of_block(consumer.name),
            )
    return wanted


def makers_of(schedule: ScheduleBase, key: BlockKey, buffer: Buffer) -> list[BlockKey]:
    """The block of the scope of a block that writes a buffer, if there is one.

    Raises
    ------
    ScheduleError if there are several.
    """
    makers = writers(schedule, key, buffer)
    if len(makers) > 1:
        raise ScheduleError(
            f"cannot cache {buffer.name} of block {key.name}",
            f"several blocks write it: {', '.join([maker.name for maker in makers])}",
            "write it in one block",
            of_block(key.name),
        )
    return makers


def _is_after(
    schedule: ScheduleBase, scope: BlockKey, key: BlockKey, readers: Sequence[BlockKey]
) -> bool:
    """Whether all of a block runs after some others: it follows them in loops of one iteration."""
    order = schedule.blocks_of(scope)
    parent = common_parent(schedule, scope, [key, *readers])
    loops = [parent, *schedule.loops_above(parent)] if isinstance(parent, Var) else []
    return order.index(key) > max(map(order.index, readers)) and all(
        is_const(schedule.loop(loop).extent, 1) for loop in loops
    )


def _check_exact(
    schedule: ScheduleBase, key: BlockKey, makers: Sequence[BlockKey], buffer: Buffer
) -> None:
    why = why_not_exact(schedule, makers)
    if why:
        raise ScheduleError(
            f"cannot cache {buffer.name} of block {key.name}",
            why,
            "cache it before the region is stated",
            of_block(key.name),
        )


def loops_outside(index: BlockIndex, key: BlockKey) -> list[Var]:
    """The loops outside of the block around a block on which its iterators depend: an iteration of
    that block accesses a part of the region that the block states.
    """
    own = {*index.loops_above(key)}
    used = variables_of(*index.realize(key).iter_values)
    return [
        loop
        for loop in index.around(key)
        if isinstance(loop, Var) and loop not in own
        if loop in used
    ]


def _copied_back(schedule: ScheduleBase, key: BlockKey, parent: Key, shift: Shift) -> Stmt:
    """Loops around a block that copies the elements which a block writes back from a copy."""

    def refused(why: str, help: str) -> ScheduleError:
        fault = f"cannot cache {shift.buffer.name} of block {key.name}"
        return ScheduleError(fault, why, help, of_block(key.name))

    indices, axes = point_of(schedule, key, shift.buffer, True, refused)
    source = shift.copy, shift.moved(indices)
    target = shift.buffer, indices
    return copied_in_loops(schedule, key, parent, shift.copy.name, axes, source, target, refused)


def _region(
    schedule: ScheduleBase,
    keys: Sequence[BlockKey],
    buffer: Buffer,
    writes: bool,
    parent: Key,
    scope: BlockKey,
) -> list[Range]:
    """The region of a buffer that blocks access, over the loops inside of a parent; the buffer in
    the body of a function, and in that of a block which does not state that it reads it.
    """
    is_stated = writes or buffer in buffers_of(schedule.block(scope).reads)
    if parent is scope and (schedule.parents[scope] is None or not is_stated):
        return list(whole_buffer(buffer).region)
    sets = []
    analyzer = Analyzer()
    for key in stated_blocks(schedule, keys):
        block = schedule.block(key)
        regions = block.writes if writes else block.reads
        loops = _loops_below(schedule, key, parent)
        sets += [
            relaxed(schedule, key, region, loops) for region in regions if region.buffer is buffer
        ]
        bound_loops(schedule, loops, analyzer)
    return ranges_of(joined(sets), buffer.shape, analyzer)


def _inplace_regions(
    schedule: ScheduleBase, key: BlockKey, buffer: Buffer
) -> tuple[list[Range], list[Range]]:
    """What an instance of a block reads and writes of a buffer. What it may leave out of the region
    that it writes is read, too.
    """
    block = schedule.block(key)
    reads, writes = [
        joined(
            [relaxed(schedule, key, region, ()) for region in regions if region.buffer is buffer]
        )
        for regions in (block.reads, block.writes)
    ]
    analyzer = bound_loops(schedule, loops_around(schedule, key), Analyzer())
    both = joined([reads, writes])
    return ranges_of(both, buffer.shape, analyzer), ranges_of(writes, buffer.shape, analyzer)


def _loops_below(schedule: ScheduleBase, key: BlockKey, parent: Key) -> list[Var]:
    loops: list[Var] = []
    for outer_key in schedule.around(key):
        if outer_key is parent:
            break
        if isinstance(outer_key, Var):
            loops.append(outer_key)
    return loops[::-1]


def place_before(
    schedule: ScheduleBase, scope: BlockKey, maker: BlockKey, readers: Sequence[BlockKey]
) -> Place:
    """The place before the first reader of what a block writes."""
    parent = common_parent(schedule, scope, [maker, *readers[:1]])
    number = number_in(schedule, parent, readers[0])
    assert number is not None
    return Place(parent, number)


def place_for_result(
    schedule: ScheduleBase, scope: BlockKey, key: BlockKey, readers: Sequence[BlockKey]
) -> Place:
    """The place for a copy of the result of a block: before the first reader that follows it, if
    there is none at the end of the scope; in the loops around it and readers before it, which read
    the result in the next iteration.
    """
    order = schedule.blocks_of(scope)
    following = [block_key for block_key in readers if order.index(block_key) > order.index(key)]
    site = Place(scope, len(statements_of(schedule, scope)))
    if following:
        site = place_before(schedule, scope, key, following)
    for reader in readers:
        inner = common_parent(schedule, scope, [key, reader])
        if reader not in following and site.parent in [*schedule.around(inner)]:
            site = place_after(schedule, scope, key, [reader])
    return site


def place_after(
    schedule: ScheduleBase, scope: BlockKey, key: BlockKey, others: Sequence[BlockKey]
) -> Place:
    """The place after a block where it and the first of others that follow part."""
    parent = common_parent(schedule, scope, [key, others[0]])
    number = number_in(schedule, parent, key)
    assert number is not None
    return Place(parent, number + 1)
