"""Programs nested deeper than Python recurses: they are walked once more, on a larger stack.

Must not know what is walked.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

from te_sched.errors import LoweringError, TeSchedError
from te_sched.locks import after_fork, new_lock
from te_sched.worker_thread import run_in_thread

_P = ParamSpec("_P")
_T = TypeVar("_T")
_STACK = 256 << 20  # bytes, of which the system gives what is used
_FRAMES = 50_000
_ONE_AT_A_TIME = new_lock()  # the limit is the whole process's
_usual: list[tuple[int, int]] = []  # the limit and the size of stacks, while they are larger


class _OfThread(threading.local):
    is_large = False  # whether its stack is
    is_repeatable = False  # whether what it walks is walked again on a larger stack


_OF_THREAD = _OfThread()


def walks_deeply(
    what: str, kind: type[TeSchedError] = LoweringError, *, again: bool = True
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Lets a function recurse as deeply as a program asks for.

    It is called again where Python's limit stops it, so it must not have changed anything by then;
    one that must not be called `again` ends there, unless it is part of a walk that is. What no
    stack holds is an error of this `kind`, about `what` was asked.

    The larger limit is the whole process's meanwhile: under Python 3.11, where it also counts calls
    from C, another thread whose own recursion has no end may overflow its stack.
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
    """What a call gives that may take many frames."""

    def run() -> _T:
        _OF_THREAD.is_large = True
        return call()

    with _ONE_AT_A_TIME:
        limit = sys.getrecursionlimit()
        _usual.append((limit, threading.stack_size()))
        try:
            threading.stack_size(_STACK)
            sys.setrecursionlimit(max(limit, _FRAMES))
            return run_in_thread(run, _refuse)
        finally:
            _restore()


def _restore() -> None:
    """Go back to the usual limit and size of stacks, except for a large stack that forks."""
    while _usual and not _OF_THREAD.is_large:
        limit, size = _usual[-1]
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
        _usual.pop()


after_fork(_restore)


def _refuse() -> NoReturn:
    raise RecursionError("there is no room for a larger stack")
