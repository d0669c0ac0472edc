"""Primitives that copy buffers into another order, given by the iterators of a block: reindex,
reindex_cache_read, reindex_cache_write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from te_sched.arith import index_map as maps
from te_sched.arith.aliasing import Apart, Touch
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.forms import Forms
from te_sched.errors import DeclarationError, ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace, substitute, variables_of
from te_sched.tensorir.accesses import BUFFER, check_scope, place_from
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import accessed
from te_sched.tensorir.copies import Refusal, copied_in_loops, copy_nest, dom_of, point_of
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.handles import ATTRIBUTE, INDEX_MAP, BlockRV, instruction
from te_sched.tensorir.insertion import Place, number_in, statements_of
from te_sched.tensorir.primitives.caching import (
    CopyMapper,
    CopyPrimitives,
    loops_outside,
    makers_of,
    place_after,
    place_before,
    place_for_result,
    readers_of,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.primitives.layouts import checked_map
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.state import BlockKey, Key


class ReindexPrimitives(CopyPrimitives):
    """Primitives that copy buffers into the order of a block's iterators."""

    __slots__ = ()

    @instruction("Copy a buffer of {block} to the layout of its iterators", buffer=BUFFER)
    def reindex(self, block: BlockRV | str, buffer: Any) -> BlockRV:
        """Copy a buffer that a block accesses to a buffer whose indices are the block's iterators.

        A buffer that is read is copied before the block, one that is written after it, and one that
        the block updates before and after it. The block accesses the copy.

        Parameters
        ----------
        buffer : ("read", number) or ("write", number), the name of the buffer, or the buffer.

        Returns
        -------
        The block that copies; of an updated buffer the one before or after, for "read" or "write".

        >>> sch = tir.Schedule(matmul_relu)
        >>> copy = sch.reindex("C", ("read", 1))
        >>> sch.get(copy).reads[0], sch.get(sch.get_block("C")).reads[1]
        (B[v1, v0], B_reindex[vj, vk])
        """
        key = self.block_key(block, "reindex")
        check_not_root(self, key, "apply reindex to")
        scope = self.scope(key)
        assert scope is not None
        buffer_place = place_from(self, key, buffer)
        own, writes = self.block(key), buffer_place.kind == "write"
        whole = buffer_place.buffer_in(own)
        refused = _refusal(key, whole)
        updates = _is_update(own, whole, writes, refused)
        indices, axes = point_of(self, key, whole, writes or updates, refused, _simplified)
        inside = tuple([axis.var for axis in axes])
        if updates:
            _check_order(refused, axes, indices, inside, is_updated=True)
        copy = copy_of(whole, f"{whole.name}_reindex", whole.scope())
        copy = _with_shape(copy, [_end(axis) for axis in axes])
        point = _Point(key, copy, whole, axes, indices, is_own=writes or updates)
        insertions = {
            is_back: point.copied(self, is_back, refused)
            for is_back in (True, False)
            if updates or is_back is writes
        }
        (first, *others) = insertions
        mapper = _Reindexed(whole, copy, inside)
        handles = {first: self._insert_copy(scope, *insertions[first], mapper, [key])}
        handles |= {is_write: self._insert(*insertions[is_write]) for is_write in others}
        return handles[writes]

    @instruction(
        "Copy what {block} reads to {storage_scope} memory in another order, in {results}",
        read_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
        index_map=INDEX_MAP,
    )
    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
        index_map: Any,
    ) -> BlockRV:
        """Copy the elements that a block reads to other memory in another order, and read the copy.

        Parameters
        ----------
        read_buffer_index : its number among the buffers that the block reads, its name, or itself.
        storage_scope : the memory of the copy: "shared", "local", ...
        index_map : a function of the block's iterators that gives the indices in the copy.

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> copy = sch.reindex_cache_read("D", 0, "local", lambda i, j: (j, i // 4, i % 4))
        >>> sch.get(copy).writes[0]
        C_local[vj, vi // 4, vi % 4]
        """
        key, scope, buffer = self._cached(
            block, read_buffer_index, "reindex_cache_read", writes=False
        )
        makers = makers_of(self, key, buffer)
        where = place_before(self, scope, makers[0], [key]) if makers else Place(scope, 0)
        return self._cache_in_order(key, buffer, storage_scope, index_map, where, writes=False)

    @instruction(
        "Write the result of {block} in another order to {storage_scope} memory first",
        write_buffer_index=ATTRIBUTE,
        storage_scope=ATTRIBUTE,
        index_map=INDEX_MAP,
    )
    def reindex_cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str | Buffer,
        storage_scope: str,
        index_map: Any,
    ) -> BlockRV:
        """Write the elements of a block to other memory in another order first, and copy them to
        the buffer.

        Parameters
        ----------
        write_buffer_index : its number among the buffers that the block writes, its name, or
            itself.
        storage_scope : the memory that the block writes: "local", ...
        index_map : a function of the block's iterators that gives the indices in that memory.

        Returns
        -------
        The block that copies.

        >>> sch = tir.Schedule(matmul_relu)
        >>> copy = sch.reindex_cache_write("C", 0, "local", lambda i, j, k: (j, i))
        >>> sch.get(copy).reads, sch.get(copy).writes
        ((C_local[vj, vi],), (C[vi, vj],))
        """
        key, scope, buffer = self._cached(
            block, write_buffer_index, "reindex_cache_write", writes=True
        )
        makers_of(self, key, buffer)
        others = [reader for reader in readers_of(self, scope, buffer) if reader is not key]
        where = place_for_result(self, scope, key, others)
        return self._cache_in_order(key, buffer, storage_scope, index_map, where, writes=True)

    def _cache_in_order(
        self, key: BlockKey, buffer: Buffer, memory: Any, index_map: Any, where: Place, writes: bool
    ) -> BlockRV:
        """Copy the elements that a block accesses, at the indices of a map of its iterators."""
        own, scope = self.block(key), self.scope(key)
        assert scope is not None
        refused = _refusal(key, buffer)
        if _is_update(own, buffer, writes, refused):
            why = "it reads and writes it: the copy would not have what it updates"
            raise refused(why, "let the block read one buffer and write another")
        _check_alone(self, where.parent, key, buffer, writes, refused)
        indices, axes = point_of(self, key, buffer, writes, refused)
        extents = tuple([_end(axis) for axis in own.iter_vars])
        mapping = checked_map(self, key, index_map, extents, f"iterators of {key.name}")
        try:
            shape = maps.map_shape(mapping, extents)
        except DeclarationError as error:
            raise refused(f"{error.fault}: {error.why}", error.help) from None
        inside = maps.map_indices(mapping, [axis.var for axis in own.iter_vars])
        is_updated = writes and own.init is not None
        _check_order(refused, axes, indices, inside, is_updated)
        copy = copy_of(buffer, f"{buffer.name}_{memory}", check_scope(memory))
        copy = _with_shape(copy, shape)
        source, target = (buffer, indices), (copy, inside)
        if writes:
            source, target = target, source
        nest = copied_in_loops(self, key, where.parent, copy.name, axes, source, target, refused)
        mapper = _Reindexed(buffer, copy, inside)
        return self._insert_copy(scope, where, nest, mapper, [key])


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
        point = tuple([Range(index, IntImm(1, index.dtype)) for index in self.own])
        return BufferRegion(self.copy, point)


