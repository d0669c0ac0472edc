"""What a trace is made of. Must not know how it is printed or replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from te_sched.errors import Place
from te_sched.te.tensor import Tensor

# Entries that no primitive makes: they say where axes come from that a primitive was given.
OWN_AXES = ("axis", "reduce_axis", "scan_axis")
THREAD = "thread_axis"

NOWHERE = Place()


@dataclass(frozen=True, slots=True, eq=False)
class StageOf:
    """The stage of a tensor, as an argument or the target of a call."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One call of a method: of the stage `target`, of a group, or of the schedule (None); and the
    user's line of it.
    """

    target: Any
    method: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[Any, ...]
    place: Place = NOWHERE


def is_stage(value: Any) -> bool:
    """Whether a value is a stage or a group of a schedule."""
    return hasattr(value, "is_group")
