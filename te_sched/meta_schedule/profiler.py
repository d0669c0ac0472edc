"""Where the time of a search goes: named parts, summed, as a table."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError
from te_sched.public_members import PublicObject

_entered = threading.local()


class Profiler(PublicObject):
    """Sums the seconds of parts that `Profiler.timeit` names, between entry and exit.

    >>> with Profiler() as profiler:
    ...     with Profiler.timeit("part"):
    ...         pass
    >>> list(profiler.get())
    ['part', 'Total']
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._began: float | None = None

    def __enter__(self) -> Self:
        if self._began is not None:
            raise DeclarationError("the profiler has been entered already", "", "make another one")
        self._began = time.perf_counter()
        _stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._began is not None
        _stack().pop()
        self._seconds["Total"] = time.perf_counter() - self._began

    def get(self) -> dict[str, float]:
        """Seconds by part; "Total" once the profiler was left."""
        return dict(self._seconds)

    def table(self) -> str:
        """The parts with their seconds and shares, largest first."""
        total = self._seconds.get("Total") or sum(self._seconds.values()) or 1.0
        rows = sorted(self._seconds.items(), key=lambda pair: -pair[1])
        width = max((len(name) for name, _ in rows), default=0)
        lines = [f"{name:{width}}  {spent:9.3f} s  {spent / total:6.1%}" for name, spent in rows]
        return "\n".join(lines)

    @staticmethod
    def current() -> Profiler | None:
        """The innermost profiler that was entered; None outside."""
        return _stack()[-1] if _stack() else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Iterator[None]:
        """Add the time of a `with` to a part of the current profiler, if there is one."""
        profiler = Profiler.current()
        began = time.perf_counter()
        try:
            yield
        finally:
            if profiler is not None:
                spent = time.perf_counter() - began
                profiler._seconds[name] = profiler._seconds.get(name, 0.0) + spent


def _stack() -> list[Profiler]:
    if not hasattr(_entered, "stack"):
        _entered.stack = []
    stack: list[Profiler] = _entered.stack
    return stack


_tell_of_absent_names(__name__)
