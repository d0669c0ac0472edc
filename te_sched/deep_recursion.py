"""Recursion deeper than Python's limit: the function is called again on a larger stack.

Must not know the functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

from te_sched.errors import LoweringError, TeSchedError
from te_sched.locks import after_fork, new_lock
from te_sched.worker_thread import run_in_thread

_P = ParamSpec("_P")
_T = TypeVar("_T")
_STACK = 256 << 20  # bytes; the system allocates only the used part
_FRAMES = 50_000
_LIMIT = new_lock()
_usual: list[int] = []  # the usual limit, while a larger one is set
_large: set[threading.Thread] = set()  # threads with a large stack


class _OfThread(threading.local):
    is_large = False  # whether its stack is large
    is_repeatable = False  # whether the current function is called again on a larger stack


_OF_THREAD = _OfThread()


def walks_deeply(
    what: str, kind: type[TeSchedError] = LoweringError, *, again: bool = True
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """A decorator that lets a function recurse beyond Python's limit.

    At Python's limit, the function is called again, so it must not have side effects before; one
    that must not be called `again` fails, unless a function that calls it is called again. If the
    larger stack overflows too, an error of class `kind` is raised, whose fault is `what`.

    Meanwhile the larger limit applies to the whole process: under Python 3.11, where it also counts
    calls from C, another thread with infinite recursion may overflow its stack.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def walk(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            is_repeatable = _OF_THREAD.is_repeatable
            _OF_THREAD.is_repeatable = is_repeatable or again
            try:
                return function(*args, **kwargs)
            except RecursionError:
                if not again and not is_repeatable:
                    raise _too_deep(what, kind) from None
                if not again or _OF_THREAD.is_large:
                    raise
            finally:
                _OF_THREAD.is_repeatable = is_repeatable
            try:
                return _on_large_stack(lambda: function(*args, **kwargs))
            except RecursionError:
                raise _too_deep(what, kind) from None

        return walk

    return decorate


def _too_deep(what: str, kind: type[TeSchedError]) -> TeSchedError:
    return kind(
        what,
        "its stages, statements or expressions are nested too deeply",
        "make it several programs, or let stages hold parts of a long expression",
    )


def _on_large_stack(call: Callable[[], _T]) -> _T:
    """The result of a call on a large stack."""

    def run() -> _T:
        _OF_THREAD.is_large = True
        with _more_frames():
            return call()

    return run_in_thread(run, _refuse, _STACK)


@contextmanager
def _more_frames() -> Iterator[None]:
    """Raise Python's limit, which is one per process, until the last large stack is left."""
    thread = threading.current_thread()
    with _LIMIT:
        if not _usual:
            _usual.append(sys.getrecursionlimit())
        _large.add(thread)
        sys.setrecursionlimit(max(_usual[0], _FRAMES))
    try:
        yield
    finally:
        _large.discard(thread)
        _restore()


def _restore() -> None:
    """Restore the usual limit if no large stack is in use (a forked process has at most one)."""
    with _LIMIT:
        if _usual and not any(thread.is_alive() for thread in _large):
            _large.clear()
            sys.setrecursionlimit(_usual.pop())


after_fork(_restore)


def _refuse() -> NoReturn:
    raise RecursionError("there is no room for a larger stack")
