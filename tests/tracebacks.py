"""Exceptions of te_sched: catching one, and its origin."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import pytest

import te_sched
from te_sched.errors import TeSchedError

PACKAGE = os.path.dirname(te_sched.__file__) + os.sep


def failed(call: Callable[[], object]) -> TeSchedError:
    """The error that a call raises."""
    with pytest.raises(TeSchedError) as caught:
        call()
    return caught.value


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
