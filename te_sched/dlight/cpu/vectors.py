"""The vector registers of a processor, as far as rules ask for them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from te_sched.codegen.llvm.machine import machine_of, vector_bytes
from te_sched.codegen.target import Target


class VectorRegisters(NamedTuple):
    """The elements of 32 bits in a register, and the registers."""

    lanes: int
    registers: int


@cache
def vectors_of(target: Target) -> VectorRegisters:
    """The vector registers of a target."""
    machine = machine_of(target)
    lanes = vector_bytes(machine) // 4
    has_many = lanes == 16 or machine.triple.startswith(("aarch64", "arm64"))
    return VectorRegisters(lanes, 32 if has_many else 16)
