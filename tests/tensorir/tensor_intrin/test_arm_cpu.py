"""Dot products of ARM processors."""

from __future__ import annotations

import pytest

from te_sched.tensorir.tensor_intrin import arm_cpu
from tests.tensorir.tensor_intrin.calls import text_of


@pytest.mark.parametrize(
    ("name", "call", "element", "result"),
    [
        (arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN, "sdot", "int8", "int32"),
        (arm_cpu.ARM_DOT_4x4_u8_UDOT_INTRIN, "udot", "uint8", "uint32"),
        (arm_cpu.ARM_DOT_4x4_u8_HDOT_INTRIN, "udot", "uint8", "int32"),
    ],
)
def test_one_instruction_adds_four_sums(name: str, call: str, element: str, result: str) -> None:
    text = text_of(name)
    assert f'C[0:4] = T.call_llvm_pure_intrin("{result}x4", "llvm.aarch64.neon.{call}"' in text
    assert f"vec_b: T.{element}x16 = B[0, 0:16]" in text
    assert text.count("T.call_llvm_pure_intrin") == 1
    described = text_of(name, "desc")
    assert f'A = T.match_buffer(A_handle, (4,), "{element}"' in described
    assert f'C[vi] + T.Cast("{result}", A[vk]) * T.Cast("{result}", B[vi, vk])' in described


def test_pairs_of_rows_are_multiplied_without_dot_products() -> None:
    text = text_of(arm_cpu.ARM_DOT_4x4_i8_NEON_INTRIN)
    calls = [("smull", 2), ("saddlp", 2), ("addp", 1)]
    assert [text.count(f'"llvm.aarch64.neon.{name}"') for name, _ in calls] == [2, 2, 1]
    assert [f"B[{row}, 0:8]" in text for row in range(4)] == [True, False, True, False]
