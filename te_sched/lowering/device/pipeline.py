"""The passes from a lowered function to kernels, as two tuples."""

from __future__ import annotations

from te_sched import config
from te_sched.config import Config
from te_sched.ir.kernel import is_kernel
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.verify import verify
from te_sched.lowering.device.bound_memory import bound_memory
from te_sched.lowering.device.insert_barriers import insert_barriers
from te_sched.lowering.device.lower_thread_reductions import lower_thread_reductions
from te_sched.lowering.device.lower_warp_memory import lower_warp_memory
from te_sched.lowering.device.split_kernels import split_kernels
from te_sched.lowering.device.unify_threads import unify_threads
from te_sched.passes import LoweringPass, Watcher, apply_passes

# Passes on the function, and then on each of its kernels.
FUNCTION_PASSES = (LoweringPass(unify_threads, "final"),)
KERNEL_PASSES = (
    LoweringPass(bound_memory, "kernel"),
    LoweringPass(lower_thread_reductions, "kernel_reduced"),
    LoweringPass(lower_warp_memory, "kernel_final"),
    LoweringPass(insert_barriers, "kernel_final"),
)


def device_passes(
    func: PrimFunc, switches: Config | None = None, watcher: Watcher | None = None
) -> IRModule:
    """The host's function and its kernels (see `kernel`), made with the switches in force.

    Raises
    ------
    BuildError if the function cannot be split into kernels: threads that the device does not have,
    stages that disagree on the number of threads, device memory outside of a kernel, barriers that
    not all threads would execute.
    """
    switches = switches or config.current()
    if watcher is not None:
        watcher.begin(func, "the function that is split into kernels")
    func = apply_passes(FUNCTION_PASSES, func, switches, watcher)
    functions = dict(split_kernels(func).functions)
    for name, function in functions.items():
        if is_kernel(function):
            functions[name] = apply_passes(KERNEL_PASSES, function, switches, watcher)
        elif switches.verify_passes:
            verify(function, "host")
    return IRModule(functions)
