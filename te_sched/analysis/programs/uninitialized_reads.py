"""Reads of uninitialized elements, found by evaluating the indices of accesses.

An element is missing if it was not written since its memory was allocated. Must not know proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.programs.accesses import Access, ProgramAccesses, executions_of
from te_sched.analysis.programs.probes import are_allocated, missing_element
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import (
    Execution,
    Points,
    TooMany,
    numbered,
    rows_of,
    variables_in,
)
from te_sched.ir.expr import Var
from te_sched.ir.scopes import OF_THREADS, Loop, Memory, is_shared_by

_LIMIT = 1 << 15  # number of iterations to execute
_FEW = 2  # iterations per loop if the limit is exceeded
_LARGE = 1 << 20  # number of iterations if few of them show nothing


class Missing(NamedTuple):
    """An element that is read before it is written, and the execution that found it."""

    element: tuple[int, ...]
    run: Execution

    def text(self, name: str, skip: int = 0) -> str:
        """The element for messages, without its first `skip` indices."""
        return self.run.text(name, self.element[skip:])


def find_missing(
    program: ProgramAccesses, memory: Memory, accesses: Sequence[Access], is_brief: bool = False
) -> Missing | bool | None:
    """An element that is missing for all sizes. True if no element is missing, False if none is
    missing for some sizes, None if unknown.

    If there are too many iterations, only some of those around the allocation and around reads are
    executed, and then more, or those that write single elements; none if `is_brief`.
    """
    try:
        return _executed(program, memory, accesses, _LIMIT, None)
    except TooMany:
        if is_brief:
            return False
    except Unevaluable:
        return None
    missing: Missing | bool | None = None
    for limit, few in ((_LIMIT, _FEW), (_LARGE, None), (_LARGE, _FEW)):
        try:
            missing = _executed(program, memory, accesses, limit, few)
        except TooMany:
            continue
        except Unevaluable:
            return None
        if isinstance(missing, Missing) or few is None:
            return missing
    outcome: Missing | bool | None = missing
    for run in executions_of(program, _LARGE):
        element = missing_element(memory, accesses, run)
        if element is None:
            return missing
        outcome = Missing(element, run)
    return outcome


def _executed(
    program: ProgramAccesses,
    memory: Memory,
    accesses: Sequence[Access],
    limit: int,
    few: int | None,
) -> Missing | bool | None:
    missing: Missing | bool | None = None
    for run in executions_of(program, limit):
        missing = _History(memory, accesses, run, few).missing()
        if not isinstance(missing, Missing):
            return missing and not run.sizes and few is None
    return missing


@dataclass
class _History:
    """The accesses to one memory in execution order.

    `few` limits the iterations of the loops around the allocation, and of serial loops around
    reads.
    """

    memory: Memory
    accesses: Sequence[Access]
    run: Execution
    few: int | None

    def __post_init__(self) -> None:
        self.used = {access: self._used_by(access) for access in self.accesses}
        self.used_by_any = set().union(*self.used.values())

    def _used_by(self, access: Access) -> set[Var]:
        """The variables that determine whether an access is executed, and its element."""
        ends = [end for loop in access.loops for end in (loop.min, loop.extent)]
        return variables_in(self.run.lets, *(access.index or ()), *access.conditions, *ends)

    def _most(self, access: Access) -> dict[Loop, int]:
        """The number of iterations to execute per loop: one if all are equal."""
        limits: dict[Loop, int] = {}
        for loop in access.loops:
            is_outside = loop in self.memory.loops
            if loop.var not in (self.used_by_any if is_outside else self.used[access]):
                limits[loop] = 1
            elif self.few is not None and (
                is_outside or (not access.writes and loop.kind not in OF_THREADS)
            ):
                limits[loop] = self.few
        return limits

    def missing(self) -> Missing | bool | None:
        """An element that is read before it is written; True if there is none, None if unknown."""
        accesses = self.accesses
        if any(
            candidate.index is None or (candidate.writes and not candidate.is_sure)
            for candidate in accesses
        ):
            return None
        steps = max(len(access.order) for access in accesses)
        rows = []
        is_all = True
        for access in accesses:
            try:
                rows.append((access, *self.row(access, steps)))
            except TooMany:
                raise
            except Unevaluable:
                if access.writes:
                    raise
                is_all = False  # other reads may be missing
        shapes = {elements.shape[1] for _, elements, _ in rows}
        if len(shapes) != 1:
            return None
        keys, count = numbered([elements for _, elements, _ in rows])
        last = np.iinfo(np.int64).max
        first = np.full(count, last, np.int64)
        times = numbered([when for _, _, when in rows])[0]
        for (row_access, _, _), key, when in zip(rows, keys, times, strict=True):
            if row_access.writes:
                np.minimum.at(first, key, when)
        for (row_access, elements, _), key, when in zip(rows, keys, times, strict=True):
            if row_access.writes or not row_access.is_sure:
                continue
            own = elements[:, len(self.memory.loops) :]
            early = (first[key] >= when) & are_allocated(self.memory, self.run, own)
            if early.any():
                element = own[int(np.argmax(early))]
                return Missing(tuple(map(int, element)), self.run)
        return True if is_all else None

    def row(self, access: Access, steps: int) -> tuple[Any, Any]:
        """The elements, with the iterations of the loops around the allocation, and the times."""
        outside = [loop for loop in self.memory.loops if loop in access.loops]
        points, elements, which = self.run.touched(access, outside, self._most(access))
        return elements, rows_of(self.times(access, points, steps), points.count)[which]

    def times(self, access: Access, points: Points, steps: int) -> Iterator[Any]:
        """The time of an access: numbers of statements and iterations, outermost first.

        Threads that share the memory are synchronized, so their numbers are not part of it.
        """
        for step in range(steps):
            part = access.order[step] if step < len(access.order) else 0
            if type(part) is not Loop:
                yield part
            elif part not in points.digits or is_shared_by(part, self.memory):
                yield 0
            else:
                yield points.digits[part]
