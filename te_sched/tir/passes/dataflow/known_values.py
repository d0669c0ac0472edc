"""The known values of the elements of buffers at each statement of a function.

    for i in range(16):
        A[i] = i                  { a : 0 <= a < 16 }: A[a] == a
    if A[j] < 20: ...             A[j] is j, where j is in [0, 16)

A forward analysis. Stores, `assume` and conditions add facts; stores and calls remove elements from
them. A loop keeps what no earlier iteration has changed: first nothing is assumed to be changed,
then what an iteration changes under this assumption is taken from the facts, until nothing more
changes. Iterations that may run at the same time know what no other of them writes. Where work is
limited, facts are missing. Must not know what facts are used for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from te_sched.arith.conditions import plain
from te_sched.arith.linear_sets import (
    EVERYTHING,
    NOTHING,
    Budget,
    Union,
    WorkLimit,
    difference,
    intersection,
    is_subset,
    union_of,
    without,
)
from te_sched.config import Lowering
from te_sched.ir import dtypes
from te_sched.ir.calls import changes_memory, effect_of
from te_sched.ir.expr import EQ, NE, And, BufferLoad, Call, Expr, Not, Or, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.occurrences import lane_of
from te_sched.ir.ops import FALSE, TRUE
from te_sched.ir.scopes import Loop, loop_of
from te_sched.ir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.visitor import Visitor, parts_of, reads_data, substitute
from te_sched.lowering.statements import repeated
from te_sched.tir.passes.dataflow.elements import Elements
from te_sched.tir.passes.dataflow.facts import Case, Fact, Knowledge, Point, is_value
from te_sched.tir.passes.dataflow.touches import (
    Concurrent,
    Touched,
    Touches,
    expressions_of,
    is_analysable,
    is_ordered,
)

WORK = 400_000
_ROUNDS = 3


class KnownValues:
    """What is known before each statement of a function.

    `work` limits the analysis; beyond it, nothing is known.
    """

    def __init__(self, func: PrimFunc, settings: Lowering, work: int = WORK) -> None:
        self._points: dict[Stmt, Point] = {}
        elements = Elements(Budget(work))
        self.knowledge = Knowledge(elements, settings)
        if is_analysable(func):
            with suppress(WorkLimit):
                flow = _Flow(self.knowledge)
                flow.run(func.body, Point())
                self._points = flow.points
        for statement in repeated(func.body):
            self._points.pop(statement, None)

    def at(self, statement: Stmt) -> Point:
        """What is known before a statement of the function."""
        return self._points.get(statement, Point())

    def known(self, e: Expr, statement: Stmt) -> Expr:
        """An expression of a statement with the elements replaced that have one known value."""
        with suppress(WorkLimit):
            return self.knowledge.known(e, self.at(statement))
        return e

    def keeps(self, store: BufferStore) -> bool:
        """Whether a store of the function writes the value that its element is known to have."""
        with suppress(WorkLimit):
            return self.knowledge.keeps(store, self.at(store))
        return False

    def decided(self, condition: Expr, statement: Stmt) -> bool | None:
        """Whether a condition of a statement holds, or None if this is not known."""
        with suppress(WorkLimit):
            point = self.at(statement)
            return self.knowledge.decided(self.knowledge.known(condition, point), point)
        return None


class _Flow(Visitor):
    """Follows the statements of a function; `point` is what is known at the current one."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.elements, self.work = knowledge.elements, knowledge.work
        self.writes = Touches(self.elements, writes=True)
        self.points: dict[Stmt, Point] = {}
        self.point = Point()
        self.concurrent: list[Concurrent] = []  # the loops around the current statement

    def run(self, statement: Stmt, point: Point) -> Point:
        """What is known after a statement."""
        self.point = point
        self.visit(statement)
        return self.point

    def visit(self, statement: Any) -> None:
        """Update the point by a statement."""
        self.points[statement] = self.point
        self.methods[type(statement)](self, statement)

    def set_facts(self, facts: Iterable[Fact]) -> None:
        """Change the facts of the current point."""
        self.point = self.point._replace(facts=self.knowledge.collected(facts))

    def private(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """Facts without elements that other iterations may write at the same time."""
        for fact in facts:
            for loop in self.concurrent:
                written = loop.by_others(fact.buffer, self.elements)
                fact = self.knowledge.except_for(fact, written)
            yield fact

    # -- leaves ------------------------------------------------------------------

    def touch(self, statement: Any) -> None:
        """Remove what a statement may write, without the statements in it."""
        touched = self.writes.here(statement)
        facts: Iterable[Fact] = () if touched.is_any else self.point.facts
        for data, buffer, elements in touched.items():
            facts = self.knowledge.written(facts, data, buffer, elements)
        self.set_facts(facts)

    def visit_Stmt(self, node: Any) -> None:
        """Any other statement: its expressions, then its parts."""
        if any(map(changes_memory, expressions_of(node))):
            self.set_facts(())
        for part in parts_of(node):
            self.visit(part)

    def visit_BufferStore(self, node: BufferStore) -> None:
        """Elements that are written have the value that is stored."""
        stored = list(self.private(self.stored(node)))
        self.touch(node)
        self.set_facts((*self.point.facts, *stored))

    def stored(self, node: BufferStore) -> list[Fact]:
        """The facts that a store adds."""
        if node.predicate is not None or node.buffer.strides or effect_of(node.value) > _READ:
            return []
        target, lanes = self.elements.at(node.buffer, node.indices, over=False)
        value = node.value
        if lanes is not None:
            try:
                value = lane_of(value, lanes.var)
            except ValueError:
                return []
        elif value.dtype != node.buffer.dtype:
            return []
        facts = []
        for case in self.knowledge.cases(value, self.point):
            if is_value(case.value):
                facts.append(Fact(node.buffer, self.restricted(target, case), case.value))
        if lanes is not None:
            facts = self.knowledge.leaving(facts, lanes.var, EVERYTHING)
        return facts

    def restricted(self, elements: Union, case: Case) -> Union:
        """Elements for the values of variables of a case."""
        if case.within is self.point.within:
            return elements
        return intersection(elements, case.within, self.work, over=False)

    def visit_Evaluate(self, node: Evaluate) -> None:
        """Assumptions hold from here on; other calls may write memory."""
        value = node.value
        if not isinstance(value, Call) or value.op != "tir.assume":
            self.touch(node)
            return
        self.assume(value.args[0], True)

    def assume(self, condition: Expr, holds: bool) -> None:
        """Add what follows from a condition."""
        learned = self.private(self.learned(condition, holds))
        inside = self.elements.where(condition, over=True, holds=holds)
        inside = intersection(self.point.within, inside, self.work, over=True)
        self.point = Point(self.knowledge.collected((*self.point.facts, *learned)), inside)

    def learned(self, condition: Expr, holds: bool) -> Iterator[Fact]:
        """The facts in a condition: a == b, or this where another part does not hold."""
        for clause in _parts(condition, holds, And):
            literals = _parts(*clause, Or)
            reading = [literal for literal in literals if reads_data(literal[0])]
            fact = self.equality(*reading[0]) if len(reading) == 1 else None
            if fact is None:
                continue
            region = fact.elements
            for other, truth in literals:
                if other is not reading[0][0]:
                    where = self.elements.where(other, over=False, holds=not truth)
                    region = intersection(region, where, self.work, over=False)
            yield fact._replace(elements=region)

    def equality(self, e: Any, holds: bool) -> Fact | None:
        """The fact that an element is an integer, or a bool."""
        a: Any = e
        b: Expr = TRUE if holds else FALSE
        if type(e) is (EQ if holds else NE):
            a, b = (e.a, e.b) if type(e.a) is BufferLoad else (e.b, e.a)
        if type(a) is not BufferLoad or not is_value(b) or a.buffer.strides:
            return None
        if a.predicate is not None or a.dtype != a.buffer.dtype:
            return None
        if dtypes.is_float(a.dtype) or b.dtype != a.dtype:
            return None
        elements, lanes = self.elements.at(a.buffer, a.indices, over=False)
        return Fact(a.buffer, elements, b) if lanes is None else None

    # -- scopes ------------------------------------------------------------------

    def visit_LetStmt(self, node: LetStmt) -> None:
        """The variable is replaced by its value, or goes out of scope."""
        self.touch(node)
        self.elements.define(node.var, node.value)
        self.visit(node.body)
        value = self.elements.values.get(node.var)
        if value is None:
            self.set_facts(self.knowledge.leaving(self.point.facts, node.var, EVERYTHING))
            return
        values = {node.var: value}
        self.set_facts(
            fact._replace(value=substitute(fact.value, values)) for fact in self.point.facts
        )

    def visit_Allocate(self, node: Allocate | BufferRealize) -> None:
        """Memory that is gone has no values."""
        self.visit_Stmt(node)
        data = node.buffer_var if isinstance(node, Allocate) else node.buffer.data
        self.set_facts(fact for fact in self.point.facts if fact.buffer.data is not data)

    visit_BufferRealize = visit_Allocate

    def visit_AssertStmt(self, node: AssertStmt) -> None:
        """The condition holds in the body, and after it."""
        self.touch(node)
        self.assume(node.condition, True)
        self.visit(node.body)

    def visit_IfThenElse(self, node: IfThenElse) -> None:
        """Both branches, or the one that is known to be taken."""
        self.touch(node)
        before = self.point
        condition = self.knowledge.known(node.condition, before)
        decision = self.knowledge.decided(condition, before)
        ends = []
        for truth, branch in ((True, node.then_case), (False, node.else_case)):
            if decision is None or decision == truth:
                self.point = before
                if decision is None:
                    self.assume(condition, truth)
                if branch is not None:
                    self.visit(branch)
                ends.append(self.point.facts)
        facts = ends[0]
        if len(ends) == 2:
            where = [
                self.elements.where(condition, over=False, holds=truth) for truth in (True, False)
            ]
            facts = self.knowledge.joined(ends[0], ends[1], (where[0], where[1]))
        self.point = before._replace(facts=facts)

    # -- loops -------------------------------------------------------------------

    def visit_While(self, node: While) -> None:
        """Only what no iteration writes is known, before and after it."""
        before = self.point
        kept = [self.after_all(fact, self.writes.of(node)) for fact in before.facts]
        self.set_facts(kept)
        after = self.point
        self.assume(node.condition, True)
        self.visit(node.body)
        self.point = after

    def after_all(self, fact: Fact, touched: Touched) -> Fact:
        """A fact without the elements that may be touched."""
        elements = touched.of(fact.buffer, self.elements) if touched.has(fact.buffer) else NOTHING
        return self.knowledge.except_for(fact, elements) if elements else fact

    def visit_AttrStmt(self, node: AttrStmt) -> None:
        """The axis of threads is a loop."""
        loop = loop_of(node)
        if loop is None:
            self.visit_Stmt(node)
        else:
            self.concurrently(node, loop)

    def visit_For(self, node: For) -> None:
        """The body for each value of the loop variable."""
        self.touch(node)
        loop = Loop(node.loop_var, node.min, node.extent, node.kind)
        if is_ordered(node):
            self.in_order(node, loop)
        else:
            self.concurrently(node, loop)

    def concurrently(self, node: For | AttrStmt, loop: Loop) -> None:
        """Iterations that may run at the same time."""
        before = self.point
        every = self.elements.steps(loop.var, loop.min, loop.extent, over=True)
        inside = intersection(before.within, every, self.work, over=True)
        around = Concurrent(self.writes.of(node.body), loop, every)
        self.concurrent.append(around)
        entry = self.knowledge.collected(self.private(before.facts))
        end = self.run(node.body, Point(entry, inside)).facts
        self.concurrent.pop()
        steps = self.elements.steps(loop.var, loop.min, loop.extent, over=False)
        whole = self.writes.of(node)
        kept = [self.after_all(fact, whole) for fact in before.facts]
        new = [fact for fact in end if not any(fact is old for old in entry)]
        new_facts = self.knowledge.leaving(new, loop.var, steps)
        self.point = before
        self.set_facts((*kept, *[fact for fact in new_facts if not self.is_said(fact, kept)]))

    def in_order(self, node: For, loop: Loop) -> None:
        """Iterations one after the other."""
        before, touched = self.point, self.writes.of(node.body)
        steps = self.elements.steps(loop.var, loop.min, loop.extent, over=True)
        inside = intersection(before.within, steps, self.work, over=True)
        kept = [fact for fact in before.facts if not touched.has(fact.buffer)]
        changing = [fact for fact in before.facts if touched.has(fact.buffer)]
        lost, end = self.iterated(node.body, loop.var, (kept, changing), inside, touched)
        left = [
            self.knowledge.except_for(fact, without(gone, loop.var, self.work, over=True))
            for fact, gone in zip(changing, lost, strict=True)
        ]
        changed = [fact for fact in end if not any(fact is old for old in kept)]
        new_facts = () if touched.is_any else self.made(changed, loop, touched)
        new = [fact for fact in new_facts if not self.is_said(fact, left)]
        self.point = before
        self.set_facts((*kept, *left, *new))

    def iterated(
        self,
        body: Stmt,
        var: Var,
        facts: tuple[list[Fact], list[Fact]],
        inside: Union,
        touched: Touched,
    ) -> tuple[list[Union], tuple[Fact, ...]]:
        """The elements that each changing fact loses in an iteration, and the facts after it."""
        kept, changing = facts
        lost: list[Union] = [NOTHING for _ in changing]
        outside = self.points
        for attempt in range(_ROUNDS + 1):
            entry = [
                self.knowledge.except_for(fact, self.elements.in_others(gone, var, -1))
                for fact, gone in zip(changing, lost, strict=True)
            ]
            self.points = {}
            end = self.run(body, Point((*kept, *entry), inside)).facts
            now = [self.lost(fact, end, inside) for fact in entry]
            pairs = list(zip(now, lost, strict=True))
            if attempt == _ROUNDS or all(is_subset(new, old, self.work) for new, old in pairs):
                break
            lost = [union_of((*new, *old), self.work, over=True) for new, old in pairs]
            if attempt == _ROUNDS - 1:  # whatever is written
                lost = [
                    intersection(touched.of(fact.buffer, self.elements), inside, self.work, True)
                    for fact in changing
                ]
        self.points = outside | self.points
        return lost, end

    def lost(self, fact: Fact, end: Iterable[Fact], inside: Union) -> Union:
        """The elements of a fact for which the facts at the end of an iteration do not have its
        value.
        """
        left = intersection(fact.elements, inside, self.work, over=True)
        for other in end:
            left = difference(left, self.knowledge.agrees(fact, other), self.work, over=True)
        return left

    def made(self, end: Iterable[Fact], loop: Loop, touched: Touched) -> list[Fact]:
        """The facts at the end of an iteration that no later iteration changes."""
        steps = self.elements.steps(loop.var, loop.min, loop.extent, over=False)
        every = self.elements.steps(loop.var, loop.min, loop.extent, over=True)
        facts = []
        for fact in end:
            changed = touched.of(fact.buffer, self.elements)
            changed = intersection(changed, every, self.work, over=True)
            later = self.elements.in_others(changed, loop.var, 1)
            left = self.knowledge.except_for(fact, later)
            facts += self.knowledge.leaving([left], loop.var, steps)
        return facts

    def is_said(self, fact: Fact, others: Iterable[Fact]) -> bool:
        """Whether other facts say the same of all elements of a fact."""
        return any(
            is_subset(fact.elements, self.knowledge.agrees(fact, other), self.work)
            for other in others
        )


_READ = Effect.READ_STATE


def _parts(condition: Expr, holds: bool, kind: type) -> list[tuple[Any, bool]]:
    """The conjuncts (kind And) or disjuncts (Or) of a condition, or of its negation: conditions,
    and whether they hold.
    """
    e: Any = plain(condition)
    if type(e) is Not:
        return _parts(e.a, not holds, kind)
    if (type(e) is And and (kind is And) == holds) or (type(e) is Or and (kind is Or) == holds):
        return [*_parts(e.a, holds, kind), *_parts(e.b, holds, kind)]
    return [(e, holds)]
