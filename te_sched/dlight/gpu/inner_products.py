"""The schedule for products of a matrix and few vectors in which neighbors in memory are reduced,
and how a target divides them among the threads of a block. Must not know rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.base import UNROLL_STEPS, unroll
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule


@dataclass(frozen=True)
class InnerTile:
    """What the threads of a block compute of a product.

    rows : threads along the rows of the matrix; each computes `rows_each` of them.
    depth : threads that add up one row together, each `vectors` times `lanes` products at a time.
    row_tag, depth_tag : the axes of these threads.
    steps : up to how many statements the loop over the depth is unrolled.
    is_shared : whether a vector that is small enough is copied into shared memory.
    """

    rows: int = 1
    depth: int = 64
    row_tag: str = "threadIdx.y"
    depth_tag: str = "threadIdx.x"
    lanes: int = 1
    vectors: int = 8
    rows_each: int = 1
    steps: int = 64
    is_shared: bool = False

    def fitted(self, target: Target, depth: int | None, group: int) -> InnerTile:
        """The tile with as many threads as a block can have, and as many products at a time as
        divide the depth (None if it is not constant), or as share a packed number.
        """
        rows = self.rows
        while rows > 1 and rows * self.depth > target.max_threads_per_block:
            rows //= 2
        at_once = group
        if group == 1 and depth is not None:
            at_once = max(
                width for width in (1, 2, 4, 8) if width == 1 or not depth % (self.depth * width)
            )
        lanes = min(self.lanes, at_once)
        return replace(self, rows=rows, lanes=lanes, vectors=at_once // lanes)


def is_adreno(target: Target) -> bool:
    """Whether a target is OpenCL on Adreno: its device is, or its host is Android, as TVM tells."""
    host = target.host
    return target.kind == "opencl" and (
        "adreno" in target.text or (host is not None and "android" in host.text)
    )


def tile_of(target: Target, rows: int | None, depth: int | None) -> InnerTile:
    """TVM's tile for a product with a single vector; None stands for a size that varies."""
    is_wide = rows is not None and depth is not None and rows > depth
    wide = InnerTile(steps=UNROLL_STEPS)
    if target.kind == "cuda":
        tile = replace(wide, rows=16, depth=32, lanes=4, is_shared=True)
    elif target.kind == "rocm":
        tile = replace(wide, rows=1 if is_wide else 4, depth=128 if is_wide else 64, lanes=4)
    elif target.kind == "metal":
        tile = replace(wide, rows=4 if is_wide else 2, depth=16 if is_wide else 64)
        tile = replace(tile, row_tag=wide.depth_tag, depth_tag=wide.row_tag)
    elif is_adreno(target):
        return InnerTile(2, 32, wide.depth_tag, wide.row_tag, lanes=8, steps=8)
    else:
        return InnerTile()
    return replace(tile, rows=1, depth=64) if rows is None else tile


def low_batch_tile_of(target: Target, rows: int | None, depth: int | None) -> InnerTile:
    """TVM's tile for a product with several vectors."""
    tile = replace(tile_of(target, rows, depth), rows_each=2, is_shared=False)
    is_wide = rows is not None and depth is not None and rows > depth
    if target.kind == "cuda" and is_wide:
        return replace(tile, rows=4, depth=64)
    if target.kind == "metal":
        tile = replace(tile, rows=8, depth=32, lanes=4, steps=8)
        if is_wide:
            return replace(tile, row_tag=tile.depth_tag, depth_tag=tile.row_tag)
    return tile


