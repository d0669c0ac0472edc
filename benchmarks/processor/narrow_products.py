"""Matrix products of bytes with 32-bit sums: unsigned A, signed B, as in quantized networks.

If the processor has dot products of four bytes (AVX-512 VNNI), the best schedule uses them by
tensorize; otherwise it widens. Must not know measurements.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from benchmarks.processor.products import ODD, Product, Tiles
from benchmarks.processor.workload import Array, Call, Program, Workload, shape_of

_BYTES, _LANES = 4, 16  # of a dot product, and dot products per instruction
_TILES = Tiles(depth=1024)


class NarrowProduct(Product):
    """The declaration, with panels that interleave four rows of B, as dot products need them."""

    unit = _BYTES

    def _pack_columns(self) -> Any:
        part, width, B = self.depth.part, self.tiles.columns, self.B
        return self.te.compute(
            (self.depth.count, self.columns.padded // width, part // _BYTES, width, _BYTES),
            lambda q, b, p, j, e: self._inside(
                B, (q * part + p * _BYTES + e, b * width + j), (self.depth, self.columns)
            ),
            name="panels",
        )

    def _sum(self) -> Any:
        te, part, width = self.te, self.depth.part // _BYTES, self.tiles.columns
        r = te.reduce_axis((0, self.depth.padded // _BYTES), "r")
        e = te.reduce_axis((0, _BYTES), "e")
        A = self.A if self.padded is None else self.padded
        return te.compute(
            (self.rows.padded, self.columns.padded),
            lambda i, j: te.sum(
                A[i, r * _BYTES + e].astype("int32")
                * self.panels[r // part, j // width, r % part, j % width, e].astype("int32"),
                axis=[r, e],
            ),
            name="sums",
        )

    def _schedule_sums(self, s: Any, C: Any, block: Any) -> None:
        sums = self.sums
        s[sums].compute_at(s[C], block)
        rows, i = s[sums].split(sums.op.axis[0], self.tiles.rows)
        columns, rest = s[sums].split(sums.op.axis[1], self.tiles.columns)
        vectors, j = s[sums].split(rest, _LANES)
        r, e = sums.op.reduce_axis
        outer, inner = s[sums].split(r, self.depth.part // _BYTES)
        s[sums].reorder(outer, columns, rows, inner, i, vectors, j, e)
        s[sums].unroll(i)
        s[sums].unroll(vectors)
        if has_dot_products() and self.columns.size >= _LANES:
            s[sums].tensorize(j, dot_products(self.te))
        else:
            s[sums].unroll(e)
            s[sums].vectorize(j)
        if self.padded is not None:
            s[self.padded].compute_at(s[sums], outer)

    def _schedule_packing(self, s: Any) -> None:
        s[self.panels].unroll(self.panels.op.axis[-1])


@functools.cache
def has_dot_products() -> bool:
    """Whether this processor has dot products of four bytes in 512-bit vectors."""
    return bool(llvm.get_host_cpu_features().get("avx512vnni", False))


def dot_products(te: Any) -> Any:
    """The intrinsic of 16 sums of four products each, for te_sched's `te` or TVM's."""
    tir = importlib.import_module(te.__name__.rpartition(".")[0] + ".tir")
    a = te.placeholder((_BYTES,), "uint8", name="a")
    b = te.placeholder((_LANES, _BYTES), "int8", name="b")
    e = te.reduce_axis((0, _BYTES), "e")
    c = te.compute(
        (_LANES,),
        lambda j: te.sum(a[e].astype("int32") * b[j, e].astype("int32"), axis=e),
        name="c",
    )
    buffers = {
        a: _buffer(te, tir, a, [1]),
        b: _buffer(te, tir, b, [_BYTES, 1]),
        c: _buffer(te, tir, c, [1]),
    }
    wide = f"int32x{_LANES}"

    def body(ins: Sequence[Any], outs: Sequence[Any]) -> tuple[Any, Any, Any]:
        def store(value: Any) -> Any:
            builder = tir.ir_builder.create()
            builder.emit(outs[0].vstore([0], value))
            return builder.get()

        four = tir.call_intrin("int32", "tir.reinterpret", ins[0].vload([0], f"uint8x{_BYTES}"))
        signed = ins[1].vload([0, 0], f"int8x{_LANES * _BYTES}")
        added = tir.call_llvm_pure_intrin(
            *(wide, "llvm.x86.avx512.vpdpbusd.512", tir.const(3, "uint32")),
            *(outs[0].vload([0], wide), tir.Broadcast(four, _LANES)),
            tir.call_intrin(wide, "tir.reinterpret", signed),
        )
        zero = tir.Broadcast(tir.const(0, "int32"), _LANES)
        return store(added), store(zero), store(added)

    return te.decl_tensor_intrin(c.op, body, binds=buffers)


def _buffer(te: Any, tir: Any, tensor: Any, strides: list[int]) -> Any:
    return tir.decl_buffer(
        *(tensor.shape, tensor.dtype, tensor.op.name),
        strides=strides,
        offset_factor=1,
    )


def best(te: Any, m: int, n: int, k: int) -> Program:
    """The best schedule, for any M, N, K."""
    product = NarrowProduct(te, (m, n, k), _TILES, ("uint8", "int8"))
    C = te.compute((m, n), lambda i, j: product.sums[i, j], name="C")
    return product.schedule(C)


def tutorial(te: Any, m: int, n: int, k: int) -> Program:
    """Blocks of 32 x 32, vectorized, on all cores."""
    A, B = te.placeholder((m, k), "uint8", name="A"), te.placeholder((k, n), "int8", name="B")
    r = te.reduce_axis((0, k), "r")
    C = te.compute(
        (m, n),
        lambda i, j: te.sum(A[i, r].astype("int32") * B[r, j].astype("int32"), axis=r),
        name="C",
    )
    s = te.create_schedule(C.op)
    io, _, ii, ji = s[C].tile(*C.op.axis, 32, 32)
    outer, inner = s[C].split(s[C].op.reduce_axis[0], factor=4)
    s[C].reorder(io, s[C].leaf_iter_vars[1], outer, ii, inner, ji)
    s[C].vectorize(ji)
    s[C].parallel(io)
    return s, [A, B, C]


def _values(args: Sequence[Any]) -> list[Array]:
    """Inputs; A has seven bits, for peers that need signed operands."""
    generator = np.random.default_rng(0)
    a = generator.integers(0, 128, shape_of(args[0]), np.uint8)
    return [a, generator.integers(-128, 128, shape_of(args[1]), np.int8)]


def _reference(a: Array, b: Array) -> Array:
    return np.asarray(a.astype("float64") @ b.astype("float64")).astype("int32")


def _by_torch(a: Array, b: Array) -> Call:
    torch: Any = importlib.import_module("torch")
    x, y = torch.from_numpy(a.astype("int8")), torch.from_numpy(b)
    return lambda: torch._int_mm(x, y)


def _workload(size: int) -> Workload:
    return Workload(
        name=f"GEMM int8 {size}",
        size=(size, size, size),
        best=best,
        tutorial=tutorial,
        reference=_reference,
        odd=ODD,
        flops=2.0 * size**3,
        narrow=_BYTES,
        peers={"torch": _by_torch},
        tolerance=0.0,
        inputs=_values,
    )


WORKLOADS = (_workload(1024),)
