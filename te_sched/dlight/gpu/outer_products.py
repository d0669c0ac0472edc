"""The schedule for products of few vectors and a matrix in which neighbors in memory are not
reduced: neighboring threads have neighboring columns. Must not know rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from te_sched.codegen.target import Target
from te_sched.dlight.gpu.inner_products import is_adreno
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

_TX, _TY = "threadIdx.x", "threadIdx.y"


@dataclass(frozen=True)
class OuterTile:
    """What the threads of a block compute of a product.

    columns : threads along the columns of the matrix, each with one of them.
    depth : threads that add up one column together.
    lanes : how many products of a pack a thread adds up at a time.
    """

    columns: int
    depth: int
    lanes: int
    packs = 4  # of a step of a thread
    pack = 8  # neighbors along the depth, which may share a packed number

    @property
    def step(self) -> int:
        """How many neighbors along the depth all threads treat in a step."""
        return self.depth * self.packs * self.pack


def outer_tile_of(target: Target, columns: int | None) -> OuterTile | None:
    """TVM's tile for a product with one vector; None where it has no schedule for them. A number of
    columns that varies is None.
    """
    if target.kind != "metal" and not is_adreno(target):
        return None
    lanes = 4 if target.kind == "metal" else OuterTile.pack
    if columns is None:
        return OuterTile(256, 1, lanes)
    return OuterTile(128 if target.kind == "metal" else 64, 4, lanes)


def low_batch_outer_tile_of(target: Target) -> OuterTile:
    """TVM's tile for a product with several vectors."""
    return OuterTile(64, 4, 4) if target.kind == "metal" else OuterTile(32, 4, 1)


@dataclass(frozen=True)
class OuterProduct:
    """A product whose columns are added up in parts: those of a lane (`part`), those of a thread
    (`threads`), and those of all threads (`block`).

    kernel, step, stage, pack : the loops over blocks of threads, over steps along the depth, and in
        each step over the vectors of a block of threads (or of one iteration) and over the packs.
    vectors : how many loops over vectors there are.
    """

    sch: Schedule
    block: BlockRV
    part: BlockRV
    threads: BlockRV
    tile: OuterTile
    kernel: LoopRV
    step: LoopRV
    stage: LoopRV
    pack: LoopRV
    vectors: int

    def _column(self, block: BlockRV, first: int) -> tuple[list[LoopRV], list[LoopRV]]:
        """Move a block into the kernel: its `first` loops there and those over vectors, and the
        loops over columns.
        """
        self.sch.reverse_compute_at(block, self.kernel, preserve_unit_loops=True)
        loops = self.sch.get_loops(block)[self.vectors + 1 :]
        return loops[: first + self.vectors], loops[first + self.vectors :]

    def _bind_column(self, columns: list[LoopRV]) -> LoopRV:
        column = self.sch.fuse(*columns) if len(columns) > 1 else columns[0]
        self.sch.bind(column, _TX)
        return column

    def add_up(self) -> None:
        """Add the parts of a thread, then those of all threads."""
        sch = self.sch
        (ty, lanes, *vectors), columns = self._column(self.threads, 2)
        sch.reorder(self._bind_column(columns), ty, *vectors, lanes)
        sch.bind(ty, _TY)
        (ty, *vectors), columns = self._column(self.block, 1)
        sch.reorder(*vectors, self._bind_column(columns), ty)
        sch.bind(ty, _TY)
        loops = sch.get_loops(self.part)
        sch.decompose_reduction(self.part, self.step if self.vectors else loops[2])
        sch.decompose_reduction(self.threads, sch.get_loops(self.threads)[-1 - self.vectors])
        sch.set_scope(self.part, 0, "local")
        sch.set_scope(self.threads, 0, "local")

    def finish(self, epilogue: BlockRV) -> None:
        """Move the block that uses the columns into the kernel, one element for each."""
        _, columns = self._column(epilogue, 0)
        if not self.vectors:
            columns = self.sch.split(self.sch.fuse(*columns), [self.tile.columns, None])[:1]
        self._bind_column(columns)
        self.sch.set_scope(self.block, 0, "local")


def across_memory(sch: Schedule, block: BlockRV, tile: OuterTile, batch: int = 0) -> OuterProduct:
    """Divide a product of which neighbors in memory are not reduced: the last two loops of the
    block are its columns and its depth; another one before them counts vectors, `batch` of each
    kernel.
    """
    *vectors, columns, depth = sch.get_loops(block)
    split = [sch.split(loop, [None, batch]) for loop in vectors]
    by, between = [outer for outer, _ in split], [inner for _, inner in split]
    bx, tx = sch.split(columns, [None, tile.columns])
    stages = [] if vectors else [1]
    step, *stage, ty, pack, lanes = sch.split(
        depth, [None, *stages, tile.depth, tile.packs, tile.pack]
    )
    sch.reorder(*by, bx, tx, step, *stage, *between, pack, ty, lanes)
    part = sch.rfactor(sch.fuse(ty, lanes), 0)
    ty, _ = sch.split(sch.get_loops(block)[-1], [tile.depth, None])
    threads = sch.rfactor(ty, 0)
    *by, bx, tx, step, inner, pack, partial = sch.get_loops(part)
    ty, lanes = sch.split(partial, [tile.depth, tile.pack])
    sch.reorder(*by, bx, tx, ty, step, *([pack, inner] if vectors else [inner, pack]), lanes)
    for loop in by:
        sch.bind(loop, "blockIdx.y")
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, _TX)
    sch.bind(ty, _TY)
    sch.vectorize(lanes if tile.lanes == tile.pack else sch.split(lanes, [None, tile.lanes])[1])
    return OuterProduct(sch, block, part, threads, tile, bx, step, inner, pack, len(vectors))
