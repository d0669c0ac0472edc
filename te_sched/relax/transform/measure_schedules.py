"""MeasureSchedules: the fastest of the default schedules of each function, by measurements.

Rules choose schedules by models of a processor. Where several are nearly as good by the model, each
is compiled and run with arbitrary data for a moment. Must not know what a schedule consists of.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from te_sched import dlight, driver, nd
from te_sched.codegen.target import Target
from te_sched.dlight.base import IS_SCHEDULED, named_as
from te_sched.errors import CallError, GraphError
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.passes import ModulePass
from te_sched.relax.transform.split_layout_rewrite_preproc import split_packing
from te_sched.tir.analysis import estimate_tir_flops
from te_sched.tir.schedule import Schedule
from te_sched.tuning.arguments import random_arrays
from te_sched.tuning.timing import least_in_turn

_SECONDS = 0.005  # of each of several programs in turn
_GAIN = 0.97  # of the time of the best guess that another schedule takes at most


class MeasureSchedules(ModulePass):
    """The pass that schedules functions by the fastest of their default schedules.

    Functions of open sizes, and those that nothing is left to choose for, are left to
    `dlight.ApplyDefaultSchedule`. The target is the current one (`with Target("llvm"):`), this
    machine.

    Parameters
    ----------
    seconds : how long it may take: no further function is measured after that. Those that compute
        most come first.

    >>> import te_sched
    >>> from te_sched import te, topi
    >>> A, B = (te.placeholder((32, 32), name=name) for name in "AB")
    >>> module = te_sched.IRModule({"main": te.create_prim_func([A, B, topi.nn.matmul(A, B)])})
    >>> with te_sched.target.Target("llvm"):
    ...     scheduled = MeasureSchedules(10.0)(module)
    >>> scheduled["main"].attrs["tir.is_scheduled"]
    1
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with functions whose schedules were measured."""
        target, end = Target.current(), time.perf_counter() + self.seconds
        if target is None:
            raise GraphError(
                "MeasureSchedules does not know the target",
                "schedules depend on it",
                'use it inside of `with Target("llvm"):`',
            )
        scheduled: dict[str, PrimFunc] = {}
        rest = {
            str(name): func
            for name, func in mod.functions_of_loops.items()
            if not func.attrs.get(IS_SCHEDULED) and _is_static(func)
        }
        for name in sorted(rest, key=lambda own: estimate_tir_flops(rest[own]), reverse=True):
            if time.perf_counter() >= end:
                break
            chosen = fastest(rest[name], target)
            if chosen is not None:
                scheduled[name] = named_as(chosen, rest[name]).with_attr(IS_SCHEDULED, 1)
        return mod.with_functions(scheduled)


def fastest(func: PrimFunc, target: Target) -> PrimFunc | None:
    """A function of constant shapes in the fastest of its default schedules; None if there are not
    several.
    """
    choices: list[Schedule] = dlight.cpu.Default().apply(func, target, True) or []
    if len(choices) < 2:
        return None
    try:
        taken = least_in_turn([timed_call(sch.mod["main"], target) for sch in choices], _SECONDS)
    except CallError:  # arbitrary data may be refused, as indices are
        return None
    best = min(range(len(choices)), key=taken.__getitem__)
    chosen: PrimFunc = choices[best if taken[best] < _GAIN * taken[0] else 0].mod["main"]
    return chosen


def timed_call(func: PrimFunc, target: Target | str = "llvm") -> Callable[[], object]:
    """A call of a function of constant shapes with arbitrary data; it does not pack constants."""
    split = split_packing(func)
    rest = func if split is None else split.rest
    built = driver.build(rest.with_attr("global_symbol", "main"), target=target)
    shapes = [([size or 0 for size in shape], dtype) for dtype, shape in _arguments_of(rest)]
    arguments = random_arrays(shapes, nd.cpu())
    return lambda: built(*arguments)


def _is_static(func: PrimFunc) -> bool:
    is_open = any(size is None for _, shape in _arguments_of(func) for size in shape)
    return len(func.buffer_map) == len(func.params) and not is_open


def _arguments_of(func: PrimFunc) -> list[tuple[str, list[int | None]]]:
    """The dtypes and shapes of the arrays that a function takes; None are open sizes."""
    buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    return [
        (buffer.dtype, [size.value if isinstance(size, IntImm) else None for size in buffer.shape])
        for buffer in buffers
    ]
