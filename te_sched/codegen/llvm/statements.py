"""Statements into LLVM: loops, branches, allocations, stores.

Must not know how functions begin and end (`entry`, `parallel`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched import files
from te_sched.codegen.calls import writer_of
from te_sched.codegen.llvm import memory
from te_sched.codegen.llvm.allocations import allocate
from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import (
    bind,
    evaluate,
    evaluate_condition,
    evaluate_place,
)
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.loops import is_lanewise, serial_loop
from te_sched.codegen.llvm.outline import has_many_loops, run_in_parts
from te_sched.codegen.llvm.parallel import TEAM_PRAGMAS, run_parallel
from te_sched.codegen.llvm.polling import count_steps
from te_sched.codegen.llvm.split_lanes import split_lanes
from te_sched.codegen.llvm.streaming import run_streaming
from te_sched.codegen.llvm.types import Value, integer, integer_range, llvm_type
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import walk
from te_sched.wording import wording


def execute(out: FunctionText, node: S.Stmt) -> None:
    """Write the instructions of a statement."""
    writer = writer_of(_WRITERS, node)
    if out.module.locations is None:
        writer(out, node)
        return
    outside = out.line
    out.move_to(out.module.locations.line_of(node) or outside)
    writer(out, node)
    out.move_to(outside)


def _for(out: FunctionText, node: S.For) -> None:
    if node.kind == "thread_binding":
        raise _needs_device(
            node.thread_binding.thread_tag if node.thread_binding is not None else ""
        )
    if isinstance(node.extent, E.IntImm) and node.extent.value <= 0:
        return
    # As in conditions, what memory says of them may wrap around.
    start, extent = evaluate_condition(out, node.min), evaluate_condition(out, node.extent)
    if start.dtype != node.loop_var.dtype:
        start = cast(out, start, node.loop_var.dtype)
    if extent.dtype != start.dtype:
        extent = cast(out, extent, start.dtype)
    if extent.lo == extent.hi == 1:
        out.environment[node.loop_var] = Value(start.text, start.dtype, start.lo, start.hi, False)
        execute(out, node.body)
    elif node.kind == "parallel" and out.parent is None:
        run_parallel(out, node, start, extent, execute)
    else:
        serial_loop(out, node, start, _end(out, start, extent), execute)


def _end(out: FunctionText, start: Value, extent: Value) -> Value:
    if start.text == "0":
        return Value(extent.text, extent.dtype, extent.lo, extent.hi, False)
    if not start.text.startswith("%") and not extent.text.startswith("%"):
        return integer(start.lo + extent.lo, start.dtype)
    low, high = start.lo + extent.lo, start.hi + extent.hi
    least, most = integer_range(start.dtype)
    wraps = (start.data or extent.data) and not (least <= low and high <= most)
    kind = f"{'' if wraps else 'nsw '}{llvm_type(start.dtype)}"
    text = out.emit(f"add {kind} {start.text}, {extent.text}")
    return Value(text, start.dtype, *((least, most) if wraps else (low, high)), False)


def _while(out: FunctionText, node: S.While) -> None:
    head, inside, after = out.label("head"), out.label("loop"), out.label("after")
    out.branch(head)
    out.open(head)
    out.branch_if(evaluate(out, node.condition).text, inside, after)
    out.open(inside)
    execute(out, node.body)
    count_steps(out, node)
    out.branch(head)
    out.open(after)


def _if(out: FunctionText, node: S.IfThenElse) -> None:
    condition = evaluate_condition(out, node.condition)
    if condition.text in ("true", "false"):
        taken = node.then_case if condition.text == "true" else node.else_case
        if taken is not None:
            execute(out, taken)
        return
    then, done = out.label("then"), out.label("done")
    other = out.label("else") if node.else_case is not None else done
    out.branch_if(condition.text, then, other)
    out.open(then)
    execute(out, node.then_case)
    out.branch(done)
    if node.else_case is not None:
        out.open(other)
        execute(out, node.else_case)
        out.branch(done)
    out.open(done)


def _let(out: FunctionText, node: S.LetStmt) -> None:
    bind(out, node.var, node.value)
    execute(out, node.body)


def _sequence(out: FunctionText, node: S.SeqStmt) -> None:
    if has_many_loops(out, node.seq):
        run_in_parts(out, node.seq, execute)
        return
    for part in node.seq:
        execute(out, part)


def _evaluate(out: FunctionText, node: S.Evaluate) -> None:
    if type(node.value) is E.Call and node.value.op == "tir.ret":
        _return(out, node.value.args)
        return
    if not isinstance(node.value, (E.IntImm, E.FloatImm, E.StringImm)):
        evaluate(out, node.value)


def _return(out: FunctionText, args: tuple[E.Expr, ...]) -> None:
    """Store the value for the caller and leave; what follows is not reached."""
    if out.parent is not None:
        raise BuildError(
            "cannot return out of a parallel loop",
            "other iterations run at the same time",
            "return after the loop, or make it serial",
        )
    if args:
        memory.store_result(out, evaluate(out, args[0]))
    out.leave("0")
    out.open(out.label("unreached"))


def _attribute(out: FunctionText, node: S.AttrStmt) -> None:
    if node.key in S.THREAD_KEYS:
        raise _needs_device(node.node.thread_tag or node.node.var.name)
    if node.key == "pragma_import_llvm" and isinstance(node.value, E.StringImm):
        out.module.linked_ir.append(_read_ir(node.value.value))
    if node.key in TEAM_PRAGMAS:
        before, out.team_wishes = out.team_wishes, {**out.team_wishes, node.key: node.value}
        execute(out, node.body)
        out.team_wishes = before
        return
    if node.key == "pragma_nontemporal":
        run_streaming(out, node.body, execute)
        return
    execute(out, node.body)


def _read_ir(text: str) -> str:
    """LLVM IR text; the text of a .ll file where its path is given."""
    if "\n" in text or not text.endswith(".ll"):
        return text
    return files.read_text(text, "import the LLVM IR of", "check the path", BuildError)


def _needs_device(tag: str) -> BuildError:
    return BuildError(
        f"a loop is bound to {tag}, but target llvm has no device threads",
        "",
        wording().without_threads,
    )


def _assert(out: FunctionText, node: S.AssertStmt) -> None:
    condition = evaluate_condition(out, node.condition)
    message = (
        node.message.value
        if isinstance(node.message, E.StringImm)
        else "a condition of the program"
    )
    failed = out.emit(f"xor i1 {condition.text}, true")
    fault = f"an assertion does not hold: {message}"
    out.fail_if(failed, fault, "", "call the function with arguments for which it holds")
    execute(out, node.body)


def _store(out: FunctionText, node: S.BufferStore) -> None:
    for part in split_lanes(node, lambda data: bool(out.scopes.suffix(data))):
        _store_whole(out, part)


def _store_whole(out: FunctionText, node: S.BufferStore) -> None:
    buffer = node.buffer
    (index,) = node.indices
    out.updated, out.stored_lanes = buffer.data, _stored_lanes(node)
    value = evaluate(out, node.value)
    out.updated = out.stored_lanes = None
    lanes = dtypes.lanes(index.dtype)
    if lanes > 1 and dtypes.lanes(value.dtype) == 1:
        value = memory.broadcast(out, value, lanes)
    if dtypes.lanes(value.dtype) != lanes * dtypes.lanes(buffer.dtype):
        raise BuildError(
            f"value stored in {buffer.name} has {dtypes.lanes(value.dtype)} lanes, and its index "
            f"{lanes}",
            f"the value is {node.value}",
            "give calls and casts of vectors the dtype of a vector, as float32x8",
        )
    addresses = evaluate_place(out, index)
    if node.predicate is None:
        memory.store(out, buffer, addresses, value)
    else:
        memory.store_masked(out, buffer, addresses, value, evaluate(out, node.predicate))


def _stored_lanes(node: S.BufferStore) -> E.Expr | None:
    """The predicate of a store whose lanes do not depend on each other."""
    if node.predicate is None:
        return None
    is_mixed = any(
        isinstance(part, E.Shuffle) or (isinstance(part, E.Call) and not is_lanewise(part))
        for part in walk(node.value)
    )
    return None if is_mixed else node.predicate


def _allocate(out: FunctionText, node: S.Allocate) -> None:
    allocate(out, node, execute)


_WRITERS: dict[type, Callable[[FunctionText, Any], None]] = {
    S.For: _for,
    S.While: _while,
    S.IfThenElse: _if,
    S.LetStmt: _let,
    S.SeqStmt: _sequence,
    S.Evaluate: _evaluate,
    S.AttrStmt: _attribute,
    S.AssertStmt: _assert,
    S.BufferStore: _store,
    S.Allocate: _allocate,
}
