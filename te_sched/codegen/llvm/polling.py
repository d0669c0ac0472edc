"""Where a program asks whether it shall stop: now and then in loops that may take long.

A loop whose iterations are short, of a known number of steps, runs in parts of some million steps,
and asks after each part but the last, so that its body stays as it is:

    for i in range(n):          begin = 0
        body              ->    do:
                                    end = min(begin + PART / steps, n)
                                    for i in range(begin, end): body
                                    begin = end
                                    if begin < n: leave if poll()

One whose iterations have loops of extents that only a call tells counts the steps that they take,
and asks when that many are over; so does one that has such a loop inside, which may have no
iterations, of the steps beside it. Loops of few steps stay as they are.
"""

from __future__ import annotations

import functools

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
_ATTRIBUTES = "cold nounwind memory(inaccessiblemem: readwrite)"


def part_of(out: FunctionText, node: S.For, most: int) -> int | None:
    """How many iterations a part of a loop has, which has at most `most`; None if it is whole."""
    if node.kind in ("vectorized", "unrolled") or _has_counting(out.module.steps, node.body):
        return None
    steps = _steps(out.module.steps, node.body)
    if not isinstance(steps, E.IntImm):
        return None
    is_innermost = not _has_loops(node.body)
    if steps.value * most <= (_LONG_INNERMOST if is_innermost else _LONG):
        return None
    return max(1, PART // steps.value)


def part_end(out: FunctionText, begin: str, end: Value, part: int) -> str:
    """Where a part ends that begins at `begin`."""
    # No difference of the two: it is beyond their type where memory says how far the loop goes.
    next_end = out.intrinsic("sadd.sat", end.dtype, begin, str(part))
    return out.intrinsic("smin", end.dtype, next_end, end.text)


def poll(out: FunctionText) -> None:
    """Leave if a Ctrl-C says so, or an error of another thread of a parallel loop."""
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
    taken = evaluate(out, _steps_beside(counted, node.body)).text
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


def _is_counting(counted: dict[S.Stmt, E.Expr], node: S.Stmt) -> bool:
    """Whether a loop counts its steps, since there are loops inside of it of unknown extents."""
    if not isinstance(node, S.For):
        return isinstance(node, S.While)
    return not isinstance(_steps(counted, node.body), E.IntImm) or _has_counting(counted, node.body)


def _has_counting(counted: dict[S.Stmt, E.Expr], body: S.Stmt) -> bool:
    """Whether there is a loop that counts its steps."""
    return any(
        isinstance(one, S.While)
        or (isinstance(one, S.For) and not isinstance(_steps(counted, one.body), E.IntImm))
        for one in walk(body)
    )


def _steps_beside(counted: dict[S.Stmt, E.Expr], node: S.Stmt) -> E.Expr:
    """The steps of a statement without those that loops inside count themselves."""
    if not _has_counting(counted, node):
        return _steps(counted, node)
    if isinstance(node, S.For | S.While):
        return _ONE
    parts = [_steps_beside(counted, one) for one in parts_of(node)]
    steps = functools.reduce(ops.add, parts)
    return _without(steps, node.var, node.value) if isinstance(node, S.LetStmt) else steps


def _has_loops(body: S.Stmt) -> bool:
    return any(isinstance(one, S.For | S.While) for one in walk(body))


def _steps(counted: dict[S.Stmt, E.Expr], node: S.Stmt) -> E.Expr:
    """About how many steps a statement takes, 1 or more: an int64 of what is known before it."""
    if node not in counted:
        counted[node] = ops.minimum(_count(counted, node), _MANY)
    return counted[node]


def _count(counted: dict[S.Stmt, E.Expr], node: S.Stmt) -> E.Expr:
    if isinstance(node, S.While):
        return _MANY
    parts = [_steps(counted, one) for one in parts_of(node)]
    if not parts:
        calls = sum(isinstance(one, E.Call) for one in walk(node))
        return E.IntImm(1 + _CALL * calls, "int64")
    if isinstance(node, S.For):
        last = ops.sub(ops.add(node.min, node.extent), 1)
        body = ops.maximum(*[_without(parts[0], node.loop_var, at) for at in (node.min, last)])
        extent = ops.cast("int64", node.extent) if _is_simple(node.extent) else _UNKNOWN
        return ops.mul(body, ops.minimum(ops.maximum(extent, _ONE), _MANY))
    if isinstance(node, S.LetStmt):
        return _without(parts[0], node.var, node.value)
    return functools.reduce(ops.add, parts)


def _without(steps: E.Expr, var: E.Var, value: E.Expr) -> E.Expr:
    """Steps that do not depend on a variable, for one of its values."""
    if var not in variables_of(steps):
        return steps
    return substitute(steps, {var: value}) if _is_simple(value) else _UNKNOWN


def _is_simple(e: E.Expr) -> bool:
    """Whether an expression can be computed anywhere."""
    return all(isinstance(one, _SIMPLE) for one in walk(e))
