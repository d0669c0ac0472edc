"""The figures of one schedule: the compiler's statistics, the error of the result, and the time.

Must not know the schedules or the output of figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import te_sched
from benchmarks.gpu.device import Gpu
from benchmarks.gpu.moving import Arrays, operands
from te_sched.codegen.cuda import nvrtc
from te_sched.ir.kernel import thread_axes

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
_TOLERANCE = 1e-4  # relative to the largest element
_CHECKED_BLOCKS = 16

Reference = Callable[..., Any]
Usage = dict[str, dict[str, int]]


@dataclass
class Row:
    """The figures of one schedule. Times are in milliseconds, or None."""

    name: str
    size: tuple[int, ...]
    note: str = ""
    launch: str = ""
    usage: Usage = field(default_factory=dict)
    difference: float | None = None
    emulated_ms: float | None = None
    findings: int | None = None
    gpu_difference: float | None = None
    gpu_ms: float | None = None
    peer_ms: float | None = None
    gigaflops: float | None = None
    gigabytes_per_second: float | None = None
    failed: str = ""

    def work(self, flops: float = 0.0, moved: float = 0.0) -> None:
        """Set the rates from the numbers of operations and bytes."""
        if self.gpu_ms:
            self.gigaflops = flops / self.gpu_ms / 1e6 if flops else None
            self.gigabytes_per_second = moved / self.gpu_ms / 1e6 if moved else None


@dataclass(frozen=True, slots=True)
class How:
    """The kinds of measurement: on a GPU, emulated, in the checked mode."""

    gpu: Gpu | None
    emulate: bool = True
    check: bool = False


@contextmanager
def noting(row: Row) -> Iterator[None]:
    """Record an exception as a figure, so that the next parts are still measured."""
    try:
        yield
    except Exception as error:  # errors of cupy and the driver have no common base
        row.failed = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def measure(row: Row, s: Any, args: list[Any], reference: Reference, how: How) -> Any:
    """Fill a row; returns the measured module."""
    module: Any = te_sched.build(s, args, target="cuda")
    row.launch = "; ".join(launch_of(kernel) for kernel in module.kernels.values())
    row.usage = usage_of(lambda arch: module.resource_usage(arch))
    values = operands(args)
    if how.emulate:
        _emulate(row, module, values, reference, how)
    if how.gpu is not None:
        gpu = how.gpu
        arrays = gpu.arrays(values)
        call = gpu.bound(module, arrays)
        call()
        row.gpu_difference = difference(gpu.to_numpy(arrays[-1]), reference(*values[:-1]))
        row.gpu_ms = gpu.milliseconds(call)
    return module


def _emulate(row: Row, module: Any, values: Arrays, reference: Reference, how: How) -> None:
    device = te_sched.emulated_cuda(0)
    arrays = [te_sched.nd.array(value, device) for value in values]
    module(*arrays)
    start = time.perf_counter()
    module(*arrays)
    row.emulated_ms = (time.perf_counter() - start) * 1e3
    row.difference = difference(arrays[-1].numpy(), reference(*values[:-1]))
    if how.check:
        row.findings = len(module.check(*arrays, max_blocks=_CHECKED_BLOCKS).findings)


def usage_of(usage: Callable[[str], dict[str, Any]]) -> Usage:
    """Registers, shared bytes and spills by architecture: the maximum of several kernels."""
    found: Usage = {}
    if nvrtc.is_available():
        for arch in ARCHITECTURES:
            kernels = [asdict(one) for one in usage(arch).values()]
            found[arch] = {key: max(int(one[key]) for one in kernels) for key in kernels[0]}
    return found


def launch_of(kernel: Any) -> str:
    """`32 x 16 blocks of 8 x 8`."""
    extents = {axis.tag: str(axis.extent) for axis in thread_axes(kernel)[0]}
    grid, block = (
        " x ".join(extents[tag] for tag in sorted(extents) if tag.startswith(kind)) or "1"
        for kind in ("blockIdx", "threadIdx")
    )
    return f"{grid} blocks of {block}"


def difference(found: Any, expected: Any) -> float:
    """The largest difference relative to the largest element; raises if it is too large."""
    largest = float(np.max(np.abs(expected)))
    value = float(np.max(np.abs(found - expected))) / (largest or 1.0)
    if math.isnan(value) or value > _TOLERANCE:
        raise ValueError(f"the result is wrong: it differs from numpy's by {value:.1e}")
    return value
