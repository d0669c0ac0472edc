"""Race analysis of concurrent iterations.

Two iterations of a parallel or vectorized loop, or of the axes of blocks and threads, must not
access the same element of memory from outside of the loop if one of them writes it. Proof: equal
indices imply equal iterations, since the axes are digits of the indices (`arith.aliasing`).
Refutation: two iterations and an element (`dependences`). Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from te_sched.analysis.findings import PROVED, RACE, REFUTED, UNPROVED, Finding
from te_sched.analysis.programs.accesses import Access, ProgramAccesses, by_memory
from te_sched.analysis.programs.dependences import Conflict, find_conflict
from te_sched.analysis.programs.thread_races import thread_races
from te_sched.arith.forms import Form, Forms, number_of, plus
from te_sched.ir.expr import Add, IntImm, Mul, Var
from te_sched.ir.scopes import Loop
from te_sched.ir.term_keys import all_same, term_key
from te_sched.wording import wording

_Members = list[tuple[Access, list[Form]]]  # accesses of a kind, with the fixed parts of indices
_VERBS = {"parallel": "parallelize", "vectorized": "vectorize"}
_ITERATIONS = {"block": "blocks", "thread": "threads", "virtual": "virtual threads"}


def judge_races(program: ProgramAccesses) -> list[Finding]:
    """Findings about the loops of a program whose iterations run concurrently."""
    findings: list[Finding] = []
    for loops in _at_once(program):
        findings.extend(_Judge(program, loops).findings())
    for threads, conflict in thread_races(program):
        name = program.memory[conflict.first.data].name
        names = " and ".join(loop.name for loop in threads)
        findings.append(_Judge(program, threads).refusal(name, names, conflict))
    return findings


def _at_once(program: ProgramAccesses) -> Iterator[tuple[Loop, ...]]:
    """The loops whose iterations run concurrently; those of a grid of blocks are one group.

    A parallel loop inside of another one runs serially.
    """
    grids: dict[Loop, list[Loop]] = {}
    serial = {
        loop
        for access in program.accesses
        for loop in [
            parallel_loop for parallel_loop in access.loops if parallel_loop.kind == "parallel"
        ][1:]
    }
    for loop in program.loops:
        if loop not in serial and loop.kind in ("parallel", "vectorized", "virtual"):
            yield (loop,)
    for access in program.accesses:
        blocks = [loop for loop in access.loops if loop.kind == "block"]
        if blocks:
            grid = grids.setdefault(blocks[0], [])
            grid.extend(loop for loop in blocks if loop not in grid)
    for grid in grids.values():
        yield tuple(grid)


class _Judge:
    """Analyses one loop, or the axes of one grid of blocks."""

    def __init__(self, program: ProgramAccesses, loops: tuple[Loop, ...]) -> None:
        self.program, self.loops = program, loops
        self.is_grid = loops[0].kind == "block"

    def findings(self) -> Iterator[Finding]:
        for data, accesses in self._shared().items():
            yield self._finding(data, accesses)

    def _shared(self) -> dict[Var, list[Access]]:
        """The accesses in the loops to memory from outside of them that is written there."""
        first = self.loops[0]
        touched = by_memory(access for access in self.program.accesses if first in access.loops)
        return {
            data: accesses
            for data, accesses in touched.items()
            if any(access.writes for access in accesses) and self._is_common(data)
        }

    def _is_common(self, data: Var) -> bool:
        """Whether all iterations share the memory."""
        memory = self.program.memory.get(data)
        if memory is None or self.loops[0] in memory.loops:
            return False  # not declared: unknown
        return not self.is_grid or memory.scope == "global"

    def _finding(self, data: Var, accesses: list[Access]) -> Finding:
        unique = _unique(accesses)
        name = self.program.memory[data].name
        names = " and ".join(loop.name for loop in self.loops)
        is_proved = self._all_apart(unique)
        verdict = is_proved or find_conflict(self.program, self.loops, unique)
        if isinstance(verdict, Conflict):
            return self.refusal(name, names, verdict)
        if verdict:
            what = f"no {self._race(name, names)}"
            return Finding(RACE, PROVED, what, name, names, name)
        what = f"possible {self._race(name, names)}"
        why = "it is not known which elements they touch"
        return Finding(RACE, UNPROVED, what, name, names, name, why)

    def _all_apart(self, accesses: list[Access]) -> bool:
        """Whether it is proved of all pairs. Unrolled loops have many accesses of a kind, of
        which one proof is enough, as if they were not unrolled.
        """
        forms = self.program.forms(*accesses)
        kinds: dict[Any, _Members] = {}
        for access in accesses:
            kind, fixed = _kind(access, forms)
            kinds.setdefault(kind, []).append((access, fixed))
        groups = [(_rolled(members), members) for members in kinds.values()]
        for number, (first, members) in enumerate(groups):
            for other, others in groups[number:]:
                is_apart = first is not None and other is not None and self._are_apart(first, other)
                if not is_apart and not self._pairs_are_apart(members, others):
                    return False
        return True

    def _pairs_are_apart(self, members: _Members, others: _Members) -> bool:
        """Whether it is proved of all pairs of accesses of two kinds, or of one: of one pair for
        each distance.
        """
        proved: set[Any] = set()
        for number, (a, at_a) in enumerate(members):
            for b, at_b in others[number:] if others is members else others:
                apart = [plus(y, x, -1).items() for x, y in zip(at_a, at_b, strict=False)]
                distance = tuple(map(frozenset, apart))
                if distance not in proved:
                    if not self._are_apart(a, b):
                        return False
                    proved.add(distance)
        return True

    def _are_apart(self, a: Access, b: Access) -> bool:
        """Whether it is proved that two accesses of different iterations are disjoint, or that
        neither writes.
        """
        if not (a.writes or b.writes):
            return True
        outside = a.loops[: a.loops.index(self.loops[0])]
        return self.program.are_apart(a, b, self.loops, outside)

    def _race(self, name: str, names: str) -> str:
        """The description of a race."""
        loop = self.loops[0]
        if loop.kind in _ITERATIONS:
            return f"data race on {name} between {_ITERATIONS[loop.kind]} along {names}"
        return f"data race on {name} between iterations of {loop.kind} {wording().loop} {names}"

    def refusal(self, name: str, names: str, conflict: Conflict) -> Finding:
        """The finding about iterations that access the same element."""
        loop, words = self.loops[0], wording()
        verb = "bind" if loop.tag else _VERBS.get(loop.kind, "parallelize")
        to = f" to {loop.tag}" if loop.tag else ""
        help = f"let each iteration write separate elements, or {verb} another {words.loop}{to}"
        if conflict.is_update:
            help = (
                f"reorder the loops and {verb} {words.a_loop} of the result{to}, or compute the "
                f"partial results in a separate {words.computation} (rfactor)"
            )
        return Finding(
            RACE,
            REFUTED,
            self._race(name, names),
            name,
            names,
            name,
            conflict.text(name),
            help,
        )


def _kind(access: Access, forms: Forms) -> tuple[Any, list[Form]]:
    """What an access shares with all that touch the same elements but for distances that no loop
    changes, and these: numbers, and multiples of sizes.
    """
    if access.index is None or access.sizes is None:
        return id(access), []
    terms, fixed = [], []
    for index in access.index:
        form = forms.of(index)
        fixed.append({term: scale for term, scale in form.items() if forms.least.keys() >= {*term}})
        terms.append(frozenset(form.items() - fixed[-1].items()))
    sizes = tuple([frozenset(forms.of(e).items()) for e in access.sizes])
    return (access.loops, tuple(map(term_key, access.conditions)), sizes, tuple(terms)), fixed


def _rolled(members: _Members) -> Access | None:
    """Accesses of a kind as one, in loops over their distances, which writes if one of them does;
    None if these are not numbers in one dimension, as loops give them.
    """
    (first, fixed), *rest = members
    if not rest:
        return first
    assert first.index is not None
    index, loops = list(first.index), list(first.loops)
    for dim, begin in enumerate(fixed):
        offsets = [number_of(plus(other[dim], begin, -1)) for _, other in members]
        numbers = sorted({offset for offset in offsets if offset is not None})
        steps = _steps(numbers) if None not in offsets else None
        if steps is None or (steps and len(loops) > len(first.loops)):
            return None
        for stride, count in steps:
            loop = Loop(Var("step", "int64"), IntImm(0), IntImm(count), "unrolled")
            index[dim] = Add(index[dim], Mul(loop.var, IntImm(stride)))
            loops.append(loop)
        index[dim] = Add(index[dim], IntImm(numbers[0]))
    writes = any(access.writes for access, _ in members)
    return replace(first, index=tuple(index), loops=tuple(loops), writes=writes)


def _steps(numbers: Sequence[int]) -> list[tuple[int, int]] | None:
    """The strides and extents of loops that give increasing numbers; None if none do.

    >>> _steps([3, 5, 13, 15, 23, 25])
    [(2, 2), (10, 3)]
    """
    steps = []
    while len(numbers) > 1:
        first, stride = numbers[0], numbers[1] - numbers[0]
        pairs = zip(numbers, range(first, numbers[-1] + 1, stride), strict=False)
        count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        starts = numbers[::count]
        if [start + stride * k for start in starts for k in range(count)] != [*numbers]:
            return None
        steps.append((stride, count))
        numbers = starts
    return steps


def _unique(accesses: Iterable[Access]) -> list[Access]:
    """Accesses without duplicates, such as a load and a store of one element."""
    kept: list[Access] = []
    for access in sorted(accesses, key=lambda access: not access.writes):
        if not any(
            access.index is not None
            and other.index is not None
            and other.is_sure == access.is_sure
            and (other.loops == access.loops)
            and (other.index is access.index or all_same(other.index, access.index))
            and all_same(other.sizes, access.sizes)
            and len(other.conditions) == len(access.conditions)
            and all(a is b for a, b in zip(other.conditions, access.conditions, strict=True))
            for other in kept
        ):
            kept.append(access)
    return kept
