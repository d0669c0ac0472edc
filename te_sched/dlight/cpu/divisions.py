"""Iterators that are divided: groups of channels, and phases of transposed convolutions.

    for f, k in grid(64, 8): C[f] += A[f // 8 * 8 + k] * W[f, k]

becomes

    for g, f, k in grid(8, 8, 8): C[g, f] += A[g * 8 + k] * W[g * 8 + f, k]

so that the channels of a group are seen to read the same elements; and what reads results at
S[y // 2, y % 2] has iterators for the two, so that it reads them in place. Must not know how
contractions are scheduled.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from itertools import pairwise
from typing import Any

from te_sched.dlight.simple_accesses import with_simple_accesses
from te_sched.dlight.structure import blocks_of, is_along, node_of
from te_sched.errors import ScheduleError
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, FloorDiv, FloorMod, IntImm, IterVar, Var
from te_sched.ir.stmt import BufferStore
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import walk
from te_sched.tensorir.facts.axes import SPATIAL, extent_of
from te_sched.tensorir.facts.computations import factors_of, is_injective, loads_of, stored
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

_FEW = 8  # channels of a group, which fill vectors less than what lies side by side


def with_divisions(sch: Schedule) -> Schedule:
    """The schedule with divided iterators of sums of products and what reads them; itself if there
    are none.
    """
    is_changed = False
    for block in blocks_of(sch):
        if factors_of(node_of(sch, block)) is None:
            continue
        for divide in (_divide_groups, _divide_reader):
            trial = sch.copy()
            with suppress(ScheduleError):
                if divide(trial, block):
                    sch, is_changed = trial, True
    return Schedule(with_simple_accesses(sch.mod["main"])) if is_changed else sch


def groups_of(node: Block) -> tuple[int, int] | None:
    """The place of an iterator over the channels of all groups, and how many channels a group has;
    None for blocks that are not sums of products of groups.
    """
    factors, store = factors_of(node), stored(node)
    if factors is None or store is None:
        return None
    for number, axis in enumerate(node.iter_vars):
        if axis.kind != SPATIAL or not any(index is axis.var for index in store.indices):
            continue
        for load in factors:
            size = _group_size(axis, load.indices)
            if size is not None:
                *_, last = [axis.var for axis in node.iter_vars if axis.kind == SPATIAL]
                return None if size < _FEW and is_along(load, last) else (number, size)
    return None


def _group_size(axis: IterVar, indices: Any) -> int | None:
    """The divisor of an iterator that some indices contain in no other form."""
    divisors = [
        part.b.value
        for index in indices
        for part in walk(index)
        if isinstance(part, FloorDiv) and part.a is axis.var and isinstance(part.b, IntImm)
    ]
    uses = [part for index in indices for part in walk(index) if part is axis.var]
    extent = extent_of(axis)
    if len(divisors) != 1 or len(uses) != 1 or extent is None:
        return None
    return divisors[0] if 1 < divisors[0] < extent and extent % divisors[0] == 0 else None


def _divide_groups(sch: Schedule, block: BlockRV) -> bool:
    """Divide the channels of all groups in a block, in its results, and in what reads them; whether
    there are groups.
    """
    node = node_of(sch, block)
    groups, store = groups_of(node), stored(node)
    if groups is None or store is None:
        return False
    number, size = groups
    dimension = [*map(id, store.indices)].index(id(node.iter_vars[number].var))
    readers = sch.get_consumers(block)
    there = _place_read(node_of(sch, readers[0]), store, dimension) if len(readers) == 1 else None
    if there is None:
        readers, there = [sch.cache_write(block, 0, "global")], dimension
    transform_layout: Any = sch.transform_layout
    transform_layout(block, ("write", 0), _divided(dimension, size))
    units = {
        at
        for at, axis in enumerate(node.iter_vars)
        if axis.kind != SPATIAL and extent_of(axis) == 1
    }
    sch.transform_block_layout(block, _divided(number, size, units))
    sch.transform_block_layout(readers[0], _divided(there, size))
    return True


def _place_read(reader: Block, store: BufferStore, dimension: int) -> int | None:
    """The iterator by which a block reads a dimension of results, each once; None without one."""
    loads = [load for load in loads_of(reader) if load.buffer is store.buffer]
    places = {axis.var: number for number, axis in enumerate(reader.iter_vars)}
    index = loads[0].indices[dimension] if len(loads) == 1 and is_injective(reader) else None
    return places.get(index) if isinstance(index, Var) else None


def _divide_reader(sch: Schedule, block: BlockRV) -> bool:
    """Divide the iterators by which the reader of a block reads quotients and remainders; whether
    there are any.
    """
    readers = sch.get_consumers(block)
    if len(readers) != 1 or not is_injective(node_of(sch, readers[0])):
        return False
    buffer, count = node_of(sch, block).writes[0].buffer, 0
    while (division := _division(node_of(sch, readers[0]), buffer)) is not None:
        sch.transform_block_layout(readers[0], _divided(*division))
        count += 1
    return count > 0


def _division(reader: Block, buffer: Buffer) -> tuple[int, int] | None:
    """An iterator whose quotient and remainder are indices of a buffer side by side, by its place,
    and the divisor; None without one.
    """
    places = {axis.var: number for number, axis in enumerate(reader.iter_vars)}
    for load in loads_of(reader):
        for quotient, rest in pairwise(load.indices if load.buffer is buffer else ()):
            if not isinstance(quotient, FloorDiv) or not isinstance(rest, FloorMod):
                continue
            var, size = quotient.a, quotient.b
            is_pair = rest.a is var and same(size, rest.b)
            if is_pair and isinstance(size, IntImm) and isinstance(var, Var) and var in places:
                return places[var], int(size.value)
    return None


def _divided(dim: int, size: int, dropped: Collection[int] = ()) -> Any:
    """The map of indices that divides one of them, without those that are `dropped`."""

    def divide(*indices: Any) -> list[Any]:
        parts = {dim: [indices[dim] // size, indices[dim] % size]}
        kept = [at for at in range(len(indices)) if at not in dropped]
        return [part for at in kept for part in parts.get(at, [indices[at]])]

    return divide
