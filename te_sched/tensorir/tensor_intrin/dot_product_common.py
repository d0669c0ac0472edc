"""Dot products of four bytes in shared memory, which are added to a 32-bit number (dp4a)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from te_sched.ir import ops
from te_sched.ir.calls import call_pure_extern
from te_sched.ir.expr import BufferLoad, Expr, IntImm
from te_sched.ir.stmt import BufferStore
from te_sched.tensorir.facts.axes import REDUCTION
from te_sched.tensorir.tensor_intrin.building import (
    Buffers,
    Pair,
    function,
    loops,
    parameter,
    updated,
    vector,
)

DP4A_S8S8S32_INTRIN = "dp4a_s8s8s32"
DP4A_S8U8S32_INTRIN = "dp4a_s8u8s32"
DP4A_U8S8S32_INTRIN = "dp4a_u8s8s32"
DP4A_U8U8U32_INTRIN = "dp4a_u8u8u32"


def four_bytes(dtypes: Sequence[str], product: Callable[[Expr, Expr], Expr]) -> Pair:
    """C[0] += A[k] * B[k] for four elements in shared memory; `product` computes the sum of
    products of two vectors.
    """

    def buffers() -> Buffers:
        a, b = [parameter(n, (4,), t, "shared", 4) for n, t in zip("AB", dtypes, strict=False)]
        return a, b, parameter("C", (1,), dtypes[2], "local", 4)

    a, b, c = buffers()
    body = loops(
        "i",
        (REDUCTION,),
        (4,),
        lambda k: updated(BufferLoad(c, (IntImm(0),)), BufferLoad(a, (k,)), BufferLoad(b, (k,))),
    )
    described = function((a, b, c), body, (c, a, b))
    a, b, c = buffers()
    element = BufferLoad(c, (IntImm(0),))
    done = BufferStore(c, element + product(vector(a, 4), vector(b, 4)), element.indices)
    return described, function((a, b, c), done, (c, a, b))


def _dp4a(*dtypes: str) -> Callable[[], Pair]:
    zero = ops.const(0, dtypes[2])

    def product(a: Expr, b: Expr) -> Expr:
        return call_pure_extern(dtypes[2], "__dp4a", a, b, zero)

    return lambda: four_bytes(dtypes, product)


INTRINSICS = {
    DP4A_S8S8S32_INTRIN: _dp4a("int8", "int8", "int32"),
    DP4A_S8U8S32_INTRIN: _dp4a("int8", "uint8", "int32"),
    DP4A_U8S8S32_INTRIN: _dp4a("uint8", "int8", "int32"),
    DP4A_U8U8U32_INTRIN: _dp4a("uint8", "uint8", "uint32"),
}
