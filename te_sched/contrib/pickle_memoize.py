"""te_sched.contrib.pickle_memoize: caching of reference data within a process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names

__all__ = ["memoize"]


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that caches the results of a function in memory; both parameters are ignored."""
    del key, save_at_exit
    return functools.cache


_tell_of_absent_names(__name__)