def along_memory(sch: Schedule, block: BlockRV, tile: InnerTile, batch: int = 0) -> InnerProduct:
    """Divide a product of which neighbors in memory are reduced: the last two loops of the block
    are its rows and its depth; another one before them counts vectors, `batch` of each kernel.
    """
    *vectors, rows, depth = sch.get_loops(block)
    _, _, _ = sch.split(rows, [None, tile.rows, tile.rows_each])
    step, tx, inner, lanes = sch.split(depth, [None, tile.depth, tile.vectors, tile.lanes])
    sch.reorder(step, inner, tx, lanes)
    part = sch.rfactor(sch.fuse(tx, lanes), 0)
    *_, partial = sch.get_loops(block)
    threads = sch.rfactor(sch.split(partial, [tile.depth, None])[0], 0)
    *vectors, bx, ty, row, step, inner, partial = sch.get_loops(part)
    tx, lanes = sch.split(partial, [tile.depth, None])
    sch.reorder(bx, ty, tx, step, row, inner, lanes)
    sch.bind(bx, "blockIdx.x")
    sch.bind(ty, tile.row_tag)
    sch.bind(tx, tile.depth_tag)
    sch.vectorize(lanes)
    if vectors:
        by, vector = sch.split(vectors[0], [None, batch])
        sch.bind(by, "blockIdx.y")
        sch.reorder(bx, ty, tx, step, vector)
    return InnerProduct(sch, block, part, threads, tile, len(vectors))


@dataclass(frozen=True)
class InnerProduct:
    """A product whose rows are added up in parts: those of a lane (`part`), those of a thread
    (`threads`), and those of all threads (`block`).
    """

    sch: Schedule
    block: BlockRV
    part: BlockRV
    threads: BlockRV
    tile: InnerTile
    vectors: int

    @property
    def kernel(self) -> LoopRV:
        """The loop over blocks of threads."""
        return self.sch.get_loops(self.part)[self.vectors]

    @property
    def step(self) -> LoopRV:
        """The loop over the depth."""
        return self.sch.get_loops(self.part)[self.vectors + 3]

    def _rows(self, block: BlockRV, first: int) -> tuple[list[LoopRV], LoopRV, LoopRV]:
        """Move a block into the kernel: its loops over vectors, the threads along rows, and the
        rows of a thread.
        """
        sch, tile = self.sch, self.tile
        sch.reverse_compute_at(block, self.kernel, preserve_unit_loops=True)
        loops = sch.get_loops(block)[self.vectors + 1 + first :]
        vectors, rows = loops[: self.vectors], loops[self.vectors :]
        outer, ty, each = sch.split(sch.fuse(*rows), [None, tile.rows, tile.rows_each])
        return vectors, sch.fuse(outer, ty), each

    def add_up(self) -> None:
        """Add the parts of a thread, then those of all threads."""
        sch, tile = self.sch, self.tile
        vectors, ty, row = self._rows(self.threads, 2)
        tx, lanes = sch.get_loops(self.threads)[self.vectors + 1 : self.vectors + 3]
        outer, row = sch.split(row, [None, tile.rows_each])
        sch.reorder(ty, tx, outer, *vectors, row, lanes)
        sch.bind(ty, tile.row_tag)
        sch.bind(tx, tile.depth_tag)
        sch.vectorize(row)
        vectors, ty, row = self._rows(self.block, 1)
        tx = sch.get_loops(self.block)[self.vectors + 1]
        sch.reorder(row, *vectors, ty, tx)
        sch.bind(ty, tile.row_tag)
        sch.bind(tx, tile.depth_tag)
        sch.decompose_reduction(self.part, self.step)
        sch.decompose_reduction(self.threads, sch.get_loops(self.threads)[-1])
        sch.set_scope(self.part, 0, "local")
        sch.set_scope(self.threads, 0, "local")
        unroll(sch, self.step, tile.steps)
        unroll(sch, sch.get_loops(self.threads)[self.vectors + 3], tile.steps)

    def finish(self, epilogue: BlockRV, is_broadcast: bool) -> None:
        """Move the block that uses the rows into the kernel; of a broadcast, several elements use
        one.
        """
        sch, tile = self.sch, self.tile
        if is_broadcast:
            sch.reverse_compute_at(epilogue, self.kernel, preserve_unit_loops=True)
            whole = sch.fuse(*sch.get_loops(epilogue)[self.vectors + 1 :])
            _, ty, tx = sch.split(whole, [None, tile.rows, tile.depth])
            sch.bind(tx, tile.depth_tag)
        else:
            _, ty, _ = self._rows(epilogue, 0)
        sch.bind(ty, tile.row_tag)
        sch.set_scope(self.block, 0, "shared" if is_broadcast else "local")
