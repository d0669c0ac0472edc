"""The error tree, and where in the user's program a mistake was made.

Every error a user can see is a `TeSchedError` whose message has four parts: what was asked, where
(stage,
axis, the user's line), why it cannot be done, and what to do instead.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

_PACKAGE_DIRECTORY = os.path.dirname(os.path.abspath(__file__)) + os.sep
_BETWEEN = ("functools", "contextlib")  # the standard library's, which te_sched calls through


class TeSchedError(Exception):
    """Base of all te_sched errors.

    Parameters
    ----------
    what : what was asked for, as the user would say it ("split axis k by factor=0").
    why : the reason that it cannot be done.
    cure : what to do instead.
    where : stage, axis or buffer concerned; the user's file:line is added by itself.
    """

    def __init__(self, what: str, why: str = "", cure: str = "", where: str = "") -> None:
        self.what, self.why, self.cure = what, why, cure
        self.where = ", ".join(part for part in (where, user_location()) if part)
        super().__init__(what)

    def __str__(self) -> str:
        labelled = (("where", self.where), ("why", self.why), ("cure", self.cure))
        return "\n".join([self.what, *(f"  {label}: {text}" for label, text in labelled if text)])


TVMError = TeSchedError  # TVM's name of it, in tvm.error


class DeclarationError(TeSchedError):
    """A computation is declared wrongly (placeholder, compute, reduce_axis, expressions)."""


class OperandError(DeclarationError, TypeError):
    """Python asks an expression for what only a value has: int(), len(), iteration, ..."""


class ScheduleError(TeSchedError):
    """A schedule primitive was asked for something it cannot do. The schedule is unchanged."""


class LoweringError(TeSchedError):
    """A schedule cannot be turned into loops."""


class BuildError(TeSchedError):
    """A lowered program cannot be compiled for the target, or is not legal to run."""


class CallError(TeSchedError):
    """A compiled function was called with arguments that it cannot take."""


class InternalError(TeSchedError):
    """A bug in te_sched itself; please report it with the program that shows it."""


def user_location() -> str:
    """`file:line` of the innermost frame outside te_sched, or "" when there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        is_ours = filename.startswith((_PACKAGE_DIRECTORY, "<frozen"))
        # by name too: the methods that dataclasses generate have no file
        module = frame.f_globals.get("__name__") or ""
        is_between = module in _BETWEEN or module.startswith(("sympy.", "te_sched."))
        if not is_ours and not is_between:
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
