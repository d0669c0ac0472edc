"""create_group: attach several stages together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from te_sched.errors import ScheduleError, kind_of, warn
from te_sched.schedule.handles import FLAG, STAGES, Operations, as_items
from te_sched.schedule.primitives.checks import brief, flag, names
from te_sched.schedule.program import ScheduleState
from te_sched.schedule.stage import Stage
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.trace.primitive import primitive


class GroupPrimitives(ScheduleState):
    """Primitives for several stages at once."""

    __slots__ = ()

    @primitive(
        "Group the stages from {inputs} to {outputs}",
        outputs=STAGES._replace(by_name=True),
        inputs=STAGES._replace(by_name=True),
        include_inputs=FLAG._replace(by_name=True, is_always_shown=True),
    )
    def create_group(
        self, outputs: Operations, inputs: Operations, include_inputs: bool = False
    ) -> Stage:
        """Group the stages between inputs and outputs.

        Parameters
        ----------
        outputs : tensors that belong to the group.
        inputs : tensors at which it begins.
        include_inputs : whether the inputs belong to the group.

        Returns
        -------
        The group. Its compute_at moves all its stages together.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> D = te.compute((8,), lambda i: C[i] - 1.0, name="D")
        >>> s = te.create_schedule(D)
        >>> print(s)
        main(A: float32[8], D: float32[8])
        ├─ B: float32[8] global, 32 bytes
        ├─ stage B
        │  └─ for i  0:8
        │     └─ B[i] = A[i] + 1.0
        ├─ C: float32[8] global, 32 bytes
        ├─ stage C
        │  └─ for i  0:8
        │     └─ C[i] = B[i] * 2.0
        └─ stage D
           └─ for i  0:8
              └─ D[i] = C[i] - 1.0
        >>> group = s.create_group(outputs=C, inputs=A)
        >>> group.compute_at(s[D], D.op.axis[0])
        >>> print(s)
        main(A: float32[8], D: float32[8])
        └─ stage D
           └─ for i  0:8
              ├─ B: float32[1] global, 4 bytes
              ├─ stage B
              │  └─ B[i] = A[i] + 1.0
              ├─ C: float32[1] global, 4 bytes
              ├─ stage C
              │  └─ C[i] = B[i] * 2.0
              └─ D[i] = C[i] - 1.0
        """
        what = "create_group"
        last = [_current(self, item) for item in as_items(outputs)]
        first = [_current(self, item) for item in as_items(inputs)]
        is_whole = flag(include_inputs, f"{what} include_inputs")
        return group_of(self, last, first, is_whole, what)


def _current(schedule: ScheduleState, item: Any) -> Operation:
    op = item.op if isinstance(item, Tensor) else item
    stage = schedule.stage_of(op) if isinstance(op, Operation) else None
    if stage is None:
        expected = f"expected a tensor or operation, got {kind_of(item)}"
        why = "it has no stage in this schedule" if isinstance(op, Operation) else expected
        raise ScheduleError(
            f"cannot group {brief(item)}: {why}",
            help=f"use one of {names(stage.op for stage in schedule.stages)}",
        )
    return stage.op


def group_of(
    schedule: ScheduleState,
    outputs: Sequence[Operation],
    inputs: Sequence[Operation],
    include_inputs: bool,
    what: str,
) -> Stage:
    """The new group of the stages between `inputs` and `outputs`."""
    between = _between(outputs, inputs, include_inputs)
    members = [stage for stage in schedule.stages if stage.op in between]
    if not members:
        raise ScheduleError(
            f"no stage is between inputs {names(inputs)} and outputs {names(outputs)} of {what}",
            help="give as outputs what depends on the inputs",
        )
    parent = members[0].group
    for stage in members:
        parent = _common(parent, stage.group)
    tops = list(dict.fromkeys([_child_of(parent, stage) for stage in members]))
    _check_whole(schedule, tops, members)
    moved = _attached_outside(members)
    group = Stage(None, schedule)
    group.group = parent
    if parent is not None:
        parent.draft.num_child_stages += 1 - len(tops)
    for top in tops:
        top.draft.group = group
    group.num_child_stages = len(tops)
    schedule.draft.groups.append(group)
    for stage in moved:
        stage.draft.attach_type = AttachType.GROUP_ROOT
        stage.draft.attach_stage = stage.draft.attach_ivar = None
    return group


def _between(
    outputs: Iterable[Operation], inputs: Sequence[Operation], include_inputs: bool
) -> set[Operation]:
    """Operations that the outputs depend on and that depend on an input."""
    boundary = set(inputs)
    reaches: dict[Operation, bool] = {}
    stack = [(op, False) for op in outputs]
    while stack:
        op, is_ready = stack.pop()
        if op in boundary:
            reaches[op] = True
        elif is_ready:
            reaches[op] = any(reaches[tensor.op] for tensor in op.input_tensors)
        elif op not in reaches:
            stack.append((op, True))
            stack += [(tensor.op, False) for tensor in op.input_tensors]
    return {
        op
        for op, is_reaching in reaches.items()
        if is_reaching and (include_inputs or op not in boundary)
    }


def _ancestors(stage: StageState | None) -> list[StageState]:
    chain: list[StageState] = []
    while stage is not None:
        chain.append(stage)
        stage = stage.group
    return chain


def _common(a: StageState | None, b: StageState | None) -> StageState | None:
    around_b = set(_ancestors(b))
    return next((stage for stage in _ancestors(a) if stage in around_b), None)


def _child_of(parent: StageState | None, stage: StageState) -> StageState:
    while stage.group is not parent:
        assert stage.group is not None
        stage = stage.group
    return stage


def _check_whole(
    schedule: ScheduleState, tops: Iterable[StageState], members: Sequence[StageState]
) -> None:
    inside = set(members)
    for top in tops:
        outside = [stage.op for stage in schedule.members_of(top) if stage not in inside]
        if top.is_group and outside:
            raise ScheduleError(
                f"cannot group {names(stage.op for stage in members)}: "
                f"some of them are in a group with {names(outside)}",
                "groups must be nested or disjoint",
                "take the whole group, or stages within it",
            )


def _attached_outside(members: Sequence[StageState]) -> list[StageState]:
    """Stages attached outside of their new group, which move to its root."""
    moved = [
        stage
        for stage in members
        if stage.attach_type == AttachType.SCOPE and stage.attach_stage not in members
    ]
    for stage in moved:
        assert stage.attach_stage is not None
        warn(
            f"stage {stage.op.name} moves to the root of its new group; it was computed at "
            f"{stage.attach_stage.op.name}"
        )
    return moved
