"""Primitives that state what a block accesses: annotate_buffer_access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, eval_set, from_range
from te_sched.errors import ScheduleError, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Call, Cast, Expr, Range, Var
from te_sched.ir.stmt import BufferStore, For
from te_sched.ir.visitor import substitute, walk
from te_sched.tensorir.accesses import place_of
from te_sched.tensorir.base import ScheduleBase, of_block
from te_sched.tensorir.blocks import EXPLICIT
from te_sched.tensorir.handles import (
    BUFFER_KIND,
    RANGES,
    BlockRV,
    RangesMap,
    instruction,
)
from te_sched.tensorir.state import BlockKey, with_block


class AccessPrimitives(ScheduleBase):
    """Primitives that state what a block accesses."""

    __slots__ = ()

    @instruction(
        "State the region of a buffer that {block} accesses",
        buf_type=BUFFER_KIND,
        gen_new_ranges=RANGES,
    )
    def annotate_buffer_access(
        self,
        block: BlockRV | str,
        buffer_index: int | str | Buffer,
        buf_type: str,
        gen_new_ranges: Any,
    ) -> None:
        """State the region of a buffer that a block reads or writes.

        The region must contain the elements that the block accesses. It is the user's word for
        indices that depend on elements or floating-point numbers; all others are checked.

        Parameters
        ----------
        buffer_index : its number among the buffers that the block reads or writes, its name, or
            itself.
        buf_type : "read" or "write".
        gen_new_ranges : a function of the block's iterators that gives, for each dimension of the
            buffer, an index or a pair (begin, end).

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.annotate_buffer_access("D", 0, "read", lambda i, j: [i, (j - 1, j + 1)])
        >>> sch.get(sch.get_block("D")).reads
        (C[vi, vj - 1:vj - 1 + 2],)
        """
        key = self.block_key(block, "annotate_buffer_access")
        if not isinstance(buf_type, str) or buf_type not in EXPLICIT:
            raise ScheduleError(
                f"buf_type is {repr_of(buf_type)}", "", 'give "read" or "write"', of_block(key.name)
            )
        if not isinstance(gen_new_ranges, RangesMap):
            raise ScheduleError(
                f"gen_new_ranges is a function, got {kind_of(gen_new_ranges)}",
                "",
                "give a function of the iterators: lambda vi, vj: [vi, (vj - 1, vj + 2)]",
                of_block(key.name),
            )
        writes = buf_type == "write"
        number = place_of(self, key, buffer_index, writes)
        own = self.block(key)
        regions = list(own.writes if writes else own.reads)
        region = _stated(key, own, regions[number].buffer, gen_new_ranges)
        _check_contained(key, own, region, writes)
        regions[number] = region
        name = EXPLICIT[buf_type]
        numbers = [int(entry) for entry in own.annotations.get(name, ())]
        places = numbers if number in numbers else [*numbers, number]
        changes: dict[str, Any] = {
            f"{buf_type}s": tuple(regions),
            "annotations": {**own.annotations, name: places},
        }
        links: dict[Block, Block] = {}
        self.draft.replace(key, with_block(self.realize(key), links, **changes), links)


def _stated(key: BlockKey, block: Block, buffer: Buffer, ranges: RangesMap) -> BufferRegion:
    """The region that a map of a block's iterators gives."""
    ends = ranges.map.final_indices
    if len(ends) != 2 * len(buffer.shape):
        raise ScheduleError(
            f"gen_new_ranges gives {len(ends) // 2} ranges for {buffer.name} of block {key.name}",
            f"the buffer has {len(buffer.shape)} dimensions",
            "give an index or a pair (begin, end) for each",
            of_block(key.name),
        )
    own: dict[Var, Expr] = {
        var: axis.var for var, axis in zip(ranges.map.initial_indices, block.iter_vars, strict=True)
    }
    analyzer = Analyzer()
    bounds = []
    for begin, end in zip(ends[::2], ends[1::2], strict=True):
        low = substitute(begin, own)
        bounds.append(Range(low, analyzer.simplify(substitute(end, own) - low)))
    return BufferRegion(buffer, tuple(bounds))


def _check_contained(key: BlockKey, block: Block, region: BufferRegion, writes: bool) -> None:
    """Refuse a region without some of the elements that a block accesses."""
    analyzer = Analyzer()
    for axis in block.iter_vars:
        if axis.dom is not None:
            analyzer.bind(axis.var, axis.dom)
    domains = _inner_domains(block)
    for indices in _places(block, region.buffer, writes):
        for index, bound in zip(indices, region.region, strict=True):
            if _is_opaque(index):
                continue
            values = eval_set(index, domains)
            low, high = values.min, values.max
            if (
                low is None
                or high is None
                or not analyzer.can_prove(bound.min <= low)
                or not analyzer.can_prove(high < bound.min + bound.extent)
            ):
                raise ScheduleError(
                    f"the stated region of {region.buffer.name} of block {key.name} is too small",
                    f"the block {'writes' if writes else 'reads'} index {index}, which is not "
                    f"proven to be from {bound.min} to below {bound.min + bound.extent}",
                    "state a region that has all elements",
                    of_block(key.name),
                )


def _inner_domains(block: Block) -> dict[Var, IntervalSet]:
    """The values of the loops and iterators in a block."""
    domains: dict[Var, IntervalSet] = {}
    for node in walk(block.body):
        if type(node) is For:
            domains[node.loop_var] = from_range(Range(node.min, node.extent))
        elif type(node) is Block:
            for axis in node.iter_vars:
                if axis.dom is not None:
                    domains[axis.var] = from_range(axis.dom)
    return domains


def _places(block: Block, buffer: Buffer, writes: bool) -> Iterator[tuple[Expr, ...]]:
    kind = BufferStore if writes else BufferLoad
    for part in (block.body, block.init):
        for node in walk(part) if part is not None else ():
            if type(node) is kind and node.buffer is buffer:
                yield node.indices


def _is_opaque(index: Expr) -> bool:
    """Whether an index depends on elements of buffers, calls or floating-point numbers."""
    return any(
        isinstance(node, BufferLoad | Call)
        or (isinstance(node, Cast) and not dtypes.is_integral(node.value.dtype))
        for node in walk(index)
    )
