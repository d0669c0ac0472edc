"""The class of workloads of benchmarks.cpu. Must not know the workloads or measurements.

A schedule is a function of `te` and the sizes, so that te_sched.te and tvm.te run the same one. A
peer is a function of the inputs (numpy arrays) that prepares a call; the call returns the result. A
peer imports its library itself: an ImportError means that it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Program = tuple[Any, list[Any]]
Schedule = Callable[..., Program]
Call = Callable[[], Any]
Peer = Callable[..., Call]

BEST_PEER, PEAK = "best peer", "peak"  # references of goals, besides the names of peers


@dataclass(frozen=True, slots=True)
class Workload:
    """One computation at one size. The last argument of its schedules is the result.

    `tutorial(te, *size)` is a schedule in the style of TVM's tutorials; `best(te, *size)` is the
    fastest. `reference(*inputs)` is numpy's result. Both schedules are checked at the sizes `odd`,
    which are not multiples of tiles, before they are timed at `size`. A result may differ from the
    reference by `tolerance` relative to the largest element. The rate is computed from `flops` or,
    without them, from the bytes that must be `moved`. `goals` are target speeds relative to a peer
    or to the machine's peak; `narrow` operands fit into one of 32 bits, and the peak is higher by
    this factor.
    """

    name: str
    size: tuple[int, ...]
    best: Schedule
    tutorial: Schedule
    reference: Callable[..., Array]
    odd: Sequence[tuple[int, ...]]
    flops: float = 0.0
    moved: float = 0.0
    narrow: int = 1
    peers: Mapping[str, Peer] = field(default_factory=dict)
    goals: Mapping[str, float] = field(default_factory=lambda: {BEST_PEER: 1.0})
    tolerance: float = 1e-5
    inputs: Callable[[Sequence[Any]], list[Array]] | None = None

    def values(self, args: Sequence[Any]) -> list[Array]:
        """Inputs for the arguments of a schedule, which depend only on the shapes."""
        return (self.inputs or uniform)(args[:-1])


def uniform(args: Sequence[Any]) -> list[Array]:
    """Random numbers from -1 to 1; small integers for integer types."""
    generator = np.random.default_rng(0)
    return [_drawn(generator, shape_of(arg), np.dtype(str(arg.dtype))) for arg in args]


def _drawn(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return generator.integers(max(info.min, -128), min(info.max, 127), shape, dtype, True)
    return generator.uniform(-1, 1, shape).astype(dtype)


def shape_of(arg: Any) -> tuple[int, ...]:
    """The shape of a tensor as ints."""
    return tuple(int(extent) for extent in arg.shape)
