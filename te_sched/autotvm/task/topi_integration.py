"""Templates in two functions: one declares the operator, one schedules it.

The first writes its arguments into the attributes of the operator, where the second finds them.
Must not know which operators there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.autotvm.task.dispatcher import DispatchContext
from te_sched.autotvm.task.task import args_to_workload, register
from te_sched.codegen.target import Target
from te_sched.errors import TeSchedError
from te_sched.signatures import checked
from te_sched.te.tensor import Tensor

_ATTRIBUTE = "workload"


@checked
def register_topi_compute(task_name: str, func: Any = None) -> Any:
    """A decorator for the function that declares a task's operator; its first argument is `cfg`.

    The decorated function takes the other arguments, and has the configuration of the context.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            workload = args_to_workload(args, task_name)
            result = function(_config(workload), *args, **kwargs)
            outs = result if isinstance(result, list | tuple) else [result]
            for op in {tensor.op for tensor in outs}:
                op.attrs = {**op.attrs, _ATTRIBUTE: workload}
            return result

        register(task_name, "fcompute", call)
        return call

    return decorate if func is None else decorate(func)


@checked
def register_topi_schedule(task_name: str, func: Any = None) -> Any:
    """A decorator for the function that schedules a task's operator: its first argument is `cfg`,
    the second the list of outputs.

    The decorated function takes the outputs, and has the configuration of the context.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(outs: Any, *args: Any, **kwargs: Any) -> Any:
            workload = get_workload(outs, task_name)
            if workload is None:
                raise TeSchedError(
                    f"the outputs do not come from task {task_name}",
                    "no operation before them has a workload of it",
                    "declare the operator by the function of register_topi_compute",
                )
            return function(_config(workload), outs, *args, **kwargs)

        register(task_name, "fschedule", call)
        return call

    return decorate if func is None else decorate(func)


def _config(workload: tuple[Any, ...]) -> Any:
    return DispatchContext.current.query(Target.current(), workload)


@checked
def get_workload(
    outs: Tensor | Sequence[Tensor], task_name: str | None = None
) -> tuple[Any, ...] | None:
    """The workload of the last operator that leads to outputs, of a task; None without one."""
    pending = [outs] if isinstance(outs, Tensor) else list(outs)
    seen: set[Any] = set()
    while pending:
        op = pending.pop(0).op
        if op in seen:
            continue
        seen.add(op)
        workload: Any = op.attrs.get(_ATTRIBUTE)
        if workload is not None and task_name in (None, workload[0]):
            return tuple(workload)
        pending += op.input_tensors
    return None
