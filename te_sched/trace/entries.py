"""The entries of a trace. Must not know how it is printed or replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from te_sched.errors import SourceLocation
from te_sched.notebook_display import Shown
from te_sched.trace.handles import HandleReference

if TYPE_CHECKING:
    from te_sched.trace.primitive import Primitive

NOWHERE = SourceLocation()


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Shown):
    """One call of a primitive: of the part `target` of the schedule, or of the schedule (None);
    the user's line of it, and the value that was sampled, where the primitive samples one.
    """

    primitive: Primitive
    target: Any
    arguments: Mapping[str, Any]
    results: tuple[Any, ...]
    place: SourceLocation = NOWHERE
    decision: Any = None

    @property
    def method(self) -> str:
        """The name of the primitive."""
        return self.primitive.name

    @property
    def target_name(self) -> str:
        """The name of the part of the schedule, "" if it has none."""
        return self.target.name if isinstance(self.target, HandleReference) else ""
