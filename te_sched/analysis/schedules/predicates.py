"""Check that store predicates do not drop needed stores.

`set_store_predicate` selects one of several threads that have the same value. The stores of a
program are compared with those of the same program without predicates, by evaluating their indices:
some thread must execute all updates of each element. Elements of temporaries that are not read need
no store. Predicates that cannot be evaluated are refused. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.findings import PROVED
from te_sched.analysis.programs.accesses import Access, ProgramAccesses, accesses_of, executions_of
from te_sched.analysis.programs.initialized import judge_initialized
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import (
    Execution,
    TooMany,
    connected,
    numbered,
    rows_of,
    sizes_text,
    variables_in,
)
from te_sched.errors import BuildError
from te_sched.ir.expr import EQ, Buffer, Expr, IntImm, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.ops import is_const
from te_sched.ir.scopes import Loop, Memory
from te_sched.ir.visitor import substitute, walk
from te_sched.lowering.assemble import schedule_ops
from te_sched.lowering.bounds import infer_bound
from te_sched.lowering.guard_extents import contains
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState
from te_sched.te.tensor import Tensor

_LIMIT = 1 << 16  # number of iterations to evaluate
_PRODUCT = 1 << 12  # limit of the product of the numbers in a predicate
_DOUBLINGS = 12  # of the sizes, to make loops long enough
_OF_THREADS = frozenset(("block", "thread", "virtual"))


def check_predicates(
    schedule: Schedule, args: Sequence[Any], binds: Mapping[Tensor, Buffer] | None = None
) -> None:
    """Refuse store predicates that drop a needed store, or cannot be verified.

    Raises
    ------
    BuildError for the first stage with such a predicate.
    """
    if all(stage.store_predicate is None for stage in schedule.stages):
        return
    normal = schedule.normalize()
    bounds = infer_bound(normal)

    def program() -> ProgramAccesses:
        return accesses_of(schedule_ops(normal, bounds, list(args), "main", binds or {}))

    chosen = program()
    for stage in normal.stages:
        predicate, stage.store_predicate = stage.store_predicate, None
        if predicate is not None and (fault := _fault_of(chosen, program())):
            raise _refusal(stage, predicate, fault)
        stage.store_predicate = predicate


def _fault_of(chosen: ProgramAccesses, whole: ProgramAccesses) -> str:
    """The fault of the predicate that one program has and the other does not, or ""."""
    for store, other in zip(_stores(chosen), _stores(whole), strict=True):
        usual = _conditions_of(other, store.loops)
        added = [condition for condition in store.conditions if not contains(usual, condition)]
        if added and (fault := _Judge(chosen, store, usual, added).fault()):
            return fault
    return ""


def _stores(program: ProgramAccesses) -> list[Access]:
    return [access for access in program.accesses if access.writes]


def _conditions_of(access: Access, loops: Sequence[Loop]) -> list[Expr]:
    """The conditions of an access, in the variables of those loops."""
    names: dict[Var, Expr] = {b.var: a.var for a, b in zip(loops, access.loops, strict=True)}
    return [substitute(condition, names) for condition in access.conditions]


class _Done(NamedTuple):
    """Evaluated stores: the elements, their threads, and whether the predicate holds."""

    elements: Any
    threads: Any
    is_stored: Any


@dataclass
class _Judge:
    """Checks one store, under its `usual` conditions and those that a predicate `added`."""

    program: ProgramAccesses
    store: Access
    usual: Sequence[Expr]
    added: Sequence[Expr]

    def __post_init__(self) -> None:
        self.memory = self.program.memory[self.store.data]
        self.is_update = any(self._reads_the_same(access) for access in self.program.accesses)
        loop_vars = {loop.var for loop in self.store.loops}
        asked = self._variables(*self.added) - loop_vars
        self.later = [
            loop for loop in self.program.loops if loop.kind == "thread" and loop.var in asked
        ]
        self.all_loops = (*self.store.loops, *self.later)
        if _is_of_thread(self.memory):  # every thread stores the combined result
            threads = {loop.var for loop in self.all_loops if loop.kind == "thread"}
            self.usual = [
                condition for condition in self.usual if not _chooses_first(condition, threads)
            ]
        self.loops = self._concerned()

    def _reads_the_same(self, access: Access) -> bool:
        """Whether an access reads the stored element, in the same iteration."""
        a, b = access.index, self.store.index
        is_of_same = access.data is self.store.data and access.loops == self.store.loops
        if access.writes or not is_of_same or a is None or b is None:
            return False
        return all(x is y for x, y in zip(a, b, strict=True))

    def fault(self) -> str:
        """The fault of the predicate, or ""."""
        try:
            for run in self._executions():
                fault = self._fault(run)
                if fault and (self.is_update or not self._is_unread()):
                    return fault
        except TooMany:
            return "cannot be verified: the stage has too many iterations"
        except Unevaluable:
            if unbound := self._unbound():
                return f"uses the variable {unbound}, which has no value there"
            return "cannot be verified: it is not known which elements it leaves out"
        return ""

    def _executions(self) -> Iterator[Execution]:
        """Executions for sample sizes, some of which make loops longer than all numbers in the
        predicate and their product, in case it divides by them.
        """
        numbers = [
            part.value
            for condition in self.added
            for part in walk(condition)
            if type(part) is IntImm
        ]
        for run in executions_of(self.program, _LIMIT):
            yield run
        if run.sizes:
            most = max([*map(abs, numbers), min(_PRODUCT, prod(abs(n) for n in numbers if n))])
            large = {var: np.int64(value + most) for var, value in run.sizes.items()}
            run = replace(run, sizes=large)
            for _ in range(_DOUBLINGS):
                short = [loop.extent for loop in self.loops if self._is_at_most(loop, most, run)]
                for var in self._variables(*short) & large.keys():
                    large[var] *= 2
            yield run

    def _is_at_most(self, loop: Loop, most: int, run: Execution) -> bool:
        """Whether a loop whose extent depends only on sizes has at most `most` iterations."""
        if not self._variables(loop.extent) <= run.sizes.keys():
            return False
        return bool(run.value(loop.extent) <= most)

    def _is_unread(self) -> bool:
        """Whether the elements that are not stored are proved to be unread."""
        if self.memory.is_argument:
            return False
        if any(self._is_owner(loop) and loop not in self.memory.loops for loop in self.loops):
            # registers: all threads execute the reads after the loop
            touched = [access for access in self.program.accesses if access.data is self.store.data]
            reads = [access for access in touched if not access.writes]
            return all(
                contains(access.conditions, added) for access in reads for added in self.added
            )
        findings = [
            finding
            for finding in judge_initialized(self.program)
            if finding.buffer == self.memory.name
        ]
        return bool(findings) and all(finding.verdict == PROVED for finding in findings)

    def _unbound(self) -> str:
        """The names of the variables of the predicate that have no value here."""
        bound_vars = {loop.var for loop in self.all_loops}
        bound_vars.update(*[run.sizes for run in executions_of(self.program, _LIMIT)])
        unbound = self._variables(*self.added) - bound_vars - self.program.memory.keys()
        return ", ".join(sorted(var.name for var in unbound))

    # -- dependences -------------------------------------------------------------------------------

    def _variables(self, *exprs: Expr) -> set[Var]:
        lets = self.program.values
        return variables_in(lets, *exprs) - lets.keys()

    def _concerned(self) -> tuple[Loop, ...]:
        """The loops in the predicate, and those that share an index or a condition with them. All
        others are independent of these.
        """
        store = self.store
        groups = [self._variables(expr) for expr in (*(store.index or ()), *store.conditions)]
        groups += [{loop.var} | self._variables(loop.min, loop.extent) for loop in self.all_loops]
        loops = {loop.var for loop in self.all_loops}
        variables = self._variables(*self.added) & loops
        for together, _ in connected((group, frozenset(group & loops)) for group in groups):
            if together & variables:
                variables |= together
        return tuple(loop for loop in self.all_loops if loop.var in variables)

    def _is_concerned(self, expr: Expr) -> bool:
        """Whether an expression depends only on the loops in question."""
        others = {loop.var for loop in self.all_loops if loop not in self.loops}
        return others.isdisjoint(self._variables(expr))

    # -- execution ---------------------------------------------------------------------------------

    def _fault(self, run: Execution) -> str:
        done = self._done(run)
        if not len(done.elements):
            return ""
        if not done.is_stored.any():
            return "never holds, so nothing is stored"
        is_done = done.is_stored
        if self.is_update:
            rows = np.concatenate([done.elements, done.threads], axis=1)
            (groups,), group_count = numbered([rows])
            total = np.bincount(groups, minlength=group_count)
            stored = np.bincount(groups[done.is_stored], minlength=group_count)
            is_partial = ((stored > 0) & (stored < total))[groups]
            if is_partial.any():
                element = self._element(done.elements[int(np.argmax(is_partial))], run)
                return f"leaves out some of the iterations that add to {element}"
            is_done = stored[groups] > 0
        (keys,), count = numbered([done.elements])
        is_kept = np.zeros(count, bool)
        is_kept[keys[is_done]] = True
        missing = ~is_kept[keys]
        if not missing.any():
            return ""
        element = self._element(done.elements[int(np.argmax(missing))], run)
        return f"leaves out {element}, which is needed"

    def _done(self, run: Execution) -> _Done:
        """Evaluate the program without predicates."""
        store = self.store
        if store.index is None or not store.is_sure:
            raise Unevaluable
        points = run.points(self.loops)
        happens = points.where(filter(self._is_concerned, self.usual))
        is_stored = points.where(self.added)
        places = self._places()
        part = replace(
            store,
            index=tuple([store.index[dim] for dim in places]),
            sizes=tuple([store.sizes[dim] for dim in places]),
        )
        rows, which = run.elements(part, points, self._outside())
        threads = [points.digits[loop] for loop in self.loops if self._is_copy(loop)]
        copies = rows_of(threads, points.count)
        happens = happens[which]
        return _Done(rows[happens], copies[which][happens], is_stored[which][happens])

    def _places(self) -> list[int]:
        """The dimensions that depend on the loops in question."""
        return [n for n, index in enumerate(self.store.index or ()) if self._is_concerned(index)]

    def _is_copy(self, loop: Loop) -> bool:
        """Whether the iterations are threads that share the memory."""
        return loop.kind in _OF_THREADS and not self._is_owner(loop)

    def _is_owner(self, loop: Loop) -> bool:
        """Whether each iteration has private memory. Threads launched later in the kernel execute
        the earlier statements as well.
        """
        if loop in self.later:
            return not (self.memory.is_argument or self.memory.storage.is_of_team)
        return loop in self.memory.loops or (loop.kind == "thread" and _is_of_thread(self.memory))

    def _outside(self) -> list[Loop]:
        """The loops of which each iteration needs its own stores."""
        counted = self._variables(*(self.store.index or ()))
        return [
            loop
            for loop in self.loops
            if self._is_owner(loop)
            or not (self.is_update or self._is_copy(loop) or loop.var in counted)
        ]

    def _element(self, row: Any, run: Execution) -> str:
        """The name of an element; arbitrary dimensions are shown as ":"."""
        numbers = dict(zip(self._places(), row[len(self._outside()) :], strict=True))
        rank = len(self.store.index or ())
        index = ", ".join(str(numbers[n]) if n in numbers else ":" for n in range(rank))
        text = f"{self.memory.name}[{index}]"
        extents = self._variables(*[loop.extent for loop in self.loops])
        shown = {var: value for var, value in run.sizes.items() if var in extents}
        return f"{text} ({sizes_text(shown)})" if shown else text


def _is_of_thread(memory: Memory) -> bool:
    """Whether memory of a kernel is private to a thread, possibly one of other thread axes."""
    if memory.scope == "global":  # lowering will choose the scope
        return any(loop.kind == "thread" for loop in memory.loops)
    return memory.is_in_kernel and not memory.storage.is_of_team


def _chooses_first(condition: Expr, threads: set[Var]) -> bool:
    """Whether a condition selects the first thread of an axis."""
    return type(condition) is EQ and condition.a in threads and is_const(condition.b, 0)


def _refusal(stage: StageState, predicate: Expr, fault: str) -> BuildError:
    return BuildError(
        f"store predicate {spelled(predicate)} of stage {stage.op.name} {fault}",
        help="remove the predicate, or let it select among threads that store the same value",
        where=At(stage),
        can_override=True,
    )
