"""Whether what a program reads of its own results and temporaries was written before.

Proof: a statement before the read, in the same iteration of the loops round both, writes all that
is read there (`coverage`). Refutation: the program is executed for small sizes, and an element is
read that nothing has written since its memory was allocated, or only those who have memory of their
own (`owners`). Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.findings import (
    INITIALISED,
    PROVED,
    REFUTED,
    RULE,
    UNPROVED,
    Finding,
)
from te_sched.analysis.programs.accesses import OF_BLOCK, Access, Loop, Memory, Program
from te_sched.analysis.programs.cover import Span, covers_region
from te_sched.analysis.programs.evaluate import (
    Points,
    TooMany,
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
from te_sched.analysis.programs.owners import Owners
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.forms import constant, plus
from te_sched.arith.same import all_same
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.visitor import variables_of
from te_sched.lower.device.kernel import WARP

_LIMIT = 1 << 15  # iterations that are executed
_FEW = 2  # iterations of loops where there are more than that
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
            found.append(_finding(program, memory, accesses))
    return found


def _is_own(memory: Memory, accesses: Sequence[Access]) -> bool:
    """Whether what is in the memory comes from the program. A body of the user's may change what
    the caller gives.
    """
    if not memory.is_argument:
        return True
    return any(one.writes for one in accesses) and not any(one.by_user for one in accesses)


def _finding(program: Program, memory: Memory, accesses: list[Access]) -> Finding:
    name = memory.name
    owners = Owners(memory, accesses)
    written = _written(program, memory, accesses)
    if isinstance(written, _Missing):
        element = text_of(name, *written)
        if owners.have_parts and _is_written_by_others(program, memory, accesses):
            return _of_others(name, owners, f"a thread reads {element} and has not written it")
        return Finding(
            INITIALISED,
            REFUTED,
            f"read {name} before it is written",
            name,
            stage=name,
            why=f"the program reads {element}, and nothing has written it before",
            cure=f"compute all of {name} that is read, and before it is read",
        )
    if owners.axes:
        written = _written(program, *owners.with_axes(memory, accesses))
        if isinstance(written, _Missing):
            which = owners.text(written.element)
            element = text_of(name, written.element[len(owners.axes) :], written.sizes)
            return _of_others(name, owners, f"{which} reads {element} and has not written it")
    what = f"read {name} where it has been written"
    if written:
        return Finding(INITIALISED, PROVED, what, name, stage=name)
    if written is None and owners.have_parts and (read := _elsewhere(memory, accesses)) is not None:
        index = ", ".join(map(str, read.index or ()))
        why = f"it is not known who has written the element that is read at [{index}]"
        return _of_others(name, owners, why)
    why = "it is not known which elements have been written where it is read"
    return Finding(INITIALISED, UNPROVED, what, name, stage=name, why=why)


def _is_written_by_others(program: Program, memory: Memory, accesses: list[Access]) -> bool:
    """Whether what a thread has not written would be there if all had the memory in common."""
    loops = tuple(loop for loop in memory.loops if loop.kind != "thread")
    common = replace(memory, loops=loops, scope="shared")
    return not isinstance(_executed(program, common, accesses), _Missing)


def _elsewhere(memory: Memory, accesses: list[Access]) -> Access | None:
    """A read that is not of the very element that is written, where each thread writes another."""
    written = [one.index for one in accesses if one.writes and one.index is not None]
    if not any(one.writes and _is_of_thread(memory, one) for one in accesses):
        return None
    for access in accesses:
        if access.writes:
            continue
        index = access.index
        if index is None or not any(all_same(index, other) for other in written):
            return access
    return None


def _is_of_thread(memory: Memory, write: Access) -> bool:
    """Whether the place of an element in the memory depends on the thread that writes it."""
    analyzer = Analyzer()
    places = [
        analyzer.simplify(ops.sub(index, begin))
        for index, (begin, _) in zip(write.index or (), memory.region, strict=False)
    ]
    told = variables_of(*places)
    return any(loop.kind == "thread" and loop.var in told for loop in write.loops)


def _of_others(name: str, owners: Owners, why: str) -> Finding:
    whose = f"one warp of {WARP} threads" if owners.are_warps else "one thread"
    other = "another warp" if owners.are_warps else "another thread"
    return Finding(
        RULE,
        REFUTED,
        f"read {name}, which {other} has written",
        name,
        stage=name,
        why=f"{why}: memory of this scope belongs to {whose}",
        cure=f'give {name} the scope "shared": a block has it in common',
    )


def _written(
    program: Program, memory: Memory, accesses: Sequence[Access]
) -> _Missing | bool | None:
    """What was not written before it is read. True where it is known that there is no such thing,
    False where there is none for some sizes, None where nobody knows.
    """
    reads = [one for one in accesses if not one.writes]
    if all(_is_initialised(program, memory, accesses, read) for read in _unique(reads)):
        return True
    return _executed(program, memory, accesses)


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


class _Missing(NamedTuple):
    """An element that is read and was not written before, and the sizes for which it was found."""

    element: tuple[int, ...]
    sizes: Values


def _executed(
    program: Program, memory: Memory, accesses: Sequence[Access]
) -> _Missing | bool | None:
    """What is missing for whatever sizes; or whether it is known that nothing is, as `_written`.

    Where there are too many iterations, some of those in which the memory is allocated are
    executed, and some of those that read it there.
    """
    for few in (None, _FEW):
        found: _Missing | bool | None = None
        try:
            for sizes in samples_of(program):
                found = _Execution(program, memory, accesses, sizes, few).missing()
                if not isinstance(found, _Missing):
                    return found and not sizes and few is None
            return found
        except TooMany:
            continue
        except Unevaluable:
            return None
    return None


class _Execution:
    """The accesses to one memory in the order in which they happen, for given sizes.

    With `few`, as many iterations of the loops round the allocation, and of the serial ones round
    reads.
    """

    def __init__(
        self,
        program: Program,
        memory: Memory,
        accesses: Sequence[Access],
        sizes: Values,
        few: int | None,
    ) -> None:
        self.program, self.memory, self.accesses = program, memory, accesses
        self.sizes, self.few = sizes, few
        self.used = {access: self._used_by(access) for access in accesses}
        self.used_by_any = set().union(*self.used.values())

    def _used_by(self, access: Access) -> set[Var]:
        """The variables of loops that say whether an access happens, and of which element."""
        ends = [end for loop in access.loops for end in (loop.min, loop.extent)]
        stack: list[Expr] = [*(access.index or ()), *access.conditions, *ends]
        found: set[Var] = set()
        while stack:
            for var in variables_of(stack.pop()):
                if var not in found and var in self.program.values:
                    stack.append(self.program.values[var])
                found.add(var)
        return found

    def _most(self, access: Access) -> dict[Loop, int]:
        """How many iterations of loops are looked at: the first one where all do the same."""
        found: dict[Loop, int] = {}
        for loop in access.loops:
            is_outside = loop in self.memory.loops
            if loop.var not in (self.used_by_any if is_outside else self.used[access]):
                found[loop] = 1
            elif self.few is not None and (
                is_outside or (not access.writes and loop.kind not in _OF_THREADS)
            ):
                found[loop] = self.few
        return found

    def missing(self) -> _Missing | bool | None:
        """An element that is read and was not written before; True where there is none, None where
        nobody knows.
        """
        accesses = self.accesses
        if any(one.index is None or (one.writes and not one.is_sure) for one in accesses):
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
                is_all = False  # other reads may tell
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
                return _Missing(tuple(map(int, element)), self.sizes)
        return True if is_all else None

    def row(self, access: Access, steps: int) -> tuple[Any, Any]:
        """The elements, with the iterations of the loops round the allocation, and the times."""
        lets = self.program.values
        points = points_of(access.loops, self.sizes, lets, self._most(access), _LIMIT)
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
