"""Switches of AutoTVM for the whole process."""

from __future__ import annotations

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names


class AutotvmGlobalScope:
    """`in_tuning` is set while a tuner runs; if `silent`, progress and warnings are not shown.

    >>> AutotvmGlobalScope().silent
    False
    """

    def __init__(self) -> None:
        self.in_tuning = False
        self.silent = False


GLOBAL_SCOPE = AutotvmGlobalScope()

_tell_of_absent_names(__name__)
