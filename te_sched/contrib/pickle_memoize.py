"""te_sched.contrib.pickle_memoize: computing reference data once in a process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["memoize"]


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: remember the results of a function; nothing is written to disk."""
    del key, save_at_exit
    return functools.cache
