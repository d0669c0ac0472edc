"""How a sum reads its largest input: which iterator is contiguous in memory, and which one is read
in groups that share an element (of packed numbers, or of repeated rows).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from te_sched.arith.iter_map import normalize_to_iter_sum
from te_sched.dlight.gpu.normal_form import (
    Iterator,
    inline_spatial,
    iterators_of,
    kinds_of,
    normalize,
)
from te_sched.dlight.structure import node_of
from te_sched.ir import ops
from te_sched.ir.expr import BufferRegion, IntImm, Range, Var
from te_sched.ir.ops import is_const
from te_sched.tensorir.facts.computations import indices_of, inputs_of, summand_of
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule


class MemoryOrder(NamedTuple):
    """An input of a block as its iterators read it.

    place : the number of the input among those that the block reads, without its own result.
    order : the iterators, the outermost in memory first.
    grouped : the iterator of which `group` neighbors read the same element; None if group is 1.
    """

    place: int
    order: list[Iterator]
    grouped: Iterator | None
    group: int

    @property
    def is_inner_reduction(self) -> bool:
        """Whether neighbors in memory are reduced."""
        return self.order[-1].kind == "R"


def access_of(sch: Schedule, block: BlockRV) -> MemoryOrder | None:
    """How a block reads its largest input; None if its address is not a sum of all iterators."""
    axes = iterators_of(sch, block)
    reads = inputs_of(node_of(sch, block))
    if not reads:
        return None
    domains = {one.var: Range(IntImm(0, one.var.dtype), one.extent) for one in axes}
    place = _dominant(reads, axes)
    return _access(reads[place], place, axes, domains)


def _dominant(reads: list[BufferRegion], axes: list[Iterator]) -> int:
    """The number of the input of which a block reads the most elements, among those that all
    iterators are indices of, if there are any.
    """
    every = {one.var for one in axes if not is_const(one.extent, 1)}
    whole = [place for place, one in enumerate(reads) if every <= indices_of(one)]

    def count(place: int) -> int:
        used = indices_of(reads[place])
        sizes = [
            one.extent.value if isinstance(one.extent, IntImm) else 1 << 12
            for one in axes
            if one.var in used
        ]
        return min(math.prod(sizes), _elements(reads[place]))

    return max(whole or range(len(reads)), key=count)


def _elements(region: BufferRegion) -> int:
    total = 1
    for size in region.buffer.shape:
        total *= size.value if isinstance(size, IntImm) else 1 << 12
    return total


def _access(
    read: BufferRegion, place: int, axes: list[Iterator], domains: dict[Var, Range]
) -> MemoryOrder | None:
    address: Any = ops.const(0, "int64")
    for size, dim in zip(read.buffer.shape, read.region, strict=True):
        address = address * ops.cast("int64", size) + ops.cast("int64", dim.min)
    found = normalize_to_iter_sum(address, domains)
    by_var = {one.var: one for one in axes}
    order: list[Iterator] = []
    grouped: Iterator | None = None
    group = 1
    for part in found.args:
        source: Any = part.source.source
        axis = by_var.get(source)
        if axis is None or axis in order:
            return None
        lower = part.lower_factor
        lower = lower.value if isinstance(lower, IntImm) else lower
        if not isinstance(lower, int):
            return None
        if lower > 1:
            if grouped is not None:
                return None
            grouped, group = axis, lower
        order.append(axis)
    units = [one for one in axes if one not in order]
    if not all(is_const(one.extent, 1) for one in units):
        return None
    return MemoryOrder(place, [*units, *order], grouped, group)


def sum_of(sch: Schedule) -> tuple[BlockRV, MemoryOrder, BlockRV | None] | None:
    """The sum that a function is, in normal form, and the block that uses it, if there is one; all
    others are inlined. None for other functions.
    """
    blocks = normalize(sch)
    if blocks is None:
        return None
    for one in blocks:
        if not sch.get_loops(one):
            sch.add_unit_loop(one)
    block, *after = inline_spatial(sch, blocks)
    if len(after) > 1 or set(kinds_of(sch, block)) != {"S", "R"}:
        return None
    if after and not set(kinds_of(sch, after[0])) <= {"S"}:
        return None
    node = node_of(sch, block)
    if len(node.writes) != 1 or summand_of(node) is None:
        return None
    access = access_of(sch, block)
    return None if access is None else (block, access, after[0] if after else None)


def nest(sch: Schedule, block: BlockRV, access: MemoryOrder, *parts: list[Iterator]) -> None:
    """Order the loops of a block: one for each part of its spatial iterators, one for what is
    reduced, and a group of neighbors; a part or group of no iterator gets one of one iteration.
    """
    reduced = [one for one in access.order if one.kind == "R"]
    loops = [[one.loop for one in part] or [sch.add_unit_loop(block)] for part in (*parts, reduced)]
    if access.grouped is None:
        group = sch.add_unit_loop(block)
    else:
        outer, group = sch.split(access.grouped.loop, [None, access.group])
        loops = [[outer if at is access.grouped.loop else at for at in part] for part in loops]
    sch.reorder(*[one for part in loops for one in part], group)
    for part in loops:
        sch.fuse(*part)


def is_broadcast(sch: Schedule, block: BlockRV, epilogue: BlockRV) -> bool:
    """Whether several elements of the epilogue read one element of a block."""
    own = {one.buffer for one in node_of(sch, block).writes}
    node = node_of(sch, epilogue)
    used = {var for one in node.reads if one.buffer in own for var in indices_of(one)}
    return any(one.var not in used for one in node.iter_vars)
