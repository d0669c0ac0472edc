"""Replay of a trace on another schedule. Must not know what any primitive does."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.errors import ScheduleError
from te_sched.ir.expr import Expr, Node, Var
from te_sched.ir.visitor import substitute
from te_sched.trace.entries import Entry, HandleReference
from te_sched.trace.handles import Handles, Signature, Traced
from te_sched.trace.primitive import as_results


class Replay:
    """Replays a trace on another schedule, entry by entry; `twins` maps its objects."""

    def __init__(
        self, handles: Handles, schedule: Traced, decide: Callable[..., object] | None = None
    ) -> None:
        target = schedule.trace.handles
        check_signature(handles.signature, target.signature)
        self.schedule, self._decide = schedule, decide
        self.twins: dict[object, object] = {}
        self._variables: dict[Var, Expr] = {}
        self._handles = handles
        for old, new in zip(handles.roots, target.roots, strict=True):
            self._pair(old, new)

    def _pair(self, old: object, new: object) -> None:
        self.twins[old] = new
        variable, other = self._handles.variable_of(old), self._handles.variable_of(new)
        if variable is not None and other is not None:
            self._variables[variable] = other

    def call(self, entry: Entry) -> None:
        """Apply an entry, and map its results to the new ones."""
        owner = self.schedule if entry.target is None else self.find(entry.target)
        arguments = {name: self.find(value) for name, value in entry.arguments.items()}
        decision = entry.decision
        if self._decide is not None and decision is not None:
            decision = self._decide(entry, arguments, decision)
        here = Entry(entry.primitive, None, arguments, (), decision=decision)
        result = entry.primitive.call(owner, here)
        for old, new in zip(entry.results, as_results(result), strict=False):
            self._pair(old, new)

    def find(self, value: object) -> object:
        """The value on this schedule that corresponds to one of the trace."""
        if isinstance(value, HandleReference):
            return value.resolve(self.schedule, self.twins[value.handle])
        if isinstance(value, (list, tuple)):
            return type(value)([self.find(item) for item in value])
        if isinstance(value, Expr):
            return substitute(value, self._variables)
        if self._handles.name_of(value, 0) is not None:
            return self.twins.get(value, value)
        return substitute(value, self._variables) if isinstance(value, Node) else value


def check_signature(signature: Signature, target: Signature) -> None:
    """Refuse to apply a trace to a schedule of other declarations."""
    if signature != target:
        raise ScheduleError(
            f"cannot replay a trace of {_names(signature)} on a schedule of {_names(target)}",
            "the operations must have the same names, kinds and ranks",
            "replay it on a schedule of the same declarations",
        )


def _names(signature: Signature) -> str:
    return ", ".join([name for name, *_ in signature]) or "blocks"
