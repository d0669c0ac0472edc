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
from typing import Generic, ParamSpec, TypeVar

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


class CallsAhead(Generic[_S, _T]):
    """Calls for items that are begun in other threads before all items are known.

    As of `map_in_threads`, the calls should be native code, and a processor is left to the caller.
    """

    def __init__(self, call: Callable[[_S], _T]) -> None:
        self._call = call
        self._lock = new_lock()
        self._begun: set[_S] = set()
        self._waiting: deque[_S] = deque()
        self._results: dict[_S, _T | BaseException] = {}
        self._threads: list[threading.Thread] = []
        self._running = 0

    def begin(self, item: _S) -> None:
        """Call for an item soon, unless there is no processor for it."""
        if item in self._begun or usable_processors() < 2:
            return
        with self._lock:
            self._waiting.append(item)
            needs_thread = self._running < usable_processors() - 1
            self._running += needs_thread
        self._begun.add(item)
        if needs_thread:
            self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=copy_context().run, args=(self._work,), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the item waits for `results`
            with self._lock:
                self._running -= 1
            return
        self._threads.append(thread)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                item = self._waiting.popleft()
            try:
                self._results[item] = self._call(item)
            except BaseException as error:
                self._results[item] = error

    def stop(self, waits: bool = True) -> None:
        """Begin no more calls, and wait for those that are running."""
        with self._lock:
            self._waiting.clear()
        for thread in self._threads if waits else ():
            thread.join()

    def results(self, items: Sequence[_S]) -> list[_T]:
        """The results of all items; raises the first error of a call."""
        with self._lock:
            waiting = {*self._waiting}
            self._waiting.clear()
        rest = [item for item in items if item in waiting or item not in self._begun]
        called = dict(zip(rest, map_in_threads(self._call, rest), strict=True))
        for thread in self._threads:
            thread.join()
        results: list[_T] = []
        for item in items:
            result = called[item] if item in called else self._results[item]
            if isinstance(result, BaseException):
                raise result
            results.append(result)
        return results


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
