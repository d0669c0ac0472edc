"""Intrinsics of x86 processors: dot products of bytes.

`VNNI_DOT_16x4_INTRIN` multiplies four unsigned bytes with sixteen rows of four signed ones, and
adds the products to 32-bit numbers (vpdpbusd). `AVX512_DOT_16x4_INTRIN` does so without VNNI. It
multiplies numbers of 16 bits, those of the even and those of the odd bytes, which is exact; TVM's
adds pairs of products with saturation.
"""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.expr import Broadcast, Expr, IntImm
from te_sched.ir.stmt import Stmt
from te_sched.tensorir.tensor_intrin.building import (
    Buffers,
    Vectors,
    as_bits,
    dot_product,
    llvm,
    stored,
    vector,
)

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"

_BYTES = ("uint8", "int8", "int32")


def _vnni(buffers: Buffers) -> Stmt:
    a, b, c = buffers
    made = Vectors()
    four = made.let("A_i32", as_bits("int32", made.let("A_u8x4", vector(a, 4))))
    rows = made.let("B_i32x16", as_bits("int32x16", made.let("B_i8x64", vector(b, 64))))
    sums = made.let("C_i32x16", vector(c, 16))
    value = llvm("int32x16", "llvm.x86.avx512.vpdpbusd.512", sums, Broadcast(four, 16), rows)
    return made.then(stored(c, value, 16))


def _avx512(buffers: Buffers) -> Stmt:
    a, b, c = buffers
    made = Vectors()
    four = made.let("A_i32", as_bits("int32", made.let("A_u8x4", vector(a, 4))))
    own = made.let("A_u16x32", as_bits("uint16x32", Broadcast(four, 16)))
    rows = made.let("B_i16x32", as_bits("int16x32", made.let("B_i8x64", vector(b, 64))))
    eight, mask = Broadcast(IntImm(8, "int16"), 32), Broadcast(IntImm(255, "uint16"), 32)
    even = as_bits("int16x32", ops.bitwise_and(own, mask))
    odd = as_bits("int16x32", ops.shift_right(own, Broadcast(IntImm(8, "uint16"), 32)))
    low = made.let("B_even", ops.shift_right(ops.shift_left(rows, eight), eight))
    high = made.let("B_odd", ops.shift_right(rows, eight))
    sums = made.let("even", _products(even, low)), made.let("odd", _products(odd, high))
    return made.then(stored(c, vector(c, 16) + sums[0] + sums[1], 16))


def _products(a: Expr, b: Expr) -> Expr:
    """The sums of pairs of products of 16-bit numbers."""
    return llvm("int32x16", "llvm.x86.avx512.pmaddw.d.512", a, b)


INTRINSICS = {
    VNNI_DOT_16x4_INTRIN: lambda: dot_product(16, 4, _BYTES, _vnni),
    AVX512_DOT_16x4_INTRIN: lambda: dot_product(16, 4, _BYTES, _avx512),
}
