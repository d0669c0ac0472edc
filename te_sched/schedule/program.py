"""The state of a schedule: its stages, groups and outputs, and their consumers. Must not know any
primitive.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.schedule.state import Fate, StageState
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.trace.drafts import Changes, Draft
from te_sched.trace.trace import Trace


class ScheduleDraft(Draft):
    """The new state of a schedule, which a primitive computes."""

    __slots__ = ()

    groups: list[StageState]
    stage_map: dict[Operation, StageState]
    stages: list[StageState]
    stages_by_op: dict[Operation, StageState]

    def add_stage(self, stage: StageState, position: int, neighbor: StageState) -> None:
        """Insert a stage of a new operation at a position, in the group of a neighbor."""
        self.stages.insert(position, stage)
        self.stage_map[stage.op] = stage
        self.stages_by_op[stage.op] = stage
        stage.group = neighbor.group
        if stage.group is not None:
            stage.group.draft.num_child_stages += 1

    def split_stage(
        self, stage: StageState, op: Operation, new_stage: StageState, fate: Fate
    ) -> None:
        """Replace the operation of a stage by one that copies or combines the result of the new
        stage `new_stage`. The loops are reset; the old ones get this fate.
        """
        stage.draft.reset_axes(op, fate)
        self.stages_by_op[op] = stage
        self.add_stage(new_stage, self.stages.index(stage), stage)

    def rewire(self, changed: Mapping[StageState, Operation]) -> None:
        """Replace the operations of stages."""
        for stage, op in changed.items():
            stage.draft.op = op
            self.stages_by_op[op] = stage


class ScheduleState:
    """The state of a schedule.

    `stages_by_op` maps an operation to its stage both before and after a primitive rewrites it.
    """

    __slots__ = (
        *("__weakref__", "changes", "declared", "outputs", "trace"),
        *ScheduleDraft.__annotations__,
    )

    changes: Changes | None  # of the primitive that is applied

    def __init__(self, outputs: list[Operation], stages: list[StageState], trace: Trace) -> None:
        self.declared = tuple([stage.op for stage in stages])
        self.trace = trace
        self.changes = None
        self.outputs = outputs
        self.stages = stages
        self.groups: list[StageState] = []
        self.stage_map: dict[Operation, StageState] = {stage.op: stage for stage in stages}
        self.stages_by_op: dict[Operation, StageState] = dict(self.stage_map)

    def copy_from(self, other: ScheduleState, kind: type[StageState]) -> None:
        """Copy the state of another schedule, with new stages and the same operations."""
        self.changes, self.declared = None, other.declared
        self.outputs = list(other.outputs)
        self.stages = [kind.__new__(kind) for _ in other.stages]
        self.groups = [kind.__new__(kind) for _ in other.groups]
        twin: dict[StageState, StageState] = dict(zip(other.stages, self.stages, strict=True))
        twin.update(zip(other.groups, self.groups, strict=True))
        for old, new in twin.items():
            new.copy_from(old, self, twin)
        self.stage_map = {op: twin[stage] for op, stage in other.stage_map.items()}
        self.stages_by_op = {op: twin[stage] for op, stage in other.stages_by_op.items()}
        self.trace = other.trace.copy()

    def stage_of(self, op: Operation) -> StageState | None:
        """The stage of an operation, whether as declared or as rewritten."""
        return self.stages_by_op.get(op)

    def readers_of(self, op: Operation) -> list[StageState]:
        """The consumers of an operation."""
        return [
            stage
            for stage in self.stages
            if any(tensor.op is op for tensor in stage.op.input_tensors)
        ]

    def reads(self, reader: StageState, producer: StageState) -> bool:
        """Whether a stage depends on another one, directly or through others."""
        pending: list[StageState] = [reader]
        seen: set[StageState] = set()
        while pending:
            stage = pending.pop()
            for tensor in stage.op.input_tensors:
                below = self.stages_by_op.get(tensor.op)
                if below is producer:
                    return True
                if below is not None and below not in seen:
                    seen.add(below)
                    pending.append(below)
        return False

    def members_of(self, stage: StageState) -> list[StageState]:
        """The stage itself, or the stages of a group and of the groups in it."""
        if not stage.is_group:
            return [stage]
        members: list[StageState] = []
        for candidate in self.stages:
            group = candidate.group
            while group is not None and group is not stage:
                group = group.group
            if group is not None:
                members.append(candidate)
        return members

    def replace_operation(self, stage: StageState, op: Operation) -> None:
        """Replace the operation of a stage; the caller updates its consumers."""
        stage.op = op
        self.stages_by_op[op] = stage

    def rewired(
        self,
        mapping: Mapping[Tensor, Tensor],
        of_readers: Mapping[StageState, Mapping[Tensor, Tensor]] | None = None,
    ) -> dict[StageState, Operation]:
        """The new operations of the stages that read replaced tensors, and of their consumers.

        `of_readers` has the replacements for single stages. Changes nothing, because an operation
        may refuse a replacement.
        """
        current = dict(mapping)
        extra = of_readers or {}
        changed: dict[StageState, Operation] = {}
        for stage in self.stages:
            old = stage.op
            new = old.replace_inputs({**current, **extra[stage]} if stage in extra else current)
            if new is not old:
                current.update(zip(old.outputs, new.outputs, strict=True))
                changed[stage] = new
        return changed

    @property
    def draft(self) -> ScheduleDraft:
        """The new state of the schedule, while a primitive computes it."""
        assert self.changes is not None
        draft: ScheduleDraft = self.changes.draft(self, ScheduleDraft)
        return draft
