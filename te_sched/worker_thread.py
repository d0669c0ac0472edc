"""Calls in other threads, for which the caller waits: interruptible, with larger stacks, or many.

Python handles no signals while native code runs, such as a compiler, but does while the caller
waits. After a Ctrl-C the thread stops as soon as it executes Python; its exception is lost. Must
not know the calls.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from typing import ParamSpec, TypeVar

from te_sched.errors import called_from, user_place
from te_sched.locks import after_fork, new_lock
from te_sched.processors import usable_processors

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T")
_LOOK = 0.1  # seconds between checks for signals, on systems where these do not end a wait
_PATIENCE = 0.5  # seconds to wait for a thread that was stopped
_STARTS = new_lock()
_usual: list[int] = []  # the usual size of stacks, one per process, while another is set


def run_in_thread(call: Callable[[], _T], without: Callable[[], _T], stack: int = 0) -> _T:
    """The result of a call in a new thread, or that of `without` if no thread can be started.

    `stack` is the size of its stack in bytes, by default the usual one.
    """
    results: list[_T] = []
    failures: list[BaseException] = []
    is_done = threading.Event()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            failures.append(error)
        finally:
            is_done.set()

    with called_from(user_place()):
        thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    try:
        _start(thread, stack)
        while not is_done.wait(_LOOK):
            pass
    except RuntimeError:
        return without()
    except BaseException:
        _stop(thread)
        is_done.wait(_PATIENCE)
        raise
    if failures:
        raise failures.pop()  # prevents a reference cycle of the list and the traceback
    return results[0]


def _start(thread: threading.Thread, stack: int) -> None:
    with _STARTS:
        usual = threading.stack_size()
        _usual.append(usual)
        try:
            threading.stack_size(max(usual, stack))
            thread.start()
        finally:
            _restore()


def _restore() -> None:
    """Restore the usual size of stacks."""
    while _usual:
        threading.stack_size(_usual.pop())


after_fork(_restore)


def _stop(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread when it next executes Python."""
    if thread.ident is not None:
        number, what = ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, what)


def map_in_threads(call: Callable[[_S], _T], items: Sequence[_S]) -> list[_T]:
    """The results of a call for all items, on as many threads as there are processors.

    The calls should be native code that releases Python's lock. Raises the first error of a call.
    """
    waiting = deque(enumerate(items))
    results: dict[int, _T] = {}
    failures: list[BaseException] = []

    def taken() -> Iterator[tuple[int, _S]]:
        with suppress(IndexError):
            while True:
                yield waiting.popleft()

    def work() -> None:
        try:
            for number, item in taken():
                results[number] = call(item)
        except BaseException as error:
            waiting.clear()
            failures.append(error)

    threads = [
        threading.Thread(target=copy_context().run, args=(work,), daemon=True)
        for _ in range(min(len(items), usable_processors()) - 1)
    ]
    with suppress(RuntimeError):  # this thread does it all where no other can be started
        for thread in threads:
            thread.start()
    work()
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    if failures:
        raise failures.pop(0)
    return [results[number] for number in range(len(items))]


def can_be_left(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A decorator: Ctrl-C ends a call of native code in the main thread, which handles signals."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)

        def itself() -> _T:
            return function(*args, **kwargs)

        return run_in_thread(itself, without=itself)

    return call
