"""Small helpers that programs with searches of their own use: seeds, hashes, processors."""

from __future__ import annotations

import os
from typing import TypeVar

from te_sched.errors import DeclarationError, kind_of
from te_sched.ir.stmt import IRModule
from te_sched.ir.structural_hash import structural_hash
from te_sched.tensorir.random_numbers import RandomNumbers

_Class = TypeVar("_Class", bound=type)


def derived_object(cls: _Class) -> _Class:
    """A decorator of classes that derive from `PyScheduleRule`, `PyRunner`, ...: TVM needs it.

    te_sched's classes are Python's, so that the class is returned as it is.

    >>> derived_object(dict)
    <class 'dict'>
    """
    if not isinstance(cls, type):
        raise DeclarationError(
            f"derived_object cannot be applied to {kind_of(cls)}", "", "apply it to a class"
        )
    return cls


def cpu_count(logical: bool = True) -> int:
    """The number of processors that this process may use; `logical` is accepted as in TVM."""
    del logical
    return len(os.sched_getaffinity(0))


def fork_seed(seed: int | None, n: int) -> list[int]:
    """Seeds of `n` generators, made from one.

    >>> fork_seed(1, 2) == fork_seed(1, 2)
    True
    """
    numbers = RandomNumbers(seed)
    return [numbers.fork() for _ in range(n)]


def shash2hex(mod: IRModule) -> str:
    """The structural hash of a module as sixteen hexadecimal digits."""
    return f"{structural_hash(mod) & (1 << 64) - 1:016x}"
