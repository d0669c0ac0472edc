"""The elements that a statement may read, and those that it may write.

Owns the summaries of statements (`Touches`), and the check that the memory of a function can be
analyzed: one pointer for each memory, or its declared views. Must not know what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from te_sched.arith.linear_sets import EVERYTHING, NOTHING, Union, intersection, union_of, without
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.calls import changes_memory
from te_sched.ir.expr import Buffer, BufferLoad, Expr, Let, Var
from te_sched.ir.occurrences import occurrences_of
from te_sched.ir.scopes import Loop, loop_of
from te_sched.ir.stmt import (
    AttrStmt,
    BufferRealize,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    ProducerRealize,
    ProducerStore,
    Stmt,
)
from te_sched.ir.visitor import parts_of, statements, walk
from te_sched.lowering.statements import HEADS
from te_sched.tir.passes.dataflow.elements import Elements

_UNKNOWN_MEMORY = (Block, BlockRealize, ProducerStore, ProducerRealize)
_ORDERED = ("serial", "unrolled")


def is_analysable(func: PrimFunc) -> bool:
    """Whether no two pointers of a function may refer to the same memory, except in calls."""
    for node in statements(func.body):
        if isinstance(node, _UNKNOWN_MEMORY):
            return False
        if isinstance(node, AttrStmt) and node.key in ("buffer_bind_scope", "extern_scope"):
            return False
        if isinstance(node, LetStmt) and node.var.dtype == "handle":
            return False
    return not any(type(node) is Let and node.var.dtype == "handle" for node in walk(func.body))


def expressions_of(statement: Stmt) -> Iterator[Expr]:
    """The expressions of a statement outside of the statements in it."""
    for name in HEADS[type(statement)]:
        value = getattr(statement, name)
        if type(value) is tuple:
            yield from value
        elif value is not None:
            yield value


def is_ordered(loop: Stmt) -> bool:
    """Whether the iterations of a loop are executed one after the other."""
    return isinstance(loop, For) and loop.kind in _ORDERED


def loads_of(statement: Stmt) -> list[BufferLoad]:
    """The loads of a statement without those of the statements in it."""
    return [part for e in expressions_of(statement) for part in walk(e) if type(part) is BufferLoad]


class Touched:
    """Sets of elements by pointer; `is_any` is whether all memory may be touched."""

    def __init__(self) -> None:
        self.is_any = False
        self._sets: dict[Var, list[tuple[Buffer | None, Union]]] = {}

    def add(self, data: Var, buffer: Buffer | None, elements: Union) -> None:
        """Add elements of a buffer, or all of the memory of a pointer."""
        self._sets.setdefault(data, []).append((buffer, elements))

    def items(self) -> Iterator[tuple[Var, Buffer | None, Union]]:
        """The sets, with their pointers and buffers."""
        for data, sets in self._sets.items():
            for buffer, elements in sets:
                yield data, buffer, elements

    def of(self, buffer: Buffer, elements: Elements) -> Union:
        """The elements of a buffer that may be touched."""
        if self.is_any:
            return EVERYTHING
        union: Union = NOTHING
        for other, part in self._sets.get(buffer.data, ()):
            union = (*union, *(part if other is buffer else EVERYTHING))
        return union_of(union, elements.work, over=True)

    def has(self, buffer: Buffer) -> bool:
        """Whether an element of a buffer may be touched."""
        return self.is_any or buffer.data in self._sets


class Concurrent(NamedTuple):
    """A loop whose iterations may run at the same time: what an iteration touches, and the values
    of its variable. Threads may also be in other loops, so that all that they touch counts.
    """

    touched: Touched
    loop: Loop
    steps: Union

    def by_others(self, buffer: Buffer, elements: Elements) -> Union:
        """The elements of a buffer that iterations other than the current one may touch."""
        if not self.touched.has(buffer):
            return NOTHING
        if self.loop.kind not in ("parallel", "vectorized"):
            return EVERYTHING
        mine = intersection(self.touched.of(buffer, elements), self.steps, elements.work, over=True)
        others = [elements.in_others(mine, self.loop.var, sign) for sign in (-1, 1)]
        return union_of((*others[0], *others[1]), elements.work, over=True)


class Touches:
    """Summaries of the reads, or of the writes, of statements and expressions."""

    def __init__(self, elements: Elements, writes: bool) -> None:
        self.elements, self.writes = elements, writes
        self._known: dict[Stmt, Touched] = {}

    def of(self, statement: Stmt) -> Touched:
        """What a statement may touch, in terms of the variables outside of it."""
        touched = self._known.get(statement)
        if touched is None:
            touched = self._known[statement] = self._found(statement)
        return touched

    def here(self, statement: Stmt) -> Touched:
        """What a statement may touch without the statements in it."""
        touched = Touched()
        touched.is_any = any(map(changes_memory, expressions_of(statement)))
        if isinstance(statement, AttrStmt | BufferRealize) and not self.writes:
            for load in loads_of(statement):
                touched.add(load.buffer.data, None, EVERYTHING)
        for occurrence in occurrences_of(statement):
            if not (occurrence.writes if self.writes else occurrence.reads):
                continue
            if occurrence.buffer is None:
                touched.add(occurrence.data, None, EVERYTHING)
                continue
            points, lanes = self.elements.at(occurrence.buffer, occurrence.indices, over=True)
            for guard in occurrence.guards:
                if isinstance(guard, tuple):  # a let inside of an expression
                    points = without(points, guard[0], self.elements.work, over=True)
            if lanes is not None:
                points = without(points, lanes.var, self.elements.work, over=True)
            touched.add(occurrence.data, occurrence.buffer, points)
        return touched

    def _found(self, statement: Any) -> Touched:
        total = Touched()
        self._join(total, self.here(statement), EVERYTHING)
        if isinstance(statement, LetStmt):
            self.elements.define(statement.var, statement.value)
        within, var = self._scope(statement)
        for number, part in enumerate(parts_of(statement)):
            inside = within
            if isinstance(statement, IfThenElse):
                inside = self.elements.where(statement.condition, over=True, holds=not number)
            self._join(total, self.of(part), inside, var)
        return total

    def _scope(self, statement: Any) -> tuple[Union, Var | None]:
        """The values of the variable that a statement defines, and this variable."""
        loop = loop_of(statement)
        if loop is not None:
            return self.elements.steps(loop.var, loop.min, loop.extent, over=True), loop.var
        if isinstance(statement, LetStmt):
            return EVERYTHING, statement.var
        return EVERYTHING, None

    def _join(self, total: Touched, part: Touched, within: Union, var: Var | None = None) -> None:
        """Add what a part of a statement touches, where its variable has some values."""
        work = self.elements.work
        total.is_any = total.is_any or part.is_any
        for data, buffer, points in part.items():
            if within is not EVERYTHING:
                points = intersection(points, within, work, over=True)
            if var is not None:
                points = without(points, var, work, over=True)
            total.add(data, buffer, points)
