"""Tracebacks of errors without te_sched's frames, in programs and threads.

The last frame shown is the user's line. `TE_SCHED_FULL_TRACEBACKS=1` shows all frames;
`sys.last_traceback` and debuggers always have them. Under pytest, `errors.hides_frames` does the
same, and `pytest --full-trace` shows all frames. Must not know the classes of errors.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from te_sched import config
from te_sched.errors import is_shortened

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MACHINERY = ("IPython", "ipykernel", "functools", "contextlib")


def install() -> None:
    """Shorten the tracebacks that Python prints of errors that end a program or a thread."""
    before, before_in_threads = sys.excepthook, threading.excepthook

    def show(kind: type[BaseException], error: BaseException, frames: Any) -> None:
        with _shortened(error):
            before(kind, error, error.__traceback__)

    def show_in_thread(args: Any) -> None:
        with _shortened(args.exc_value):
            before_in_threads(args)

    sys.excepthook, threading.excepthook = show, show_in_thread


@contextmanager
def _shortened(error: BaseException | None) -> Iterator[None]:
    """Shorten the traceback of an error while it is printed."""
    if error is None:
        yield
        return
    frames = error.__traceback__
    error.__traceback__ = shown_part(error, frames)
    try:
        yield
    finally:
        error.__traceback__ = frames


def shown_part(error: BaseException | None, frames: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback to show: all of them, or the user's."""
    is_full = not is_shortened(error) or config.current().full_tracebacks
    return frames if is_full else users_part(frames)


def users_part(frames: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that belong neither to te_sched nor to its callers in the standard
    library; all frames if there are no others.
    """
    kept: TracebackType | None = None
    for frame in reversed(list(frames_of(frames))):
        file = frame.tb_frame.f_code.co_filename
        module = str(frame.tb_frame.f_globals.get("__name__", ""))
        if not file.startswith(_OURS) and module.partition(".")[0] not in _MACHINERY:
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept or frames


def frames_of(frames: TracebackType | None) -> Iterator[TracebackType]:
    """The frames of a traceback, outermost first."""
    while frames is not None:
        yield frames
        frames = frames.tb_next
