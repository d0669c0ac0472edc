"""te_sched.contrib.dlpack: compiled functions that take arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names

__all__ = ["to_pytorch_func"]


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: te_sched's functions accept every array with `__dlpack__`."""
    return tvm_func


_tell_of_absent_names(__name__)
