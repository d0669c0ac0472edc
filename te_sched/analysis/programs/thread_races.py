"""Races of threads of a block: within one statement, or in a kernel without barriers.

    for tx in threads(32):  C[tx // 2] = A[tx]        two threads store different values
    for tx in threads(32):  C[tx] = C[31 - tx]        a thread reads an element that another writes

Stores of the same value by several threads are harmless: each thread computes the stage. Stored
values are known if they depend only on constants and on arguments that are not written. Other races
are found by the checked mode, which considers barriers. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from te_sched.analysis.programs.accesses import Access, ProgramAccesses, by_memory, executions_of
from te_sched.analysis.programs.dependences import Conflict
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import (
    Execution,
    Points,
    numbered,
    rows_of,
    sizes_text,
)
from te_sched.ir.expr import BufferLoad, Call, Expr, Var
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.scopes import Loop
from te_sched.ir.stmt import AttrStmt, BufferStore
from te_sched.ir.visitor import children, statements, variables_of, walk

_MOST = 64  # number of accesses to one memory that are compared
_LIMIT = 1 << 15  # number of iterations and elements to evaluate
_AXES = ("block", "thread")


def thread_races(program: ProgramAccesses) -> Iterator[tuple[tuple[Loop, ...], Conflict]]:
    """The threads that certainly race in a store, for all sizes, and an element."""
    of_data = by_memory(program.accesses)
    of_store: dict[BufferStore, list[Access]] = {}
    for access in program.accesses:
        if access.store is not None:
            of_store.setdefault(access.store, []).append(access)
    changed = {access.data for access in program.accesses if access.writes}
    unordered = set(_unordered(program))
    racy_data: set[Var] = set()
    for write in program.accesses:
        threads = tuple(loop for loop in write.loops if loop.kind == "thread")
        if not threads or write.data in racy_data or not _is_common(program, write):
            continue
        first = next(loop for loop in write.loops if loop.kind in _AXES)
        is_free = first in unordered and len(of_data[write.data]) <= _MOST
        ordered = [loop for loop in write.loops if loop.kind not in _AXES and not is_free]
        others = [
            other
            for other in (of_data[write.data] if is_free else of_store[write.store])  # type: ignore[index]
            if other.data is write.data
            and first in other.loops
            and not (other.writes and other.store is write.store)
        ]
        conflict = _Store(program, threads, write, others, ordered, changed).conflict()
        if conflict is not None:
            racy_data.add(write.data)
            yield threads, conflict


def _is_common(program: ProgramAccesses, write: Access) -> bool:
    """Whether an access certainly stores into memory that threads share."""
    memory = program.memory.get(write.data)
    is_store = write.writes and write.is_sure and write.store is not None
    if not is_store or memory is None:
        return False
    return memory.storage.owner in ("device", "block")


def _unordered(program: ProgramAccesses) -> Iterator[Loop]:
    """The first axis of each kernel without barriers: it has no calls and no shared memory."""
    sharing = {
        loop
        for access in program.accesses
        if access.data in program.memory and program.memory[access.data].storage.is_of_team
        for loop in access.loops
    }
    calling = {
        node.node.var
        for node in statements(program.func.body)
        if type(node) is AttrStmt
        and node.key == "thread_extent"
        and any(type(e) is Call and call_effect(e.op) >= Effect.UPDATE_STATE for e in walk(node))
    }
    for loop in program.loops:
        if loop.kind in _AXES and loop not in sharing and loop.var not in calling:
            yield loop


class _Store:
    """A store, and the accesses to its memory that no barrier separates from it.

    Iterations of `ordered` loops are not compared with each other, since they may contain a
    barrier.
    """

    def __init__(
        self,
        program: ProgramAccesses,
        threads: tuple[Loop, ...],
        write: Access,
        others: Sequence[Access],
        ordered: Sequence[Loop],
        changed: set[Var],
    ) -> None:
        self.program, self.threads, self.write, self.changed = program, threads, write, changed
        blocks = [loop for loop in write.loops if loop.kind == "block"]
        self.serial = tuple([*blocks, *ordered])
        self.others = [
            other
            for other in others
            if other.is_sure and self._may_harm(other) and not self._are_apart(other)
        ]

    def conflict(self) -> Conflict | None:
        """An element that two threads access, for all sizes."""
        assert self.write.store is not None
        differs = self._depends(self.write.store.value) and not self._are_apart(self.write)
        if not differs and not self.others:
            return None
        conflict: Conflict | None = None
        try:
            for run in executions_of(self.program, _LIMIT):
                conflict = self._conflict(run, differs)
                if conflict is None:
                    return None
        except Unevaluable:
            return None
        return conflict

    def _may_harm(self, other: Access) -> bool:
        """Whether another access may conflict: a read, or a store of a different value."""
        stores = (self.write.store, other.store)
        return not other.writes or any(store and self._depends(store.value) for store in stores)

    def _depends(self, value: Expr) -> bool:
        """Whether a value may differ between threads."""
        own = {loop.var for loop in self.threads} | self.program.values.keys()
        return not variables_of(value).isdisjoint(own)

    def _are_apart(self, other: Access) -> bool:
        """Whether it is proved that no thread accesses an element that another one writes."""
        return self.program.are_apart(self.write, other, self.threads, self.serial)

    def _conflict(self, run: Execution, differs: bool) -> Conflict | None:
        points, elements, threads = self._touched(self.write, run)
        for other in self.others:
            _, others, of_others = self._touched(other, run)
            (written, wanted), count = numbered([elements, others])
            (turns, names), _ = numbered([threads, of_others])
            owner = np.full(count, -1, np.int64)
            owner[written] = turns
            clash = (owner[wanted] >= 0) & (owner[wanted] != names)
            if clash.any():
                position = int(np.argmax(clash))
                first = int(
                    np.argmax((written == wanted[position]) & (turns == owner[wanted[position]]))
                )
                return self._found(other, elements, threads[first], of_others[position], first, run)
        columns = self._columns(self.write.store.value, points) if differs else None  # type: ignore[union-attr]
        if columns is None:
            return None
        (written,), count = numbered([elements])
        (values,), _ = numbered([rows_of(columns, points.count)])
        owner = np.full(count, -1, np.int64)
        owner[written] = values
        clash = owner[written] != values
        if not clash.any():
            return None
        position = int(np.argmax(clash))
        last = int(np.argmax((written == written[position]) & (values == owner[written[position]])))
        return self._found(self.write, elements, threads[position], threads[last], position, run)

    def _touched(self, access: Access, run: Execution) -> tuple[Points, Any, Any]:
        """The points of an access, the element of each (after serial loops), and its thread."""
        serial = [loop for loop in access.loops if loop in self.serial]
        points, elements, which = run.touched(access, serial)
        if len(which) != points.count:
            raise Unevaluable  # the lanes of vectors are unknown
        turns = [points.values[loop.var] for loop in self.threads]
        return points, elements, rows_of(turns, points.count)

    def _columns(self, value: Expr, points: Points) -> list[Any] | None:
        """Numbers that identify the stored values; None if unknown."""
        if type(value) is BufferLoad and value.buffer.data in self.changed:
            return None
        if type(value) is Var:
            if value not in self.program.values:
                return [points.values[value]] if value in points.values else None
            return self._columns(self.program.values[value], points)
        try:
            return [points.of(value)]
        except Unevaluable:
            pass
        results: list[Any] = []
        for part in children(value):
            columns = self._columns(part, points) if isinstance(part, Expr) else []
            if columns is None:
                return None
            results += columns
        return results

    def _found(
        self, second: Access, elements: Any, thread: Any, other: Any, row: int, run: Execution
    ) -> Conflict:
        element = tuple(map(int, elements[row][len(self.serial) :]))
        iterations = tuple(map(int, thread)), tuple(map(int, other))
        names = tuple(loop.name for loop in self.threads)
        return Conflict(self.write, second, element, iterations, names, sizes_text(run.sizes))
