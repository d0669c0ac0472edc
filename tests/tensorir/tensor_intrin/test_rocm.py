"""The dot product of four bytes of AMD's GPUs."""

from __future__ import annotations

from te_sched.tensorir.tensor_intrin.rocm import AMDGPU_SDOT4_INTRIN
from tests.tensorir.tensor_intrin.calls import text_of


def test_bytes_are_words_of_one_instruction() -> None:
    words = 'T.reinterpret("int32", A[0:4]), T.reinterpret("int32", B[0:4])'
    call = f'T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", T.uint32(4), {words}, 0'
    assert f"C[0] = C[0] + {call}, T.bool(True))" in text_of(AMDGPU_SDOT4_INTRIN)