def _simplified(block: Block, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Simple indices; those that are an iterator stay it, also if it has one value."""
    analyzer = Analyzer()
    for axis in block.iter_vars:
        analyzer.bind(axis.var, dom_of(axis))
    return tuple([index if type(index) is Var else analyzer.simplify(index) for index in indices])


def _check_order(
    refused: Refusal,
    axes: Sequence[IterVar],
    indices: tuple[Expr, ...],
    inside: tuple[Expr, ...],
    is_updated: bool,
) -> None:
    """Refuse a copy at the indices `inside` that does not have each element at a place of its own.

    If the block updates elements, it must also access each element of the copy where it accesses
    one of the buffer, or updates of an element would be apart.
    """
    used = {axis.var for axis in axes}
    for var in variables_of(*inside) ^ used:
        missing, there = (inside, indices) if var in used else (indices, inside)
        raise refused(
            f"iterator {var.name} is in {_listed(there)} and not in {_listed(missing)}",
            "use the iterators of the buffer's indices in the map",
        )
    pairs = [(inside, indices), (indices, inside)][: 1 + is_updated]
    if not all(_determine(indices, other, axes) for indices, other in pairs):
        raise refused(
            f"the indices {_listed(inside)} are not proven to have an element of "
            f"{_listed(indices)} each",
            "give a one-to-one map of the iterators, for example lambda i, j: (j, i)",
        )


def _listed(indices: tuple[Expr, ...]) -> str:
    return f"[{', '.join(map(str, indices))}]"


def _determine(indices: tuple[Expr, ...], other: tuple[Expr, ...], axes: Sequence[IterVar]) -> bool:
    """Whether equal indices imply equal other ones."""
    if all(any(structural_equal(index, own_index) for own_index in indices) for index in other):
        return True
    forms = Forms({}, {})
    for axis in axes:
        forms.bind(axis.var, ops.const(0), _end(axis))
    own = {axis.var for axis in axes}
    touch = Touch(indices, tuple([IntImm(1, index.dtype) for index in indices]), ())
    return Apart(forms, own, variables_of(*indices) - own, ()).is_proved(touch, touch)


def _is_update(block: Block, buffer: Buffer, writes: bool, refused: Refusal) -> bool:
    """Whether a block needs the values that it overwrites of a buffer."""
    others = block.reads if writes else block.writes
    is_both = any(region.buffer is buffer for region in others)
    if is_both and not writes and block.init is not None:
        raise refused("it initializes it before it reads it", 'give ("write", number)')
    return is_both and block.init is None


class _Point(NamedTuple):
    """The elements of a buffer that a block accesses, at `indices` that depend on its iterators
    `axes`, and their copy. `is_own`: other elements may not be copied.
    """

    key: BlockKey
    copy: Buffer
    buffer: Buffer
    axes: list[IterVar]
    indices: tuple[Expr, ...]
    is_own: bool

    def copied(self, schedule: ScheduleBase, is_back: bool, refused: Refusal) -> tuple[Place, Stmt]:
        """Loops around a block that copies the elements to the copy, or back, and their place."""
        where = _place_of(schedule, self.key, self.buffer, is_back, refused)
        name = self.copy.name if is_back else f"{self.copy.name}_reindex"
        is_apart = where.parent is schedule.scope(self.key)
        if is_apart and not (self.is_own and loops_outside(schedule, self.key)):
            new = [
                IterVar(axis.dom, Var(f"v{number}", axis.var.dtype), SPATIAL)
                for number, axis in enumerate(self.axes)
            ]
            renamed: dict[Var, Expr] = {a.var: b.var for a, b in zip(self.axes, new, strict=True)}
            there = tuple([substitute(index, renamed) for index in self.indices])
            return where, copy_nest(name, new, self.copy, self.buffer, there, is_back)
        ends = (self.buffer, self.indices), (self.copy, tuple([axis.var for axis in self.axes]))
        source, target = reversed(ends) if is_back else ends
        key, axes = self.key, self.axes
        return where, copied_in_loops(
            schedule, key, where.parent, name, axes, source, target, refused
        )


def _place_of(
    schedule: ScheduleBase, key: BlockKey, buffer: Buffer, is_back: bool, refused: Refusal
) -> Place:
    """The place for a copy before or after a block: next to the statement of its scope that has it,
    or in its loops, if other blocks there write what is copied or need the result.
    """
    scope = schedule.scope(key)
    assert scope is not None
    position = number_in(schedule, scope, key)
    where = Place(scope, (position or 0) + is_back)
    if position is not None:
        near = _near(schedule, scope, key, buffer, is_back)
        if near:
            where = (
                place_after(schedule, scope, key, near)
                if is_back
                else place_before(schedule, scope, near[0], [key])
            )
    _check_alone(schedule, where.parent, key, buffer, is_back, refused)
    return where


def _near(
    schedule: ScheduleBase, parent: Key, key: BlockKey, buffer: Buffer, is_back: bool
) -> list[BlockKey]:
    """The other blocks of the statement of a block in a loop or block that write a buffer, or also
    those that read it.
    """
    position = number_in(schedule, parent, key)
    assert position is not None
    blocks = []
    for block_key in schedule.blocks_in(statements_of(schedule, parent)[position]):
        regions = [*accessed(schedule, block_key, writes=True)]
        if is_back:
            regions += accessed(schedule, block_key, writes=False)
        if block_key is not key and any(region.buffer is buffer for region in regions):
            blocks.append(block_key)
    return blocks


def _check_alone(
    schedule: ScheduleBase,
    parent: Key,
    key: BlockKey,
    buffer: Buffer,
    is_back: bool,
    refused: Refusal,
) -> None:
    """Refuse a copy that would be made too early or too late: other blocks of the statement of the
    block write the buffer, or read what the block writes.
    """
    if number_in(schedule, parent, key) is None:
        scope = schedule.scope(key)
        assert scope is not None
        raise refused(f"it is in T.init() of block {scope.name}", "reindex that block")
    near = _near(schedule, parent, key, buffer, is_back)
    if near:
        raise refused(
            f"block {near[0].name} in the same loops accesses it, too",
            "compute that block outside of the loops",
        )


def _refusal(key: BlockKey, buffer: Buffer) -> Callable[[str, str], ScheduleError]:
    """Makes the errors of copies of what a block accesses."""
    fault = f"cannot reindex {buffer.name} of block {key.name}"
    return lambda why, help: ScheduleError(fault, why, help, of_block(key.name))


def _with_shape(buffer: Buffer, shape: Sequence[Expr]) -> Buffer:
    """A buffer with another shape, and the groups of dimensions that it still has."""
    groups = tuple([separator for separator in buffer.axis_separators if separator <= len(shape)])
    return replace(buffer, shape=tuple(shape), axis_separators=groups)


def _end(axis: IterVar) -> Expr:
    """The number after the values of an iterator."""
    dom = dom_of(axis)
    return ops.add(dom.min, dom.extent)
