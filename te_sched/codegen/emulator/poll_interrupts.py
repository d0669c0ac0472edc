"""Calls in the loops of an emulated program, now and then, by which Ctrl-C can stop it.

A call is for every few million steps, as far as the program tells how many there are:

    for bx in parallel(100000):           for bx in parallel(100000):
        for tx in range(256):      ->         if bx % 4096 == 4095: call_packed("te_sched.poll")
            ...                               for tx in range(256): ...

Loops without a loop inside go undisturbed unless they take a second. Must not know kernels, nor
what the call does.
"""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.calls import call_packed
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, PointerType, Var
from te_sched.ir.ops import TRUE
from te_sched.ir.stmt import (
    Allocate,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    While,
)
from te_sched.ir.visitor import CHILD_FIELDS, replace
from te_sched.lower.statements import sequence

POLL = "te_sched.poll"
_STEPS = 1 << 22  # between two calls
_INNERMOST_STEPS = 1 << 30
_UNKNOWN = 64  # iterations of a loop whose extent is not known
_FIRST = IntImm(0)


def poll_interrupts(body: Stmt) -> Stmt:
    """The program with the calls; the same one where all of it takes a moment."""
    return _polled(body)[0]


def _polled(node: Stmt) -> tuple[Stmt, int]:
    """A statement with calls, and the steps that it takes after the last of them."""
    if isinstance(node, For):
        return _loop(node)
    if isinstance(node, While):
        return _while(node)
    if isinstance(node, SeqStmt):
        parts = [_polled(part) for part in node.seq]
        if any(new is not old for (new, _), old in zip(parts, node.seq, strict=True)):
            node = replace(node, seq=tuple([part for part, _ in parts]))
        return node, sum(steps for _, steps in parts)
    changes, most = {}, 1
    for name in CHILD_FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, Stmt):
            changes[name], steps = _polled(value)
            most = max(most, steps)
    if any(new is not getattr(node, name) for name, new in changes.items()):
        node = replace(node, **changes)
    return node, most


def _loop(node: For) -> tuple[Stmt, int]:
    if node.kind == "vectorized":
        return node, 1
    body, steps = _polled(node.body)
    extent = node.extent.value if isinstance(node.extent, IntImm) else None
    total = (_UNKNOWN if extent is None else extent) * steps
    if extent is not None and total <= (_STEPS if steps > 1 else _INNERMOST_STEPS):
        return (node if body is node.body else replace(node, body=body)), min(total, _STEPS)
    if extent is not None or steps > 1:
        every = max(2, _STEPS // steps)
        turn = ops.floormod(ops.sub(node.loop_var, node.min), every)
        body = sequence([_poll_if(ops.equal(turn, every - 1)), body])
    return replace(node, body=body), min(total, _STEPS)


def _while(node: While) -> tuple[Stmt, int]:
    body, steps = _polled(node.body)
    data = Var("turns", "handle", PointerType("int64", "local"))
    turns = Buffer(data, "int64", (IntImm(1),), (), _FIRST, data.name)
    now = BufferLoad(turns, (_FIRST,))
    count = BufferStore(turns, ops.add(now, IntImm(1, "int64")), (_FIRST,))
    every = max(2, _STEPS // steps)
    poll = _poll_if(ops.equal(ops.floormod(now, IntImm(every, "int64")), IntImm(0, "int64")))
    loop: Stmt = While(node.condition, sequence([count, poll, body]))
    start = BufferStore(turns, IntImm(0, "int64"), (_FIRST,))
    loop = Allocate(data, "int64", (IntImm(1),), TRUE, sequence([start, loop]))
    return loop, min(_UNKNOWN * steps, _STEPS)


def _poll_if(condition: Expr) -> Stmt:
    return IfThenElse(condition, Evaluate(call_packed(POLL)), None)
