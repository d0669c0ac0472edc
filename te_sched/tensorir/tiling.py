"""Tiles of the size of an intrinsic, made of the primitives of a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError, kind_of
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Expr, Var
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import variables_of, walk
from te_sched.tensorir.facts.axes import extent_of, size_of
from te_sched.tensorir.facts.computations import indices_of
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.intrinsics import BlockIntrin, unknown
from te_sched.tensorir.schedule import BlockSchedule


def tile_with_tensor_intrin(
    sch: BlockSchedule, block: BlockRV, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Split the loops of a block by the extents of an intrinsic, with the inner loops innermost.

    The iterators of the intrinsic's description correspond to the last iterators of the block of
    the same kinds.

    Parameters
    ----------
    allow_padding : whether iterators whose extents are not multiples are padded.

    Returns
    -------
    The outermost of the inner loops, for `tensorize`; None if the block has no such loops.

    >>> sch = tir.Schedule(matmul_relu)
    >>> tile_with_tensor_intrin(sch, sch.get_block("C"), "dot_4x4_i8i8s32_sdot")
    tir.LoopRV(j_1)
    >>> [loop.name for loop in sch.get_loops("C")]
    ['i', 'j_0', 'k_0', 'j_1', 'k_1']
    """
    if not isinstance(sch, BlockSchedule):
        raise ScheduleError(
            f"a schedule is expected, got {kind_of(sch)}", "", "give a tir.Schedule"
        )
    intrinsic = BlockIntrin.get(intrin_name, allow_missing=True)
    if intrinsic is None:
        raise unknown(ScheduleError, intrin_name)
    pairs = _pairs(sch, block, intrinsic.desc)
    if pairs is None:
        return None
    sizes = {loop: size for loop, _, size in pairs}
    uneven = {axis: size for loop, axis, size in pairs if size_of([sch.loop(loop)]) % size}
    if uneven and not allow_padding:
        return None
    if uneven:
        _pad(sch, block, uneven)
    loops = {loop.key: loop for loop in sch.get_loops(block)}
    tiles = {loop: sch.split(loops[loop], [None, size])[1] for loop, size in sizes.items()}
    inner = [tiles[loop] for loop in loops if loop in tiles]
    tail = sch.get_loops(block)
    start = next(number for number, loop in enumerate(tail) if loop.key is inner[0].key)
    kept = {loop.key for loop in inner}
    others = [loop for loop in tail[start:] if loop.key not in kept]
    sch.reorder(*others, *inner)
    return inner[0]


def _pad(sch: BlockSchedule, block: BlockRV, uneven: Mapping[Var, int]) -> None:
    """Pad iterators of a block to multiples, and inline the blocks that copied what is padded now
    before and after it.
    """
    own = sch.block(sch.block_key(block, "tile_with_tensor_intrin"))
    reads, writes = [
        [bool(indices_of(region) & uneven.keys()) for region in regions]
        for regions in (own.reads, own.writes)
    ]
    sch.pad_einsum(block, [uneven.get(axis.var, 1) for axis in own.iter_vars])
    copies: list[BlockRV] = []
    places = [region.buffer for region in sch.block(block.key).reads]
    for maker in sch.get_producers(block):
        (written,) = sch.block(maker.key).writes
        if reads[places.index(written.buffer)]:
            copies += sch.get_producers(maker)
    for reader in sch.get_consumers(block):
        if any(writes) and sch.get_consumers(reader):
            copies.append(reader)
    for copy in copies:
        sch.compute_inline(copy)


def _pairs(sch: BlockSchedule, block: Any, desc: PrimFunc) -> list[tuple[Var, Var, int]] | None:
    """The loops of a block that correspond to iterators of a description, with the iterators of the
    block and the sizes; None if one has no loop of constant extent, or several.
    """
    key = sch.block_key(block, "tile_with_tensor_intrin")
    realize = sch.realize(key)
    loops = sch.loops_above(key)
    rest = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    pairs = []
    for axis in reversed(_described(desc).iter_vars):
        while rest and rest[-1][0].kind != axis.kind:
            rest.pop()
        if not rest:
            return None
        own, value = rest.pop()
        loop, size = _loop_of(value, loops), extent_of(axis)
        if loop is None or size is None or extent_of(sch.loop(loop)) is None:
            return None
        pairs.append((loop, own.var, size))
    return pairs


def _described(desc: PrimFunc) -> Block:
    """The innermost block of a description."""
    return [node.block for node in walk(desc.body) if type(node) is BlockRealize][-1]


def _loop_of(value: Expr, loops: Sequence[Var]) -> Var | None:
    """The innermost loop that is the value of an iterator, apart from an offset of other loops."""
    analyzer = Analyzer()
    for loop in reversed(loops):
        if loop in variables_of(value):
            offset = analyzer.simplify(value - loop)
            return None if loop in variables_of(offset) else loop
    return None
