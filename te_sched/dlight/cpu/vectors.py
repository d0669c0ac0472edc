"""The vector registers of a processor, and what a core does with them in a cycle, as far as rules
ask for them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from te_sched.codegen.llvm.machine import machine_of, vector_bytes
from te_sched.codegen.target import Target


class VectorRegisters(NamedTuple):
    """The elements of 32 bits in a register, and the registers."""

    lanes: int
    registers: int


class Core(NamedTuple):
    """What a core does with vectors in a cycle, fitted to measurements (docs/performance.md).

    multiplications, latency : multiplications with additions that start in a cycle, and the cycles
        until the sum of one can be used.
    loads : vectors and broadcast elements from the first-level cache.
    second_level : bytes from the second-level cache.
    transposed_store : cycles for each vector of rows of a tile whose sums are vectors of columns.
    """

    multiplications: float
    latency: float
    loads: float
    second_level: float
    transposed_store: float


MULTIPLY_ADDS = Core(2, 4, 2, 64, 2.5)
DOT_PRODUCTS = Core(2, 6, 1, 64, 2.5)  # of bytes, four at once


@cache
def vectors_of(target: Target) -> VectorRegisters:
    """The vector registers of a target."""
    machine = machine_of(target)
    lanes = vector_bytes(machine) // 4
    has_many = lanes == 16 or machine.triple.startswith(("aarch64", "arm64"))
    return VectorRegisters(lanes, 32 if has_many else 16)
