"""How IPython shows an error of te_sched: the user's lines and the message, without the frames of
te_sched in between. `sys.last_traceback` and debuggers have them all. Must not know any error.
"""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType
from typing import Any

from te_sched.errors import InternalError, TeSchedError

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def rendered(error: TeSchedError) -> list[str]:
    """The lines that IPython prints of an error that was not caught."""
    shell = _shell()
    if shell is None:
        return traceback.format_exception(error)
    frames = error.__traceback__
    kept = frames if isinstance(error, InternalError) else users_part(frames)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, kept, 0)
    return lines


def users_part(frames: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that are neither te_sched's nor those of the notebook's machinery;
    all of them where nothing else is there.
    """
    kept: TracebackType | None = None
    for frame in reversed(list(_chain(frames))):
        file = frame.tb_frame.f_code.co_filename
        module = str(frame.tb_frame.f_globals.get("__name__", ""))
        if not file.startswith(_OURS) and module.partition(".")[0] not in ("IPython", "ipykernel"):
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept or frames


def _chain(frames: TracebackType | None) -> Any:
    while frames is not None:
        yield frames
        frames = frames.tb_next


def _shell() -> Any:
    """The running IPython, if there is one."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
