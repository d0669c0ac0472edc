"""The origin of an exception in te_sched."""

from __future__ import annotations

import os
import traceback

import te_sched

PACKAGE = os.path.dirname(te_sched.__file__) + os.sep


def files_of(error: BaseException) -> list[str]:
    """The files of its frames, outermost first."""
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]


def place_of(error: BaseException) -> str:
    """The innermost function of te_sched among its frames, as file:function; or "?"."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = [code for code in codes if code.co_filename.startswith(PACKAGE)]
    if not inside:
        return "?"
    return f"{inside[-1].co_filename.removeprefix(PACKAGE)}:{inside[-1].co_qualname}"
