"""A block among its loops and in its function: kinds and extents of loops, roots, results. Must not
know what a block computes.
"""

from __future__ import annotations

from collections.abc import Iterator

from te_sched.ir.blocks import Block
from te_sched.ir.expr import Var
from te_sched.ir.stmt import For, SeqStmt
from te_sched.ir.visitor import walk
from te_sched.tensorir.blocks import output_buffers
from te_sched.tensorir.facts.axes import (
    REDUCTION,
    SPATIAL,
    are_spatial,
    bound_axes,
    extent_of,
    values_of_kind,
)
from te_sched.tensorir.state import BlockIndex, BlockKey


def is_root(index: BlockIndex, key: BlockKey) -> bool:
    """Whether a block is the body of its function."""
    return index.parents[key] is None


def blocks_inside(index: BlockIndex, key: BlockKey) -> Iterator[BlockKey]:
    """A block and those in it, in program order, each before those in it."""
    yield key
    for child in index.blocks_of(key):
        yield from blocks_inside(index, child)


def is_output(index: BlockIndex, key: BlockKey) -> bool:
    """Whether a block writes a result of its function."""
    results = output_buffers(index, key)
    return any(region.buffer in results for region in index.block(key).writes)


def is_spatial_function(index: BlockIndex, key: BlockKey) -> bool:
    """Whether all blocks of the function of a block have data parallel iterators only."""
    function = index.functions[index.function_of(key)]
    blocks = [part for part in walk(function.body) if type(part) is Block]
    return all(are_spatial(block.iter_vars) for block in blocks)


def loop_extent(index: BlockIndex, loop: Var) -> int | None:
    """The extent of a loop, if it is constant."""
    return extent_of(index.loop(loop))


def loop_kinds(index: BlockIndex, key: BlockKey, loop: Var) -> set[str]:
    """The kinds of the iterators of a block that depend on a loop."""
    return {axis.kind for axis in bound_axes(index.realize(key), loop)}


def kind_of_loop(index: BlockIndex, key: BlockKey, loop: Var) -> str:
    """The kind of the iterators of a block that depend on a loop; "" if it has several or none."""
    kinds = loop_kinds(index, key, loop)
    return kinds.pop() if len(kinds) == 1 else ""


def loops_of_kind(index: BlockIndex, key: BlockKey, kind: str) -> list[Var]:
    """The loops around a block on which iterators of a kind depend, outermost first."""
    used = values_of_kind(index.realize(key), kind)
    return [loop for loop in index.loops_above(key) if loop in used]


def is_data_parallel(index: BlockIndex, loop: Var) -> bool:
    """Whether only data parallel iterators of the blocks in a loop depend on it."""
    return all(are_spatial(bound_axes(index.realize(key), loop)) for key in index.blocks_of(loop))


def is_trivially_bound(index: BlockIndex, key: BlockKey) -> bool:
    """Whether the iterators of a block are the loops around it, in order."""
    values, loops = index.realize(key).iter_values, index.loops_above(key)
    return len(values) == len(loops) and all(
        value is loop for value, loop in zip(values, loops, strict=True)
    )


def has_several_statements(loop: For) -> bool:
    """Whether statements follow each other directly in a loop."""
    return type(loop.body) is SeqStmt


def lengths(index: BlockIndex, key: BlockKey) -> tuple[int, int] | None:
    """The numbers of data parallel and of reduction iterations of a block; None if they are not
    constant, or loops are of other kinds.
    """
    counts = {SPATIAL: 1, REDUCTION: 1}
    for loop in index.loops_above(key):
        kind, extent = kind_of_loop(index, key, loop), loop_extent(index, loop)
        if kind not in counts or extent is None:
            return None
        counts[kind] *= extent
    return counts[SPATIAL], counts[REDUCTION]
