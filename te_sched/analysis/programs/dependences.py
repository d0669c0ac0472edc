"""Counterexamples to races: two iterations of loops, found by executing the indices of accesses.

Must not know proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from te_sched.analysis.programs.accesses import Access, ProgramAccesses, executions_of, reads_own
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import (
    Execution,
    Points,
    TooMany,
    numbered,
    rows_of,
    sizes_text,
)
from te_sched.ir.message_text import spelled
from te_sched.ir.scopes import Loop
from te_sched.ir.visitor import variables_of

_LIMIT = 1 << 15  # number of iterations to execute
_MOST = 4 * _LIMIT  # number of elements that they may access


@dataclass(frozen=True, slots=True)
class Conflict:
    """An element that two iterations access."""

    first: Access
    second: Access
    place: tuple[int, ...]
    iterations: tuple[tuple[int, ...], tuple[int, ...]]
    names: tuple[str, ...]
    sizes: str

    @property
    def is_update(self) -> bool:
        """Whether both are accesses of one statement that updates the element."""
        store = self.first.store
        return store is not None and reads_own(store)

    def text(self, name: str) -> str:
        """The description of the race."""
        iteration, other = (
            ", ".join(f"{axis} = {value}" for axis, value in zip(self.names, values, strict=True))
            for values in self.iterations
        )
        element = f"{name}[{', '.join(map(str, self.place))}]"
        if self.second.writes:
            text = f"iterations {iteration} and {other} both write {element}"
        else:
            text = f"iteration {iteration} writes {element}, and iteration {other} reads it"
        if (index := _written(self.first)) != (index_of_other := _written(self.second)):
            text += f" (at [{index}] and [{index_of_other}])"
        elif index:
            text += f" (at [{index}])"
        return text + (f", where {self.sizes}" if self.sizes else "")


def _written(access: Access) -> str:
    return ", ".join(map(spelled, access.index or ()))


def find_conflict(
    program: ProgramAccesses, loops: tuple[Loop, ...], accesses: Sequence[Access]
) -> Conflict | bool:
    """An element that two iterations access for all sizes; or whether there certainly is none."""
    conflict: Conflict | bool = False
    try:
        for run in executions_of(program, _LIMIT):
            conflict = _Iterations(loops, accesses, run).conflict()
            if isinstance(conflict, bool):
                return conflict and not run.sizes
    except Unevaluable:
        return False
    return conflict


@dataclass
class _Iterations:
    """All iterations of loops, and the elements that they access."""

    loops: tuple[Loop, ...]
    accesses: Sequence[Access]
    run: Execution
    is_complete: bool = True  # whether all iterations were executed

    def conflict(self) -> Conflict | bool:
        """Two iterations that access the same element, or whether all iterations were run."""
        sure_accesses = [
            access for access in self.accesses if access.index is not None and access.is_sure
        ]
        self.is_complete = len(sure_accesses) == len(self.accesses)
        rows = [row for access in sure_accesses if (row := self._row(access)) is not None]
        if not any(row.access.writes for row in rows):
            return self.is_complete
        width = {row.elements.shape[1] for row in rows}
        if len(width) != 1:
            return False
        keys, count = numbered([row.elements for row in rows])
        turns, _ = numbered([row.iterations for row in rows])
        owner = np.full(count, -1, np.int64)
        wrote = np.full(len(owner), -1, np.int64)
        for number, (row, key, turn) in enumerate(zip(rows, keys, turns, strict=True)):
            if row.access.writes:
                owner[key] = turn
                wrote[key] = number
        for row, key, turn in zip(rows, keys, turns, strict=True):
            others = owner[key]
            clash = (others >= 0) & (others != turn)
            if self.loops[0].kind == "vectorized" and not row.access.writes:
                # a vector statement reads all lanes before it writes
                is_same = np.array(
                    [other_row.access.store is row.access.store for other_row in rows]
                )
                clash &= ~(is_same[wrote[key]] & (others > turn))
            if clash.any():
                position = int(np.argmax(clash))
                number = int(wrote[key[position]])
                first = rows[number]
                if not self._is_harmless(first.access, row.access):
                    is_other = (keys[number] == key[position]) & (turns[number] == others[position])
                    return self._found(first, int(np.argmax(is_other)), row, position)
                self.is_complete = False
        return self.is_complete

    def _found(self, first: _Row, other: int, second: _Row, position: int) -> Conflict:
        element = tuple(map(int, second.elements[position][len(self._outside(second.access)) :]))
        iterations = (
            tuple(map(int, first.iterations[other])),
            tuple(map(int, second.iterations[position])),
        )
        if second.access.writes and iterations[0] > iterations[1]:
            first, second, iterations = second, first, (iterations[1], iterations[0])
        names, sizes = tuple(loop.name for loop in self.loops), sizes_text(self.run.sizes)
        return Conflict(first.access, second.access, element, iterations, names, sizes)

    def _is_harmless(self, first: Access, second: Access) -> bool:
        """Whether blocks store the same value into the same element."""
        iterates_once = self.loops[0].kind in ("parallel", "vectorized")
        if iterates_once or first.store is not second.store or first.store is None:
            return False
        if not second.writes or reads_own(first.store):
            return False
        depends = {loop.var for loop in self.loops}
        return depends.isdisjoint(variables_of(first.store.value))

    def _outside(self, access: Access) -> tuple[Loop, ...]:
        return access.loops[: access.loops.index(self.loops[0])]

    def _row(self, access: Access) -> _Row | None:
        points = self._points(access)
        outside = self._outside(access)
        try:
            points = points.held(access.conditions)
            if not points.count:
                return None
            elements, which = replace(self.run, limit=_MOST).elements(access, points, outside)
        except TooMany:
            raise
        except Unevaluable:
            self.is_complete = False
            return None
        turns = [points.values.get(loop.var, 0) for loop in self.loops]
        return _Row(access, elements, rows_of(turns, points.count)[which])

    def _points(self, access: Access) -> Points:
        try:
            return self.run.points(access.loops)
        except TooMany:
            self.is_complete = False
        outside = dict.fromkeys(self._outside(access), 1)
        judged = dict.fromkeys(self.loops, 16 if len(self.loops) == 1 else 4)
        for inner in (16, 4, 2):
            most = {**dict.fromkeys(access.loops, inner), **outside, **judged}
            try:
                return self.run.points(access.loops, most)
            except TooMany:
                continue
        raise TooMany


@dataclass(frozen=True, slots=True)
class _Row:
    """The elements that an access reaches (with the outer loops first), and their iterations."""

    access: Access
    elements: Any
    iterations: Any
