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
    domains = {axis.var: Range(IntImm(0, axis.var.dtype), axis.extent) for axis in axes}
    read_index = _dominant(reads, axes)
    return _access(reads[read_index], read_index, axes, domains)


def _dominant(reads: list[BufferRegion], axes: list[Iterator]) -> int:
    """The number of the input of which a block reads the most elements, among those that all
    iterators are indices of, if there are any.
    """
    every = {axis.var for axis in axes if not is_const(axis.extent, 1)}
    whole = [read_index for read_index, read in enumerate(reads) if every <= indices_of(read)]

    def count(read_index: int) -> int:
        used = indices_of(reads[read_index])
        sizes = [
            axis.extent.value if isinstance(axis.extent, IntImm) else 1 << 12
            for axis in axes
            if axis.var in used
        ]
        return min(math.prod(sizes), _elements(reads[read_index]))

    return max(whole or range(len(reads)), key=count)


def _elements(region: BufferRegion) -> int:
    total = 1
    for size in region.buffer.shape:
        total *= size.value if isinstance(size, IntImm) else 1 << 12
    return total


def _access(
    read: BufferRegion, read_index: int, axes: list[Iterator], domains: dict[Var, Range]
) -> MemoryOrder | None:
    address: Any = ops.const(0, "int64")
    for size, dim in zip(read.buffer.shape, read.region, strict=True):
        address = address * ops.cast("int64", size) + ops.cast("int64", dim.min)
    iter_sum = normalize_to_iter_sum(address, domains)
    by_var = {axis.var: axis for axis in axes}
    order: list[Iterator] = []
    grouped: Iterator | None = None
    group = 1
    for part in iter_sum.args:
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
    units = [axis for axis in axes if axis not in order]
    if not all(is_const(axis.extent, 1) for axis in units):
        return None
    return MemoryOrder(read_index, [*units, *order], grouped, group)


def sum_of(sch: Schedule) -> tuple[BlockRV, MemoryOrder, BlockRV | None] | None:
    """The sum that a function is, in normal form, and the block that uses it, if there is one; all
    others are inlined. None for other functions.
    """
    blocks = normalize(sch)
    if blocks is None:
        return None
    for other_block in blocks:
        if not sch.get_loops(other_block):
            sch.add_unit_loop(other_block)
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
    reduced = [axis for axis in access.order if axis.kind == "R"]
    loops = [
        [axis.loop for axis in part] or [sch.add_unit_loop(block)] for part in (*parts, reduced)
    ]
    if access.grouped is None:
        group = sch.add_unit_loop(block)
    else:
        outer, group = sch.split(access.grouped.loop, [None, access.group])
        loops = [[outer if at is access.grouped.loop else at for at in part] for part in loops]
    sch.reorder(*[loop for part in loops for loop in part], group)
    for part in loops:
        sch.fuse(*part)


def is_broadcast(sch: Schedule, block: BlockRV, epilogue: BlockRV) -> bool:
    """Whether several elements of the epilogue read one element of a block."""
    own = {region.buffer for region in node_of(sch, block).writes}
    node = node_of(sch, epilogue)
    used = {var for region in node.reads if region.buffer in own for var in indices_of(region)}
    return any(axis.var not in used for axis in node.iter_vars)
