"""`tir.transform.DefaultGPUSchedule`: every block of a function on the threads of a GPU."""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.dlight.base import IS_SCHEDULED, named_as
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.schedule_rule.auto_bind import bind_block
from te_sched.tensorir.facts.nests import blocks_inside, is_root
from te_sched.tir.schedule import Schedule
from te_sched.tir.transform import ModulePass

_BLOCKS, _THREADS = 256, 1024


class DefaultGPUSchedule(ModulePass):
    """The pass that binds the loops of functions that no schedule has treated to a GPU's threads.

    Functions for other targets, and those with the attribute "tir.is_scheduled", stay as they are.
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with bound loops."""
        target = Target.current()
        functions = {}
        for name, func in mod.functions.items():
            own = func.attrs.get("target", target) if isinstance(func, PrimFunc) else None
            if (
                own is None
                or own.kind.name in ("llvm", "c", "hexagon")
                or func.attrs.get(IS_SCHEDULED)
            ):
                continue
            functions[name] = _bound(func, own)
        return mod.with_functions(functions)


def _bound(func: PrimFunc, target: Target) -> PrimFunc:
    sch = Schedule(func)
    most = min(_THREADS, target.max_threads_per_block)
    root = sch.block_key(sch.get_block("root"), "DefaultGPUSchedule")
    for key in list(blocks_inside(sch, root)):
        if not is_root(sch, key):
            bind_block(sch, sch.handle_of(key), _BLOCKS, most, lambda count: min(count, most))
    new_func: PrimFunc = sch.mod["main"]
    return named_as(new_func, func).with_attr(IS_SCHEDULED, True)
