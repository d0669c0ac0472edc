"""The vector registers of processors, also of those that are named."""

import platform

import pytest

from te_sched.dlight.cpu.vectors import vectors_of
from te_sched.target import Target


@pytest.mark.skipif(platform.machine() != "x86_64", reason="LLVM compiles for this machine")
@pytest.mark.parametrize(
    ("target", "lanes", "registers"),
    [
        ("-mcpu=x86-64", 4, 16),
        ("-mcpu=znver3", 8, 16),
        ("-mcpu=core-avx2", 8, 16),
        ("-mcpu=skylake-avx512", 16, 32),
        ("-mcpu=x86-64 -mattr=+avx512f", 16, 32),
        ("-mcpu=znver4 -mattr=-avx512f", 8, 16),
    ],
)
def test_registers(target: str, lanes: int, registers: int) -> None:
    assert vectors_of(Target(f"llvm -mtriple=x86_64-linux-gnu {target}")) == (lanes, registers)
