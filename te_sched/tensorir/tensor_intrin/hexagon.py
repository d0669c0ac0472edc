"""Intrinsics of Hexagon processors: dot products of 32 rows."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.expr import Broadcast
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

VRMPY_u8u8i32_INTRIN = "dot_32x4_u8u8i32_vrmpy"
VRMPY_u8i8i32_INTRIN = "dot_32x4_u8i8i32_vrmpy"
VDMPY_i16i16i32_INTRIN = "dot_product_32x2_i16i16i32_vdmpy"


def _rows(name: str, depth: int, *, is_scalar: bool = False) -> Callable[[Buffers], Stmt]:
    """A dot product by one instruction, to which A is given as a word or in all lanes."""

    def compute(buffers: Buffers) -> Stmt:
        a, b, c = buffers
        vectors = Vectors()
        word = vectors.let("A_i32", as_bits("int32", vectors.let("A_vector", vector(a, depth))))
        rows = as_bits("int32x32", vectors.let("B_vector", vector(b, 32 * depth)))
        own = vectors.let("B_i32x32", rows)
        operands = (own, word) if is_scalar else (Broadcast(word, 32), own)
        name_of = f"llvm.hexagon.V6.{name}.acc.128B"
        return vectors.then(stored(c, llvm("int32x32", name_of, vector(c, 32), *operands), 32))

    return compute


INTRINSICS = {
    VRMPY_u8u8i32_INTRIN: lambda: dot_product(
        32, 4, ("uint8", "uint8", "int32"), _rows("vrmpyub", 4, is_scalar=True)
    ),
    VRMPY_u8i8i32_INTRIN: lambda: dot_product(
        32, 4, ("uint8", "int8", "int32"), _rows("vrmpybusv", 4)
    ),
    VDMPY_i16i16i32_INTRIN: lambda: dot_product(
        32, 2, ("int16", "int16", "int32"), _rows("vdmpyhvsat", 2)
    ),
}
