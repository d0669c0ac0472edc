"""Recursion deeper than Python's limit: the function is called again on a larger stack.

Must not know the functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from types import CodeType
from typing import Any, NoReturn, ParamSpec, TypeVar

from te_sched.errors import LoweringError, TeSchedError
from te_sched.locks import after_fork, new_lock
from te_sched.worker_thread import run_in_thread

_P = ParamSpec("_P")
_T = TypeVar("_T")
_STACK = 256 << 20  # bytes; the system allocates only the used part
_FRAMES = 50_000
_SLOTS = 66_000  # of the stack of a frame, of 8 bytes
_ROOM = 100  # frames in which a thread is started
_OVERFLOW = "maximum recursion depth exceeded"
_LIMIT = new_lock()
_usual: list[int] = []  # the usual limit, while a larger one is set
_large: set[threading.Thread] = set()  # threads with a large stack


class _OfThread(threading.local):
    is_large = False  # whether its stack is large
    has_chunk = False  # whether it calls a function in one chunk


_OF_THREAD = _OfThread()


def walks_deeply(
    what: str, kind: type[TeSchedError] = LoweringError, *, again: bool = True
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """A decorator that lets a function recurse beyond Python's limit.

    At Python's limit, the function is called again, so it must not have side effects before; one
    that must not be called `again` fails, unless a function that calls it is called again. If the
    larger stack overflows too, an error of class `kind` is raised: "cannot", and `what`.

    Meanwhile the larger limit applies to the whole process: under Python 3.11, where it also counts
    calls from C, another thread with infinite recursion may overflow its stack.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def walk(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                if _OF_THREAD.has_chunk:
                    return function(*args, **kwargs)
                return in_one_chunk(function, *args, **kwargs)
            except RecursionError:
                pass  # what follows has no frames of the overflow as its context
            call = partial(function, *args, **kwargs) if again else None
            return walk_again(call, lambda: too_deep(f"cannot {what}", kind))

        note_wrapper(walk)
        return walk

    return decorate


def in_one_chunk(function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """The result of a call whose frames, and those of the calls in it, lie in one piece of memory.

    CPython takes the memory of frames from the system in chunks of 16 KiB, and gives each back when
    its first frame is left: a loop that calls a function across the end of a chunk does so at each
    turn, for 2 to 8 us. The frame of this function declares a stack of half a chunk of 1 MiB, of
    which the system allocates only what is used; the other half is for about 500 frames.
    """
    _OF_THREAD.has_chunk = True
    try:
        return function(*args, **kwargs)
    finally:
        _OF_THREAD.has_chunk = False


in_one_chunk.__code__ = in_one_chunk.__code__.replace(co_stacksize=_SLOTS)


WRAPPERS: set[CodeType] = set()  # the code of functions that call `walk_again`, if `again`


def note_wrapper(wrapper: Any) -> None:
    """Note a function that calls another one, and then `walk_again`; its variable is `again`."""
    WRAPPERS.add(wrapper.__code__)


def walk_again(call: Callable[[], _T] | None, error: Callable[[], TeSchedError]) -> _T:
    """The result, on a larger stack, of a call that reached Python's limit in a wrapper.

    Raises the `error` if the larger stack overflows too, or without a call or the room to start a
    thread; RecursionError instead if a wrapper further out calls again.
    """
    if call is not None and _OF_THREAD.is_large:
        raise RecursionError(_OVERFLOW)  # who started the thread has the error
    is_begun: list[bool] = []
    if call is not None and _has_room():
        try:
            return _on_large_stack(call, is_begun)
        except RecursionError:
            pass
    if not is_begun and _is_called_again():
        raise RecursionError(_OVERFLOW)
    raise error()


def _has_room(frames: int = _ROOM) -> bool:
    """Whether there is room to start a thread and wait for it; half started, it would run on."""
    try:
        return not frames or _has_room(frames - 1)
    except RecursionError:
        return False


def _is_called_again() -> bool:
    """Whether a wrapper outside of the one that calls `walk_again` calls its function again."""
    frame = sys._getframe(2).f_back
    while frame is not None and not (frame.f_code in WRAPPERS and frame.f_locals["again"]):
        frame = frame.f_back
    return frame is not None


def too_deep(what: str, kind: type[TeSchedError]) -> TeSchedError:
    """The error of a walk that no stack holds."""
    return kind(
        what,
        "its stages, statements or expressions are nested too deeply",
        "make it several programs, or let stages hold parts of a long expression",
    )


def _on_large_stack(call: Callable[[], _T], is_begun: list[bool]) -> _T:
    """The result of a call on a large stack."""

    def run() -> _T:
        is_begun.append(True)
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
