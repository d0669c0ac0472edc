"""Whether every element of the arguments that a program writes is written.

Proof: `cover`. Refutation: an element that no iteration writes, for given sizes. Must not know
schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from te_sched.analysis.findings import COVERAGE, PROVED, REFUTED, UNPROVED, Finding
from te_sched.analysis.programs.accesses import Access, ProgramAccesses, by_memory, executions_of
from te_sched.analysis.programs.cover import FormInterval, covers_region
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.forms import constant, plus, times
from te_sched.arith.interval import Interval
from te_sched.ir.scopes import Memory

_LIMIT = 1 << 16  # number of iterations and elements to evaluate


def judge_coverage(program: ProgramAccesses) -> list[Finding]:
    """Findings on whether a program writes every element of its output arguments."""
    findings = []
    for data, writes in by_memory(access for access in program.accesses if access.writes).items():
        memory = program.memory.get(data)
        if memory is not None and memory.is_argument:
            findings.append(_finding(program, memory, writes))
    return findings


def _finding(program: ProgramAccesses, memory: Memory, writes: list[Access]) -> Finding:
    name = memory.name
    forms = program.forms()
    flat = all(write.index is not None and len(write.index) == 1 for write in writes)
    shape = [forms.of(extent) for extent in memory.shape]
    if flat and len(shape) > 1:
        total = constant(1)
        for extent in shape:
            total = times(total, extent)
        shape = [total]
    region: list[FormInterval] = [
        Interval(({},), (plus(extent, constant(-1)),)) for extent in shape
    ]
    what = f"every element of {name} is written"
    if covers_region(program, writes, region):
        return Finding(COVERAGE, PROVED, what, name, stage=name)
    missing = _missing(program, memory, writes, len(shape))
    if missing is None:
        why = "it is not known which elements are written"
        return Finding(
            COVERAGE, UNPROVED, f"{name} may not be written completely", name, stage=name, why=why
        )
    if not missing:
        return Finding(COVERAGE, PROVED, what, name, stage=name)
    fault, why = f"{name} is not written completely", f"nothing writes {missing}"
    if any(access.by_user for access in writes):
        why += ": it keeps what the caller gives"
        return Finding(COVERAGE, UNPROVED, fault, name, stage=name, why=why)
    help = "let the loops and conditions around its computation cover all of its elements"
    return Finding(COVERAGE, REFUTED, fault, name, stage=name, why=why, help=help)


def _missing(
    program: ProgramAccesses, memory: Memory, writes: Sequence[Access], rank_: int
) -> str | None:
    """An element that is never written, for all sizes; "" if there is none, None if unknown."""
    text: str | None = None
    try:
        for run in executions_of(program, _LIMIT):
            shape = [int(run.value(extent)) for extent in memory.shape]
            if prod(shape) > _LIMIT or min(shape, default=0) < 0:  # refused by a call
                return None
            written = np.zeros(shape if rank_ == len(shape) else prod(shape), bool)
            for access in writes:
                if not access.is_sure or access.index is None:
                    return None
                elements = run.touched(access)[1]
                inside = np.all((elements >= 0) & (elements < written.shape), axis=1)
                written[tuple(elements[inside].T)] = True
            if written.all():
                return "" if not run.sizes else None
            text = run.text(memory.name, np.argwhere(~written)[0])
    except Unevaluable:
        return None
    return text
