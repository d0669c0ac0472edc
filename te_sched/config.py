"""Every switch of te_sched, in one frozen `Config`.

    with te_sched.config(verify_passes=True):
        te_sched.lower(s, [A, B])

changes switches for the code inside, only in this thread or task; `te_sched.config.current()`
returns the current ones. The initial value of a switch is that of its environment variable.
`table()` lists them, also shown in docs/config.md. `lowering` has no variable: it is set by
`te_sched.transform.PassContext`.

Must not know the effects of the switches.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from te_sched.errors import TeSchedError, did_you_mean, repr_of
from te_sched.files import why_no_path
from te_sched.public_names import show_names

STARTED = time.time_ns()  # files that changed later are not the running ones
_TRUTHS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False, "": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Lowering:
    """The options of lowering (TVM's PassContext).

    `disabled_passes` are names of functions of `te_sched.lowering`; `added_passes` are functions
    from PrimFunc to PrimFunc, each with its phase: 0 before all passes, 1 after storage is
    flattened, 2 after loops are unrolled, 3 before the last pass. `partition_const_loop` also
    partitions loops of constant extents at their guards; if it is None, `build` does so where it is
    profitable (`partition_for_speed`), and `lower` does not. `to_run` is set by `build`, and
    differs from TVM: double buffers check for empty loops, memory whose size depends on a loop is
    not hoisted out of it, and loaded integers wrap around. `hoist_thread_conditions` also hoists
    conditions on thread axes out of loops. `predicate_accesses` turns conditions on the lanes of
    vectors into predicates of accesses, by default for targets with scalable vectors; programs that
    run on a processor have them where that is possible. `unroll_local_access` unrolls loops that
    index memory in scope "local". `simplify_branches` simplifies
    the operands of `and` and `or` where the other operand does not decide them.
    `prove_transitively` derives inequalities from several others (False: from one; None: as True,
    but no inequality a != c from a == b and b != c); `conditions_as_clauses` writes conditions as
    conjunctions of disjunctions.
    `propagate_to_conditions` and `propagate_to_values` let Simplify replace elements of buffers by
    their known values, to decide conditions and in all expressions; `remove_by_dataflow` lets
    RemoveNoOp remove stores that are not read or change nothing, `dataflow_steps` limits the work
    of these analyses (0: the default). They are not used in programs to run.
    `keep_trivial_loops` keeps loops of one iteration, for analyses that compare schedules.
    `hoisted_conditionals` and `hoisted_lets` are flags of HoistExpression.
    `as_older` lowers as TVM 0.9, whose text (the primfn
    dialect) is found in books and papers; later versions rewrite more.
    """

    vectorize: bool = True
    predicate_accesses: bool | None = None
    auto_unroll_max_step: int = 0
    auto_unroll_max_depth: int = 8
    auto_unroll_max_extent: int = 0
    unroll_explicit: bool = True
    unroll_local_access: bool = False
    partition_const_loop: bool | None = None
    partition_for_speed: bool = False
    to_run: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False
    hoist_thread_conditions: bool = False
    simplify_branches: bool = False
    prove_transitively: bool | None = None
    conditions_as_clauses: bool = False
    propagate_to_conditions: bool = False
    propagate_to_values: bool = False
    remove_by_dataflow: bool = False
    dataflow_steps: int = 0
    hoisted_conditionals: int = 7
    hoisted_lets: int = 7
    disabled_passes: frozenset[str] = frozenset()
    added_passes: tuple[tuple[int, Callable[[Any], Any]], ...] = ()
    as_older: bool = False
    keep_trivial_loops: bool = False


AS_TVM, TO_RUN = Lowering(), Lowering(to_run=True)


def _switch(default: Any, variable: str, what: str) -> Any:
    """A field of `Config`: its default, its environment variable, and its effect."""
    return dataclasses.field(default=default, metadata={"variable": variable, "what": what})


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """The switches; `table()` describes them."""

    verify_passes: bool = _switch(
        False,
        "TE_SCHED_VERIFY",
        "check the program after every pass of lowering: slower; the tests of te_sched do it",
    )
    check_accesses: bool = _switch(
        True,
        "TE_SCHED_CHECK_ACCESSES",
        "build with checks of the indices that only a call can know",
    )
    emulate: bool = _switch(
        False, "TE_SCHED_EMULATE", "cuda(0) is a device that the processor emulates"
    )
    max_steps: int | None = _switch(
        None,
        "TE_SCHED_MAX_STEPS",
        "stop a kernel on the emulated device or in checked mode after this many loop steps; by "
        "default 1e9 of one thread where nothing else bounds a loop, in checked mode 2e7 of all "
        "loops together; read when a module first runs on the emulated device, and at each check",
    )
    cache: bool = _switch(
        True, "TE_SCHED_CACHE", "keep compiled programs on disk, and use those that are there"
    )
    cache_dir: str | None = _switch(
        None,
        "TE_SCHED_CACHE_DIR",
        "keep them in this folder, which other users may not write; by default te_sched in "
        "XDG_CACHE_HOME or ~/.cache, or the system's like",
    )
    cache_size: int | None = _switch(
        None,
        "TE_SCHED_CACHE_SIZE",
        "let them take about this many MiB, by default 256; the longest unused go first",
    )
    progress: bool = _switch(
        True,
        "TE_SCHED_PROGRESS",
        "show how far work is that takes more than a second, in terminals and notebooks with tqdm",
    )
    full_tracebacks: bool = _switch(
        False,
        "TE_SCHED_FULL_TRACEBACKS",
        "show the frames of te_sched in tracebacks of its errors, which end at the user's line",
    )
    lowering: Lowering = dataclasses.field(
        default=AS_TVM,
        metadata={
            "variable": "",
            "what": "how schedules are lowered: see te_sched.transform.PassContext",
        },
    )


# Variables that are not switches: they apply to the process, and are read when its threads start.
PROCESS_VARIABLES = {
    "TE_SCHED_NUM_THREADS": "use this many threads for parallel loops, by default those of "
    "OMP_NUM_THREADS, or one on each core",
    "TE_SCHED_OPENMP": '"serial" runs parallel loops on one thread',
}


def table() -> list[dict[str, str]]:
    """All switches and variables: records with "switch", "variable", "default" and "what"."""
    rows = [
        {
            "switch": field.name,
            "variable": field.metadata["variable"],
            "default": "TVM's" if field.name == "lowering" else repr(field.default),
            "what": field.metadata["what"],
        }
        for field in dataclasses.fields(Config)
    ]
    return rows + [
        {"switch": "", "variable": variable, "default": "", "what": what}
        for variable, what in PROCESS_VARIABLES.items()
    ]


def from_environment(variables: Mapping[str, str]) -> Config:
    """The switches that environment variables set."""
    asked: dict[str, Any] = {
        field.name: _READERS[str(field.type)](name, variables[name])
        for field in dataclasses.fields(Config)
        if (name := field.metadata["variable"]) in variables
    }
    return Config(**asked)


def current() -> Config:
    """The current switches."""
    scoped_config = _scoped.get()
    return _default() if scoped_config is None else scoped_config


@contextmanager
def scoped(**changes: Any) -> Iterator[Config]:
    """The switches in force, with `changes`, for the code inside the `with`.

    `te_sched.config(...)` is the same.

    >>> with scoped(verify_passes=True):
    ...     current().verify_passes
    True
    """
    type_names = {field.name: str(field.type) for field in dataclasses.fields(Config)}
    for name in changes.keys() - type_names.keys():
        raise TeSchedError(
            f"unknown switch of te_sched.config: {name}={repr_of(changes[name])}",
            help=f"use one of: {', '.join(sorted(type_names))}{did_you_mean(name, type_names)}",
        )
    for name, value in changes.items():
        classes, wanted = _KINDS[type_names[name]]
        is_odd = (type(value) is int and value < 1) or (type(value) is str and why_no_path(value))
        if type(value) not in classes or is_odd:
            raise TeSchedError(
                f"{name} of te_sched.config must be {wanted}, got {repr_of(value)}",
                help=f"give {wanted}",
            )
    token = _scoped.set(dataclasses.replace(current(), **changes))
    try:
        yield current()
    finally:
        _scoped.reset(token)


# The classes of values of each type of switch, and their names in messages.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool,), "True or False"),
    "int | None": ((int, type(None)), "a whole number above 0, or None"),
    "str | None": ((str, type(None)), "a path, as text, or None"),
    "Lowering": ((Lowering,), "a te_sched.config.Lowering"),
}
_scoped: ContextVar[Config | None] = ContextVar("te_sched_config", default=None)


@functools.cache
def _default() -> Config:
    return from_environment(os.environ)


def _read_truth(name: str, text: str) -> bool:
    value = _TRUTHS.get(text.strip().lower())
    if value is None:
        raise TeSchedError(
            f"environment variable {name} must be a truth value, got {text!r}",
            help=f"set it to one of: {', '.join(word for word in _TRUTHS if word)}",
        )
    return value


def _read_count(name: str, text: str) -> int | None:
    """A number above 0; None for the default."""
    text = text.strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise TeSchedError(
            f"environment variable {name} must be a whole number above 0, got {text!r}",
            help="set it to one, for example 1000000",
        )
    return int(text)


def _read_path(name: str, text: str) -> str | None:
    """A path; None for the default."""
    if (why := why_no_path(text)) is not None:
        raise TeSchedError(
            f"environment variable {name} must be a path, got {text!r}", why, "correct it"
        )
    return text or None


_READERS: dict[str, Callable[[str, str], Any]] = {  # by the type of a switch
    "bool": _read_truth,
    "int | None": _read_count,
    "str | None": _read_path,
}


_Switches = Config  # inside the class, `Config` has another meaning


class ConfigModule(ModuleType):
    """This module, which can also be called: `with te_sched.config(verify_passes=True):`."""

    if TYPE_CHECKING:  # what is in it
        Config, Lowering, STARTED = Config, Lowering, STARTED
        current, scoped, table = staticmethod(current), staticmethod(scoped), staticmethod(table)
        from_environment = staticmethod(from_environment)

    def __call__(self, **changes: Any) -> AbstractContextManager[_Switches]:
        """The switches in force, with `changes`, for the code inside the `with`."""
        return scoped(**changes)


SELF = cast(ConfigModule, sys.modules[__name__])
SELF.__class__ = ConfigModule
__all__ = ["Config", "Lowering", "current", "from_environment", "scoped", "table"]
show_names(SELF)
