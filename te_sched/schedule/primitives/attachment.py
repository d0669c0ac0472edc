"""Primitives that say where a stage is computed: compute_at, compute_inline, compute_root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from te_sched.errors import ScheduleError, kind_of
from te_sched.ir.expr import IterVar, ProducerLoad, Reduce
from te_sched.schedule.handles import STAGE
from te_sched.schedule.primitives.checks import (
    brief,
    compute_operation,
    leaf_position,
    names,
    stage_label,
)
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import ComputeOp
from te_sched.trace.primitive import primitive

if TYPE_CHECKING:
    from te_sched.schedule.stage import Stage


class AttachmentPrimitives(StageState):
    """Where a stage is computed."""

    __slots__ = ()

    @primitive(has_target=True, parent=STAGE)
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the stage inside a loop of a stage that uses it: as much as one iteration needs.

        Parameters
        ----------
        parent : the stage that uses it.
        scope : the loop of `parent`. Each iteration computes what it reads, into a buffer of that
            size; what several iterations read is computed in each of them.
        """
        what = f"compute_at for {stage_label(self)}"
        self._check_movable(what)
        _check_parent(self, parent, what)
        leaf_position(parent, scope, f"{what} at {stage_label(parent)}")
        _check_group(self, parent, what)
        _check_no_output(self, what)
        _check_used(self, parent, what)
        self._attach(AttachType.SCOPE, parent, scope)

    @primitive(has_target=True)
    def compute_inline(self) -> None:
        """Compute each element where it is used, in the expressions of its consumers.

        There is no buffer, and what is read several times is computed several times. A reduction
        cannot be inlined.
        """
        what = f"compute_inline for {stage_label(self)}"
        op = compute_operation(self, what)
        self._check_movable(what)
        self._check_inline(op, what)
        self._attach(AttachType.INLINE)

    @primitive(has_target=True)
    def compute_root(self) -> None:
        """Compute the whole stage before what uses it: undoes compute_at and compute_inline."""
        self._check_movable(f"compute_root for {stage_label(self)}")
        self._attach(AttachType.GROUP_ROOT)

    def _attach(
        self, attach_type: AttachType, stage: Stage | None = None, axis: IterVar | None = None
    ) -> None:
        draft = self.draft
        draft.attach_type, draft.attach_stage, draft.attach_ivar = attach_type, stage, axis

    def _check_movable(self, what: str) -> None:
        if self.attach_type == AttachType.SCAN_UPDATE:
            raise ScheduleError(
                what,
                "the stages that update a scan are computed in the loop of the scan",
                "attach stages within the update to each other",
                At(self),
            )

    def _check_inline(self, op: ComputeOp, what: str) -> None:
        where = At(self)
        if self.is_output:
            raise ScheduleError(
                what, "it is an output, which must be stored", "inline what it reads", where
            )
        if op.num_outputs != 1:
            raise ScheduleError(
                what,
                f"it computes {op.num_outputs} tensors at once",
                "use compute_at, which can be done with several",
                where,
            )
        for reader in self.schedule.readers_of(op):
            if not isinstance(reader.op, ComputeOp):
                raise ScheduleError(
                    what,
                    f"{reader.op.name} ({type(reader.op).__name__}) reads it, and has no "
                    "expressions to put it into",
                    "use compute_root",
                    where,
                )
            is_copy = all(isinstance(value, ProducerLoad) for value in reader.op.body)
            if isinstance(op.body[0], Reduce) and not is_copy:
                raise ScheduleError(
                    what,
                    f"it is a reduction, and {reader.op.name} computes with its result",
                    "use compute_at: a reduction is a loop, not an expression",
                    where,
                )


def _check_parent(stage: StageState, parent: Any, what: str) -> None:
    if not isinstance(parent, StageState):
        raise ScheduleError(
            f"{what} at {brief(parent)}",
            f"{kind_of(parent)} is not a stage",
            "give a stage and one of its axes: s[B].compute_at(s[C], C.op.axis[0])",
            At(stage),
        )
    if parent is stage:
        raise ScheduleError(
            f"{what} at itself",
            "a stage cannot be computed inside itself",
            "give a stage that uses it",
            At(stage),
        )
    if parent.schedule is not stage.schedule:
        raise ScheduleError(
            f"{what} at {stage_label(parent)}",
            "that stage belongs to another schedule",
            "take the stage from the same schedule",
            At(stage),
        )


def _check_group(stage: StageState, parent: StageState, what: str) -> None:
    if stage.group is None:
        return
    outside = parent.group
    while outside is not None and outside is not stage.group:
        outside = outside.group
    if outside is None:
        raise ScheduleError(
            f"{what} at {stage_label(parent)}",
            f"{stage_label(stage)} is in a group that {stage_label(parent)} is not in",
            "attach the group as a whole, or attach within the group",
            At(stage),
        )


def _check_no_output(stage: StageState, what: str) -> None:
    for member in stage.schedule.members_of(stage):
        if member.is_output:
            raise ScheduleError(
                what,
                f"{member.op.name} is an output, which must be there when the program ends",
                f'attach what s.cache_write({member.op.name}, "local") gives'
                if isinstance(member.op, ComputeOp)
                else "do not ask for it as an output",
                At(stage),
            )


def _check_used(stage: StageState, parent: StageState, what: str) -> None:
    members = stage.schedule.members_of(stage)
    if any(stage.schedule.reads(parent, member) for member in members):
        return
    readers = [r for member in members for r in stage.schedule.readers_of(member.op)]
    outside = [reader.op for reader in dict.fromkeys(readers) if reader not in members]
    raise ScheduleError(
        f"{what} at {stage_label(parent)}",
        f"{parent.op.name} does not use it, neither directly nor through other stages",
        f"attach it to what uses it: {names(outside)}" if outside else "use compute_root",
        [*At(stage), *At(parent)],
    )
