"""The stages or buffers of a story: declared ones, and those that primitives create.

Must not know the effects of primitives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer, Expr, IntImm
from te_sched.ir.stmt import BufferStore
from te_sched.schedule.state import StageState
from te_sched.story.model import StoryStage
from te_sched.story.steps import shown_place
from te_sched.te.intrin_call import TensorComputeOp
from te_sched.te.operation import ComputeOp, PlaceholderOp, ScanOp
from te_sched.views.declaration import declaration
from te_sched.views.notation import Notation

_KINDS = (
    (PlaceholderOp, "placeholder"),
    (ComputeOp, "compute"),
    (TensorComputeOp, "compute"),
    (ScanOp, "scan"),
)


class StageList:
    """The current and earlier stages or buffers of a program."""

    def __init__(self) -> None:
        self._known: dict[str, StoryStage] = {}
        self._last: list[str] = []

    def see(self, parts: Iterable[tuple[str, Callable[[int], StoryStage]]], number: int) -> None:
        """Record what there is after a step, by name, with its description."""
        self._last = []
        for name, described in parts:
            self._last.append(name)
            if name not in self._known:
                self._known[name] = described(number)

    def listed(self) -> tuple[StoryStage, ...]:
        """The stages of the last step in the order of computation, then the removed ones."""
        names = dict.fromkeys([*self._last, *self._known])
        return tuple(self._known[name] for name in names)


def of_stage(stage: StageState, born: int) -> StoryStage:
    """The description of a stage."""
    op = stage.op
    tensor = op.output(0)
    kind = next((name for op_class, name in _KINDS if isinstance(op, op_class)), "extern")
    return StoryStage(
        name=op.name,
        kind=kind,
        shape=tuple(Notation().text(extent) for extent in tensor.shape),
        dtype=tensor.dtype,
        nbytes=_bytes(tensor.shape, tensor.dtype),
        formula=declaration(tensor)[0] if kind != "placeholder" else "",
        where=shown_place(op.place),
        born=born,
    )


def of_buffer(buffer: Buffer, is_given: bool, store: BufferStore | None, born: int) -> StoryStage:
    """The description of a buffer that `store` computes."""
    scope = buffer.data.scope or "global"
    return StoryStage(
        name=buffer.name,
        kind="parameter" if is_given else f"{scope} memory",
        shape=tuple(Notation().text(extent) for extent in buffer.shape),
        dtype=buffer.dtype,
        nbytes=_bytes(buffer.shape, buffer.dtype),
        formula="" if store is None else Notation().store(store),
        where="",
        born=born,
    )


def _bytes(shape: Sequence[Expr], dtype: str) -> int | None:
    sizes = [extent.value for extent in shape if isinstance(extent, IntImm)]
    if len(sizes) < len(shape):
        return None
    return math.prod(sizes) * dtypes.storage_bytes(dtype)
