"""Without TVM no test of this folder is collected.

TVM calls `inspect.stack` for each function that it reads, which looks through all loaded modules
for each frame: half a minute for its tensor intrinsics. Here it reads the lines alone.
"""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import sys

collect_ignore_glob = [] if importlib.util.find_spec("tvm") else ["*.py", "*/*.py"]


def _stack(context: int = 1) -> list[inspect.FrameInfo]:
    """The frames of the caller, as `inspect.stack` gives them."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code, line = frame.f_code, frame.f_lineno
        lines = [linecache.getline(code.co_filename, line)] if context else None
        found.append(inspect.FrameInfo(frame, code.co_filename, line, code.co_name, lines, 0))
        frame = frame.f_back
    return found


if not collect_ignore_glob:
    inspect.stack = _stack  # type: ignore[assignment]
