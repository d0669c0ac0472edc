"""Small helpers that programs with searches of their own use: seeds, hashes, processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, kind_of
from te_sched.ir.stmt import IRModule
from te_sched.ir.structural_hash import structural_hash
from te_sched.processors import machine_memory, usable_processors
from te_sched.public_members import is_function
from te_sched.runtime.registry import get_global_func, register_func
from te_sched.tensorir.random_numbers import RandomNumbers
from te_sched.tuning.artifacts import remove_artifact

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
    return usable_processors()


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


def remove_build_dir(artifact_path: str) -> None:
    """Remove the folder of a built candidate; other folders than builders' stay."""
    remove_artifact(artifact_path)


register_func("meta_schedule.remove_build_dir", remove_build_dir, True)


def get_global_func_with_default_on_worker(
    name: str | Callable[..., Any] | None, default: Any
) -> Any:
    """The function of a name, a function itself, or the default for None.

    Raises
    ------
    DeclarationError for a name under which nothing is registered.
    """
    if name is None:
        return default
    if is_function(name):
        return name
    function = get_global_func(name, allow_missing=True) if isinstance(name, str) else None
    if function is None:
        raise DeclarationError(
            f"no function is registered as {name!r}",
            "",
            "register it with te_sched.register_func, in the initializer of the worker, too",
        )
    return function


def half_of_memory() -> int:
    """Half of this machine's memory in bytes: what a worker may use by default."""
    return machine_memory() // 2


_tell_of_absent_names(__name__)
