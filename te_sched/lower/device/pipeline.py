"""The road from a lowered function to kernels, as one tuple of passes."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lower.device.split_kernels import split_kernels
from te_sched.lower.device.unify_threads import unify_threads

PASSES: tuple[Callable[[PrimFunc], PrimFunc], ...] = (unify_threads,)


def device_passes(func: PrimFunc) -> IRModule:
    """The host's function and its kernels (see `kernel`).

    Raises
    ------
    BuildError when the function cannot be cut into kernels: threads that the device does not have,
    stages that disagree on the number of threads, device memory outside of a kernel.
    """
    for one in PASSES:
        func = one(func)
    return split_kernels(func)
