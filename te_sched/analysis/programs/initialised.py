"""Whether what a program reads of its own results and temporaries was written before.

Proof: a statement before the read, in the same iteration of the loops round both, writes all that
is read there (`coverage`). Refutation: the program is executed for small sizes, and an element is
read that nothing has written since its memory was allocated. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from te_sched.analysis.findings import INITIALISED, PROVED, REFUTED, UNPROVED, Finding
from te_sched.analysis.programs.accesses import OF_BLOCK, Access, Loop, Memory, Program
from te_sched.analysis.programs.cover import Span, covers_region
from te_sched.analysis.programs.evaluate import (
    Points,
    Unevaluable,
    Values,
    elements_of,
    held,
    numbered,
    points_of,
    samples_of,
    text_of,
)
from te_sched.analysis.programs.facts import forms_for
from te_sched.arith.conditions import conjuncts
from te_sched.arith.forms import constant, plus
from te_sched.ir.expr import Expr, Var

_LIMIT = 1 << 15  # iterations that are executed
_OF_THREADS = frozenset(("thread", "virtual"))


def judge_initialised(program: Program) -> list[Finding]:
    """Whether reads of what the program itself writes come after the writes."""
    touched: dict[Var, list[Access]] = {}
    for access in program.accesses:
        touched.setdefault(access.data, []).append(access)
    found = []
    for data, accesses in touched.items():
        memory = program.memory.get(data)
        reads = [one for one in accesses if not one.writes]
        if memory is not None and reads and _is_own(memory, accesses):
            found.append(_finding(program, memory, accesses, reads))
    return found


def _is_own(memory: Memory, accesses: Sequence[Access]) -> bool:
    """Whether what is in the memory comes from the program. A body of the user's may change what
    the caller gives.
    """
    if not memory.is_argument:
        return True
    return any(one.writes for one in accesses) and not any(one.by_user for one in accesses)


def _finding(
    program: Program, memory: Memory, accesses: list[Access], reads: list[Access]
) -> Finding:
    name = memory.name
    what = f"read {name} where it has been written"
    if all(_is_initialised(program, memory, accesses, read) for read in _unique(reads)):
        return Finding(INITIALISED, PROVED, what, name, stage=name)
    missing = _missing(program, memory, accesses)
    if missing is None:
        why = "it is not known which elements have been written where it is read"
        return Finding(INITIALISED, UNPROVED, what, name, stage=name, why=why)
    if not missing:
        return Finding(INITIALISED, PROVED, what, name, stage=name)
    return Finding(
        INITIALISED,
        REFUTED,
        f"read {name} before it is written",
        name,
        stage=name,
        why=f"the program reads {missing}, and nothing has written it before",
        cure=f"compute all of {name} that is read, and before it is read",
    )


def _unique(reads: Sequence[Access]) -> list[Access]:
    """Reads, one of those that say the same."""
    kept: dict[Any, Access] = {}
    for read in reads:
        place = read.order[:-1]
        kept.setdefault((read.index, read.conditions, tuple(map(id, place))), read)
    return list(kept.values())


# -- proof -----------------------------------------------------------------------------------------


def _is_initialised(
    program: Program, memory: Memory, accesses: Sequence[Access], read: Access
) -> bool:
    """Whether a read is of what was written before, in the same iteration of the loops outside."""
    if read.index is None:
        return False
    groups: dict[tuple[Var, ...], list[Access]] = {}
    for write in accesses:
        if write.writes and write.index is not None and len(write.index) == len(read.index):
            common = _common_loops(write, read)
            if common is not None and all(loop in common for loop in memory.loops):
                held_loops = [loop.var for loop in common if not _is_shared_by(loop, memory)]
                groups.setdefault(tuple(held_loops), []).append(write)
    given = [part for condition in read.conditions for part in conjuncts(condition)]
    return any(
        _writes_what_is_read(program, memory, writes, read, fixed, given)
        for fixed, writes in groups.items()
    )


def _is_shared_by(loop: Loop, memory: Memory) -> bool:
    """Whether the threads of a loop have the memory in common: they wait for each other."""
    return (
        loop.kind in _OF_THREADS and loop not in memory.loops and memory.scope.startswith(OF_BLOCK)
    )


def _common_loops(write: Access, read: Access) -> tuple[Loop, ...] | None:
    """The loops round both; None where the write does not come first in them."""
    common: list[Loop] = []
    for first, second in zip(write.order, read.order, strict=False):
        if first is second or (type(first) is int and first == second):
            if type(first) is Loop:
                common.append(first)
            continue
        if type(first) is int and type(second) is int:
            return tuple(common) if first < second else None
        return None
    return None


def _writes_what_is_read(
    program: Program,
    memory: Memory,
    writes: Sequence[Access],
    read: Access,
    fixed: Sequence[Var],
    given: Sequence[Expr],
) -> bool:
    assert read.index is not None
    forms = forms_for(program, read)
    region: list[Span] = []
    is_declared = len(memory.shape) == len(read.index)
    for place, (index, size) in enumerate(zip(read.index, read.sizes, strict=True)):
        low, high = forms.bounds(forms.of(index), fixed)
        if low is None or high is None:
            return False
        lows, highs = [low], [plus(plus(high, forms.of(size)), constant(-1))]
        if is_declared:  # nothing is read beyond what is declared, which others prove
            lows.append({})
            highs.append(plus(forms.of(memory.shape[place]), constant(-1)))
        region.append(Span(tuple(lows), tuple(highs)))
    return covers_region(program, writes, region, fixed, given)


# -- refutation ------------------------------------------------------------------------------------


def _missing(program: Program, memory: Memory, accesses: Sequence[Access]) -> str | None:
    """An element that is read and was not written, for whatever sizes; "" if there is none, None
    if nobody knows.
    """
    text: str | None = None
    try:
        for sizes in samples_of(program):
            text = _Execution(program, memory, sizes).missing(accesses)
            if not text:
                return text if not sizes else None
    except Unevaluable:
        return None
    return text


class _Execution:
    """The accesses to one memory in the order in which they happen, for given sizes."""

    def __init__(self, program: Program, memory: Memory, sizes: Values) -> None:
        self.program, self.memory, self.sizes = program, memory, sizes

    def missing(self, accesses: Sequence[Access]) -> str | None:
        """An element that is read and was not written before."""
        if any(one.index is None or (one.writes and not one.is_sure) for one in accesses):
            return None
        steps = _steps_of(accesses)
        rows = [(one, *self.row(one, steps)) for one in accesses]
        shapes = {elements.shape[1] for _, elements, _ in rows}
        if len(shapes) != 1:
            return None
        keys, count = numbered([elements for _, elements, _ in rows])
        last = np.iinfo(np.int64).max
        first = np.full(count, last, np.int64)
        times = numbered([when for _, _, when in rows])[0]
        for (one, _, _), key, when in zip(rows, keys, times, strict=True):
            if one.writes:
                np.minimum.at(first, key, when)
        for (one, elements, _), key, when in zip(rows, keys, times, strict=True):
            if one.writes or not one.is_sure:
                continue
            early = first[key] >= when
            if early.any():
                element = elements[int(np.argmax(early))][len(self.memory.loops) :]
                return text_of(self.memory.name, element, self.sizes)
        return ""

    def row(self, access: Access, steps: int) -> tuple[Any, Any]:
        """The elements, with the iterations of the loops round the allocation, and the times."""
        lets = self.program.values
        points = points_of(access.loops, self.sizes, lets, {}, _LIMIT)
        points = held(points, access.conditions, lets)
        outside = [loop for loop in self.memory.loops if loop in points.digits]
        elements, which = elements_of(access, points, outside, self.sizes, lets, _LIMIT)
        return elements, np.stack(list(self.times(access, points, steps)), axis=1)[which]

    def times(self, access: Access, points: Points, steps: int) -> Iterator[Any]:
        """When an access happens: numbers of statements and iterations, outermost first.

        Threads that share the memory wait for each other: which one it is says nothing.
        """
        for step in range(steps):
            part = access.order[step] if step < len(access.order) else 0
            if type(part) is not Loop:
                yield np.full(points.count, part, np.int64)
            elif part not in points.digits or _is_shared_by(part, self.memory):
                yield np.zeros(points.count, np.int64)
            else:
                yield points.digits[part]


def _steps_of(accesses: Sequence[Access]) -> int:
    return max(len(access.order) for access in accesses)
