"""The steps of the corpus, lowered by te_sched, and those for a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import te_sched
from te_sched.errors import BuildError
from te_sched.ir.stmt import IRModule
from te_sched.lowering.device.pipeline import device_passes
from tests.golden import execution
from tests.golden.corpus import Program, programs
from tests.golden.smaller import sized

_THREAD = re.compile(r'T\.(launch|env)_thread\("')


@cache
def lowered(program: Program, *, as_older: bool = False, **options: Any) -> tuple[IRModule, ...]:
    """The steps of a program, lowered once per process for all tests.

    All are lowered in one call, since a schedule changes between steps.
    """
    with te_sched.transform.PassContext(config={"te_sched.as_older": as_older}):
        steps = program.steps(te_sched)
        return tuple(te_sched.lower(schedule, args, **options) for schedule, args in steps)


def with_threads() -> list[Program]:
    """The programs with loops bound to threads in any step."""
    return [one for one in programs() if any(map(_THREAD.search, one.golden("script")))]


def thread_bound_steps(program: Program, module: Any) -> Iterator[tuple[int, Any, list[Any]]]:
    """(number, schedule, args) of the steps of `module` with threads."""
    scripts = program.golden("script")
    for number, (schedule, args) in enumerate(module.steps(te_sched)):
        reason = execution.why_not_on_cpu(schedule, scripts[number])
        if reason is not None and reason.startswith("loops are bound to"):
            yield number, schedule, args


@cache
def device_programs(program: Program) -> list[tuple[int, list[Any], IRModule]]:
    """(number, args, host and kernels) of the steps with threads that can be split into kernels.

    Tests of the passes have the reasons why others cannot. Products are smaller except in
    campaigns.
    """
    found = []
    for number, schedule, args in thread_bound_steps(program, sized(program)):
        with suppress(BuildError):
            found.append((number, args, device_passes(te_sched.lower(schedule, args)["main"])))
    return found
