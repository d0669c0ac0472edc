"""Smaller sizes of large products; campaigns execute them at full size."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from tests.golden.corpus import Program, executed
from tests.sampling import IS_CAMPAIGN

# A line of a program and its replacement. Divisors of an extent also divide the new one.
SMALLER = {
    "gemm_gpu": ("M, N, K = 1024, 512, 2048", "M, N, K = 128, 64, 256"),
    "11_tile": ("n = 1024", "n = 128"),
    "gemm_cpu": ("M = N = K = 512", "M = N = K = 128"),
    "gemm_gpu_registers": ("n = 512", "n = 128"),
}


@cache
def sized(program: Program) -> ModuleType:
    """The program at a smaller size."""
    if IS_CAMPAIGN or program.name not in SMALLER:
        return program.module
    text, (line, other) = program.text, SMALLER[program.name]
    assert text.count(line) == 1
    return executed(program.name, text.replace(line, other), program.path)
