"""Every switch of te_sched, in one frozen `Config`.

A switch is read from the environment once, and can be changed for a block of code:

    TE_SCHED_VERIFY=1        check the program after every pass of lowering (slower; tests do it)
    TE_SCHED_CHECK_ACCESSES=0  build without the checks of indices that are known at run time alone
    TE_SCHED_EMULATE=1       cuda(0) is a device that the processor emulates
    TE_SCHED_MAX_STEPS=N     stop a kernel on the emulated device or in checked mode after so many
                             steps of loops (default: 1e9 of one thread where nothing else bounds a
                             loop; in checked mode 2e7, all loops together). It is read when a
                             module first runs on the emulated device, and at each check
    TE_SCHED_CACHE=0         keep no compiled programs on disk, and use none that are there
    TE_SCHED_CACHE_DIR=PATH  keep them in this folder, which nobody else may write (default:
                             te_sched in XDG_CACHE_HOME or ~/.cache, or the system's like)
    TE_SCHED_CACHE_SIZE=N    let them take about N MiB (default 256); the longest unused go first

Two more variables are of the whole process, and read by `te_sched.runtime.threads` when it starts:

    TE_SCHED_NUM_THREADS=4   run parallel loops on this many threads (default: all cores)
    TE_SCHED_OPENMP=LIBRARY  the OpenMP runtime to use; "serial" for none (default: the first found)

How programs are lowered has no variable: `lowering` is given with `te_sched.transform.PassContext`.

`current()` gives the switches in force; `with scoped(verify_passes=True):` changes them for
the code inside it, in this thread or task alone. Must not know what the switches do.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from te_sched.errors import TeSchedError, did_you_mean

_ENVIRONMENT = {
    "verify_passes": "TE_SCHED_VERIFY",
    "check_accesses": "TE_SCHED_CHECK_ACCESSES",
    "emulate": "TE_SCHED_EMULATE",
    "max_steps": "TE_SCHED_MAX_STEPS",
    "cache": "TE_SCHED_CACHE",
    "cache_dir": "TE_SCHED_CACHE_DIR",
    "cache_size": "TE_SCHED_CACHE_SIZE",
}
STARTED = time.time_ns()  # when te_sched was loaded: files that changed later are not what runs
_TRUTHS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False, "": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Lowering:
    """How schedules are lowered, where TVM leaves a choice (its PassContext).

    `disabled_passes` are names of functions of `te_sched.lower`; `added_passes` are functions from
    PrimFunc to PrimFunc, each with its phase: 0 before all passes, 1 when storage is flat, 2 when
    loops are unrolled, 3 before the last. `partition_const_loop` cuts loops of constant extents at
    their guards, too; where it is None, `build` does so as far as it pays (`partition_for_speed`),
    `lower` does not. `to_run` is what `build` asks for and TVM does not do: double buffers ask
    first whether a loop is empty, and memory whose size a loop gives stays in it. `as_older` lowers
    as TVM 0.9 did, whose texts (the primfn dialect) stand in books and papers, where later versions
    rewrite more.
    """

    vectorize: bool = True
    auto_unroll_max_step: int = 0
    auto_unroll_max_depth: int = 8
    auto_unroll_max_extent: int = 0
    unroll_explicit: bool = True
    partition_const_loop: bool | None = None
    partition_for_speed: bool = False
    to_run: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False
    disabled_passes: frozenset[str] = frozenset()
    added_passes: tuple[tuple[int, Callable[[Any], Any]], ...] = ()
    as_older: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """The switches. Each has an environment variable, listed above, except `lowering`."""

    verify_passes: bool = False
    check_accesses: bool = True
    emulate: bool = False
    max_steps: int | None = None
    cache: bool = True
    cache_dir: str | None = None
    cache_size: int | None = None
    lowering: Lowering = Lowering()


def from_environment(variables: Mapping[str, str]) -> Config:
    """The switches that a set of environment variables asks for."""
    asked: dict[str, Any] = {
        field: _READERS.get(field, _read_truth)(name, variables[name])
        for field, name in _ENVIRONMENT.items()
        if name in variables
    }
    return Config(**asked)


def current() -> Config:
    """The switches in force here."""
    scoped_config = _scoped.get()
    return _default() if scoped_config is None else scoped_config


@contextmanager
def scoped(**changes: Any) -> Iterator[Config]:
    """The switches in force, with `changes`, for the code inside the `with`.

    >>> with scoped(verify_passes=True):
    ...     current().verify_passes
    True
    """
    known = {field.name for field in dataclasses.fields(Config)}
    for name in changes.keys() - known:
        raise TeSchedError(
            f"scoped({name}={changes[name]!r})",
            why="there is no such switch",
            cure=f"use one of: {', '.join(sorted(known))}{did_you_mean(name, known)}",
        )
    token = _scoped.set(dataclasses.replace(current(), **changes))
    try:
        yield current()
    finally:
        _scoped.reset(token)


_scoped: ContextVar[Config | None] = ContextVar("te_sched_config", default=None)


@functools.cache
def _default() -> Config:
    return from_environment(os.environ)


def _read_truth(name: str, text: str) -> bool:
    value = _TRUTHS.get(text.strip().lower())
    if value is None:
        raise TeSchedError(
            f"read the environment variable {name}={text!r}",
            why="it is neither true nor false",
            cure=f"set it to one of: {', '.join(word for word in _TRUTHS if word)}",
        )
    return value


def _read_count(name: str, text: str) -> int | None:
    """A number above 0; None for the default."""
    text = text.strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise TeSchedError(
            f"read the environment variable {name}={text!r}",
            why="it is no whole number above 0",
            cure="set it to one, for example 1000000",
        )
    return int(text)


def _read_path(name: str, text: str) -> str | None:
    """A path; None for the default."""
    if "\0" in text:
        raise TeSchedError(
            f"read the environment variable {name}={text!r}", why="it is no path", cure="correct it"
        )
    return text or None


_READERS: dict[str, Callable[[str, str], Any]] = {
    "max_steps": _read_count,
    "cache_dir": _read_path,
    "cache_size": _read_count,
}
