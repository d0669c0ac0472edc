"""Stores whose elements are written again before they are read.

    for i in range(16):
        A[i] = 100             not read before the second loop
    for i in range(16):
        A[i] = 42

A backward analysis. Before each statement there is a set of elements that are written before they
are read, for each buffer; at the end of a function it is empty, also for memory that the function
allocates (as in TVM). Iterations that may run at the same time may read elements at any time. Where
work is limited, fewer stores are found. Must not know how values are found.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from te_sched.arith.linear_sets import (
    EVERYTHING,
    NOTHING,
    Budget,
    Union,
    WorkLimit,
    below,
    difference,
    intersection,
    is_subset,
    replaced,
    union_of,
    without,
)
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.scopes import Loop, loop_of
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.visitor import Visitor, parts_of
from te_sched.lowering.statements import repeated
from te_sched.tir.passes.dataflow.elements import Elements
from te_sched.tir.passes.dataflow.known_values import KnownValues
from te_sched.tir.passes.dataflow.touches import (
    Concurrent,
    Touched,
    Touches,
    is_analysable,
    is_ordered,
)

Overwritten = dict[Buffer, Union]  # the elements of buffers that are written before they are read


def dead_stores(func: PrimFunc, work: int, known_values: KnownValues | None = None) -> set[Stmt]:
    """The stores of a function whose elements are not read before they are written again.
    `known_values` decides conditions.
    """
    stores: set[Stmt] = set()
    if is_analysable(func):
        with suppress(WorkLimit):
            flow = _Backward(Elements(Budget(work)), known_values)
            flow.before(func.body, {}, EVERYTHING)
            stores = flow.dead
    return stores.difference(repeated(func.body))


class _Backward(Visitor):
    """Follows the statements of a function backwards.

    `after` is what is overwritten after the current statement, `within` a set that has all values
    of the variables there.
    """

    def __init__(self, elements: Elements, known_values: KnownValues | None) -> None:
        self.elements, self.work, self.known = elements, elements.work, known_values
        self.reads = Touches(elements, writes=False)
        self.dead: set[Stmt] = set()
        self.after: Overwritten = {}
        self.within: Union = EVERYTHING
        self.concurrent: list[Concurrent] = []  # the loops around the current statement
        self.first: dict[Stmt, Overwritten] = {}  # what a body writes before it reads it

    def before(self, statement: Any, after: Overwritten, within: Union) -> Overwritten:
        """What is overwritten after the start of a statement."""
        outside = self.within
        self.after, self.within = after, within
        overwritten: Overwritten = self.methods[type(statement)](self, statement)
        self.within = outside
        return overwritten

    def unread(self, overwritten: Overwritten, touched: Touched) -> Overwritten:
        """What remains of sets before elements are read."""
        if touched.is_any:
            return {}
        return {
            buffer: self.minus(elements, touched.of(buffer, self.elements))
            for buffer, elements in overwritten.items()
        }

    def minus(self, elements: Union, read: Union) -> Union:
        return difference(elements, read, self.work, over=False) if read else elements

    def visit_Stmt(self, node: Stmt) -> Overwritten:
        """Any other statement: its parts from the last to the first, then its expressions."""
        overwritten = self.after
        for part in reversed(parts_of(node)):
            overwritten = self.before(part, overwritten, self.within)
        return self.unread(overwritten, self.reads.here(node))

    def visit_BufferStore(self, node: BufferStore) -> Overwritten:
        """A store writes an element after its expressions are evaluated."""
        overwritten = dict(self.after)
        if node.predicate is None and not node.buffer.strides:
            written, lanes = self.elements.at(node.buffer, node.indices, over=False)
            every, _ = self.elements.at(node.buffer, node.indices, over=True)
            if lanes is not None:
                written = without(written, lanes.var, self.work, over=False)
            reached = intersection(every, self.within, self.work, over=True)
            union = overwritten.get(node.buffer, NOTHING)
            if is_subset(reached, union, self.work):
                self.dead.add(node)
            for loop in self.concurrent:
                written = self.minus(written, loop.by_others(node.buffer, self.elements))
            overwritten[node.buffer] = union_of((*union, *written), self.work, over=False)
        return self.unread(overwritten, self.reads.here(node))

    def visit_IfThenElse(self, node: IfThenElse) -> Overwritten:
        """What both branches overwrite, or the one that is taken."""
        ends, where = [], []
        after, within = self.after, self.within
        taken = None if self.known is None else self.known.decided(node.condition, node)
        if taken is not None:
            branch = node.then_case if taken else node.else_case
            overwritten = after if branch is None else self.before(branch, after, within)
            return self.unread(overwritten, self.reads.here(node))
        for holds, branch in ((True, node.then_case), (False, node.else_case)):
            inside = self.elements.where(node.condition, over=True, holds=holds)
            inside = intersection(within, inside, self.work, over=True)
            ends.append(after if branch is None else self.before(branch, after, inside))
            where.append(self.elements.where(node.condition, over=False, holds=holds))
        overwritten = {
            buffer: self.in_either([end.get(buffer, NOTHING) for end in ends], where)
            for buffer in {**ends[0], **ends[1]}
        }
        return self.unread(overwritten, self.reads.here(node))

    def in_either(self, sets: list[Union], where: list[Union]) -> Union:
        """The elements of both sets, and of each of them where its branch is taken."""
        if sets[0] == sets[1]:
            return sets[0]
        parts = [intersection(sets[0], sets[1], self.work, over=False)]
        parts += [
            intersection(elements, region, self.work, over=False)
            for elements, region in zip(sets, where, strict=True)
        ]
        return union_of([system for part in parts for system in part], self.work, over=False)

    def visit_LetStmt(self, node: LetStmt) -> Overwritten:
        """The variable goes out of scope."""
        self.elements.define(node.var, node.value)
        overwritten = self.before(node.body, self.after, self.within)
        overwritten = {
            buffer: without(elements, node.var, self.work, over=False)
            for buffer, elements in overwritten.items()
        }
        return self.unread(overwritten, self.reads.here(node))

    def visit_Allocate(self, node: Allocate | BufferRealize) -> Overwritten:
        """Memory begins here."""
        data = node.buffer_var if isinstance(node, Allocate) else node.buffer.data
        overwritten = self.visit_Stmt(node)
        return {
            buffer: elements for buffer, elements in overwritten.items() if buffer.data is not data
        }

    visit_BufferRealize = visit_Allocate

    # -- loops -------------------------------------------------------------------

    def visit_While(self, node: While) -> Overwritten:
        """Only what it does not read."""
        return self.unread(self.after, self.reads.of(node))

    def visit_AttrStmt(self, node: AttrStmt) -> Overwritten:
        """The axis of threads is a loop."""
        loop = loop_of(node)
        return self.visit_Stmt(node) if loop is None else self.concurrently(node, loop)

    def concurrently(self, node: For | AttrStmt, loop: Loop) -> Overwritten:
        """Iterations that may run at the same time."""
        after, work = self.after, self.work
        every = self.elements.steps(loop.var, loop.min, loop.extent, over=True)
        inside = intersection(self.within, every, work, over=True)
        around = Concurrent(self.reads.of(node.body), loop, every)
        self.concurrent.append(around)
        first = {} if around.touched.is_any else self.written_first(node.body)
        private = {
            buffer: self.minus(elements, around.by_others(buffer, self.elements))
            for buffer, elements in after.items()
        }
        self.before(node.body, {} if around.touched.is_any else private, inside)
        self.concurrent.pop()
        steps = self.elements.steps(loop.var, loop.min, loop.extent, over=False)
        overwritten = dict(self.unread(after, self.reads.of(node)))
        for buffer, elements in first.items():
            written = intersection(elements, steps, work, over=False)
            written = without(written, loop.var, work, over=False)
            overwritten[buffer] = union_of(
                (*overwritten.get(buffer, NOTHING), *written), work, over=False
            )
        return self.unread(overwritten, self.reads.here(node))

    def visit_For(self, node: For) -> Overwritten:
        """In each iteration: what later iterations overwrite first, or what comes after the loop
        and is not read in later iterations.
        """
        if not is_ordered(node):
            return self.concurrently(node, Loop(node.loop_var, node.min, node.extent, node.kind))
        after, within, var = self.after, self.within, node.loop_var
        steps = self.elements.steps(var, node.min, node.extent, over=True)
        inside = intersection(within, steps, self.work, over=True)
        read = self.reads.of(node.body)
        if read.is_any:
            self.before(node.body, {}, inside)
            return {}
        first = self.written_first(node.body)
        later: Overwritten = {}
        overwritten: Overwritten = {}
        for buffer in {**after, **first}:
            reads = intersection(read.of(buffer, self.elements), steps, self.work, over=True)
            kept = after.get(buffer, NOTHING)
            mine = first.get(buffer, NOTHING)
            unread = self.minus(kept, self.elements.in_others(reads, var, 1))
            written = self.next_written(node, mine, reads, is_inside=True)
            later[buffer] = union_of((*unread, *written), self.work, over=False)
            unread = self.minus(kept, without(reads, var, self.work, over=True))
            written = self.next_written(node, mine, reads, is_inside=False)
            overwritten[buffer] = union_of((*unread, *written), self.work, over=False)
        self.before(node.body, later, inside)
        return self.unread(overwritten, self.reads.here(node))

    def written_first(self, body: Stmt) -> Overwritten:
        """What a body overwrites before it reads it, whatever comes after it."""
        overwritten = self.first.get(body)
        if overwritten is None:
            dead, self.dead = self.dead, set()
            overwritten = self.first[body] = self.before(body, {}, EVERYTHING)
            self.dead = dead
        return overwritten

    def next_written(self, loop: For, first: Union, reads: Union, is_inside: bool) -> Union:
        """The elements that an iteration writes first, and no iteration before it reads; those
        before the current iteration are left out if `is_inside`.
        """
        var, work = loop.loop_var, self.work
        writer, reader = Var(var.name, var.dtype), Var(var.name, var.dtype)
        steps = self.elements.steps(var, loop.min, loop.extent, over=False)
        written = intersection(first, steps, work, over=False)
        written = replaced(written, {var: {(writer,): 1}}, over=False)
        between = replaced(reads, {var: {(reader,): 1}}, over=True)
        between = intersection(between, below(reader, writer), work, over=True)
        if is_inside:
            written = intersection(written, below(var, writer), work, over=False)
            between = intersection(between, below(var, reader), work, over=True)
        between = without(between, reader, work, over=True)
        return without(self.minus(written, between), writer, work, over=False)
