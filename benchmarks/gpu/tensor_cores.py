"""The matrix product on tensor cores: float16 operands, float32 sums, by tensorize.

The intrinsics are TVM's for fragments of 16 x 16 (wmma): fill, load, multiply, store. Sizes must be
multiples of the tile, since fragments cannot be split. Must not know measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.products import Schedule
from te_sched import te, tir

SIDE = 16  # of a fragment
_LANES = 32


@dataclass(frozen=True, slots=True)
class WarpTile:
    """The tiling of a product: blocks of rows x columns, `depth` of K at a time, parts for warps.

    Threads load `vector` elements at once; rows in shared memory are padded by `padding` elements;
    `double` loads the next tiles while the current ones are used.
    """

    rows: int = 128
    columns: int = 128
    depth: int = 32
    warp_rows: int = 64
    warp_columns: int = 32
    vector: int = 8
    padding: int = 8
    double: bool = False

    def __str__(self) -> str:
        shape = f"{self.rows}x{self.columns}x{self.depth}"
        warp = f"{self.warp_rows}x{self.warp_columns}"
        return f"{shape} warps {warp}{' double' if self.double else ''}"


# Candidates for the fastest product on a GPU; without one, only the first is shown.
BEST = (
    WarpTile(double=True),
    WarpTile(),
    WarpTile(warp_columns=64),
    WarpTile(warp_columns=64, double=True),
    WarpTile(columns=256, warp_columns=64),
    WarpTile(depth=64, warp_columns=64),
    WarpTile(rows=64, columns=64, warp_rows=32),
)


def tensor_cores(m: int, n: int, k: int, tile: WarpTile = BEST[0]) -> Schedule:
    """Warps keep their part of a tile in fragments; operands are loaded to shared memory."""
    A, B = te.placeholder((m, k), "float16", name="A"), te.placeholder((k, n), "float16", name="B")
    axis = te.reduce_axis((0, k), "k")
    C = te.compute((m, n), lambda i, j: _products(A, B, i, j, axis), name="C")
    s = te.create_schedule(C.op)
    CF = s.cache_write(C, "wmma.accumulator")
    shared = [s.cache_read(operand, "shared", [CF]) for operand in (A, B)]
    fragments = [
        s.cache_read(cache, f"wmma.{use}", [CF])
        for cache, use in zip(shared, ("matrix_a", "matrix_b"), strict=True)
    ]
    warps, threads = _cut_result(s, C, tile)
    s[CF].compute_at(s[C], warps)
    outer, rest = s[CF].split(CF.op.reduce_axis[0], tile.depth)
    step, inner = s[CF].split(rest, SIDE)
    row, column, i, j = s[CF].tile(*CF.op.axis, SIDE, SIDE)
    s[CF].reorder(outer, step, row, column, i, j, inner)
    for loop in (step, row, column):
        s[CF].unroll(loop)
    s[CF].tensorize(i, multiply())
    for cache, fragment in zip(shared, fragments, strict=True):
        s[cache].compute_at(s[CF], outer)
        _share_fetching(s[cache], tile, threads)
        s[fragment].compute_at(s[CF], step)
        row, column, i, j = s[fragment].tile(*fragment.op.axis, SIDE, SIDE)
        s[fragment].unroll(row)
        s[fragment].unroll(column)
        s[fragment].tensorize(i, load("matrix_a" if fragment is fragments[0] else "matrix_b"))
    return s, [A, B, C]


def _products(A: Any, B: Any, i: Any, j: Any, axis: Any) -> Any:
    return te.sum(A[i, axis].astype("float32") * B[axis, j].astype("float32"), axis=axis)


def _cut_result(s: Any, C: Any, tile: WarpTile) -> tuple[Any, tuple[Any, ...]]:
    """Split the result into blocks and warps; returns the axis for the sums, and the threads."""
    counts = (tile.rows // tile.warp_rows, tile.columns // tile.warp_columns)
    threads = (
        te.thread_axis((0, counts[0]), "threadIdx.z"),
        te.thread_axis((0, counts[1]), "threadIdx.y"),
        te.thread_axis((0, _LANES), "threadIdx.x"),
    )
    cuts = []
    for axis, size, part, thread, letter in zip(
        C.op.axis,
        (tile.rows, tile.columns),
        (tile.warp_rows, tile.warp_columns),
        threads[:2],
        "yx",
        strict=True,
    ):
        block, inside = s[C].split(axis, size)
        warp, inside = s[C].split(inside, part)
        fragment, inside = s[C].split(inside, SIDE)
        s[C].bind(block, te.thread_axis(f"blockIdx.{letter}"))
        s[C].bind(warp, thread)
        s[C].unroll(fragment)
        cuts.append((block, warp, fragment, inside))
    s[C].reorder(*[axis for axes in zip(*cuts, strict=True) for axis in axes])
    s[C].tensorize(cuts[0][3], store())
    return cuts[1][1], threads


def _share_fetching(stage: Any, tile: WarpTile, threads: tuple[Any, ...]) -> None:
    stage.storage_align(stage.op.axis[0], SIDE, tile.padding)
    rest, lanes = stage.split(stage.fuse(*stage.op.axis), tile.vector)
    stage.vectorize(lanes)
    for thread in reversed(threads):
        rest, inside = stage.split(rest, thread.dom.extent)
        stage.bind(inside, thread)
    stage.unroll(rest)
    if tile.double:
        stage.double_buffer()


# -- intrinsics ------------------------------------------------------------------------------------


def _matrix(name: str, dtype: str) -> Any:
    return te.placeholder((SIDE, SIDE), dtype, name=name)


def _buffer(tensor: Any, scope: str) -> Any:
    """A part of a matrix with any stride between rows."""
    strides = [te.var(f"{tensor.name}_stride"), 1]
    return tir.decl_buffer(
        *(tensor.shape, tensor.dtype, tensor.name),
        scope=scope,
        strides=strides,
        offset_factor=8,
        data_alignment=16,
    )


def _number(part: Any) -> Any:
    """The number of the fragment that a part is in its buffer."""
    stride = part.strides[0]
    below = part.elem_offset // (SIDE * stride) * (stride // SIDE)
    return below + part.elem_offset % (SIDE * stride) // SIDE


def _call(name: str, *args: Any) -> Any:
    builder = tir.ir_builder.create()
    builder.emit(tir.call_intrin("handle", f"tir.{name}", *args))
    return builder.get()


def _copy(dtype: str, scopes: tuple[str, str], body: Callable[[Any, Any], Any]) -> Any:
    source = _matrix("source", dtype)
    target = te.compute(source.shape, lambda i, j: source[i, j], name="target")
    binds = {source: _buffer(source, scopes[0]), target: _buffer(target, scopes[1])}
    return te.decl_tensor_intrin(target.op, lambda ins, outs: body(ins[0], outs[0]), binds=binds)


def load(use: str) -> Any:
    """The intrinsic that loads a fragment of an operand from shared memory."""

    def body(source: Any, target: Any) -> Any:
        place, stride = source.access_ptr("r"), source.strides[0]
        whole = (target.data, SIDE, SIDE, SIDE, _number(target))
        return _call("tvm_load_matrix_sync", *whole, place, stride, "row_major")

    return _copy("float16", ("shared", f"wmma.{use}"), body)


def store() -> Any:
    """The intrinsic that stores a fragment of the result to global memory."""

    def body(source: Any, target: Any) -> Any:
        place, stride = target.access_ptr("w"), target.strides[0]
        whole = (source.data, SIDE, SIDE, SIDE, _number(source))
        return _call("tvm_store_matrix_sync", *whole, place, stride, "row_major")

    return _copy("float32", ("wmma.accumulator", "global"), body)


def multiply() -> Any:
    """The intrinsic that adds the product of two fragments to a third."""
    A, B = _matrix("A", "float16"), _matrix("B", "float16")
    axis = te.reduce_axis((0, SIDE), "k")
    C = te.compute((SIDE, SIDE), lambda i, j: _products(A, B, i, j, axis), name="C")
    uses = {A: "matrix_a", B: "matrix_b", C: "accumulator"}

    def body(ins: Any, outs: Any) -> tuple[Any, Any, Any]:
        (a, b), (c,) = ins, outs
        place = (c.data, _number(c))
        fill = _call("tvm_fill_fragment", c.data, SIDE, SIDE, SIDE, _number(c), 0.0)
        factors = (a.data, _number(a), b.data, _number(b))
        update = _call("tvm_mma_sync", *place, *factors, *place)
        return update, fill, update

    binds = {tensor: _buffer(tensor, f"wmma.{use}") for tensor, use in uses.items()}
    return te.decl_tensor_intrin(C.op, body, binds=binds)
