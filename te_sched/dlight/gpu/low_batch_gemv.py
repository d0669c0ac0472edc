"""The rule for products of a matrix and a number of vectors that varies, and is small: what is read
of the matrix is used for several of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.base import GPURule
from te_sched.dlight.gpu.inner_products import along_memory, low_batch_tile_of
from te_sched.dlight.gpu.normal_form import inline_spatial, iterators_of, normalize
from te_sched.dlight.gpu.outer_products import (
    OuterTile,
    across_memory,
    low_batch_outer_tile_of,
)
from te_sched.dlight.structure import node_of
from te_sched.errors import ScheduleError
from te_sched.ir.expr import IntImm
from te_sched.tensorir.base import integer
from te_sched.tensorir.facts.computations import indices_of, inputs_of, is_reduction, summand_of
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

_UNPACKING = "dequantize"  # in the name of a block that unpacks the matrix
_MOST_ACROSS = 4  # vectors, if neighbors in memory are not reduced


class LowBatchGEMV(GPURule):
    """A product of a matrix with vectors, whose number is not constant.

    Parameters
    ----------
    bucket : how many vectors a block of threads treats together.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> n = te.var("n")
    >>> X, W = te.placeholder((n, 512), name="X"), te.placeholder((256, 512), name="W")
    >>> func = te.create_prim_func([X, W, topi.nn.dense(X, W)])
    >>> sch = dlight.gpu.LowBatchGEMV(4).apply(func, te_sched.target.Target("cuda"), False)
    >>> sch.get(sch.get_loops("T_matmul_NT")[1]).extent
    8
    """

    def __init__(self, bucket: int = 4) -> None:
        self.bucket = integer(bucket, "bucket")
        if self.bucket < 1:
            raise ScheduleError(
                f"bucket must be at least 1, got {bucket}",
                "it is how many vectors a block of threads treats together",
                "give a small number, such as 4",
            )

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None for other functions."""
        blocks = normalize(sch)
        if blocks is None or not all(sch.get_loops(block) for block in blocks):
            return None
        sums = [block for block in blocks if is_reduction(node_of(sch, block))]
        is_along = _is_along_memory(sch, sums[0]) if len(sums) == 1 else None
        if is_along is None:
            return None
        parts = _padded(sch, blocks, sums[0], self.bucket)
        if parts is None:
            return None
        axes = iterators_of(sch, parts.product)
        (vectors,) = [axis.loop for axis in axes if not isinstance(axis.extent, IntImm)]
        rows = [axis.loop for axis in axes if axis.kind == "S" and axis.loop is not vectors]
        depth = [axis.loop for axis in axes if axis.kind == "R"]
        sch.reorder(vectors, *rows, *depth)
        sch.fuse(*rows)
        sch.fuse(*depth)
        if is_along:
            _along_memory(sch, target, parts, self.bucket)
            return sch
        tile = low_batch_outer_tile_of(target)
        columns = loop_extent(sch, sch.get_loops(parts.product)[1].key)
        if parts.unpacking is None or self.bucket > _MOST_ACROSS:
            return None
        if columns is None or columns < tile.columns:
            return None
        _across_memory(sch, tile, parts, parts.unpacking, self.bucket)
        return sch


def _along_memory(sch: Schedule, target: Target, parts: _Parts, bucket: int) -> None:
    """Schedule a product of which neighbors in memory are reduced."""
    _, row, depth = (loop_extent(sch, loop.key) for loop in sch.get_loops(parts.product))
    tile = low_batch_tile_of(target, row, depth).fitted(target, depth, 1)
    product = along_memory(sch, parts.product, tile, bucket)
    if parts.unpacking is not None:
        sch.compute_at(parts.unpacking, product.step, preserve_unit_loops=True)
        sch.set_scope(parts.unpacking, 0, "local")
        outer, column = sch.get_loops(parts.unpacking)[-2:]
        outer, lanes = sch.split(outer, [None, 1])
        sch.reorder(outer, column, lanes)
        sch.vectorize(lanes)
    if parts.copy is not None:
        sch.compute_inline(parts.copy)
    product.add_up()
    if parts.result is not None:
        product.finish(parts.result, is_broadcast=False)


