"""The stages of a story: declared ones, and those that primitives create.

Must not know the effects of primitives.
"""

from __future__ import annotations

import math

from te_sched.ir import dtypes
from te_sched.ir.expr import IntImm
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.story.model import StoryStage
from te_sched.story.steps import shown_place
from te_sched.te.operation import ComputeOp, PlaceholderOp, ScanOp, TensorComputeOp
from te_sched.te.tensor import Tensor
from te_sched.views.declaration import declaration
from te_sched.views.notation import Notation

_KINDS = (
    (PlaceholderOp, "placeholder"),
    (ComputeOp, "compute"),
    (TensorComputeOp, "compute"),
    (ScanOp, "scan"),
)


class StageList:
    """The current and earlier stages of a schedule."""

    def __init__(self) -> None:
        self._known: dict[str, StoryStage] = {}
        self._last: list[str] = []

    def see(self, schedule: Schedule, number: int) -> None:
        """Record the stages after a step."""
        self._last = []
        for stage in schedule.stages:
            name = stage.op.name
            self._last.append(name)
            if name not in self._known:
                self._known[name] = _described(stage, number)

    def listed(self) -> tuple[StoryStage, ...]:
        """The stages of the last step in the order of computation, then the removed ones."""
        names = dict.fromkeys([*self._last, *self._known])
        return tuple(self._known[name] for name in names)


def _described(stage: Stage, number: int) -> StoryStage:
    op = stage.op
    tensor = op.output(0)
    kind = next((name for known, name in _KINDS if isinstance(op, known)), "extern")
    return StoryStage(
        name=op.name,
        kind=kind,
        shape=tuple(Notation().text(extent) for extent in tensor.shape),
        dtype=tensor.dtype,
        nbytes=_bytes(tensor),
        formula=declaration(tensor)[0] if kind != "placeholder" else "",
        where=shown_place(op.place),
        born=number,
    )


def _bytes(tensor: Tensor) -> int | None:
    sizes = [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]
    if len(sizes) < len(tensor.shape):
        return None
    return math.prod(sizes) * dtypes.storage_bytes(tensor.dtype)
