"""Tracebacks of errors without te_sched's frames, in programs and threads: errors of te_sched, and
those that functions of the user raise when te_sched calls them.

The last frame shown is the user's line. `TE_SCHED_FULL_TRACEBACKS=1` shows all frames;
`sys.last_traceback` and debuggers always have them. Under pytest, `errors.hides_frames` does the
same, and `pytest --full-trace` shows all frames. Must not know the classes of errors.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from te_sched import config
from te_sched.errors import is_shortened, without_listings

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MACHINERY = ("IPython", "ipykernel", "functools", "contextlib", "importlib")
# Of files that are not the user's: the standard library, generated code of it, installed packages.
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, "<frozen")
_INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")


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
    """Shorten the tracebacks of an error and of those that it follows, and their texts, while they
    are printed.
    """
    complete = [(member, member.__traceback__) for member in _chain(error)]
    for member, frames in complete:
        member.__traceback__ = shown_part(member, frames)
    try:
        with without_listings():
            yield
    finally:
        for member, frames in complete:
            member.__traceback__ = frames


def _chain(error: BaseException | None) -> list[BaseException]:
    """An error and its causes and contexts."""
    chain: list[BaseException] = []
    while error is not None and all(error is not member for member in chain):
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def shown_part(error: BaseException | None, frames: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback to show: all of them, or the user's."""
    is_user_code = is_shortened(error) or _is_raised_by_callback(frames)
    return users_part(frames) if is_user_code and not config.current().full_tracebacks else frames


def _is_raised_by_callback(frames: TracebackType | None) -> bool:
    """Whether te_sched called code of the user that raised the error, perhaps in a library."""
    is_callback = False
    for frame in frames_of(frames):
        is_callback = not _is_ours(frame) and (is_callback or _is_users(frame))
    return is_callback


def _is_users(frame: TracebackType) -> bool:
    file = frame.tb_frame.f_code.co_filename
    is_library = file.startswith(_LIBRARIES) or _INSTALLED.search(file) is not None
    return not is_library and not _is_ours(frame)


def _is_ours(frame: TracebackType) -> bool:
    """Whether a frame is of te_sched; also of methods that dataclasses generate."""
    file = frame.tb_frame.f_code.co_filename
    return file.startswith(_OURS) or (file[0] == "<" and _package_of(frame) == "te_sched")


def _package_of(frame: TracebackType) -> str:
    return str(frame.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def users_part(frames: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that belong neither to te_sched nor to its callers in the standard
    library; all frames if there are no others.
    """
    kept: TracebackType | None = None
    for frame in reversed(list(frames_of(frames))):
        if not _is_ours(frame) and _package_of(frame) not in _MACHINERY:
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept or frames


def frames_of(frames: TracebackType | None) -> Iterator[TracebackType]:
    """The frames of a traceback, outermost first."""
    while frames is not None:
        yield frames
        frames = frames.tb_next