def _across_memory(
    sch: Schedule, tile: OuterTile, parts: _Parts, unpacking: BlockRV, bucket: int
) -> None:
    """Schedule a product of which neighbors in memory are not reduced, with an unpacked matrix."""
    product = across_memory(sch, parts.product, tile, bucket)
    sch.compute_at(unpacking, product.pack, preserve_unit_loops=True)
    sch.set_scope(unpacking, 0, "local")
    sch.vectorize(sch.split(_elements(sch, unpacking), [None, tile.lanes])[1])
    for read_index in range(len(inputs_of(node_of(sch, unpacking)))):
        copy = sch.cache_read(unpacking, read_index, "local")
        sch.compute_at(copy, product.step, preserve_unit_loops=True)
        elements = _elements(sch, copy)
        is_vector = (loop_extent(sch, elements.key) or 0) <= tile.lanes
        sch.vectorize(elements if is_vector else sch.split(elements, [None, tile.lanes])[1])
    if parts.copy is not None and tile.lanes == 1:
        sch.compute_inline(parts.copy)
    elif parts.copy is not None:
        sch.set_scope(parts.copy, 0, "shared")
        sch.compute_at(parts.copy, product.step, preserve_unit_loops=True)
        sch.storage_align(parts.copy, 0, axis=-2, factor=8, offset=1)
        elements = _elements(sch, parts.copy)
        ty, tx, lanes = sch.split(elements, [tile.depth, tile.columns, None])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(lanes)
    product.add_up()
    if parts.result is not None:
        product.finish(parts.result)


def _elements(sch: Schedule, block: BlockRV) -> LoopRV:
    """The last two loops of a block as one."""
    return sch.fuse(*sch.get_loops(block)[-2:])


@dataclass(frozen=True)
class _Parts:
    """The blocks of a product with a multiple of some vectors: those that unpack the matrix, copy
    the vectors, and copy or use the results, if there are any.
    """

    product: BlockRV
    unpacking: BlockRV | None
    copy: BlockRV | None
    result: BlockRV | None


def _is_along_memory(sch: Schedule, block: BlockRV) -> bool | None:
    """Whether neighbors in memory are reduced of the matrix that a block multiplies with a varying
    number of vectors; None for other blocks.
    """
    node = node_of(sch, block)
    axes = {axis.var: axis for axis in iterators_of(sch, block)}
    varying = [axis for axis in axes.values() if not isinstance(axis.extent, IntImm)]
    reads = inputs_of(node)
    if len(varying) != 1 or varying[0].kind != "S" or len(reads) != 2 or summand_of(node) is None:
        return None
    matrices = [read for read in reads if varying[0].var not in indices_of(read)]
    kinds = {axis.kind for axis in axes.values() if axis is not varying[0]}
    if len(matrices) != 1 or kinds != {"S", "R"}:
        return None
    last: Any = matrices[0].region[-1].min
    return axes[last].kind == "R" if last in axes else None


def _padded(sch: Schedule, blocks: list[BlockRV], product: BlockRV, bucket: int) -> _Parts | None:
    """Pad a product to a multiple of some vectors, and inline what can be; None if other blocks
    are left.
    """
    extents = [axis.extent for axis in iterators_of(sch, product)]
    old_keys = {block.key for block in blocks}
    sch.pad_einsum(
        product, [extent.value if isinstance(extent, IntImm) else bucket for extent in extents]
    )
    now = normalize(sch)
    if now is None:
        return None
    before = {producer.key for producer in sch.get_producers(product)}
    pads = [block for block in now if block.key not in old_keys]
    unpacking = [block for block in now if _UNPACKING in node_of(sch, block).name_hint]
    kept = {product.key, *[block.key for block in (*pads, *unpacking)]}
    left = inline_spatial(sch, [block for block in now if block.key not in kept])
    copies = [pad for pad in pads if pad.key in before]
    results = [pad for pad in pads if pad.key not in before] + left
    if max(len(copies), len(results), len(unpacking)) > 1:
        return None
    first = [group[0] if group else None for group in (unpacking, copies, results)]
    return _Parts(product, *first)
