"""Schedules of the matrix product C = A B for a GPU: the tutorial's, and with tiles in registers.

A is (M, K) and B is (K, N), float32, row-major. Must not know measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from te_sched import te

_BANKS = 32  # of shared memory

Schedule = tuple[Any, list[Any]]
Product = Callable[[int, int, int], Schedule]


def declare(m: int, n: int, k: int) -> tuple[Any, Any, Any, Any, Any]:
    """The declaration of the product."""
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    axis = te.reduce_axis((0, k), "k")
    C = te.compute((m, n), lambda x, y: te.sum(A[x, axis] * B[axis, y], axis=axis), name="C")
    return axis, te.create_schedule(C.op), A, B, C


def bind(stage: Any, **axes: Any) -> None:
    """Bind axes to threads: bind(stage, block_x=axis)."""
    for tag, axis in axes.items():
        stage.bind(axis, te.thread_axis(tag.replace("block_", "blockIdx.").replace("_", "Idx.")))


def naive(m: int, n: int, k: int) -> Schedule:
    """One block of one thread per element."""
    _, s, A, B, C = declare(m, n, k)
    x, y = C.op.axis
    bind(s[C], block_x=y, block_y=x)
    return s, [A, B, C]


def v1(m: int, n: int, k: int) -> Schedule:
    """Blocks of 32 threads."""
    _, s, A, B, C = declare(m, n, k)
    x, y = C.op.axis
    xo, xi = s[C].split(x, factor=32)
    bind(s[C], block_x=xo, block_y=y, thread_x=xi)
    return s, [A, B, C]


def v2(m: int, n: int, k: int) -> Schedule:
    """Blocks of 32 x 32 threads."""
    _, s, A, B, C = declare(m, n, k)
    x, y = C.op.axis
    xo, xi = s[C].split(x, factor=32)
    yo, yi = s[C].split(y, factor=32)
    bind(s[C], block_x=xo, block_y=yo, thread_x=xi, thread_y=yi)
    return s, [A, B, C]


def v3(m: int, n: int, k: int) -> Schedule:
    """Tiles of both operands in shared memory."""
    axis, s, A, B, C = declare(m, n, k)
    x, y = C.op.axis
    xo, xi = s[C].split(x, factor=16)
    yo, yi = s[C].split(y, factor=16)
    ko, _ = s[C].split(axis, factor=8)
    bind(s[C], block_x=xo, block_y=yo, thread_x=xi, thread_y=yi)
    caches = [s.cache_read(operand, "shared", [C]) for operand in (A, B)]
    for cache in caches:
        s[cache].compute_at(s[C], ko)
        rows, _ = s[cache].split(cache.op.axis[0], nparts=16)
        columns, _ = s[cache].split(cache.op.axis[1], nparts=16)
        bind(s[cache], thread_x=rows, thread_y=columns)
    return s, [A, B, C]


@dataclass(frozen=True, slots=True)
class Tile:
    """The tiling of a product: a block computes rows x columns, `depth` of K at a time.

    It has threads_y x threads_x threads, each of which computes `strips` x `strips` parts (virtual
    threads). A thread loads `vector` elements at once. `turned` stores A's tile transposed in
    shared memory, with columns padded by `padding` elements, so that threads read vectors of it;
    `double` loads the next tiles while the current ones are used.
    """

    rows: int = 64
    columns: int = 64
    depth: int = 8
    threads_y: int = 8
    threads_x: int = 8
    strips: int = 2
    vector: int = 1
    turned: bool = False
    padding: int = 0
    double: bool = False

    def __str__(self) -> str:
        extras = [name for name in ("turned", "double") if getattr(self, name)]
        shape = f"{self.rows}x{self.columns}x{self.depth}"
        return " ".join((shape, f"{self.threads_y}x{self.threads_x} threads", *extras))


# Candidates for the fastest product on a GPU; without one, only the first is shown.
BEST = (
    Tile(128, 128, 8, 16, 16, 2, 4, True, 4, True),
    Tile(128, 128, 8, 16, 16, 2, 4, True, 4),
    Tile(128, 128, 16, 16, 16, 2, 4, True, 4, True),
    Tile(128, 128, 16, 16, 16, 2, 4, True, 4),
    Tile(128, 64, 16, 16, 8, 2, 4, True, 4, True),
    Tile(64, 128, 16, 8, 16, 2, 4, True, 4, True),
    Tile(128, 128, 8, 16, 16, 2, 4, False, 0, True),
    Tile(64, 64, 16, 8, 8, 2, 4, True, 4, True),
)


def tiled(m: int, n: int, k: int, tile: Tile) -> Schedule:
    """Each thread keeps its part of a tile in registers; operands are loaded to shared memory."""
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    p = te.reduce_axis((0, k), "k")
    if tile.turned:
        T = te.compute((k, m), lambda j, i: A[i, j], name="A_turned")
        C = te.compute((m, n), lambda i, j: te.sum(T[p, i] * B[p, j], axis=p), name="C")
    else:
        T = A
        C = te.compute((m, n), lambda i, j: te.sum(A[i, p] * B[p, j], axis=p), name="C")
    s = te.create_schedule(C.op)
    if tile.turned:
        s[T].set_scope("shared")
        shared = [T, s.cache_read(B, "shared", [C])]
    else:
        shared = [s.cache_read(operand, "shared", [C]) for operand in (A, B)]
    registers = [s.cache_read(cache, "local", [C]) for cache in shared]
    CC = s.cache_write(C, "local")
    threads = _cut_result(s, C, CC, tile)
    outer, step = s[CC].split(CC.op.reduce_axis[0], factor=tile.depth)
    s[CC].reorder(outer, step, *CC.op.axis)
    for axis in (*CC.op.axis, step):
        s[CC].unroll(axis)
    for cache, register in zip(shared, registers, strict=True):
        s[cache].compute_at(s[CC], outer)
        s[register].compute_at(s[CC], step)
        if tile.vector > 1 and (tile.turned or cache is shared[1]):
            s[register].vectorize(register.op.axis[1])
        turned = tile.turned and cache is T
        _share_fetching(s[cache], tile, threads, turned)
    return s, [A, B, C]


def _cut_result(s: Any, C: Any, CC: Any, tile: Tile) -> tuple[Any, Any]:
    """Split the result into blocks, strips and threads, each with its sums; returns the threads."""
    threads = (
        te.thread_axis((0, tile.threads_y), "threadIdx.y"),
        te.thread_axis((0, tile.threads_x), "threadIdx.x"),
    )
    cuts = []
    counts = (tile.threads_y, tile.threads_x)
    sizes = (tile.rows, tile.columns)
    for axis, size, count, thread, letter in zip(
        C.op.axis, sizes, counts, threads, "yx", strict=True
    ):
        block, inside = s[C].split(axis, factor=size)
        strip, inside = s[C].split(inside, nparts=tile.strips)
        lane, inside = s[C].split(inside, nparts=count)
        s[C].bind(block, te.thread_axis(f"blockIdx.{letter}"))
        s[C].bind(strip, te.thread_axis((0, tile.strips), "vthread", name=f"v{letter}"))
        s[C].bind(lane, thread)
        cuts.append((block, strip, lane, inside))
    s[C].reorder(*[axis for axes in zip(*cuts, strict=True) for axis in axes])
    s[CC].compute_at(s[C], cuts[1][2])
    if tile.vector > 1:
        s[C].vectorize(cuts[1][3])
    return threads


def _share_fetching(stage: Any, tile: Tile, threads: tuple[Any, Any], turned: bool) -> None:
    """Distribute the loads of a tile over the threads of a block, in vectors."""
    axes = list(stage.op.axis)
    if turned:
        stage.storage_align(axes[0], _BANKS, tile.padding)
        axes.reverse()
        stage.reorder(*axes)
    rest = stage.fuse(*axes)
    if tile.vector > 1:
        rest, lanes = stage.split(rest, factor=tile.vector)
        stage.vectorize(lanes)
    rest, column = stage.split(rest, factor=tile.threads_x)
    rest, row = stage.split(rest, factor=tile.threads_y)
    stage.bind(row, threads[0])
    stage.bind(column, threads[1])
    stage.unroll(rest)
    if tile.double:
        stage.double_buffer()


def registers(m: int, n: int, k: int) -> Schedule:
    """Tiles of 64 x 64 in blocks of 8 x 8 threads, which keep 8 x 8 elements in registers."""
    return tiled(m, n, k, Tile())


def vectors(m: int, n: int, k: int) -> Schedule:
    """Registers, with vector loads of four elements into shared memory."""
    return tiled(m, n, k, Tile(vector=4))


def double_buffers(m: int, n: int, k: int) -> Schedule:
    """Vectors, with loads of the next tiles while the current ones are used."""
    return tiled(m, n, k, Tile(vector=4, double=True))


def turned(m: int, n: int, k: int) -> Schedule:
    """Larger tiles, A's transposed in shared memory, so that threads read vectors of both."""
    return tiled(m, n, k, BEST[0])


LADDER: dict[str, Product] = {
    **{"naive": naive, "v1": v1, "v2": v2, "v3": v3},
    **{"registers": registers, "vectors": vectors},
    **{"double buffers": double_buffers, "turned": turned},
}
