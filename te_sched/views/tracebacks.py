"""Tracebacks of te_sched's errors in IPython: the user's lines and the message, without the frames
of te_sched in between. `sys.last_traceback` and debuggers have all frames. Must not know any error.
"""

from __future__ import annotations

import traceback

from te_sched.errors import TeSchedError, running_shell
from te_sched.short_tracebacks import shown_part


def rendered(error: TeSchedError) -> list[str]:
    """The lines that IPython prints for an uncaught error."""
    shell = running_shell()
    if shell is None:
        return traceback.format_exception(error)
    kept = shown_part(error, error.__traceback__)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, kept, 0)
    return lines
