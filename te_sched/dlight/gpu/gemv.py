"""The rule for products of a matrix and a vector, and for batches of them: each row is added up by
some threads of a block, which read the matrix in order.
"""

from __future__ import annotations

import math

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.access import MemoryOrder, is_broadcast, nest, sum_of
from te_sched.dlight.gpu.base import UNROLL_STEPS, GPURule, unroll
from te_sched.dlight.gpu.inner_products import InnerProduct, along_memory, tile_of
from te_sched.dlight.gpu.normal_form import Iterator
from te_sched.dlight.gpu.outer_products import across_memory, outer_tile_of
from te_sched.dlight.structure import node_of
from te_sched.ir.dtypes import storage_bytes
from te_sched.ir.expr import Buffer, IntImm
from te_sched.ir.ops import is_const
from te_sched.tensorir.facts.computations import indices_of, inputs_of
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

_WORD = 4  # bytes of a matrix that a thread reads at once
_LEAST_STEPS = 128  # of packed numbers along the depth, if neighbors in memory are not reduced


class GEMV(GPURule):
    """A product of a matrix, plain or packed, with a vector; or of matrices and vectors in a batch.

    Matrices of which neighbors in memory are not reduced have a schedule for Metal and for OpenCL
    on Adreno alone, as in TVM. Rows that are shorter than a step of all threads (32 numbers, or 32
    packed ones, for CUDA) are left to the next rule: some partial sums would have no value.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> X, W = te.placeholder((1, 512), name="X"), te.placeholder((256, 512), name="W")
    >>> func = te.create_prim_func([X, W, topi.nn.dense(X, W)])
    >>> sch = dlight.gpu.GEMV().apply(func, te_sched.target.Target("cuda"), False)
    >>> [one.name for one in sch.mod["main"].body.block.alloc_buffers][2:]
    ['W_local', 'X_shared']
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None for other functions."""
        summation = sum_of(sch)
        if summation is None:
            return None
        block, access, epilogue = summation
        vector = _vector_of(sch, block, access)
        if vector is None:
            return None
        read_index, batch = vector
        rows = [axis for axis in access.order if axis.kind == "S" and axis not in batch]
        if not rows or (access.grouped is not None and access.grouped.kind == "S"):
            return None
        nest(sch, block, access, batch, rows)
        before, row, depth, group = sch.get_loops(block)
        row, depth = sch.fuse(before, row), sch.fuse(depth, group)
        if not access.is_inner_reduction:
            return _across_memory(sch, target, block, access, read_index, epilogue)
        extent = loop_extent(sch, depth.key)
        tile = tile_of(target, loop_extent(sch, row.key), extent).fitted(
            target, extent, access.group
        )
        reads = inputs_of(node_of(sch, block))
        product = along_memory(sch, block, tile)
        _read_matrix(product, access.place, reads[access.place].buffer.dtype)
        copy = _share_vector(product, read_index, reads[read_index].buffer, target, extent)
        product.add_up()
        if copy is not None:
            loop = sch.get_loops(copy)[-4]
            sch.annotate(loop, "pragma_unroll_explicit", UNROLL_STEPS)
            sch.annotate(loop, "pragma_vectorize", 1)
        if epilogue is not None:
            product.finish(epilogue, is_broadcast(sch, block, epilogue))
        return sch


def _vector_of(
    sch: Schedule, block: BlockRV, access: MemoryOrder
) -> tuple[int, list[Iterator]] | None:
    """The number of the only input that is not a matrix, and the iterators that count its vectors;
    None if there is none, or one that is not used along all of the depth.
    """
    every = {axis.var for axis in access.order if not is_const(axis.extent, 1)}
    used = [indices_of(read) & every for read in inputs_of(node_of(sch, block))]
    vectors = [number for number, variables in enumerate(used) if variables and variables != every]
    if len(vectors) != 1:
        return None
    (read_index,) = vectors
    reduced = {axis.var for axis in access.order if axis.kind == "R"}
    if not reduced & every <= used[read_index]:
        return None
    return read_index, [
        axis for axis in access.order if axis.kind == "S" and axis.var in used[read_index]
    ]


def _read_matrix(product: InnerProduct, read_index: int, dtype: str) -> None:
    """Read what a thread needs of the matrix in a step before it is used."""
    sch = product.sch
    copy = sch.cache_read(product.part, read_index, "local")
    sch.compute_at(copy, product.step, preserve_unit_loops=True)
    elements = sch.fuse(*sch.get_loops(copy)[4:][-2:])
    width = max(_WORD // storage_bytes(dtype), 1) if product.tile.is_shared else 1
    sch.vectorize(sch.split(elements, [None, width])[1])


def _share_vector(
    product: InnerProduct, read_index: int, buffer: Buffer, target: Target, depth: int | None
) -> BlockRV | None:
    """Copy a vector that is small enough into shared memory; None if it stays where it is."""
    sch, tile = product.sch, product.tile
    sizes = [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
    if not tile.is_shared or depth is None or len(sizes) < len(buffer.shape):
        return None
    if math.prod(sizes) * storage_bytes(buffer.dtype) > target.max_shared_memory_per_block:
        return None
    threads = tile.rows * tile.depth
    lanes = max(width for width in (1, 2, 4, 8) if width == 1 or not depth % (threads * width))
    copy = sch.cache_read(product.part, read_index, "shared")
    sch.compute_at(copy, sch.get_loops(product.part)[2], preserve_unit_loops=True)
    _, ty, tx, vector = sch.split(sch.get_loops(copy)[-1], [None, tile.rows, tile.depth, lanes])
    sch.bind(ty, tile.row_tag)
    sch.bind(tx, tile.depth_tag)
    sch.vectorize(vector)
    return copy


def _across_memory(
    sch: Schedule,
    target: Target,
    block: BlockRV,
    access: MemoryOrder,
    vector: int,
    epilogue: BlockRV | None,
) -> Schedule | None:
    """The schedule of a product of which neighbors in memory are not reduced; None for targets for
    which TVM has none, for few rows, and if several elements are made of one row.
    """
    row, depth = (loop_extent(sch, loop.key) for loop in sch.get_loops(block))
    tile = outer_tile_of(target, row)
    if tile is None or depth is None or depth // access.group < _LEAST_STEPS:
        return None
    if row is not None and row < tile.columns:
        return None
    if epilogue is not None and is_broadcast(sch, block, epilogue):
        return None
    others = len(inputs_of(node_of(sch, block)))
    product = across_memory(sch, block, tile)
    for read_index in [number for number in range(others) if number not in (vector, access.place)]:
        copy = sch.cache_read(product.part, read_index, "local")
        sch.compute_at(copy, product.stage, preserve_unit_loops=True)
    copy = sch.cache_read(product.part, access.place, "local")
    sch.compute_at(copy, product.pack, preserve_unit_loops=True)
    if row is None:
        copy = sch.cache_read(product.part, vector, "shared")
        sch.compute_at(copy, product.step, preserve_unit_loops=True)
        *_, tx, ty, lanes = sch.split(
            sch.get_loops(copy)[-1], [None, 1, tile.columns, tile.depth, tile.packs]
        )
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(lanes)
    product.add_up()
    unroll(sch, sch.get_loops(product.threads)[3], tile.pack)
    if epilogue is not None:
        product.finish(epilogue)
    return sch
