"""What all rules for GPUs share: which functions they schedule, and the limits of the target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from te_sched.codegen.target import Target
from te_sched.dlight.base import DefaultRule
from te_sched.errors import TeSchedError
from te_sched.ir.stmt import PrimFunc
from te_sched.tensorir.handles import LoopRV
from te_sched.tir.schedule import Schedule

UNROLL_STEPS = 256


class GPURule(DefaultRule, ABC):
    """A rule for GPUs. A function for which a step of it is not legal is not of its kind."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """A schedule of the function, or None."""
        del tunable
        if not is_gpu(target) or not isinstance(func, PrimFunc):
            return None
        try:
            return self.scheduled(Schedule(func), target)
        except TeSchedError:  # loops without blocks, or a step that is not legal for them
            return None

    @abstractmethod
    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function that was not scheduled yet; None if it is of another kind."""


def is_gpu(target: Target) -> bool:
    """Whether functions for a target are kernels."""
    return "gpu" in target.keys


def unroll(sch: Schedule, loop: LoopRV, steps: int = UNROLL_STEPS) -> None:
    """Ask for the loops in a loop to be unrolled, up to a number of statements."""
    sch.annotate(loop, "pragma_auto_unroll_max_step", steps)
    sch.annotate(loop, "pragma_unroll_explicit", 1)


def power_of_two(limit: int) -> int:
    """The largest power of two that is at most a limit; at least 1."""
    return 1 << max(limit.bit_length() - 1, 0)
