"""The new state of objects while a primitive computes it. Must not know the objects."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from te_sched.errors import SourceLocation


class _Field:
    """A field of a draft, which gets its own value when it is first read or written."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, draft: Draft, kind: object) -> Any:
        value = getattr(draft.origin, self.name)
        if type(value) is list or type(value) is dict:
            value = value.copy()
        draft.__dict__[self.name] = value
        return value


class Draft:
    """The new state of an object, which `commit` assigns to it. A subclass annotates the fields
    that may change. A list or dict is copied when it is first read, so that the object is unchanged
    until the commit.
    """

    __slots__ = ("__dict__", "changes", "origin")

    def __init__(self, origin: object, changes: Changes) -> None:
        self.origin, self.changes = origin, changes

    def __init_subclass__(cls) -> None:
        for name in cls.__annotations__:
            setattr(cls, name, _Field(name))

    def commit(self) -> None:
        """Assign the new state to the object."""
        for name, value in self.__dict__.items():
            setattr(self.origin, name, value)


_D = TypeVar("_D", bound=Draft)


class Drafting(Protocol):
    """A schedule, while a primitive of it computes drafts."""

    changes: Changes | None


class Changes:
    """What one call of a primitive changes: drafts of objects, and the value that it sampled.

    `with Changes(schedule, place)` collects drafts in `schedule.changes`, and commits them at its
    end if nothing was raised. `place` is the user's line of the call.
    """

    __slots__ = ("_around", "_drafts", "_schedule", "decision", "place")

    def __init__(self, schedule: Drafting, location: SourceLocation) -> None:
        self._schedule, self.place = schedule, location
        self._drafts: dict[object, Any] = {}
        self.decision: object = None

    def __enter__(self) -> Changes:
        self._around = self._schedule.changes
        self._schedule.changes = self
        return self

    def __exit__(self, raised: object, *_: object) -> None:
        self._schedule.changes = self._around
        drafts, self._drafts = self._drafts, {}  # they refer to the changes
        if raised is None:
            for draft in drafts.values():
                draft.commit()

    def draft(self, origin: object, kind: type[_D]) -> _D:
        """The draft of an object, the same on each call."""
        draft: _D | None = self._drafts.get(origin)
        if draft is None:
            draft = self._drafts[origin] = kind(origin, self)
        return draft
