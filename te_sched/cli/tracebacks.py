"""Tracebacks of users' programs, cut to the frames that are theirs. Must not know how they run."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from te_sched.errors import InternalError, TeSchedError

_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def traceback_of(error: BaseException, path: str) -> str:
    """The traceback of an exception, without the frames of te_sched that the user cannot mend."""
    told = traceback.TracebackException.from_exception(error)
    _trim(told, path, isinstance(error, TeSchedError) and not isinstance(error, InternalError))
    shown = [told]
    while shown:
        one = shown.pop()
        others = (one.__cause__, one.__context__, *(one.exceptions or ()))
        for other in filter(None, others):
            _trim(other, path, False)
            shown.append(other)
    return "".join(told.format())


def _trim(told: traceback.TracebackException, path: str, is_ours: bool) -> None:
    frames = list(told.stack)
    own = [index for index, frame in enumerate(frames) if frame.filename == path]
    kept = frames[own[0] :] if own else frames
    while is_ours and len(kept) > 1 and kept[-1].filename.startswith(_PACKAGE):
        kept.pop()
    told.stack = traceback.StackSummary.from_list(kept)
