"""Looking at statements: which there are, what evaluating an expression does.

Shared by passes. Must not know what any of them is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from te_sched.ir.calls import Effect, call_effect
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, ProducerLoad
from te_sched.ir.stmt import AttrStmt, Evaluate, IfThenElse, SeqStmt, Stmt
from te_sched.ir.visitor import walk

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


def has_attribute(root: Stmt, key: str) -> bool:
    """Whether a statement carries an attribute somewhere."""
    return any(type(node) is AttrStmt and node.key == key for node in statements(root))


def is_nothing(statement: Stmt) -> bool:
    """Whether a statement is the evaluation of a constant."""
    return type(statement) is Evaluate and type(statement.value) is IntImm


def sequence(parts: list[Stmt]) -> Stmt:
    """One statement after the other, sequences in sequences joined."""
    flat: list[Stmt] = []
    for part in parts:
        if type(part) is SeqStmt:
            flat.extend(part.seq)
        else:
            flat.append(part)
    if not flat:
        return NOTHING
    return flat[0] if len(flat) == 1 else SeqStmt(tuple(flat))


def effect_of(expr: Expr) -> Effect:
    """The strongest effect of evaluating an expression."""
    strongest = Effect.PURE
    for node in walk(expr):
        kind = type(node)
        if kind is Call:
            strongest = max(strongest, call_effect(node.op))
        elif kind is BufferLoad or kind is ProducerLoad:
            strongest = max(strongest, Effect.READ_STATE)
    return strongest
