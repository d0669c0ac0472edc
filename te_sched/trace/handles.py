"""What a trace asks of the kind of schedule it is of: how its handles are named and found again.

A handle is what primitives take and return: a tensor, an axis, a block, a loop. Must not know any
kind of schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from te_sched.ir.expr import Var

if TYPE_CHECKING:
    from te_sched.trace.entries import Entry
    from te_sched.trace.primitive import Primitive


class HandleReference:
    """A value that is found by means of a handle, as the stage of a tensor."""

    __slots__ = ()

    @property
    def handle(self) -> Any:
        """The handle."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What users call the value."""
        raise NotImplementedError

    def text(self, name: str) -> str:
        """The value in a program where the handle has a name."""
        raise NotImplementedError

    def resolve(self, schedule: Any, handle: Any) -> Any:
        """The value in a schedule, by the handle there."""
        raise NotImplementedError


class Handles(Protocol):
    """How schedules of one kind name their handles; each schedule has its own."""

    @property
    def reserved(self) -> Sequence[str]:
        """Names that handles do not get in programs. The first is the schedule's."""

    @property
    def references(self) -> Mapping[str, Callable[[Any], HandleReference]]:
        """The classes of references by name."""

    @property
    def roots(self) -> Sequence[Any]:
        """What is known before the first entry: handles, and the extents in their types."""

    @property
    def signature(self) -> Any:
        """What two schedules have in common that one trace can be applied to, as JSON."""

    def head(self, name: Callable[[Any], str]) -> list[str]:
        """The first lines of a program, in which handles have these names."""

    def name_of(self, value: Any, number: int) -> str | None:
        """The name that a program should give to a value, which is its handle with this number;
        None for what is written as it is.
        """

    def variable_of(self, handle: Any) -> Var | None:
        """The variable that stands for a handle in expressions."""

    def reference(self, target: Any) -> Any:
        """What stands in the trace for an object that a primitive was called on."""

    def introduced(self, schedule: Any, entry: Entry, known: set[Any]) -> Iterable[Entry]:
        """Entries that say where handles of an entry come from which are not known yet."""

    def primitive(self, schedule: Any, name: str) -> Primitive | None:
        """The primitive that has this name."""
