"""Functions of their own for some statements of a function: bodies of parallel loops, and the parts
of a long sequence.

The time of LLVM's passes for loops grows with the square of the number of loops of a function. A
sequence of many loops becomes several functions, called one after the other. Must not know how
statements are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from te_sched.codegen.llvm import quirks
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.streaming import order_streams
from te_sched.codegen.llvm.types import llvm_type, quote
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import parts_of, walk

Execute = Callable[[FunctionText, S.Stmt], None]
_LOOPS_OF_PART = 64


def inner_function(out: FunctionText, name: str) -> FunctionText:
    """A function that uses the variables of another one."""
    inner = FunctionText(out.module, out.signature, out.scopes, out.func, out, name)
    inner.error_slot = "%error"
    return inner


def fill_captures(out: FunctionText, inner: FunctionText) -> str:
    """Store what an inner function uses into a struct on the stack: first its error code, 0."""
    data = out.allocate_static(f"[{8 + inner.captured_bytes} x i8]", 8)
    for offset, value in inner.captured:
        pointer = out.emit(f"getelementptr inbounds i8, ptr {data}, i64 {8 + offset}")
        out.do(f"store {llvm_type(value.dtype)} {value.text}, ptr {pointer}, align 8")
    out.do(f"store i64 0, ptr {data}, align 8")
    return data


def leave_on_error(out: FunctionText, data: str) -> None:
    """Leave with the error code that an inner function stored."""
    out.leave_unless_zero(out.emit(f"load i32, ptr {data}, align 4"))


def finish_function(inner: FunctionText, name: str, parameters: str, attributes: str) -> None:
    """End an inner function, and add it to the module."""
    inner.do("ret void")
    attributes = inner.module.function_attributes + attributes
    lines = [
        f"define internal void @{quote(name)}({parameters}) {attributes} "
        f"{inner.debug_attachment}{{",
        "entry:",
        "  %data = getelementptr inbounds i8, ptr %error, i64 8",
        *inner.prologue,
        *inner.lines,
        "}",
    ]
    inner.module.functions.append("\n".join(lines))


def has_many_loops(out: FunctionText, statements: Sequence[S.Stmt]) -> bool:
    """Whether statements have enough loops to become several functions."""
    limit = quirks.LOOPS_OF_FUNCTION.limit
    return (
        out.parent is None
        and len(statements) > 1
        and quirks.LOOPS_OF_FUNCTION.is_here
        and _loops_in(statements, limit) >= limit
    )


def run_in_parts(out: FunctionText, statements: Sequence[S.Stmt], execute: Execute) -> None:
    """Run statements, as many together in a function as have some number of loops."""
    for part in _parts(statements):
        if len(part) == 1:
            execute(out, part[0])
        else:
            _run_part(out, part, execute)


def _parts(statements: Sequence[S.Stmt]) -> Iterator[list[S.Stmt]]:
    part: list[S.Stmt] = []
    loops = 0
    for statement in statements:
        own = _loops_in([statement], _LOOPS_OF_PART)
        is_alone = own >= _LOOPS_OF_PART or not _can_be_inside(statement)
        if part and (is_alone or loops + own > _LOOPS_OF_PART):
            yield part
            part, loops = [], 0
        if is_alone:
            yield [statement]
        else:
            part.append(statement)
            loops += own
    if part:
        yield part


def _loops_in(statements: Sequence[S.Stmt], limit: int) -> int:
    """The number of loops in statements; at least a limit if it is reached."""
    count = 0
    stack = list(statements)
    while stack and count < limit:
        node = stack.pop()
        count += type(node) is S.For or type(node) is S.While
        stack += parts_of(node)
    return count


def _can_be_inside(statement: S.Stmt) -> bool:
    """Whether a statement may be in another function: it neither starts threads nor returns."""
    return not any(
        (type(node) is S.For and node.kind == "parallel")
        or (type(node) is E.Call and node.op == "tir.ret")
        for node in walk(statement)
    )


def _run_part(out: FunctionText, part: Sequence[S.Stmt], execute: Execute) -> None:
    name = f"{out.signature.symbol}.part.{out.module.fresh()}"
    inner = inner_function(out, name)
    for statement in part:
        execute(inner, statement)
    order_streams(inner)
    data = fill_captures(out, inner)
    finish_function(inner, name, "ptr %error", "nounwind noinline")
    out.do(f"call void @{quote(name)}(ptr {data})")
    leave_on_error(out, data)
