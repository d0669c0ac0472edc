"""The normal form of functions in which rules for GPUs know their kinds.

Each block has one loop for each of its iterators, none of which has a single value. Must not know
rules.
"""

from __future__ import annotations

from typing import NamedTuple

from te_sched.dlight.structure import blocks_of, inline_all, loop_of, node_of
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore
from te_sched.tensorir.facts.axes import SPATIAL, letter_of
from te_sched.tensorir.facts.nests import is_trivially_bound
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule


class Iterator(NamedTuple):
    """An iterator of a block in normal form: its place, its kind ("S", "R" or "O") and its loop."""

    place: int
    kind: str
    loop: LoopRV
    var: Var
    extent: Expr


def iterators_of(sch: Schedule, block: BlockRV) -> list[Iterator]:
    """The iterators of a block in normal form with their loops, in order."""
    iterators = []
    axes = zip(node_of(sch, block).iter_vars, sch.get_loops(block), strict=True)
    for position, (axis, loop) in enumerate(axes):
        extent = loop_of(sch, loop).extent
        iterators.append(Iterator(position, letter_of(axis.kind), loop, axis.var, extent))
    return iterators


def kinds_of(sch: Schedule, block: BlockRV) -> str:
    """The kinds of the iterators of a block: "SSR"."""
    return "".join([letter_of(axis.kind) for axis in node_of(sch, block).iter_vars])


def normalize(sch: Schedule) -> list[BlockRV] | None:
    """The blocks of a function in normal form; None if it cannot be brought into it.

    Blocks without loops stay as they are.
    """
    blocks = [leaf for block in blocks_of(sch) for leaf in _leaves(sch, block)]
    for block in blocks:
        if not _has_own_loops(sch, block):
            return None
    for block in blocks:
        if sch.get_loops(block):
            sch.transform_block_layout(block, _without_units(node_of(sch, block)))
    return blocks


def _leaves(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    inner = sch.get_child_blocks(block)
    return [leaf for child in inner for leaf in _leaves(sch, child)] if inner else [block]


def _has_own_loops(sch: Schedule, block: BlockRV) -> bool:
    """Whether the iterators of a block are its loops, from 0; or the values of one without loops
    are constant.
    """
    node = node_of(sch, block)
    key = sch.block_key(block, "dlight")
    loops = [loop_of(sch, loop) for loop in sch.get_loops(block)]
    if not node.iter_vars:
        return not loops and isinstance(node.body, BufferStore)
    if not loops:
        return all(is_const(value, 0) for value in sch.realize(key).iter_values)
    is_plain = all(loop.kind == "serial" and is_const(loop.min, 0) for loop in loops)
    return is_plain and is_trivially_bound(sch, key)


def _without_units(node: Block) -> IndexMap:
    """The iterators of more than one value; first a spatial one of one value if there is none."""
    initials = tuple([Var(axis.var.name, axis.var.dtype) for axis in node.iter_vars])
    kept: list[Expr] = []
    has_spatial = False
    for var, axis in zip(initials, node.iter_vars, strict=True):
        if axis.dom is None or not is_const(axis.dom.extent, 1):
            kept.append(var)
            has_spatial |= axis.kind == SPATIAL
    if not has_spatial:
        kept.insert(0, IntImm(0, "int64"))
    return IndexMap(initials, tuple(kept))


def inline_spatial(sch: Schedule, blocks: list[BlockRV]) -> list[BlockRV]:
    """Inline blocks where that is legal, into those that read them or that they read."""
    return inline_all(sch, blocks, sch.compute_inline, sch.reverse_compute_inline)
