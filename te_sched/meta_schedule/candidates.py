"""From a trace to a candidate: the trace is replayed, then completed by postprocessors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from te_sched.errors import TeSchedError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.tir.schedule import Schedule, Trace


def replayed(mod: IRModule, trace: Trace, seed: int) -> Schedule | None:
    """The module with a trace applied; what the trace does not decide is sampled.

    None if a primitive refuses: decisions of one tile may not fit those of another.
    """
    sch = Schedule(mod, seed=seed)
    try:
        trace.apply_to_schedule(sch, remove_postproc=True)
    except TeSchedError:
        return None
    return sch


def completed(sch: Schedule, postprocs: Iterable[Postproc]) -> Schedule | None:
    """The schedule after its postprocessors; None if one of them rejects it."""
    sch.enter_postproc()
    try:
        for postproc in postprocs:
            if not postproc.apply(sch):
                return None
    except TeSchedError:
        return None
    return sch


def decisions_of(trace_json: list[Any]) -> str:
    """A text that traces share, given as their JSON, if they decide the same in the same space."""
    instructions, decisions = trace_json
    names = [instruction[0] for instruction in instructions]
    end = names.index("EnterPostproc") if "EnterPostproc" in names else len(names)
    return json.dumps(
        [instructions[:end], [decision for decision in decisions if decision[0] < end]]
    )
