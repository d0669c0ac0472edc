"""Dot products of 32 rows of Hexagon processors."""

from __future__ import annotations

import pytest

from te_sched.tensorir.tensor_intrin import hexagon
from tests.tensorir.tensor_intrin.calls import text_of


@pytest.mark.parametrize(
    ("name", "operands", "depth"),
    [
        (
            hexagon.VRMPY_u8u8i32_INTRIN,
            'vrmpyub.acc.128B", T.uint32(3), C[0:32], B_i32x32, A_i32',
            4,
        ),
        (
            hexagon.VRMPY_u8i8i32_INTRIN,
            'vrmpybusv.acc.128B", T.uint32(3), C[0:32], T.Broadcast(A_i32, 32), B_i32x32',
            4,
        ),
        (
            hexagon.VDMPY_i16i16i32_INTRIN,
            'vdmpyhvsat.acc.128B", T.uint32(3), C[0:32], T.Broadcast(A_i32, 32), B_i32x32',
            2,
        ),
    ],
)
def test_one_instruction_adds_32_sums(name: str, operands: str, depth: int) -> None:
    text = text_of(name)
    assert f'T.call_llvm_pure_intrin("int32x32", "llvm.hexagon.V6.{operands})' in text
    assert f"= A[0:{depth}]" in text
    assert f"= B[0, 0:{32 * depth}]" in text
