"""Primitives that copy buffers into another order, given by the iterators of a block: reindex,
reindex_cache_read, reindex_cache_write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.arith import index_map as maps
from te_sched.arith.aliasing import Apart, Touch
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.forms import Forms, constant
from te_sched.errors import DeclarationError, ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.renew import renewed_body
from te_sched.ir.stmt import BufferStore, For, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.accesses import BUFFER, check_scope, place_from
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import accessed
from te_sched.tensorir.handles import ATTRIBUTE, INDEX_MAP, BlockRV, instruction
from te_sched.tensorir.insertion import Place, number_in, statements_of
from te_sched.tensorir.primitives.caching import (
    Access,
    CopyMapper,
    CopyPrimitives,
    check_written_in,
    copy_block,
    copy_nest,
    makers_of,
    place_after,
    place_before,
    readers_of,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.primitives.layouts import checked_map
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.relaxation import binding_of
from te_sched.tensorir.rewriting import nested
from te_sched.tensorir.state import BlockKey, Key, outermost_blocks


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
        indices, axes = _point_of(key, own, whole, writes, _simplified)
        position = number_in(self, scope, key)
        if position is None:
            raise _refused(
                key, whole, f"it is in T.init() of block {scope.name}", "reindex that block"
            )
        _check_alone(self, scope, key, position, whole, writes)
        if writes:
            check_written_in(self, scope, key, whole)
        shape, name = [_extent(axis) for axis in axes], f"{whole.name}_reindex"
        copy = decl_buffer(shape, whole.dtype, name, scope=whole.scope())
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
        return self._insert_copy(scope, where, made, mapper, [key])

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
        others = [one for one in readers_of(self, scope, buffer) if one is not key]
        where = place_after(self, scope, key, others)
        check_written_in(self, scope, key, buffer)
        return self._cache_in_order(key, buffer, storage_scope, index_map, where, writes=True)

    def _cache_in_order(
        self, key: BlockKey, buffer: Buffer, memory: Any, given: Any, where: Place, writes: bool
    ) -> BlockRV:
        """Copy the elements that a block accesses, at the indices of a map of its iterators."""
        own, scope = self.block(key), self.scope(key)
        assert scope is not None
        position = number_in(self, where.parent, key)
        if position is None:
            raise _refused(
                key, buffer, f"it is in T.init() of block {scope.name}", "cache that block"
            )
        _check_alone(self, where.parent, key, position, buffer, writes)
        indices, axes = _point_of(key, own, buffer, writes)
        extents = tuple([_extent(axis) for axis in own.iter_vars])
        mapping = checked_map(self, key, given, extents, f"iterators of {key.name}")
        try:
            shape = maps.map_shape(mapping, extents)
        except DeclarationError as error:
            raise _refused(key, buffer, f"{error.fault}: {error.why}", error.help) from None
        inside = maps.map_indices(mapping, [axis.var for axis in own.iter_vars])
        _check_order(key, buffer, axes, indices, inside, has_init=own.init is not None)
        copy = copy_of(buffer, f"{buffer.name}_{memory}", check_scope(memory))
        copy = replace(copy, shape=shape)
        source, target = (buffer, indices), (copy, inside)
        if writes:
            source, target = target, source
        made = _copied_in_loops(self, key, where.parent, copy.name, axes, source, target)
        mapper = _Reindexed(buffer, copy, inside)
        return self._insert_copy(scope, where, made, mapper, [key])


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


def _copied_in_loops(
    schedule: ScheduleBase,
    key: BlockKey,
    parent: Key,
    name: str,
    axes: Sequence[IterVar],
    source: Access,
    target: Access,
) -> Stmt:
    """A block that copies elements that another one accesses, in loops like those around that one
    inside of a parent. The source and the target depend on its iterators `axes`.
    """
    realize = schedule.realize(key)
    bound = binding_of(realize)
    values = [bound[axis.var] for axis in axes]
    above = schedule.loops_above(key)
    inner = above[above.index(parent) + 1 :] if isinstance(parent, Var) else above
    needed = variables_of(*values)
    chosen: list[For] = []
    for one in reversed(inner):
        if one in needed:
            loop = schedule.loop(one)
            chosen.insert(0, For(one, loop.min, loop.extent, "serial", loop.body))
            needed |= variables_of(loop.min, loop.extent)
    dropped = {*inner} - needed
    predicate: Expr = ops.const(True)
    for condition in conjuncts(realize.predicate):
        used = variables_of(condition)
        if used & dropped and used & needed:
            raise _refused(
                key,
                source[0],
                f"the condition {condition} depends on loops of its indices and on others",
                "cache it before the loops are split",
            )
        if not used & dropped:
            predicate = ops.logical_and(predicate, condition)
    new = [IterVar(axis.dom, axis.var, "DataPar") for axis in axes]
    made = copy_block(name, new, values, source, target, predicate)
    return renewed_body(nested(chosen, made))


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
    return indices


def _simplified(block: Block, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    analyzer = Analyzer()
    for axis in block.iter_vars:
        if axis.dom is not None and not _is_unit(axis):  # a unit iterator stays an index
            analyzer.bind(axis.var, axis.dom)
    return tuple([analyzer.simplify(one) for one in indices])


def _point_of(
    key: BlockKey,
    block: Block,
    buffer: Buffer,
    writes: bool,
    prepare: Callable[[Block, tuple[Expr, ...]], tuple[Expr, ...]] = lambda block, indices: indices,
) -> tuple[tuple[Expr, ...], list[IterVar]]:
    """The prepared indices at which a block accesses a buffer, and the iterators on which they
    depend.
    """
    others = block.reads if writes else block.writes
    if any(region.buffer is buffer for region in others) and not (writes and block.init):
        why = "it reads and writes it: the copy would not have what it updates"
        raise _refused(key, buffer, why, "let the block read one buffer and write another")
    indices = prepare(block, _indices(key, block, buffer))
    used = variables_of(*indices)
    for axis in block.iter_vars if writes else ():
        if axis.var in used and axis.kind != "DataPar":
            why = f"its reduction iterator {axis.var.name} is an index"
            raise _refused(key, buffer, why, "write the elements of a reduction once")
        if axis.var not in used and axis.kind == "DataPar" and not _is_unit(axis):
            why = f"its iterator {axis.var.name} is not an index, so elements are written twice"
            raise _refused(key, buffer, why, "make it an index of the buffer")
    return indices, [axis for axis in block.iter_vars if axis.var in used]


def _check_order(
    key: BlockKey,
    buffer: Buffer,
    axes: Sequence[IterVar],
    indices: tuple[Expr, ...],
    inside: tuple[Expr, ...],
    has_init: bool,
) -> None:
    """Refuse a copy at the indices `inside` that does not have each element at a place of its own.

    A block with T.init() must also access each element of the copy where it accesses one of the
    buffer, or updates of an element would be apart.
    """
    used = {axis.var for axis in axes}
    for one in variables_of(*inside) ^ used:
        missing, there = (inside, indices) if one in used else (indices, inside)
        raise _refused(
            key,
            buffer,
            f"iterator {one.name} is in {_listed(there)} and not in {_listed(missing)}",
            "use the iterators of the buffer's indices in the map",
        )
    pairs = [(inside, indices), (indices, inside)][: 1 + has_init]
    if not all(_determine(one, other, axes) for one, other in pairs):
        raise _refused(
            key,
            buffer,
            f"the indices {_listed(inside)} are not proven to have an element of "
            f"{_listed(indices)} each",
            "give a one-to-one map of the iterators, for example lambda i, j: (j, i)",
        )


def _listed(indices: tuple[Expr, ...]) -> str:
    return f"[{', '.join(map(str, indices))}]"


def _determine(one: tuple[Expr, ...], other: tuple[Expr, ...], axes: Sequence[IterVar]) -> bool:
    """Whether equal indices imply equal other ones."""
    if all(any(structural_equal(index, known) for known in one) for index in other):
        return True
    forms = Forms({}, {})
    for axis in axes:
        forms.bind(axis.var, constant(0), forms.of(_extent(axis)))
    own = {axis.var for axis in axes}
    touch = Touch(one, tuple([IntImm(1, index.dtype) for index in one]), ())
    return Apart(forms, own, variables_of(*one) - own, ()).is_proved(touch, touch)


def _check_alone(
    schedule: ScheduleBase,
    parent: Key,
    key: BlockKey,
    position: int,
    buffer: Buffer,
    writes: bool,
) -> None:
    """Refuse a copy that would be made too early or too late: other blocks of the statement of the
    block write the buffer, or read what the block writes.
    """
    statement = statements_of(schedule, parent)[position]
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
