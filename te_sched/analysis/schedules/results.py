"""Check that all results of a schedule are arguments of its function.

`lower` accepts any list of arguments; `build` checks it here. Must not know loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from te_sched.errors import BuildError, Subject, warn
from te_sched.ir import dtypes
from te_sched.ir.expr import Add, Buffer, Max, Min, Reduce
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState
from te_sched.te.operation import ComputeOp, ExternOp, PlaceholderOp
from te_sched.te.tensor import Tensor


def check_sums(schedule: Schedule) -> None:
    """Refuse sums of booleans, which would not count them.

    Raises
    ------
    BuildError for the first one.
    """
    for stage, reduction in _reductions(schedule):
        results = reduction.combiner.result
        if any(isinstance(value, Add) and dtypes.is_bool(value.dtype) for value in results):
            raise BuildError(
                f"cannot sum booleans in stage {stage.op.name}",
                "the sum of bool is bool, as in TVM; numpy's is an integer",
                'cast first, te.sum(x.astype("int32"), axis=k), or use te.max for "is any true"',
                At(stage),
            )


def warn_of_extrema(schedule: Schedule) -> None:
    """Warn if extrema of infinities may differ from those of numpy."""
    names = [
        stage.op.name
        for stage, reduction in _reductions(schedule)
        if not reduction.init
        and any(
            isinstance(value, Max | Min) and dtypes.is_float(value.dtype)
            for value in reduction.combiner.result
        )
    ]
    if names:
        warn(
            f"max or min of floats in {', '.join(names)} differs from numpy: infinities alone give "
            "the finite limit of the type (docs/legality.md)"
        )


def _reductions(schedule: Schedule) -> Iterator[tuple[StageState, Reduce]]:
    for stage in schedule.stages:
        if isinstance(stage.op, ComputeOp) and isinstance(stage.op.body[0], Reduce):
            yield stage, stage.op.body[0]


def check_results(schedule: Schedule, args: Sequence[Any], binds: Mapping[Tensor, Buffer]) -> None:
    """Refuse arguments that are never written, and functions without results.

    External functions (te.extern) may have other effects than their outputs, inputs may be unused,
    and an intermediate tensor may be the only result.

    Raises
    ------
    BuildError for the first tensor of `args` that the schedule does not compute, or when nothing
    that it computes is among `args`.
    """
    arg_ids = {id(arg) for arg in args if isinstance(arg, Buffer)}
    bound = [tensor for tensor, buffer in binds.items() if id(buffer) in arg_ids]
    is_computed = False
    for tensor in [*[arg for arg in args if isinstance(arg, Tensor)], *bound]:
        stage = schedule.stage_of(tensor.op)
        if stage is not None:
            is_computed = is_computed or not isinstance(tensor.op, PlaceholderOp)
        elif not isinstance(tensor.op, PlaceholderOp):
            raise BuildError(
                f"argument {tensor.name} is not computed by the schedule",
                "nothing would write it",
                "use the tensors that the schedule was created from, or create it again",
                Subject("tensor", tensor.name),
            )
    outputs = [op for op in schedule.outputs if not isinstance(op, ExternOp | PlaceholderOp)]
    if outputs and not is_computed:
        missing = ", ".join(op.name for op in outputs)
        raise BuildError(
            f"output {missing} is not among the arguments",
            "the result would be lost",
            f"add {missing} to args",
        )
