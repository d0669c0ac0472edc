"""Race analysis of concurrent iterations.

Two iterations of a parallel or vectorized loop, or of the axes of blocks and threads, must not
access the same element of memory from outside of the loop if one of them writes it. Proof: equal
indices imply equal iterations, since the axes are digits of the indices (`arith.aliasing`).
Refutation: two iterations and an element (`dependences`). Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from te_sched.analysis.findings import PROVED, RACE, REFUTED, UNPROVED, Finding
from te_sched.analysis.programs.accesses import Access, ProgramAccesses, by_memory
from te_sched.analysis.programs.dependences import Conflict, find_conflict
from te_sched.analysis.programs.thread_races import thread_races
from te_sched.arith.forms import Form, Forms, plus
from te_sched.ir.expr import Var
from te_sched.ir.scopes import Loop
from te_sched.ir.term_keys import all_same
from te_sched.wording import wording

_VERBS = {"parallel": "parallelize", "vectorized": "vectorize"}
_ITERATIONS = {"block": "blocks", "thread": "threads", "virtual": "virtual threads"}


def judge_races(program: ProgramAccesses) -> list[Finding]:
    """Findings about the loops of a program whose iterations run concurrently."""
    found: list[Finding] = []
    for loops in _at_once(program):
        found.extend(_Judge(program, loops).findings())
    for threads, conflict in thread_races(program):
        name = program.memory[conflict.first.data].name
        names = " and ".join(loop.name for loop in threads)
        found.append(_Judge(program, threads).refusal(name, names, conflict))
    return found


def _at_once(program: ProgramAccesses) -> Iterator[tuple[Loop, ...]]:
    """The loops whose iterations run concurrently; those of a grid of blocks are one group.

    A parallel loop inside of another one runs serially.
    """
    grids: dict[Loop, list[Loop]] = {}
    serial = {
        loop
        for access in program.accesses
        for loop in [one for one in access.loops if one.kind == "parallel"][1:]
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
        touched = by_memory(one for one in self.program.accesses if first in one.loops)
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
        """Whether it is proved of all pairs. Unrolled loops have many at the same distance, of
        which one proof is enough.
        """
        forms = self.program.forms(*accesses)
        kinds = [(one, *_kind(one, forms)) for one in accesses]
        proved: set[Any] = set()
        for place, (a, kind_a, at_a) in enumerate(kinds):
            for b, kind_b, at_b in kinds[place:]:
                apart = [plus(y, x, -1).items() for x, y in zip(at_a, at_b, strict=False)]
                distance = tuple(map(frozenset, apart))
                key = kind_a, kind_b, distance
                if (a.writes or b.writes) and key not in proved:
                    if not self._are_apart(a, b):
                        return False
                    proved.add(key)
        return True

    def _are_apart(self, a: Access, b: Access) -> bool:
        """Whether it is proved that two accesses of different iterations are disjoint."""
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
    return (access.loops, tuple(map(id, access.conditions)), sizes, tuple(terms)), fixed


def _unique(accesses: Iterable[Access]) -> list[Access]:
    """Accesses without duplicates, such as a load and a store of one element."""
    kept: list[Access] = []
    for access in sorted(accesses, key=lambda one: not one.writes):
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
