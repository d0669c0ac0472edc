"""Primitives that set where a stage is computed: compute_at, compute_inline, compute_root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from te_sched.errors import ScheduleError, kind_of, with_article
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
    """Primitives that set where a stage is computed."""

    __slots__ = ()

    @primitive("Compute {stage} in the loop {scope} of {parent}", has_target=True, parent=STAGE)
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the stage inside a loop of a consumer: the region that one iteration reads.

        Parameters
        ----------
        parent : the consumer.
        scope : the loop of `parent`. The buffer has the size of the region of one iteration;
            elements that several iterations read are recomputed.

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> print(s)
        main(A: float32[4, 8], C: float32[4, 8])
        ├─ B: float32[4, 8] global, 128 bytes
        ├─ stage B
        │  └─ for i  0:4
        │     └─ for j  0:8
        │        └─ B[i, j] = A[i, j] + 1.0
        └─ stage C
           └─ for i  0:4
              └─ for j  0:8
                 └─ C[i, j] = B[i, j] * 2.0
        >>> s[B].compute_at(s[C], C.op.axis[0])
        >>> print(s)
        main(A: float32[4, 8], C: float32[4, 8])
        └─ stage C
           └─ for i  0:4
              ├─ B: float32[1, 8] global, 32 bytes
              ├─ stage B
              │  └─ for j  0:8
              │     └─ B[i, j] = A[i, j] + 1.0
              └─ for j  0:8
                 └─ C[i, j] = B[i, j] * 2.0
        """
        self._check_movable()
        _check_parent(self, parent)
        leaf_position(parent, scope, f"compute {stage_label(self)} at")
        what = f"cannot compute {stage_label(self)} at {stage_label(parent)}"
        _check_group(self, parent, what)
        _check_no_output(self, what)
        _check_used(self, parent, what)
        self._attach(AttachType.SCOPE, parent, scope)

    @primitive("Inline {stage} into its consumers", has_target=True)
    def compute_inline(self) -> None:
        """Substitute the computation into the expressions of its consumers.

        There is no buffer; elements that are read several times are recomputed. A reduction cannot
        be inlined.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> print(s)
        main(A: float32[8], C: float32[8])
        ├─ B: float32[8] global, 32 bytes
        ├─ stage B
        │  └─ for i  0:8
        │     └─ B[i] = A[i] + 1.0
        └─ stage C
           └─ for i  0:8
              └─ C[i] = B[i] * 2.0
        >>> s[B].compute_inline()
        >>> print(s)
        main(A: float32[8], C: float32[8])
        └─ stage C
           └─ for i  0:8
              └─ C[i] = (A[i] + 1.0) * 2.0
        """
        op = compute_operation(self, "inline")
        self._check_movable()
        self._check_inline(op)
        self._attach(AttachType.INLINE)

    @primitive("Compute {stage} at the root", has_target=True)
    def compute_root(self) -> None:
        """Compute the whole stage before its consumers. Undoes compute_at and compute_inline.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_inline()
        >>> print(s)
        main(A: float32[8], C: float32[8])
        └─ stage C
           └─ for i  0:8
              └─ C[i] = (A[i] + 1.0) * 2.0
        >>> s[B].compute_root()
        >>> print(s)
        main(A: float32[8], C: float32[8])
        ├─ B: float32[8] global, 32 bytes
        ├─ stage B
        │  └─ for i  0:8
        │     └─ B[i] = A[i] + 1.0
        └─ stage C
           └─ for i  0:8
              └─ C[i] = B[i] * 2.0
        """
        self._check_movable()
        self._attach(AttachType.GROUP_ROOT)

    def _attach(
        self, attach_type: AttachType, stage: Stage | None = None, axis: IterVar | None = None
    ) -> None:
        draft = self.draft
        draft.attach_type, draft.attach_stage, draft.attach_ivar = attach_type, stage, axis

    def _check_movable(self) -> None:
        if self.attach_type == AttachType.SCAN_UPDATE:
            assert self.attach_stage is not None
            raise ScheduleError(
                f"cannot move the group that updates scan {self.attach_stage.op.name}",
                "the stages that update a scan are computed in the loop of the scan",
                "attach stages within the update to each other",
                At(self),
            )

    def _check_inline(self, op: ComputeOp) -> None:
        where, what = At(self), f"cannot inline {stage_label(self)}"
        if self.is_output:
            raise ScheduleError(
                f"{what}: it is an output", "outputs must be stored", "inline what it reads", where
            )
        if op.num_outputs != 1:
            raise ScheduleError(
                f"{what}: it computes {op.num_outputs} tensors at once",
                help="use compute_at, which supports several",
                where=where,
            )
        for reader in self.schedule.readers_of(op):
            if not isinstance(reader.op, ComputeOp):
                raise ScheduleError(
                    f"{what}: its consumer {reader.op.name} is "
                    f"{with_article(type(reader.op).__name__)}, not a te.compute",
                    "only the expressions of a te.compute can hold an inlined stage",
                    "use compute_root",
                    where,
                )
            is_copy = all(isinstance(value, ProducerLoad) for value in reader.op.body)
            if isinstance(op.body[0], Reduce) and not is_copy:
                raise ScheduleError(
                    f"{what}: it is a reduction, and {reader.op.name} computes with its result",
                    "a reduction is a loop, not an expression",
                    "use compute_at",
                    where,
                )


def _check_parent(stage: StageState, parent: Any) -> None:
    what = f"cannot compute {stage_label(stage)}"
    if not isinstance(parent, StageState):
        raise ScheduleError(
            f"{what} at {brief(parent)}: expected a stage, got {kind_of(parent)}",
            help="give a stage and one of its axes: s[B].compute_at(s[C], C.op.axis[0])",
            where=At(stage),
        )
    if parent is stage:
        raise ScheduleError(
            f"{what} inside itself", help="give one of its consumers", where=At(stage)
        )
    if parent.schedule is not stage.schedule:
        raise ScheduleError(
            f"{what} at {stage_label(parent)} of another schedule",
            help="take both stages from the same schedule",
            where=At(stage),
        )


def _check_group(stage: StageState, parent: StageState, what: str) -> None:
    if stage.group is None:
        return
    outside = parent.group
    while outside is not None and outside is not stage.group:
        outside = outside.group
    if outside is None:
        raise ScheduleError(
            f"{what}: it is in a group that {stage_label(parent)} is not in",
            help="attach the group as a whole, or attach within the group",
            where=At(stage),
        )


def _check_no_output(stage: StageState, what: str) -> None:
    for member in stage.schedule.members_of(stage):
        if member.is_output:
            raise ScheduleError(
                f"{what}: {member.op.name} is an output",
                "the buffer of an output must hold all of it when the program ends",
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
        f"{what}: {parent.op.name} does not use it, directly or through other stages",
        "a stage is computed inside a loop of a consumer",
        f"attach it to a consumer: {names(outside)}" if outside else "use compute_root",
        [*At(stage), *At(parent)],
    )
