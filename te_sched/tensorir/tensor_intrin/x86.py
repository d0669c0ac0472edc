"""Intrinsics of x86 processors: dot products of four unsigned bytes with four signed ones, and of
pairs of bfloat16.

A dot product of bytes adds to 32-bit numbers the products of four bytes with rows of four bytes.
`VNNI_DOT_16x4_INTRIN` does so with vpdpbusd, `AVX512_DOT_16x4_INTRIN` without VNNI. It multiplies
numbers of 16 bits, those of the even and those of the odd bytes, which is exact; TVM's adds pairs
of products with saturation. `dot_intrinsic` names those for other vectors and operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

from te_sched.ir import ops
from te_sched.ir.expr import Broadcast, Expr, IntImm
from te_sched.ir.stmt import Stmt
from te_sched.tensorir.tensor_intrin.building import (
    Buffers,
    Pair,
    Vectors,
    as_bits,
    dot_product,
    llvm,
    stored,
    vector,
)

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"

# The instructions of each set by the lanes of their vectors.
DOT_INSTRUCTIONS = {
    "vnni": {lanes: f"llvm.x86.avx512.vpdpbusd.{32 * lanes}" for lanes in (16, 8)},
    "avx512": {16: "llvm.x86.avx512.pmaddw.d.512"},
    "avx2": {8: "llvm.x86.avx2.pmadd.wd"},
}
# The instruction for pairs of bfloat16 by the lanes of its vectors.
PAIR_INSTRUCTIONS = {lanes: f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}" for lanes in (16, 8)}


def dot_intrinsic(
    instructions: str,
    lanes: int,
    has_signed_four: bool = False,
    has_rows_first: bool = False,
    is_local: bool = False,
) -> str:
    """The name of the intrinsic of a dot product.

    Parameters
    ----------
    instructions : a key of `DOT_INSTRUCTIONS`.
    has_signed_four : whether the four bytes are the signed ones, and those of the rows unsigned.
    has_rows_first : whether the byte of a row is the first factor of a product.
    is_local : whether the sums are in memory of scope "local".

    >>> dot_intrinsic("vnni", 8, has_signed_four=True)
    'dot_8x4_vnni_signed'
    """
    options = (has_signed_four, "signed"), (has_rows_first, "rows_first"), (is_local, "local")
    return "_".join([f"dot_{lanes}x4_{instructions}", *[name for is_on, name in options if is_on]])


def pair_intrinsic(lanes: int, has_rows_first: bool = False, is_local: bool = False) -> str:
    """The name of the intrinsic of dot products of pairs of bfloat16, with sums in float32.

    >>> pair_intrinsic(16, is_local=True)
    'dot_16x2_bf16_local'
    """
    options = (has_rows_first, "rows_first"), (is_local, "local")
    return "_".join([f"dot_{lanes}x2_bf16", *[name for is_on, name in options if is_on]])


class _Operands:
    """Four bytes in all lanes and the bytes of the rows, as vectors."""

    def __init__(self, vectors: Vectors, buffers: Buffers, lanes: int) -> None:
        self.has_signed_four = buffers[0].dtype == "int8"
        four, rows = ("i8", "u8") if self.has_signed_four else ("u8", "i8")
        small = vectors.let(f"A_{four}x4", vector(buffers[0], 4))
        self.four = Broadcast(vectors.let("A_i32", as_bits("int32", small)), lanes)
        self.rows = vectors.let(f"B_{rows}x{4 * lanes}", vector(buffers[1], 4 * lanes))

    def by_sign(self, four: Expr, rows: Expr) -> tuple[Expr, Expr]:
        """The unsigned ones of two vectors before the signed ones."""
        return (rows, four) if self.has_signed_four else (four, rows)


def _vnni(instruction: str, lanes: int, buffers: Buffers) -> Stmt:
    vectors, sums = Vectors(), buffers[2]
    operands = _Operands(vectors, buffers, lanes)
    rows = vectors.let(f"B_i32x{lanes}", as_bits(f"int32x{lanes}", operands.rows))
    before = vectors.let(f"C_i32x{lanes}", vector(sums, lanes))
    factors = operands.by_sign(operands.four, rows)
    value = llvm(f"int32x{lanes}", instruction, before, *factors)
    return vectors.then(stored(sums, value, lanes))


def _pairs(instruction: str, lanes: int, buffers: Buffers) -> Stmt:
    vectors, sums, half = Vectors(), buffers[2], 2 * lanes
    operands = _Operands(vectors, buffers, lanes)
    unsigned, signed = operands.by_sign(operands.four, operands.rows)
    whole = vectors.let(f"u16x{half}", as_bits(f"uint16x{half}", unsigned))
    number = vectors.let(f"i16x{half}", as_bits(f"int16x{half}", signed))
    eight, mask = Broadcast(IntImm(8, "int16"), half), Broadcast(IntImm(255, "uint16"), half)
    even = as_bits(f"int16x{half}", ops.bitwise_and(whole, mask))
    odd = as_bits(f"int16x{half}", ops.shift_right(whole, Broadcast(IntImm(8, "uint16"), half)))
    low = vectors.let("low", ops.shift_right(ops.shift_left(number, eight), eight))
    high = vectors.let("high", ops.shift_right(number, eight))

    def products(x: Expr, y: Expr) -> Expr:
        """The sums of pairs of products of 16-bit numbers."""
        return llvm(f"int32x{lanes}", instruction, x, y)

    value = vector(sums, lanes) + products(even, low) + products(odd, high)
    return vectors.then(stored(sums, value, lanes))


def _bfloats(lanes: int, buffers: Buffers) -> Stmt:
    vectors, sums, dtype = Vectors(), buffers[2], f"bfloat16x{2 * lanes}"
    pair = vectors.let("A_i32", as_bits("int32", vectors.let("A_bf16x2", vector(buffers[0], 2))))
    pairs = vectors.let("A_pairs", as_bits(dtype, Broadcast(pair, lanes)))
    rows = vectors.let("B_pairs", vector(buffers[1], 2 * lanes))
    value = llvm(f"float32x{lanes}", PAIR_INSTRUCTIONS[lanes], vector(sums, lanes), pairs, rows)
    return vectors.then(stored(sums, value, lanes))


def _pair_of_bfloats(lanes: int, has_rows_first: bool, is_local: bool) -> Callable[[], Pair]:
    statement = partial(_bfloats, lanes)
    scope, dtypes = "local" if is_local else "", ("bfloat16", "bfloat16", "float32")
    return lambda: dot_product(lanes, 2, dtypes, statement, has_rows_first, scope)


def _made(
    instructions: str, lanes: int, has_signed_four: bool, has_rows_first: bool, is_local: bool
) -> Callable[[], Pair]:
    compute = _vnni if instructions == "vnni" else _pairs
    instruction = DOT_INSTRUCTIONS[instructions][lanes]
    four, rows = ("int8", "uint8") if has_signed_four else ("uint8", "int8")
    statement = partial(compute, instruction, lanes)
    scope, dtypes = "local" if is_local else "", (four, rows, "int32")
    return lambda: dot_product(lanes, 4, dtypes, statement, has_rows_first, scope)


INTRINSICS = {
    dot_intrinsic(instructions, lanes, *options): _made(instructions, lanes, *options)
    for instructions, by_lanes in DOT_INSTRUCTIONS.items()
    for lanes, options in product(by_lanes, product((False, True), repeat=3))
} | {
    pair_intrinsic(lanes, *options): _pair_of_bfloats(lanes, *options)
    for lanes, options in product(PAIR_INSTRUCTIONS, product((False, True), repeat=2))
}
