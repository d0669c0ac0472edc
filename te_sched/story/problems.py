"""Errors and findings as what a story tells of them. Must not know what went wrong, nor pages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from te_sched.analysis import check
from te_sched.analysis.findings import Finding
from te_sched.errors import BuildError, TeSchedError
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import stage_named
from te_sched.story.model import Problem


def from_error(phase: str, error: BaseException) -> Problem:
    """What an error says."""
    kind = type(error).__name__
    if not isinstance(error, TeSchedError):
        return Problem(phase, kind, str(error) or kind)
    return Problem(phase, kind, error.what, error.where, error.why, error.advice, error.loops)


def of_build(error: TeSchedError, schedule: Schedule, args: Sequence[Any]) -> tuple[Problem, ...]:
    """Why a schedule does not build: the error, and what its program is refused for on account of
    other axes.
    """
    first = from_error("build", error)
    if not isinstance(error, BuildError):
        return (first,)
    try:
        findings = check(schedule, args).refuted
    except TeSchedError:
        return (first,)
    said = error.names("axis") if error.can_override else ()  # others say what cannot be compiled
    others = [_from_finding(found, schedule) for found in findings if found.axis not in said]
    return (first, *(one for one in others if one.what != first.what))


def _from_finding(found: Finding, schedule: Schedule) -> Problem:
    where = ", ".join(map(str, found.about(partial(stage_named, schedule))))
    return Problem("build", found.kind, found.message, where, found.why, found.cure)
