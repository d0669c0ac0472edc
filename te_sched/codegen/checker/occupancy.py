"""Occupancy: the number of blocks that fit a multiprocessor, estimated from their resources.

The limits are those of the CUDA C++ Programming Guide's table of technical specifications. Must not
know kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from te_sched.ir.device_limits import WARP

_REGISTERS = 65536
_REGISTER_UNIT = 256  # granularity of register allocation, per warp


@dataclass(frozen=True, slots=True)
class _Multiprocessor:
    warps: int
    blocks: int
    shared: int
    reserved: int  # bytes of shared memory that the system takes in each block
    unit: int  # bytes; shared memory is given in such portions


_ARCHITECTURES = {
    "sm_75": _Multiprocessor(32, 16, 65536, 0, 256),
    "sm_80": _Multiprocessor(64, 32, 167936, 1024, 128),
    "sm_90": _Multiprocessor(64, 32, 233472, 1024, 128),
}


def estimate(threads: int, shared_bytes: int, registers: int | None) -> dict[str, dict[str, Any]]:
    """By architecture: resident blocks and warps, their share of the most, and what limits them."""
    return {
        arch: _estimate(limits, threads, shared_bytes, registers)
        for arch, limits in _ARCHITECTURES.items()
    }


def _estimate(
    limits: _Multiprocessor, threads: int, shared_bytes: int, registers: int | None
) -> dict[str, Any]:
    warps = -(-threads // WARP)
    fits = {"blocks": limits.blocks, "threads": limits.warps // warps}
    taken = -(-(shared_bytes + limits.reserved) // limits.unit) * limits.unit
    if shared_bytes:
        fits["shared memory"] = limits.shared // taken
    if registers:
        of_warp = -(-registers * WARP // _REGISTER_UNIT) * _REGISTER_UNIT
        fits["registers"] = _REGISTERS // of_warp // warps
    limited_by = min(fits, key=lambda name: fits[name])
    blocks = fits[limited_by]
    return {
        "blocks": blocks,
        "warps": blocks * warps,
        "occupancy": blocks * warps / limits.warps,
        "limited_by": limited_by,
    }
