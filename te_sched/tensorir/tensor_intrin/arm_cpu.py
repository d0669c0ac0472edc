"""Intrinsics of ARM processors: dot products of bytes; and those of GPUs that TVM has here, too."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.expr import Broadcast, Expr
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
from te_sched.tensorir.tensor_intrin.dot_product_common import (
    DP4A_S8S8S32_INTRIN as DP4A_S8S8S32_INTRIN,
)
from te_sched.tensorir.tensor_intrin.dot_product_common import (
    DP4A_S8U8S32_INTRIN as DP4A_S8U8S32_INTRIN,
)
from te_sched.tensorir.tensor_intrin.dot_product_common import (
    DP4A_U8S8S32_INTRIN as DP4A_U8S8S32_INTRIN,
)
from te_sched.tensorir.tensor_intrin.dot_product_common import (
    DP4A_U8U8U32_INTRIN as DP4A_U8U8U32_INTRIN,
)

ARM_DOT_4x4_i8_NEON_INTRIN = "dot_4x4_i8i8s32_neon"
ARM_DOT_4x4_i8_SDOT_INTRIN = "dot_4x4_i8i8s32_sdot"
ARM_DOT_4x4_u8_UDOT_INTRIN = "dot_4x4_u8u8u32_udot"
ARM_DOT_4x4_u8_HDOT_INTRIN = "dot_4x4_u8u8i32_hdot"


def _dot(name: str, element: str, result: str) -> Callable[[Buffers], Stmt]:
    """A dot product by one instruction of four lanes."""

    def compute(buffers: Buffers) -> Stmt:
        a, b, c = buffers
        vectors = Vectors()
        word = as_bits(result, vectors.let("A_i8x4", vector(a, 4)))
        four = vectors.let("vec_ai32", Broadcast(vectors.let("A_i32", word), 4))
        own = vectors.let("vec_a", as_bits(f"{element}x16", four))
        rows = vectors.let("vec_b", vector(b, 16))
        sums = vectors.let("vec_c", vector(c, 4))
        value = llvm(f"{result}x4", f"llvm.aarch64.neon.{name}", sums, own, rows)
        return vectors.then(stored(c, value, 4))

    return compute


def _neon(buffers: Buffers) -> Stmt:
    """Products of 16 bits for two rows at a time, of which neighbors are added twice."""
    a, b, c = buffers
    vectors = Vectors()
    word = vectors.let("A_i32", as_bits("int32", vectors.let("A_i8x4", vector(a, 4))))
    own = vectors.let("vec_a", as_bits("int8x8", Broadcast(word, 2)))
    pairs: list[Expr] = []
    for row in (0, 2):
        rows = vectors.let(f"vec_b{row}", vector(b, 8, row))
        products = llvm("int16x8", "llvm.aarch64.neon.smull", own, rows)
        pairs.append(vectors.let(f"pairs{row}", llvm("int32x4", _ADD_PAIRS, products)))
    total = llvm("int32x4", "llvm.aarch64.neon.addp", *pairs)
    return vectors.then(stored(c, vector(c, 4) + total, 4))


_ADD_PAIRS = "llvm.aarch64.neon.saddlp"
_SIGNED = ("int8", "int8", "int32")
INTRINSICS = {
    ARM_DOT_4x4_i8_NEON_INTRIN: lambda: dot_product(4, 4, _SIGNED, _neon),
    ARM_DOT_4x4_i8_SDOT_INTRIN: lambda: dot_product(4, 4, _SIGNED, _dot("sdot", "int8", "int32")),
    ARM_DOT_4x4_u8_UDOT_INTRIN: lambda: dot_product(
        4, 4, ("uint8", "uint8", "uint32"), _dot("udot", "uint8", "uint32")
    ),
    ARM_DOT_4x4_u8_HDOT_INTRIN: lambda: dot_product(
        4, 4, ("uint8", "uint8", "int32"), _dot("udot", "uint8", "int32")
    ),
}
