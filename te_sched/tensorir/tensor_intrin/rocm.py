"""Intrinsics of AMD's GPUs: dot products of four bytes."""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.tensorir.tensor_intrin.building import as_bits, llvm
from te_sched.tensorir.tensor_intrin.dot_product_common import four_bytes

AMDGPU_SDOT4_INTRIN = "sdot4"


def _sdot4(a: Expr, b: Expr) -> Expr:
    words = [as_bits("int32", operand) for operand in (a, b)]
    return llvm("int32", "llvm.amdgcn.sdot4", *words, ops.const(0, "int32"), ops.TRUE)


INTRINSICS = {AMDGPU_SDOT4_INTRIN: lambda: four_bytes(("int8", "int8", "int32"), _sdot4)}
