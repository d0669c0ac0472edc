"""The rule for products of matrices, and for convolutions as such: tiles in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.base import GPURule, unroll
from te_sched.dlight.structure import attempt, blocks_of, loop_of, node_of
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IterVar, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.ops import const
from te_sched.tensorir.facts.computations import ProductAxes, is_reduction, product_axes
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule


class _Tile(NamedTuple):
    """Threads and elements of a thread along rows (x) and columns (y), and the depth of a step."""

    threads_x: int = 8
    threads_y: int = 16
    rows: int = 4
    columns: int = 4
    depth: int = 16
    lanes: int = 2


class Matmul(GPURule):
    """A product: each block of threads computes a tile, each thread a part of it in registers.

    The inputs of a tile are brought into shared memory by all threads of the block. Sizes that are
    not multiples of the tile are padded in the copies.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A, B = (te.placeholder((128, 128), name=name) for name in "AB")
    >>> func = te.create_prim_func([A, B, topi.nn.matmul(A, B)])
    >>> sch = dlight.gpu.Matmul().apply(func, te_sched.target.Target("cuda"), False)
    >>> [one.name for one in sch.mod["main"].body.block.alloc_buffers]
    ['T_matmul_NN_reindex_local', 'A_reindex_shared', 'B_reindex_shared']
    """

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None if it is not a product."""
        blocks = [block for block in blocks_of(sch) if is_reduction(node_of(sch, block))]
        if len(blocks) != 1:
            return None
        (block,) = blocks
        axes = product_axes(node_of(sch, block))
        if axes is None:
            return None
        _as_product(sch, block, axes)
        tile = _Tile()
        sch.pad_einsum(
            block, [1, tile.threads_x * tile.rows, tile.threads_y * tile.columns, tile.depth]
        )
        step = _tiled(sch, block, tile)
        sch.decompose_reduction(block, step)
        return sch if _is_one_kernel(sch) else None


def _fused(iterators: Sequence[Var], *parts: list[IterVar]) -> IndexMap:
    """The map of some iterators to one index for each part."""
    fresh = {var: Var(f"i{number}", var.dtype) for number, var in enumerate(iterators)}
    dtype = iterators[0].dtype
    finals = [_number([(fresh[axis.var], axis) for axis in part], dtype) for part in parts]
    return IndexMap(tuple(fresh.values()), tuple(finals))


def _number(axes: list[tuple[Var, IterVar]], dtype: str) -> Expr:
    """The number of an instance of several iterators."""
    total: Expr = const(0, dtype)
    for position, (var, axis) in enumerate(axes):
        assert axis.dom is not None
        total = total * axis.dom.extent + var if position else var
    return total


def _as_product(sch: Schedule, block: BlockRV, axes: ProductAxes) -> None:
    """Make a block a product of a batch of matrices, of copies of its operands."""
    left = sch.reindex(block, ("read", 0))
    right = sch.reindex(block, ("read", 1))
    result = sch.reindex(block, ("write", 0))
    node = node_of(sch, block)
    of_left, of_right = (
        _iterators(read) for read in node.reads if read.buffer is not _result(node)
    )
    of_result = _iterators(node.writes[0])
    batch, row, column, depth = axes
    for copy, kind, iterators, parts in (
        (left, "write", of_left, (batch, row, depth)),
        (right, "write", of_right, (batch, column, depth)),
        (result, "read", of_result, (batch, row, column)),
    ):
        layout = _fused(iterators, *parts)
        sch.transform_layout(copy, (kind, 0), layout)  # type: ignore[arg-type]
    every = [axis.var for axis in node.iter_vars]
    sch.transform_block_layout(block, _fused(every, *axes))


def _result(node: Block) -> Buffer:
    return node.writes[0].buffer


def _iterators(region: BufferRegion) -> list[Var]:
    """The iterators that are the indices of a copy."""
    return [part.min for part in region.region if isinstance(part.min, Var)]


def _tiled(sch: Schedule, block: BlockRV, tile: _Tile) -> LoopRV:
    """Bind a product to threads; the loop over the steps in which its tiles are added."""
    batch, row, column, depth = sch.get_loops(block)
    by, vy, ty, columns = sch.split(column, [None, 1, tile.threads_y, tile.columns])
    bx, vx, tx, rows = sch.split(row, [None, 1, tile.threads_x, tile.rows])
    step, inner = sch.split(depth, [None, tile.depth])
    sch.reorder(by, bx, vy, vx, ty, tx, step, inner, rows, columns)
    by = sch.fuse(batch, by)
    tags = "blockIdx.x", "blockIdx.y", "vthread.y", "vthread.x", "threadIdx.y", "threadIdx.x"
    for loop, tag in zip((bx, by, vy, vx, ty, tx), tags, strict=True):
        sch.bind(loop, tag)
    sch.vectorize(sch.split(columns, [None, tile.lanes])[1])
    unroll(sch, tx)
    kept = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(kept, tx, preserve_unit_loops=True)
    sch.vectorize(sch.split(sch.get_loops(kept)[-1], [None, tile.lanes])[1])
    copies = [_in_shared_memory(sch, block, read_index, step, tile) for read_index in (0, 1)]
    for copy in copies:
        _inline_all(sch, copy, sch.get_producers)
    _inline_consumers(sch, kept)
    return step


def _in_shared_memory(
    sch: Schedule, block: BlockRV, read_index: int, step: LoopRV, tile: _Tile
) -> BlockRV:
    """Bring an operand of a tile into shared memory, with all threads."""
    copy = sch.cache_read(block, read_index, "shared")
    sch.compute_at(copy, step, preserve_unit_loops=True)
    elements = sch.fuse(*sch.get_loops(copy)[-3:])
    ty, tx, _, lanes = sch.split(elements, [tile.threads_y, tile.threads_x, None, tile.lanes])
    sch.vectorize(lanes)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    sch.storage_align(copy, 0, axis=1, factor=8, offset=2)
    return copy


def _inline_all(
    sch: Schedule, block: BlockRV, neighbors: Callable[[BlockRV], list[BlockRV]]
) -> None:
    """Inline the blocks that a block reads from, or those that read it, near and far."""
    is_changed = True
    while is_changed:
        is_changed = False
        candidates = list(neighbors(block))
        for candidate in candidates:
            candidates += [far for far in neighbors(candidate) if far not in candidates]
        for candidate in candidates:
            is_changed |= attempt(lambda at=candidate: sch.compute_inline(at)) or attempt(
                lambda at=candidate: sch.reverse_compute_inline(at)
            )


def _inline_consumers(sch: Schedule, kept: BlockRV) -> None:
    """Inline what is computed from a product, with everything else that it reads."""
    _inline_all(sch, kept, sch.get_consumers)
    for consumer in sch.get_consumers(kept):
        _inline_all(
            sch, consumer, lambda at: [o for o in sch.get_producers(at) if o.key is not kept.key]
        )
    _inline_all(sch, kept, sch.get_consumers)


def _is_one_kernel(sch: Schedule) -> bool:
    """Whether all blocks of a function are in the loops of one kernel."""
    first = {
        loop_of(sch, loop).loop_var for block in blocks_of(sch) for loop in sch.get_loops(block)[:1]
    }
    return len(first) == 1 and all(sch.get_loops(block) for block in blocks_of(sch))
