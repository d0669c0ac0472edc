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
from te_sched.worker_thread import run_in_thread

_P = ParamSpec("_P")
_T = TypeVar("_T")
_STACK = 256 << 20  # bytes, of which the system gives what is used
_FRAMES = 50_000
_ONE_AT_A_TIME = threading.Lock()  # the limit is the whole process's
_OF_THREAD = threading.local()


def walks_deeply(
    what: str, kind: type[TeSchedError] = LoweringError, *, again: bool = True
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Lets a function recurse as deeply as a program asks for.

    It is called again where Python's limit stops it, so it must not have changed anything by then;
    one that must not be called `again` ends there. What no stack holds is an error of this `kind`,
    about `what` was asked.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def walk(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return function(*args, **kwargs)
            except RecursionError:
                if not again:
                    raise _too_deep(what, kind) from None
                if getattr(_OF_THREAD, "is_large", False):
                    raise
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
        limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
        try:
            sys.setrecursionlimit(max(limit, _FRAMES))
            return run_in_thread(run, _refuse)
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)


def _refuse() -> NoReturn:
    raise RecursionError("there is no room for a larger stack")
