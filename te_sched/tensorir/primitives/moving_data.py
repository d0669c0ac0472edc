"""Primitives that copy data at a loop: read_at, write_at.

The copies are blocks with the annotation "auto_copy". Threads that share memory all copy the whole
region.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import IterMapLevel, is_number
from te_sched.arith.iter_map import detect_iter_map
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
from te_sched.ir.visitor import substitute, walk
from te_sched.tensorir.accesses import check_scope, place_of
from te_sched.tensorir.base import of_block, of_loop
from te_sched.tensorir.blocks import (
    accessed,
    loop_ranges,
    loops_around,
    range_of,
    stated_blocks,
    writers,
)
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.handles import ATTRIBUTE, BlockRV, LoopRV, instruction
from te_sched.tensorir.insertion import Place, number_in
from te_sched.tensorir.primitives.caching import CopyPrimitives, Shift
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.relaxation import (
    Sets,
    binding_of,
    bound_loops,
    covers,
    joined,
    ranges_of,
    relaxed,
    sharing,
)
from te_sched.tensorir.state import BlockKey

_Refusal = Callable[[str, str], ScheduleError]
AUTO_COPY = "auto_copy"


class AutoCopyPrimitives(CopyPrimitives):
    """Primitives that copy data at a loop."""

    __slots__ = ()

    @instruction(
        "Copy what is read in loop {loop} to {storage_scope} memory, in {results}",
        read_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
    )
    def read_at(
        self,
        loop: LoopRV,
        block: BlockRV | str,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
    ) -> BlockRV:
        """Copy to other memory, in each iteration of a loop, what the blocks in it read there of a
        buffer that a block reads.

        Parameters
        ----------
        read_buffer_index : its number among the buffers that the block reads, its name, or itself.
        storage_scope : the memory of the copy: "shared", "local", ...

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> copy = sch.read_at(i, "C", 0, "local")
        >>> sch.get(copy).reads, [loop.name for loop in sch.get_loops(copy)]
        ((A[v0, 0:8],), ['i'])
        """
        return self._copy_at(loop, block, read_buffer_index, storage_scope, writes=False)

    @instruction(
        "Write to {storage_scope} memory in loop {loop}, and copy the result in {results}",
        write_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
    )
    def write_at(
        self,
        loop: LoopRV,
        block: BlockRV | str,
        write_buffer_index: int | str | Buffer,
        storage_scope: str,
    ) -> BlockRV:
        """Write a buffer of a block to other memory, and copy it to the buffer in each iteration of
        a loop.

        Parameters
        ----------
        write_buffer_index : its number among the buffers that the block writes, its name, or
            itself.
        storage_scope : the memory that the block writes: "shared", "local", ...

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> copy = sch.write_at(i, "C", 0, "local")
        >>> sch.get(copy).writes, [loop.name for loop in sch.get_loops(copy)]
        ((C[v0, 0:8],), ['i'])
        """
        return self._copy_at(loop, block, write_buffer_index, storage_scope, writes=True)

    def _copy_at(
        self, loop: LoopRV, block: Any, buffer_index: Any, storage_scope: Any, writes: bool
    ) -> BlockRV:
        action = "write_at" if writes else "read_at"
        target, key = self.loop_key(loop, action), self.block_key(block, action)
        memory = check_scope(storage_scope)
        position = place_of(self, key, buffer_index, writes)
        own = self.block(key)
        buffer = (own.writes if writes else own.reads)[position].buffer

        def refused(why: str, help: str) -> ScheduleError:
            fault = f"cannot copy {buffer.name} of block {key.name} at loop {target.name}"
            return ScheduleError(fault, why, help, [of_block(key.name), of_loop(target.name)])

        scope = self.scope(target)
        if scope is None or scope is not self.scope(key):
            raise refused("they are in different block scopes", "use a loop of the block's scope")
        users = _users(self, target, buffer, writes)
        if not users:
            raise refused(
                f"no block in the loop {'writes' if writes else 'reads'} it", "use a loop of them"
            )
        number = _position(self, target, buffer, users, writes, refused)
        near = _readers_of_copy(self, target, buffer, users[0], refused) if writes else []
        shared = sharing(self, [*self.loops_above(target), target], memory)
        region = _region(self, target, buffer, users, shared, writes)
        if writes:
            _check_written(self, users, target, buffer, region, shared, refused)
        copy = copy_of(buffer, f"{buffer.name}_{memory}", memory)
        zero = tuple([IntImm(0, size.dtype) for size in buffer.shape])
        nest = _copying(self, target, buffer, copy, region, writes)
        where = Place(target, number)
        return self._insert_copy(scope, where, nest, Shift(buffer, copy, zero), [*users, *near])


def _users(
    schedule: AutoCopyPrimitives, target: Var, buffer: Buffer, writes: bool
) -> list[BlockKey]:
    """The blocks in a loop that read or write a buffer."""
    return [
        block_key
        for block_key in schedule.blocks_of(target)
        if any(region.buffer is buffer for region in accessed(schedule, block_key, writes))
    ]


def _position(
    schedule: AutoCopyPrimitives,
    target: Var,
    buffer: Buffer,
    users: Sequence[BlockKey],
    writes: bool,
    refused: _Refusal,
) -> int:
    """The number of the statement of a loop before which the copy is inserted."""
    numbers = [number_in(schedule, target, user) for user in users]
    places = [number for number in numbers if number is not None]
    assert len(places) == len(numbers)
    if writes:
        if len(users) > 1 or len(writers(schedule, users[0], buffer)) > 1:
            raise refused("several blocks write it", "write it in one block")
        own = schedule.block(users[0])
        if own.init is None and any(region.buffer is buffer for region in own.reads):
            raise refused("the block updates it", "use cache_inplace")
        return places[0] + 1
    others = _users(schedule, target, buffer, writes=True)
    first = min(places)
    late = [
        block_key for block_key in others if (number_in(schedule, target, block_key) or 0) >= first
    ]
    if late:
        raise refused(
            f"block {late[0].name} writes it after it is read in the loop",
            "use a loop without the block that writes it, or cache_read",
        )
    return first


def _readers_of_copy(
    schedule: AutoCopyPrimitives, target: Var, buffer: Buffer, key: BlockKey, refused: _Refusal
) -> list[BlockKey]:
    """The blocks that read what a block writes before it is copied to the buffer."""
    order = schedule.blocks_of(target)
    position = number_in(schedule, target, key)
    readers = []
    for reader in _users(schedule, target, buffer, writes=False):
        number = number_in(schedule, target, reader)
        if reader is key or number != position:
            continue
        regions = [r for r in accessed(schedule, reader, writes=False) if r.buffer is buffer]
        is_later = order.index(reader) > order.index(key)
        if not is_later or not all(covers(schedule, key, reader, r) for r in regions):
            raise refused(
                f"block {reader.name} in the same statement of the loop reads elements that "
                "are not proven to be written before",
                "use an inner loop without that block, or cache_write",
            )
        readers.append(reader)
    return readers


def _region(
    schedule: AutoCopyPrimitives,
    target: Var,
    buffer: Buffer,
    users: Sequence[BlockKey],
    shared: Sequence[Var],
    writes: bool,
) -> list[Range]:
    """What blocks access of a buffer in an iteration of a loop, by all threads that share it."""
    sets: list[Sets] = []
    outer = [loop for loop in (*schedule.loops_above(target), target) if loop not in {*shared}]
    analyzer = Analyzer()
    for key in stated_blocks(schedule, users):
        block = schedule.block(key)
        inner = [loop for loop in schedule.loops_above(key) if loop not in {*outer}]
        sets += [
            relaxed(schedule, key, region, inner)
            for region in (block.writes if writes else block.reads)
            if region.buffer is buffer
        ]
        bound_loops(schedule, inner, analyzer)
    return ranges_of(joined(sets), buffer.shape, analyzer)


def _check_written(
    schedule: AutoCopyPrimitives,
    users: Sequence[BlockKey],
    target: Var,
    buffer: Buffer,
    region: Sequence[Range],
    shared: Sequence[Var],
    refused: _Refusal,
) -> None:
    """Refuse a block that may leave elements of a region unwritten."""
    (key,) = users
    realize = schedule.realize(key)
    (written,) = [access for access in realize.block.writes if access.buffer is buffer]
    above = schedule.loops_above(key)
    inner = {*shared, *above[above.index(target) + 1 :]}
    values = binding_of(realize)
    ranges = loop_ranges(schedule, [loop for loop in above if loop in inner])
    begins = {loop: schedule.loop(loop).min for loop in above if loop not in inner}
    indices = [substitute(substitute(bound.min, values), begins) for bound in written.region]
    iter_map = detect_iter_map(indices, ranges, realize.predicate, IterMapLevel.SURJECTIVE)
    is_whole = not iter_map.errors and all(
        ops.is_const(bound.extent, 1) for bound in written.region
    )
    for index, bound in zip(iter_map.indices, region, strict=True) if is_whole else ():
        parts = index.args
        extent: Any = parts[0].extent if parts else 1
        is_dense = not parts or (len(parts) == 1 and is_number(parts[0].scale, 1))
        is_whole &= is_dense and Analyzer().can_prove_equal(ops.convert(extent), bound.extent)
    if not is_whole or any(isinstance(node, Block) for node in walk(realize.block.body)):
        raise refused(
            f"the block is not proven to write all elements of the region {_text(region)}",
            "write_at copies the whole region; use cache_write",
        )


def _text(region: Sequence[Range]) -> str:
    return ", ".join([f"{bound.min} to {bound.min + bound.extent - 1}" for bound in region])


def _copying(
    schedule: AutoCopyPrimitives,
    target: Var,
    buffer: Buffer,
    copy: Buffer,
    region: Sequence[Range],
    is_back: bool,
) -> Stmt:
    """A block that copies a region whose begin depends on loops, which are its iterators."""
    loops = [*loops_around(schedule, target), target]
    used = dict.fromkeys([var for bound in region for var in walk(bound) if var in {*loops}])
    axes = [
        IterVar(range_of(schedule.loop(loop)), Var(f"v{number}", loop.dtype), SPATIAL)
        for number, loop in enumerate(used)
    ]
    own: dict[Var, Expr] = {loop: axis.var for loop, axis in zip(used, axes, strict=True)}
    bounds = tuple([substitute(bound, own) for bound in region])
    inner = [
        (Var(f"ax{number}", bound.min.dtype), bound.extent) for number, bound in enumerate(bounds)
    ]
    there = tuple(
        [
            var if ops.is_const(bound.min, 0) else bound.min + var
            for (var, _), bound in zip(inner, bounds, strict=True)
        ]
    )
    source, result = (copy, buffer) if is_back else (buffer, copy)
    body: Stmt = BufferStore(result, BufferLoad(source, there), there)
    for var, extent in reversed(inner):
        body = For(var, IntImm(0, var.dtype), extent, "serial", body)
    block = Block(
        tuple(axes),
        (BufferRegion(source, bounds),),
        (BufferRegion(result, bounds),),
        copy.name,
        None,
        body,
        annotations={AUTO_COPY: 1},
    )
    return BlockRealize(tuple(used), ops.const(True), block)
