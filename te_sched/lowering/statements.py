"""Queries on statements, and copies of them. Shared by passes. Must not know any pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from te_sched.ir import ops
from te_sched.ir.expr import BufferLoad, Expr, IntImm, Var
from te_sched.ir.roles import Role
from te_sched.ir.stmt import (
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    SeqStmt,
    Stmt,
)
from te_sched.ir.term_keys import all_same
from te_sched.ir.visitor import (
    CHILD_FIELDS,
    PART_FIELDS,
    Substitute,
    fields_with,
    replace,
    statements,
    variables_of,
)

NOTHING = Evaluate(IntImm(0))
_USES = fields_with(Role.USE)
HEADS = fields_with(Role.CHILD)  # the expressions of a statement outside of its inner statements


def repeated(root: Stmt) -> set[Stmt]:
    """The statements that occur more than once in a program."""
    seen: set[Stmt] = set()
    repeats: set[Stmt] = set()
    for statement in statements(root):
        (repeats if statement in seen else seen).add(statement)
    return repeats


def binds_threads(root: Stmt) -> bool:
    """Whether a program has loops over threads or blocks of a GPU."""
    nodes = list(statements(root))
    bound = [node.thread_binding for node in nodes if type(node) is For]
    launched = [
        node.node for node in nodes if type(node) is AttrStmt and node.key == "thread_extent"
    ]
    return any(axis is not None and "Idx" in axis.thread_tag for axis in (*bound, *launched))


def rebuilt(node: Stmt, head: Callable[[Any], Expr], inside: Callable[[Any], Stmt]) -> Stmt:
    """The statement with its expressions mapped, and then the statements in it."""
    changes: dict[str, Any] = {
        name: head(old) for name in HEADS[type(node)] if (old := getattr(node, name)) is not None
    }
    for name in PART_FIELDS[type(node)]:
        old = getattr(node, name)
        if old is not None:
            changes[name] = inside(old)
    return replace(node, **changes)


def stores_and_calls(root: Stmt) -> int:
    """The number of statements, which determines compile time."""
    return sum(type(node) is BufferStore or type(node) is Evaluate for node in statements(root))


def has_attribute(root: Stmt, key: str) -> bool:
    """Whether a statement contains an attribute."""
    return any(type(node) is AttrStmt and node.key == key for node in statements(root))


def nodes_of(root: Any, kinds: frozenset[type]) -> list[Any]:
    """The nodes of some classes in a statement or expression, in no particular order."""
    nodes, stack = [], [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in kinds:
            nodes.append(node)
        for name in CHILD_FIELDS[kind]:
            below = getattr(node, name)
            if type(below) is tuple:
                stack.extend(below)
            elif below is not None:
                stack.append(below)
    return nodes


def is_nothing(statement: Stmt) -> bool:
    """Whether a statement is the evaluation of a constant."""
    return type(statement) is Evaluate and type(statement.value) is IntImm


def without_evaluations_of_0(statements: Iterable[Stmt]) -> list[Stmt]:
    """The statements that do something; one of them if all do nothing."""
    stmts = list(statements)
    useful = [
        stmt for stmt in stmts if not (type(stmt) is Evaluate and ops.is_const(stmt.value, 0))
    ]
    return useful or stmts[:1]


def keeps_memory(store: BufferStore) -> bool:
    """Whether a store copies an element to the same place of a buffer of the same shape."""
    value = store.value
    return (
        type(value) is BufferLoad
        and value.predicate is None
        and value.buffer.data is store.buffer.data
        and all_same(value.indices, store.indices)
        and (value.buffer is store.buffer or all_same(value.buffer.shape, store.buffer.shape))
    )


def sequence(parts: Iterable[Stmt | None]) -> Stmt:
    """One statement after the other, sequences in sequences joined; None is not a statement."""
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

    A program defines each variable once: loops, allocations and lets of a copy need new ones.
    """
    return _FreshCopy(dict(values)).visit(statement)


class _FreshCopy(Substitute):
    """Copies a statement; definitions are added to `mapping`."""

    def define(self, var: Var) -> Var:
        copy = self.mapping[var] = Var(var.name, var.dtype, var.pointer, var.is_size)
        for node in [node for node in self.shared if mentions(node, var)]:
            del self.shared[node]
        return copy

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        new = self.generic(node)
        return replace(node) if new is node else new  # regions are compared by identity


def mentions(node: Any, var: Var) -> bool:
    """Whether a buffer, axis or reducer is described by a variable."""
    return var in describing(node)


def describing(node: Any) -> set[Var]:
    """The variables that describe a buffer, axis or reducer."""
    uses = [getattr(node, name) for name in _USES[type(node)]]
    return variables_of(node).union(use for use in uses if type(use) is Var)
