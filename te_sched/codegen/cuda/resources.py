"""Resource usage of kernels from the assembler's report: registers, memory, spills.

Owns the reading of its report (ptxas -v). Must not know how it is called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[\d+\]")


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """What one kernel uses: registers and local bytes of a thread, shared bytes of a block.

    `shared_bytes` are the static ones. `local_bytes` are in global memory, spills among them;
    spills are the bytes that instructions store and load because registers ran out.
    """

    registers: int
    shared_bytes: int = 0
    local_bytes: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    constant_bytes: int = 0
    barriers: int = 0


def read_usage(log: str) -> dict[str, ResourceUsage]:
    """The usage of each kernel in a report, by its name."""
    usage: dict[str, ResourceUsage] = {}
    name, frame = "", (0, 0, 0)
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, frame = entry[1], (0, 0, 0)
        elif match := _FRAME.search(line):
            frame = (int(match[1]), int(match[2]), int(match[3]))
        elif (registers := _REGISTERS.search(line)) and name:
            usage[name] = ResourceUsage(
                int(registers[1]),
                _number(_SHARED, line),
                *frame,
                sum(int(size) for size in _CONSTANT.findall(line)),
                _number(_BARRIERS, line),
            )
    return usage


def _number(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return int(match[1]) if match else 0
