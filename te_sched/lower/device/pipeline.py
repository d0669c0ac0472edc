"""The road from a lowered function to kernels, as two tuples of passes."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lower.device.bound_memory import bound_memory
from te_sched.lower.device.insert_barriers import insert_barriers
from te_sched.lower.device.kernel import is_kernel
from te_sched.lower.device.lower_thread_reductions import lower_thread_reductions
from te_sched.lower.device.lower_warp_memory import lower_warp_memory
from te_sched.lower.device.split_kernels import split_kernels
from te_sched.lower.device.unify_threads import unify_threads

Pass = Callable[[PrimFunc], PrimFunc]

# What happens to the function, and then to each of its kernels.
FUNCTION_PASSES: tuple[Pass, ...] = (unify_threads,)
KERNEL_PASSES: tuple[Pass, ...] = (
    bound_memory,
    lower_thread_reductions,
    lower_warp_memory,
    insert_barriers,
)


def device_passes(func: PrimFunc) -> IRModule:
    """The host's function and its kernels (see `kernel`).

    Raises
    ------
    BuildError when the function cannot be cut into kernels: threads that the device does not have,
    stages that disagree on the number of threads, device memory outside of a kernel, barriers that
    not all threads would come by.
    """
    for one in FUNCTION_PASSES:
        func = one(func)
    functions = dict(split_kernels(func).functions)
    for name, function in functions.items():
        if is_kernel(function):
            for one in KERNEL_PASSES:
                function = one(function)
            functions[name] = function
    return IRModule(functions)
