"""A schedule: the stages of a program in the order of their computation.

Must not know how a schedule is lowered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError, Subject, kind_of, user_place
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.notebook_display import Shown
from te_sched.public_members import Unbuilt, advice_elsewhere
from te_sched.schedule.handles import TensorHandles
from te_sched.schedule.normalize import normalize
from te_sched.schedule.primitives.caching import CachingPrimitives
from te_sched.schedule.primitives.checks import brief, names
from te_sched.schedule.primitives.factoring import FactoringPrimitives
from te_sched.schedule.primitives.groups import GroupPrimitives, group_of
from te_sched.schedule.program import ScheduleState
from te_sched.schedule.records import stage_records
from te_sched.schedule.stage import Stage
from te_sched.schedule.state import AttachType
from te_sched.signatures import bound
from te_sched.te.operation import Operation, PlaceholderOp, ScanOp
from te_sched.te.tensor import Tensor
from te_sched.trace.comparison import Comparison
from te_sched.trace.drafts import Changes
from te_sched.trace.observing import observers
from te_sched.trace.trace import Trace


class Schedule(CachingPrimitives, FactoringPrimitives, GroupPrimitives, Shown, Unbuilt):
    """The schedule of a program. `s[C]` is the stage of a tensor or operation.

    Attributes: `outputs` (the output operations), `stages` (all stages, producers first),
    `stage_map` (the stage of each operation) and `trace` (the primitives applied so far).
    """

    __slots__ = ()
    # Of the stages, lists say only that they are states.
    stage_map: dict[Operation, Stage]  # type: ignore[assignment]
    stages: list[Stage]  # type: ignore[assignment]
    stages_by_op: dict[Operation, Stage]  # type: ignore[assignment]
    _internal_members = (
        *("changes", "copy_from", "declared", "draft", "members_of", "readers_of", "reads"),
        *("replace_operation", "rewired", "stage_of", "stages_by_op"),
    )

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        op = key.op if isinstance(key, Tensor) else key
        if not isinstance(op, Operation):
            raise ScheduleError(
                f"a schedule is indexed by a tensor or operation, got {brief(key)}",
                help=f"use one of {names(stage.op for stage in self.stages)}",
            )
        stage = self.stages_by_op.get(op)
        if stage is None:
            raise self._without(op)
        return stage

    def _advice_for(self, name: str) -> str:
        return advice_elsewhere(name, ((Stage, "s[tensor]"),))

    def _refusal_of_calls(self) -> tuple[str, str, str]:
        return (
            "a schedule is called before it is built",
            "it is a program, not a function of Python",
            "build it with its arguments, te_sched.build(s, [A, B]), and call the result",
        )

    def _without(self, op: Operation) -> ScheduleError:
        named = [stage.origin_op for stage in self.stages if stage.op.name == op.name]
        why = "no output of the schedule depends on it"
        if named:
            why = f"it was declared again: this schedule uses that declared at {named[0].place}"
        return ScheduleError(
            f"{op.name} is not in this schedule",
            why,
            f"the schedule has {names(stage.op for stage in self.stages)}; use these, or create "
            "it from the new tensors",
            Subject("operation", op.name, f"operation {op.name} (declared at {op.place})"),
        )

    def normalize(self) -> Schedule:
        """A normalized copy, ready for lowering; this schedule is unchanged.

        Inlined stages are substituted into their consumers, loops start at zero, and stages
        attached at axes that were split or fused later are attached at the resulting loops.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_inline()
        >>> s
        schedule of C:
          A, an input
          B(i), inline
          C(i)
        >>> s.normalize()
        schedule of C:
          A, an input
          B(i), inlined already
          C(i)
        >>> s.normalize()[C].op.body
        [(A[i] + T.float32(1)) * T.float32(2)]
        """
        copy = Schedule.__new__(Schedule)
        copy.copy_from(self, Stage)
        normalize(copy)
        return copy

    def same_as(self, other: object) -> bool:
        """Whether both are the same schedule.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> s.same_as(s)
        True
        >>> s.same_as(te.create_schedule(B))
        False
        """
        return self is other

    def records(self) -> list[dict[str, Any]]:
        """One record per stage, for pandas.DataFrame.

        "number", "stage" (its name), "kind" ("input", "compute", "scan", "extern"), "dtype" and
        "shape" of its first result, "axes" (its loops, from the outermost), "computed" ("root",
        "at", "inlined", "in scan"), "at_stage" and "at_axis" of one that is computed at another's
        loop, "scope" and "is_output".

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> s.records()[1]["computed"]
        'root'
        >>> s[B].compute_at(s[C], C.op.axis[0])
        >>> record = s.records()[1]
        >>> record["stage"], record["computed"], record["at_stage"], record["at_axis"]
        ('B', 'at', 'C', 'i')
        """
        return stage_records(self.stages)

    def diff(self, other: Schedule) -> Comparison:
        """What `other` does differently: changed lines of the trace and of the loops.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> other = te.create_schedule(B)
        >>> s.diff(other)
        the schedules are the same
        >>> outer, inner = other[B].split(B.op.axis[0], factor=4)
        >>> for line in s.diff(other).loops:
        ...     print(line)
         main(A: float32[8], B: float32[8])
         └─ stage B
        -   └─ for i  0:8
        -      └─ B[i] = A[i] + 1.0
        +   └─ for i.outer  0:2
        +      └─ for i.inner  0:4
        +         └─ B[i.inner + i.outer * 4] = A[i.inner + i.outer * 4] + 1.0
        """
        raise NotImplementedError  # te_sched.views replaces this method

    def __repr__(self) -> str:
        lines = [f"schedule of {names(self.outputs)}:"]
        for stage in self.stages:
            is_input = isinstance(stage.op, PlaceholderOp)
            lines.append(f"  {stage.op.name}, an input" if is_input else f"  {stage!r}")
        return "\n".join(lines)


@bound
@walks_deeply("create a schedule", ScheduleError)
def create_schedule(ops: Tensor | Operation | Iterable[Tensor | Operation]) -> Schedule:
    """Create a schedule for outputs: operations or tensors, alone or in a list.

    Every operation that they depend on has a stage at the root, with one serial loop per axis.

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
    """
    outputs = _outputs(ops)
    schedule = Schedule.__new__(Schedule)
    declared = _sorted(outputs)
    trace = Trace(TensorHandles(outputs, declared))
    ScheduleState.__init__(schedule, outputs, [Stage(op, schedule) for op in declared], trace)
    for op in outputs:
        schedule[op].is_output = True
    for stage in list(schedule.stages):
        if isinstance(stage.op, ScanOp):
            _group_scan(schedule, stage, stage.op)
    for observer in observers:
        observer.created(schedule, user_place())
    return schedule


def _outputs(targets: Any) -> list[Operation]:
    items = [targets] if isinstance(targets, (Operation, Tensor)) else targets
    if isinstance(items, (str, bytes, Mapping, Set)) or not isinstance(items, Iterable):
        is_function = isinstance(targets, PrimFunc | IRModule)
        raise ScheduleError(
            f"create_schedule takes an operation or a list of operations, got {brief(targets)}",
            "" if is_function else f"it is {kind_of(targets)}",
            "schedule its blocks: te_sched.tir.Schedule(function)"
            if is_function
            else "give the output: te.create_schedule(C.op), or a list of outputs",
        )
    outputs = [item.op if isinstance(item, Tensor) else item for item in items]
    for item in outputs:
        if not isinstance(item, Operation):
            raise ScheduleError(
                f"output of create_schedule must be an operation, got {brief(item)}",
                f"it is {kind_of(item)}",
                "give the outputs: te.create_schedule([C.op, D.op])",
            )
    if not outputs:
        raise ScheduleError(
            "create_schedule needs at least one output, got none",
            help="give the output: te.create_schedule(C.op)",
        )
    return outputs


def _sorted(outputs: list[Operation]) -> list[Operation]:
    """The outputs and all operations that they depend on, producers first."""
    done: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(outputs)]
    while stack:
        op, is_ready = stack.pop()
        if is_ready:
            done[op] = None
        elif op not in done:
            stack.append((op, True))
            stack += [(tensor.op, False) for tensor in reversed(op.input_tensors)]
    return list(done)


def advice_for_declaration(declaration: Tensor | Operation, name: str) -> str:
    """The help for an attribute that a tensor or operation lacks: primitives are of its stage."""
    del declaration
    return advice_elsewhere(name, ((Stage, "s[tensor]"), (Schedule, "s")))


def _group_scan(schedule: Schedule, stage: Stage, op: ScanOp) -> None:
    """Group the stages that update a scan, and attach the group to the loop of the scan."""
    boundary = [tensor.op for tensor in (*op.state_placeholder, *op.inputs)]
    updates = [tensor.op for tensor in op.update]
    if not any(schedule.stage_of(op) is not None for op in boundary):
        raise _reads_no_state(op, updates[0])
    with Changes(schedule, user_place()):
        group = group_of(schedule, updates, boundary, False, f"scan {op.name}")
    group.attach_type = AttachType.SCAN_UPDATE
    group.attach_stage = stage
    for update in updates:
        if schedule[update].group is not group:
            raise _reads_no_state(op, update)


def _reads_no_state(op: ScanOp, update: Operation) -> ScheduleError:
    return ScheduleError(
        f"update {update.name} of scan {op.name} does not read the state",
        "each step of a scan is computed from the steps before",
        "let the update read the state's placeholder at the step before",
        Subject("stage", op.name),
    )
