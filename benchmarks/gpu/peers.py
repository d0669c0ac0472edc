"""The CUDA that TVM generated for the schedules of te_sched's kernels.

The schedules are those of programs in tests/golden. Must not know the output of figures.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import te_sched
from te_sched.ir.expr import IntImm
from te_sched.ir.kernel import thread_axes
from tests.golden import corpus

HERE = Path(__file__).resolve().parent.parent / "data" / "tvm_cuda"
_ENTRY = re.compile(r'extern "C" __global__ \w+ (?:__launch_bounds__\(\d+\) )?(\w+)\(([^)]*)\)')
_PARAMETER = re.compile(r"(\w+)\s*$")


@dataclass(frozen=True, slots=True)
class Peer:
    """A kernel of TVM: its text, its name, and its parameters in order."""

    name: str
    source: str
    kernel: str
    parameters: tuple[str, ...]


def read(directory: Path = HERE) -> list[Peer]:
    """All kernels in a folder."""
    peers = []
    for path in sorted(directory.glob("*.cu")):
        source = path.read_text()
        entry = _ENTRY.search(source)
        if entry is not None:
            names = [_PARAMETER.search(part) for part in entry[2].split(",")]
            parameters = tuple(name[1] for name in names if name is not None)
            peers.append(Peer(path.stem, source, entry[1], parameters))
    return peers


def schedule_of(peer: Peer) -> tuple[Any, list[Any]] | None:
    """The schedule and arguments for which TVM generated a kernel."""
    program, step = _find(peer)
    if program is None:
        return None
    return next(itertools.islice(program.steps(te_sched), step, None), None)


def _find(peer: Peer) -> tuple[corpus.Program | None, int]:
    for program in corpus.programs("gemm_gpu", "programs"):
        steps = program.step_names()
        for number, step in enumerate(steps):
            if step == peer.name or f"{program.name}_{number}".endswith(peer.name):
                return program, number
    return None, 0  # a kernel of another program


def launch_of(kernel: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of blocks and of threads per block, if they are constant."""
    extents = {
        axis.tag: axis.extent.value
        for axis in thread_axes(kernel)[0]
        if isinstance(axis.extent, IntImm)
    }
    grid, block = (
        tuple(extents.get(f"{kind}.{letter}", 1) for letter in "xyz")
        for kind in ("blockIdx", "threadIdx")
    )
    return grid, block
