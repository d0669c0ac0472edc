"""Whether single elements are written before they are read, in programs of many iterations.

An element that is read at the ends of loops is looked for in each write. Loops that have no index
or condition in common are executed apart: the first iteration that writes the element is the first
one of each group. Must not know proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from te_sched.analysis.programs.accesses import Access
from te_sched.arith.evaluate import Unevaluable, evaluate
from te_sched.arith.executions import Execution, Points, connected, variables_in
from te_sched.ir.expr import Expr, Var
from te_sched.ir.scopes import Loop, Memory, is_shared_by


def missing_element(
    memory: Memory, accesses: Sequence[Access], run: Execution
) -> tuple[int, ...] | None:
    """An element that is read before any write of it, if it is read at the ends of loops."""
    if any(access.index is None or (access.writes and not access.is_sure) for access in accesses):
        return None
    writes = [access for access in accesses if access.writes]
    for read in [access for access in accesses if not access.writes and access.is_sure]:
        try:
            for points in _ends(run, read):
                elements, _ = run.elements(read, points)
                if not np.all(are_allocated(memory, run, elements[[0, -1]])):
                    continue
                digits = {loop: int(digit) for loop, digit in points.digits.items()}
                for element in {tuple(map(int, row)) for row in (elements[0], elements[-1])}:
                    probe = _Probe(memory, run, element, read, digits)
                    if not any(probe.is_written_by(write) for write in writes):
                        return element
        except Unevaluable:
            continue
    return None


def are_allocated(memory: Memory, run: Execution, elements: Any) -> Any:
    """Which elements are in the region of a memory. Where sizes do not fit each other, others are
    read, too: the checks of bounds refuse that.
    """
    try:
        ends = [[int(run.value(end)) for end in pair] for pair in memory.region]
    except Unevaluable:  # they depend on loops
        return True
    lows, extents = np.array(ends, np.int64).reshape(-1, 2).T
    if elements.shape[1] != len(lows):
        return True
    return np.all((elements >= lows) & (elements < lows + extents), axis=1)


def _ends(run: Execution, access: Access) -> Iterator[Points]:
    """The iterations of an access in the first iterations of all loops, in the last ones, and in
    the last one of a single loop.
    """
    for last in ((), access.loops, *[(loop,) for loop in access.loops]):
        values, digits = dict(run.sizes), dict[Loop, Any]()
        for loop in access.loops:
            extent = int(evaluate(loop.extent, values, run.lets))
            digits[loop] = np.int64(extent - 1 if loop in last else 0)
            values[loop.var] = digits[loop] + evaluate(loop.min, values, run.lets)
            if extent <= 0:
                break
        else:
            points = Points(1, values, digits, run.lets)
            if points.where(access.conditions).all():
                yield points


@dataclass
class _Probe:
    """An element that a read accesses in one iteration of its loops."""

    memory: Memory
    run: Execution
    element: tuple[int, ...]
    read: Access
    digits: Mapping[Loop, int]

    def is_written_by(self, write: Access) -> bool:
        """Whether a write stores the element before it is read."""
        first = self._first(write)
        if first is None:
            return False
        steps = max(len(write.order), len(self.read.order))
        return self._time(write, first, steps) < self._time(self.read, self.digits, steps)

    def _time(self, access: Access, digits: Mapping[Loop, int], steps: int) -> list[int]:
        """The time of an access: numbers of statements and iterations, outermost first."""
        times = []
        for part in access.order:
            is_loop = type(part) is Loop
            is_shared = is_loop and is_shared_by(part, self.memory)
            times.append(0 if is_shared else digits[part] if is_loop else part)
        return times + [0] * (steps - len(times))

    def _first(self, write: Access) -> dict[Loop, int] | None:
        """The first iteration of a write that stores the element, or None."""
        assert write.index is not None
        if len(write.index) != len(self.element):
            raise Unevaluable
        loops = {loop.var: loop for loop in write.loops}
        items: list[tuple[Any, frozenset[Loop]]] = []
        triples = zip(write.index, write.sizes, self.element, strict=True)
        for part in (*triples, *write.conditions, *write.loops):
            exprs = _expressions(part)
            used: set[Var] = set()
            while new := variables_in(self.run.lets, *exprs) - used:
                used |= new
                exprs = [end for var in new & loops.keys() for end in _ends_of(loops[var])]
            items.append((part, frozenset([loop for var, loop in loops.items() if var in used])))
        first: dict[Loop, int] = {}
        for members, parts in connected(items):
            nest = [loop for loop in write.loops if loop in members]
            points = self.run.points(nest)
            chosen: Any = np.ones(points.count, bool)
            for part in parts:
                chosen = np.logical_and(chosen, self._holds(part, points))
            if not chosen.any():
                return None
            number = int(np.argmax(chosen))
            first |= {loop: int(digit[number]) for loop, digit in points.digits.items()}
        return first

    def _holds(self, part: Any, points: Points) -> Any:
        """In which iterations an index has the element, a condition holds, or a loop around the
        memory has the iteration of the read.
        """
        if type(part) is Loop:
            is_fixed = part in self.memory.loops and part in self.digits
            return points.digits[part] == self.digits[part] if is_fixed else True
        if not isinstance(part, tuple):
            return points.of(part)
        index, size, wanted = part
        low = points.of(index)
        return np.logical_and(low <= wanted, wanted < low + points.of(size))


def _expressions(part: Any) -> list[Expr]:
    if type(part) is Loop:
        return [part.var]
    return [*part[:2]] if isinstance(part, tuple) else [part]


def _ends_of(loop: Loop) -> tuple[Expr, Expr]:
    return loop.min, loop.extent
