"""Locks that are free in a forked process, and values that are computed once for all threads.

Must not know the guarded data.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T")
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock() -> threading.Lock:
    """A lock that is free in a forked process, which does not have the thread that may hold it."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def new_reentrant_lock() -> threading.RLock:
    """A lock like that of `new_lock`, which the thread that holds it may acquire again."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def once(function: Callable[[], _T]) -> Callable[[], _T]:
    """A decorator: the function is called once, also if several threads call it at the same time.

    functools.cache would call it for each thread that asks before there is a result.
    """
    lock, results = new_lock(), list[_T]()

    @wraps(function)
    def result() -> _T:
        if not results:
            with lock:
                if not results:
                    results.append(function())
        return results[0]

    return result


def after_fork(call: Callable[[], None]) -> None:
    """Register a call for each forked process, after its locks are free."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


def _renew() -> None:
    lock: Any
    for lock in _locks:
        lock._at_fork_reinit()


after_fork(_renew)
