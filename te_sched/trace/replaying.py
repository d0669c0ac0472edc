"""Doing again, on another schedule, what a trace says. Must not know what any primitive does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from te_sched.errors import ScheduleError
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.ir.visitor import substitute
from te_sched.te.declare import thread_axis
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.trace.entries import OWN_AXES, THREAD, Entry, StageOf, is_stage


def replay(
    declared: Sequence[Operation],
    entries: Iterable[Entry],
    schedule: Any,
    target: Sequence[Operation],
) -> None:
    """Repeat the entries on a schedule whose declared operations are `target`."""
    world = Replay(declared, schedule, target)
    for entry in entries:
        world.call(entry)


class Replay:
    """A trace on another schedule, one entry at a time: what its objects are there."""

    def __init__(
        self, declared: Sequence[Operation], schedule: Any, target: Sequence[Operation]
    ) -> None:
        _check_declarations(declared, target)
        self.schedule = schedule
        self.twins: dict[Any, Any] = {}
        self.variables: dict[Var, Expr] = {}
        for old, new in zip(declared, target, strict=True):
            self.meet_operation(old, new)

    def meet_operation(self, old: Operation, new: Operation) -> None:
        """Pair the tensors of two operations, and the variables in their shapes."""
        for one, other in zip(old.outputs, new.outputs, strict=True):
            self.twins[one] = other
            for a, b in zip(one.shape, other.shape, strict=True):
                if isinstance(a, Var) and isinstance(b, Var):
                    self.variables[a] = b

    def call(self, entry: Entry) -> None:
        """Do what an entry says, and pair its results with those there are now."""
        args = [self.find(arg) for arg in entry.args]
        options = {name: self.find(arg) for name, arg in entry.options.items()}
        if entry.method == THREAD:
            made: Any = thread_axis(args[0], args[1], args[2])
        elif entry.method in OWN_AXES:
            made = getattr(self.find(entry.target).op, entry.method)
        else:
            owner = self.schedule if entry.target is None else self.find(entry.target)
            made = getattr(owner, entry.method)(*args, **options)
        results = made if isinstance(made, (tuple, list)) else (made,)
        for old, new in zip(entry.results, results, strict=False):
            self.twins[old] = new
            if isinstance(old, IterVar):
                self.variables[old.var] = new.var

    def find(self, value: Any) -> Any:
        """What a value of the trace is here."""
        if isinstance(value, StageOf):
            return self.schedule[self.twins[value.tensor]]
        if isinstance(value, (list, tuple)):
            return type(value)([self.find(item) for item in value])
        if isinstance(value, Expr):
            return substitute(value, self.variables)
        if isinstance(value, (IterVar, Tensor)) or is_stage(value):
            return self.twins[value]
        return value


def _check_declarations(declared: Sequence[Operation], target: Sequence[Operation]) -> None:
    if [(op.name, type(op)) for op in declared] != [(op.name, type(op)) for op in target]:
        raise ScheduleError(
            "replay a trace",
            f"it is about {', '.join(op.name for op in declared)}, the schedule about "
            + ", ".join(op.name for op in target),
            "replay it on a schedule of the same declarations",
        )
