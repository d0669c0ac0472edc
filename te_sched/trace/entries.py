"""The entries of a trace, and the values in them that are found by a handle.

Must not know how a trace is printed or replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from te_sched.errors import SourceLocation
from te_sched.notebook_display import Shown

if TYPE_CHECKING:
    from te_sched.trace.primitive import Primitive

NOWHERE = SourceLocation()


class HandleReference:
    """A value that is found by a handle, such as the stage of a tensor."""

    __slots__ = ()

    @property
    def handle(self) -> object:
        """The handle."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the value for users."""
        raise NotImplementedError

    def text(self, name: str) -> str:
        """The value in a program where the handle has a name."""
        raise NotImplementedError

    def resolve(self, schedule: object, handle: object) -> object:
        """The value in a schedule, by the handle there."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Shown):
    """One call of a primitive: of the part `target` of the schedule, or of the schedule (None);
    the user's line of it, and the value that was sampled, where the primitive samples one.
    """

    primitive: Primitive
    target: object
    arguments: Mapping[str, Any]
    results: tuple[object, ...]
    place: SourceLocation = NOWHERE
    decision: object = None

    @property
    def method(self) -> str:
        """The name of the primitive."""
        return self.primitive.name

    @property
    def target_name(self) -> str:
        """The name of the part of the schedule, "" if it has none."""
        return self.target.name if isinstance(self.target, HandleReference) else ""
