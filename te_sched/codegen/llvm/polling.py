"""Polling for interrupts: periodic checks in loops that may run for a long time.

A loop whose iterations are short, of a known number of steps, runs in parts of some million steps,
and asks after each part but the last, so that its body stays as it is:

    for i in range(n):          begin = 0
        body              ->    do:
                                    end = min(begin + PART / steps, n)
                                    for i in range(begin, end): body
                                    begin = end
                                    if begin < n: leave if poll()

A loop whose body has loops of symbolic extents counts their steps and polls after this number; it
also counts the steps beside such loops, which may have no iterations. Loops of few steps are not
changed.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from te_sched.codegen.llvm.expressions import evaluate
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.visitor import parts_of, substitute, variables_of, walk

PART = 1 << 22  # steps between two polls
_LONG = 1 << 24  # steps of a loop that polls
_LONG_INNERMOST = 1 << 33
_MANY = E.IntImm(1 << 31, "int64")  # steps are counted up to here
_UNKNOWN = E.IntImm(1 << 16, "int64")  # iterations of a loop of which nothing is known before
_ONE = E.IntImm(1, "int64")
_CALL = 8  # steps of a function call, such as exp
_SIMPLE = (E.IntImm, E.Var, E.Add, E.Sub, E.Mul, E.Min, E.Max, E.Cast)
_QUOTIENTS = (E.FloorDiv, E.FloorMod, E.Div, E.Mod)
_ATTRIBUTES = "cold nounwind memory(inaccessiblemem: readwrite)"


class Cost(NamedTuple):
    """The approximate number of steps of a statement, at least 1, as an int64 computed before it.

    `beside` are the steps without those that loops inside count themselves, if there are such
    loops.
    """

    steps: E.Expr
    beside: E.Expr | None = None
    has_loops: bool = False


Counted = dict[S.Stmt, Cost]


def part_of(out: FunctionText, node: S.For, most: int) -> int | None:
    """The number of iterations of a part of a loop, at most `most`; None if it is not split."""
    if node.kind in ("vectorized", "unrolled") or _is_counting(out.module.steps, node):
        return None
    body = _cost(out.module.steps, node.body)
    assert isinstance(body.steps, E.IntImm)  # a loop that does not count
    if body.steps.value * most <= (_LONG if body.has_loops else _LONG_INNERMOST):
        return None
    return max(1, PART // body.steps.value)


def part_end(out: FunctionText, begin: str, end: Value, part: int) -> str:
    """Where a part ends that begins at `begin`."""
    # No difference of the two: it is beyond their type where memory says how far the loop goes.
    next_end = out.intrinsic("sadd.sat", end.dtype, begin, str(part))
    return out.intrinsic("smin", end.dtype, next_end, end.text)


def poll(out: FunctionText) -> None:
    """Leave after Ctrl-C, or after an error of another thread of a parallel loop."""
    if out.parent is not None:
        out.leave_unless_zero(out.emit(f"load atomic i32, ptr {out.error_slot} monotonic, align 4"))
    function = out.load_slot(kind="thread", name="poll")
    out.leave_unless_zero(out.emit(f"call i32 {function}() {_ATTRIBUTES}"))


def count_steps(out: FunctionText, node: S.For | S.While) -> None:
    """At the end of an iteration: count its steps, and poll after many, if it has to be here."""
    counted = out.module.steps
    if not _is_counting(counted, node):
        return
    if not out.steps_left:
        out.steps_left = out.allocate_static("i64", 8)
        out.prologue.append(f"  store i64 {PART}, ptr {out.steps_left}, align 8")
    body = _cost(counted, node.body)
    taken = evaluate(out, body.steps if body.beside is None else body.beside).text
    before = out.emit(f"load i64, ptr {out.steps_left}, align 8")
    left = out.emit(f"sub i64 {before}, {taken}")
    out.do(f"store i64 {left}, ptr {out.steps_left}, align 8")
    ask, after = out.label("ask"), out.label("asked")
    out.branch_if(out.emit(f"icmp slt i64 {left}, 0"), ask, after)
    out.open(ask)
    poll(out)
    out.do(f"store i64 {PART}, ptr {out.steps_left}, align 8")
    out.branch(after)
    out.open(after)


def _is_counting(counted: Counted, node: S.For | S.While) -> bool:
    """Whether a loop counts its steps, since there are loops inside of it of unknown extents."""
    if isinstance(node, S.While):
        return True
    body = _cost(counted, node.body)
    return not isinstance(body.steps, E.IntImm) or body.beside is not None


def _cost(counted: Counted, node: S.Stmt) -> Cost:
    if node not in counted:
        counted[node] = _count(counted, node)
    return counted[node]


def _count(counted: Counted, node: S.Stmt) -> Cost:
    if isinstance(node, S.While):
        return Cost(_MANY, _ONE, True)
    parts = [_cost(counted, part) for part in parts_of(node)]
    if not parts:
        calls = sum(isinstance(expr, E.Call) for expr in walk(node))
        return Cost(E.IntImm(1 + _CALL * calls, "int64"))
    steps = functools.reduce(ops.add, [part.steps for part in parts])
    beside = None
    if any(part.beside is not None for part in parts):
        apart = [part.steps if part.beside is None else part.beside for part in parts]
        beside = functools.reduce(ops.add, apart)
    if isinstance(node, S.For):
        is_counting = beside is not None or not isinstance(steps, E.IntImm)
        return Cost(_bounded(_of_loop(node, steps)), _ONE if is_counting else None, True)
    if isinstance(node, S.LetStmt):
        steps = _without(steps, node.var, node.value)
        beside = None if beside is None else _without(beside, node.var, node.value)
    return Cost(_bounded(steps), beside, any(part.has_loops for part in parts))


def _of_loop(node: S.For, body: E.Expr) -> E.Expr:
    """The steps of a loop, given those of its body."""
    last = ops.sub(ops.add(node.min, node.extent), 1)
    most = ops.maximum(*[_without(body, node.loop_var, at) for at in (node.min, last)])
    extent = ops.cast("int64", node.extent) if _is_simple(node.extent) else _UNKNOWN
    return ops.mul(most, _bounded(ops.maximum(extent, _ONE)))


def _bounded(steps: E.Expr) -> E.Expr:
    return ops.minimum(steps, _MANY)


def _without(steps: E.Expr, var: E.Var, value: E.Expr) -> E.Expr:
    """Steps that do not depend on a variable, for one of its values."""
    if var not in variables_of(steps):
        return steps
    return substitute(steps, {var: value}) if _is_simple(value) else _UNKNOWN


def _is_simple(e: E.Expr) -> bool:
    """Whether an expression can be computed anywhere."""
    return all(
        isinstance(expr, _SIMPLE)
        or (isinstance(expr, _QUOTIENTS) and isinstance(expr.b, E.IntImm) and expr.b.value > 0)
        for expr in walk(e)
    )
