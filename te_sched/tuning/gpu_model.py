"""A model that turns what the emulated GPU counts into seconds. No GPU runs: the seconds serve to
order candidates, a real device takes other times.

The kernels run in the checked mode, a few of their blocks, evenly spread. It counts the sectors of
global memory and the passes through the banks of shared memory that each access takes, and finds
how many warps fit a multiprocessor. The operations are counted in the kernel's program. The assumed
machine is `MACHINE`, about an A100. A kernel takes the time of a launch, plus

- the latencies of a warp's operations and accesses, once for each set of warps that fit a
  multiprocessor at once, plus
- the longest of its issue slots (one for each operation and access of a warp), its passes through
  shared memory, and its sectors through the second-level cache, with each argument once through
  DRAM.

Blocks are dealt to multiprocessors in whole numbers. This is a roofline (Williams et al., CACM
2009) with the latencies of Hong and Kim (ISCA 2009). It knows no registers, no arithmetic of
indices, and no hits in first-level caches. Must not know runners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.analysis.programs.operations import count_operations
from te_sched.codegen.checker import AccessCounter, Report, ViolationKind
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import CallError
from te_sched.runtime.device import device as device_of
from te_sched.runtime.ndarray import NDArray

_WARP, _SECTOR = 32, 32
_BLOCKS = 2  # of a kernel that run
_STEPS = 100_000  # iterations of loops, after which a kernel is too long for the model
_WRONG = frozenset(
    (
        ViolationKind.WRITE_WRITE_RACE,
        ViolationKind.READ_WRITE_RACE,
        ViolationKind.BARRIER_DIVERGENCE,
        ViolationKind.OUT_OF_BOUNDS,
        ViolationKind.SHUFFLE,
    )
)


@dataclass(frozen=True, slots=True)
class Machine:
    """The assumed GPU: rates per second and multiprocessor, latencies in cycles."""

    architecture: str
    multiprocessors: int
    clock: float  # cycles in a second
    issued: float  # instructions of warps in a cycle
    cache: float  # bytes in a second through the second-level cache, all multiprocessors together
    dram: float  # bytes in a second
    global_latency: float
    shared_latency: float
    operation_latency: float
    outstanding: float  # accesses of a warp that are under way at once
    launch: float  # seconds


MACHINE = Machine("sm_80", 108, 1.41e9, 4.0, 4.0e12, 1.555e12, 400.0, 25.0, 4.0, 4.0, 3e-6)

MODEL = f"model of {MACHINE.architecture}"  # instead of a measurement, in records


def is_modeled(device_type: str) -> bool:
    """Whether programs for a kind of device are not run on one, since there is none."""
    if device_type != "cuda":
        return False
    device = device_of(device_type, 0)
    return device.emulated or not device.exist


@walks_deeply("model the time of a program")
def modeled_seconds(module: Any, arguments: Sequence[NDArray]) -> float:
    """The seconds of the model for the entry function of a CUDA module.

    Raises
    ------
    CallError for kernels that have data races or are too long for the checked mode.
    """
    arrays = [argument._array.copy() for argument in arguments]  # bits of bfloat16
    report = module.check(*arrays, max_blocks=_BLOCKS, max_steps=_STEPS)
    _check(report)
    moved = sum(array.nbytes for array in arrays)
    spent = 0.0
    for name in report.launches:
        spent += seconds_of(report, name, count_operations(module.kernels[name]), moved)
    return spent


def seconds_of(
    report: Report, name: str, operations: int, moved: int, machine: Machine = MACHINE
) -> float:
    """The seconds of a kernel.

    Parameters
    ----------
    operations : of all threads together.
    moved : bytes of the arguments.
    """
    launch = report.launches[name]
    blocks, warps = launch["blocks"], -(-launch["threads"] // _WARP)
    counters = report.counters[name]
    ran = min(blocks, _BLOCKS)
    of_global, sectors = _of_block(counters, "global", warps, ran)
    of_shared, passes = _of_block(counters, "shared", warps, ran)
    calculated = operations / (blocks * launch["threads"]) * warps
    # The multiprocessor with the most blocks ends last.
    most = -(-blocks // machine.multiprocessors)
    fits = max(1, report.occupancy[name][machine.architecture]["warps"])
    accesses = of_global * machine.global_latency + of_shared * machine.shared_latency
    latency = accesses / machine.outstanding + calculated * machine.operation_latency
    waiting = latency / warps * math.ceil(most * warps / fits)
    issue = (calculated + of_global + of_shared) / machine.issued
    busy = max(issue, passes) * most
    transfer = max(sectors * blocks * _SECTOR / machine.cache, moved / machine.dram)
    return float(machine.launch + waiting / machine.clock + max(busy / machine.clock, transfer))


def _of_block(
    counters: Sequence[AccessCounter], scope: str, warps: int, blocks: int
) -> tuple[float, float]:
    """Requests of a block to a memory, and the sectors or passes that they take."""
    requests = taken = 0.0
    for counter in counters:
        if counter.scope == scope and counter.requests:
            block_requests = counter.executions * warps / blocks
            requests += block_requests
            taken += block_requests * counter.taken / counter.requests
    return requests, taken


def _check(report: Report) -> None:
    """Refuse kernels that are wrong, and those that were not executed to their end."""
    wrong = [finding for finding in report.findings if finding.kind in _WRONG]
    if wrong:
        raise CallError(
            f"the checked mode finds a fault in kernel {wrong[0].kernel!r}",
            str(wrong[0]),
            "module.check(...) of the candidate shows all faults",
        )
    if any(finding.kind is ViolationKind.STEP_LIMIT for finding in report.findings):
        raise CallError(
            "the kernels are too long for the model of the emulated device",
            f"a block has more than {_STEPS} iterations of loops",
            "tune smaller shapes, or tune on a machine with a GPU",
        )
