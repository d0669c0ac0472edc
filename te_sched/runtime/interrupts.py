"""Ctrl-C in native code that runs for long: what it calls now and then (`poll`) looks for it.

While such code runs in the main thread, a handler that only makes a note stands in for the user's,
which `poll` calls then: raised by itself, KeyboardInterrupt could hit the few instructions of a
callback in which an exception is lost. Must not know what runs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]
_handlers: list[_Handler] = []  # those that `interruptible` stands in for, of the main thread
_noted: list[FrameType | None] = []  # where the signal arrived, until it is handled


def poll() -> None:
    """Handle a Ctrl-C that arrived; raises what the handler raises."""
    if _noted and _handlers and _is_main_thread():
        _handle(_handlers[-1])


@contextmanager
def interruptible() -> Iterator[None]:
    """For a call that polls: Ctrl-C stops it, in the main thread."""
    handler = signal.getsignal(signal.SIGINT) if _is_main_thread() else None
    if not callable(handler) or handler is _note:
        yield
        return
    _handlers.append(handler)
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        _handlers.pop()
        if _noted:
            _handle(handler)


def _note(number: int, frame: FrameType | None) -> None:
    del number
    _noted.append(frame)


def _handle(handler: _Handler) -> None:
    frame = _noted[-1]
    _noted.clear()
    handler(signal.SIGINT, frame)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
