"""Whether the caller of a function gets what its schedule computes.

`lower` prints any list of arguments; `build` asks here. Must not know loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.errors import BuildError
from te_sched.ir.expr import Buffer
from te_sched.schedule.schedule import Schedule
from te_sched.te.operation import ExternOp, PlaceholderOp
from te_sched.te.tensor import Tensor


def check_results(schedule: Schedule, args: Sequence[Any], binds: Mapping[Tensor, Buffer]) -> None:
    """Refuse arguments that nothing writes, and a function whose results nobody gets.

    Functions outside (te.extern) may have other effects than their outputs, an input need not be
    used, and the caller may take a tensor in between in place of an output.

    Raises
    ------
    BuildError for the first tensor of `args` that the schedule does not compute, or when nothing
    that it computes is among `args`.
    """
    given = {id(arg) for arg in args if isinstance(arg, Buffer)}
    bound = [tensor for tensor, buffer in binds.items() if id(buffer) in given]
    is_computed = False
    for tensor in [*[arg for arg in args if isinstance(arg, Tensor)], *bound]:
        stage = schedule.stage_of(tensor.op)
        if stage is not None:
            is_computed = is_computed or not isinstance(tensor.op, PlaceholderOp)
        elif not isinstance(tensor.op, PlaceholderOp):
            raise BuildError(
                f"build with the argument {tensor.name}",
                "the schedule does not compute it, so nothing would write it",
                "use the tensors that the schedule was created from, or create it again",
                f"tensor {tensor.name}",
            )
    outputs = [op for op in schedule.outputs if not isinstance(op, ExternOp | PlaceholderOp)]
    if outputs and not is_computed:
        missing = ", ".join(op.name for op in outputs)
        raise BuildError(
            f"build without the output {missing} among the arguments",
            "the result would be lost",
            f"add {missing} to args",
        )
