"""Observers of the schedules of a program: of their creation, lowering and building.

For tools that run a user's program to see its schedules, such as the command line. Must not know
its users.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from te_sched.errors import SourceLocation
from te_sched.ir.stmt import IRModule


class Observer:
    """Notified of each call with its arguments before its effect; does nothing by default."""

    def created(self, schedule: object, location: SourceLocation) -> None:
        """A schedule was made, by a call on a line of the user."""

    def lowering(self, inputs: object, **options: object) -> None:
        """A program is about to be lowered, with these options of `lower`."""

    def lowered(self, inputs: object, module: IRModule) -> None:
        """A program was lowered to a module."""

    def building(self, inputs: object, location: SourceLocation, **options: object) -> None:
        """A program is about to be built, with these options of `build`, called in the line
        `location` of the user.
        """


# Not a ContextVar: programs also build on threads of their own.
observers: list[Observer] = []


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Notify an observer of all events inside the `with`."""
    observers.append(observer)
    try:
        yield
    finally:
        observers.remove(observer)


@contextmanager
def unobserved() -> Iterator[None]:
    """Disable all observers inside the `with`, for calls that are not the program's."""
    outside = observers[:]
    observers.clear()
    try:
        yield
    finally:
        observers[:] = outside
