"""How a block reads its largest input: which iterator is contiguous in memory, and which one is
read in groups that share an element (of packed numbers, or of repeated rows).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from te_sched.arith.iter_map import normalize_to_iter_sum
from te_sched.dlight.gpu.normal_form import Iterator, iterators_of
from te_sched.dlight.structure import node_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Add, BufferLoad, BufferRegion, IntImm, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import variables_of
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule


class MemoryOrder(NamedTuple):
    """An input of a block as its iterators read it.

    order : the iterators, the outermost in memory first.
    grouped : the iterator of which `group` neighbours read the same element; None if group is 1.
    """

    order: list[Iterator]
    grouped: Iterator | None
    group: int

    @property
    def is_inner_reduction(self) -> bool:
        """Whether neighbours in memory are reduced."""
        return self.order[-1].kind == "R"


def access_of(sch: Schedule, block: BlockRV) -> MemoryOrder | None:
    """How a block reads its largest input; None if its address is not a sum of all iterators."""
    axes = iterators_of(sch, block)
    node = node_of(sch, block)
    own = {one.buffer for one in node.writes}
    reads = [one for one in node.reads if one.buffer not in own]
    if not reads:
        return None
    domains = {one.var: Range(IntImm(0, one.var.dtype), one.extent) for one in axes}
    return _access(_dominant(reads, axes), axes, domains)


def _dominant(reads: list[BufferRegion], axes: list[Iterator]) -> BufferRegion:
    """The input of which a block reads the most elements."""
    largest, count = reads[0], -1
    for one in reads:
        used = {var for r in one.region for var in variables_of(r.min)}
        total = 1
        for axis in axes:
            if axis.var in used:
                total *= axis.extent.value if isinstance(axis.extent, IntImm) else 1 << 12
        total = min(total, _elements(one))
        if total > count:
            largest, count = one, total
    return largest


def _elements(region: BufferRegion) -> int:
    total = 1
    for size in region.buffer.shape:
        total *= size.value if isinstance(size, IntImm) else 1 << 12
    return total


def _access(
    read: BufferRegion, axes: list[Iterator], domains: dict[Var, Range]
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
    return MemoryOrder([*units, *order], grouped, group)


def is_sum(node: Block) -> bool:
    """Whether a block adds up one value for each element."""
    store = node.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return False
    left = store.value.a
    return (
        isinstance(left, BufferLoad)
        and left.buffer is store.buffer
        and all(structural_equal(a, b) for a, b in zip(left.indices, store.indices, strict=True))
    )
