"""The vector registers of a processor, as far as rules ask for them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from te_sched.codegen.llvm.machine import machine_of
from te_sched.codegen.target import Target


class VectorRegisters(NamedTuple):
    """The elements of 32 bits in a register, and the registers."""

    lanes: int
    registers: int


@cache
def vectors_of(target: Target) -> VectorRegisters:
    """The vector registers of a target."""
    machine = machine_of(target)
    features = set(machine.features.split(","))
    if "+avx512f" in features:
        return VectorRegisters(16, 32)
    if "+avx" in features:
        return VectorRegisters(8, 16)
    return VectorRegisters(4, 32 if machine.triple.startswith(("aarch64", "arm64")) else 16)
