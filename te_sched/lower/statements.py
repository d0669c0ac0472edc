"""Looking at statements: which there are, and copying them.

Shared by passes. Must not know what any of them is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from te_sched.arith.same import all_same
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, Let, Var
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import CHILD_FIELDS, Mapper, replace

NOTHING = Evaluate(IntImm(0))


def statements(root: Stmt) -> Iterator[Any]:
    """The statement and those below it, parents first, in program order; no expressions."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        yield node
        kind = type(node)
        if kind is SeqStmt:
            stack.extend(reversed(node.seq))
        elif kind is IfThenElse:
            if node.else_case is not None:
                stack.append(node.else_case)
            stack.append(node.then_case)
        elif hasattr(node, "body"):
            stack.append(node.body)


def stores_and_calls(root: Stmt) -> int:
    """How many there are: about how long a program takes to compile."""
    return sum(type(node) is BufferStore or type(node) is Evaluate for node in statements(root))


def has_attribute(root: Stmt, key: str) -> bool:
    """Whether a statement carries an attribute somewhere."""
    return any(type(node) is AttrStmt and node.key == key for node in statements(root))


def nodes_of(root: Any, kinds: frozenset[type]) -> list[Any]:
    """The nodes of some classes in a statement or expression, in no particular order."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in kinds:
            found.append(node)
        for name in CHILD_FIELDS[kind]:
            below = getattr(node, name)
            if type(below) is tuple:
                stack.extend(below)
            elif below is not None:
                stack.append(below)
    return found


def is_nothing(statement: Stmt) -> bool:
    """Whether a statement is the evaluation of a constant."""
    return type(statement) is Evaluate and type(statement.value) is IntImm


def keeps_memory(store: BufferStore) -> bool:
    """Whether a store writes what it has read from the same place of a buffer of the same shape."""
    value = store.value
    return (
        type(value) is BufferLoad
        and value.buffer.data is store.buffer.data
        and all_same(value.indices, store.indices)
        and (value.buffer is store.buffer or all_same(value.buffer.shape, store.buffer.shape))
    )


def sequence(parts: Iterable[Stmt | None]) -> Stmt:
    """One statement after the other, sequences in sequences joined; None is no statement."""
    flat: list[Stmt] = []
    for part in parts:
        if type(part) is SeqStmt:
            flat.extend(part.seq)
        elif part is not None:
            flat.append(part)
    if not flat:
        return NOTHING
    return flat[0] if len(flat) == 1 else SeqStmt(tuple(flat))


def fresh_copy(statement: Stmt, values: dict[Var, Expr]) -> Stmt:
    """The statement with variables replaced and new variables for all that it defines.

    A program defines a variable once: loops, allocations and lets of a copy need their own.
    """
    return _FreshCopy(values).visit(statement)


class _FreshCopy(Mapper):
    """Copies a statement; `values` grows by the variables that are met."""

    def __init__(self, values: dict[Var, Expr]) -> None:
        self.values = dict(values)
        self.buffers: dict[tuple[Buffer, Expr], Buffer] = {}  # of a buffer and its new pointer

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def fresh(self, var: Var) -> Var:
        """A new variable in the place of one that the statement defines."""
        copy = self.values[var] = Var(var.name, var.dtype, var.pointer, var.is_size)
        return copy

    def buffer(self, buffer: Buffer) -> Buffer:
        """The buffer over the new pointer."""
        data = self.values.get(buffer.data)
        if data is None:
            return buffer
        found = self.buffers.get((buffer, data))
        if found is None:
            shape = tuple([self.visit(extent) for extent in buffer.shape])
            found = self.buffers[buffer, data] = replace(buffer, data=data, shape=shape)
        return found

    def visit_For(self, node: For) -> Stmt:
        low, extent = self.visit(node.min), self.visit(node.extent)
        loop_var = self.fresh(node.loop_var)
        body = self.visit(node.body)
        return replace(node, loop_var=loop_var, min=low, extent=extent, body=body)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        extents = tuple([self.visit(extent) for extent in node.extents])
        buffer_var = self.fresh(node.buffer_var)
        return replace(
            node,
            buffer_var=buffer_var,
            extents=extents,
            condition=self.visit(node.condition),
            body=self.visit(node.body),
        )

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        value = self.visit(node.value)
        return LetStmt(self.fresh(node.var), value, self.visit(node.body))

    def visit_Let(self, node: Let) -> Expr:
        value = self.visit(node.value)
        return Let(self.fresh(node.var), value, self.visit(node.body))

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return BufferLoad(self.buffer(node.buffer), self.many(node.indices))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return BufferStore(
            self.buffer(node.buffer), self.visit(node.value), self.many(node.indices)
        )

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        about = node.node
        if type(about) is Var:
            about = self.values.get(about, about)
        elif type(about) is Buffer:
            about = self.buffer(about)
        return AttrStmt(about, node.key, self.visit(node.value), self.visit(node.body))

    def many(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Several expressions mapped."""
        return tuple([self.visit(expr) for expr in exprs])
