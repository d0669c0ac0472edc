"""Parallel loops: the body becomes a function that OpenMP runs on every thread of a team.

The loader puts GOMP_parallel and friends of the OpenMP runtime into slots (or serial stand-ins with
the same interface), so nothing here depends on which runtime there is. Each thread takes one
contiguous share of the iterations. A parallel loop inside a parallel loop runs serially.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.loops import serial_loop
from te_sched.codegen.llvm.streaming import order_streams
from te_sched.codegen.llvm.types import Value, llvm_type, quote
from te_sched.ir import stmt as S

_Body = Callable[[FunctionText, S.Stmt], None]


def run_parallel(out: FunctionText, node: S.For, start: Value, extent: Value, body: _Body) -> None:
    """Run a loop on the team's threads; leave with the first error that one reports."""
    out.signature.parallel = True
    name = f"{out.signature.symbol}.parallel.{out.module.fresh()}"
    inner = FunctionText(out.module, out.signature, out.scopes, parent=out)
    inner.error_slot = "%error"
    _write_share(inner, node, start, extent, body)
    data = _fill_captures(out, inner)
    error = _start_team(out, name, data)
    _finish_function(inner, name)
    out.leave_unless_zero(out.emit(f"load i32, ptr {error}, align 4"))


def _write_share(
    inner: FunctionText, node: S.For, start: Value, extent: Value, body: _Body
) -> None:
    """The loop over this thread's share: extent * id / count up to extent * (id + 1) / count."""
    first = inner.import_value(start)
    total = cast(inner, inner.import_value(extent), "int64")
    identity = inner.emit(f"call i32 {inner.load_slot(kind='thread', name='id')}()")
    team = inner.emit(f"call i32 {inner.load_slot(kind='thread', name='count')}()")
    me, count = (inner.emit(f"zext i32 {text} to i64") for text in (identity, team))
    bounds = []
    for rank in (me, inner.emit(f"add nuw nsw i64 {me}, 1")):
        product = inner.emit(f"mul nsw i64 {total.text}, {rank}")
        bounds.append(inner.emit(f"sdiv i64 {product}, {count}"))
    kind = llvm_type(start.dtype)
    values = []
    for bound in bounds:
        cut = bound if kind == "i64" else inner.emit(f"trunc i64 {bound} to {kind}")
        values.append(
            cut if first.text == "0" else inner.emit(f"add nsw {kind} {cut}, {first.text}")
        )
    low, high = start.lo, start.hi + max(extent.hi, 0)
    begin, end = (Value(text, start.dtype, low, high, False) for text in values)
    serial_loop(inner, node, begin, end, body)
    order_streams(inner)
    inner.do("ret void")


def _fill_captures(out: FunctionText, inner: FunctionText) -> str:
    """Store what the body uses into a struct on the stack: first the address of the error code."""
    data = out.allocate_static(f"[{8 + inner.captured_bytes} x i8]", 8)
    for offset, value in inner.captured:
        place = out.emit(f"getelementptr inbounds i8, ptr {data}, i64 {8 + offset}")
        out.do(f"store {llvm_type(value.dtype)} {value.text}, ptr {place}, align 8")
    return data


def _start_team(out: FunctionText, name: str, data: str) -> str:
    """Call the OpenMP runtime; gives the address of the error code."""
    out.do(f"store i64 0, ptr {data}, align 8")
    limit = out.emit(f"load i32, ptr {out.load_slot(kind='thread', name='limit')}, align 4")
    fork = out.load_slot(kind="thread", name="fork")
    out.do(f"call void {fork}(ptr @{quote(name)}, ptr {data}, i32 {limit}, i32 0)")
    return data


def _finish_function(inner: FunctionText, name: str) -> None:
    attributes = inner.module.function_attributes + "nounwind"
    lines = [
        f"define internal void @{quote(name)}(ptr %error) {attributes} {{",
        "entry:",
        "  %data = getelementptr inbounds i8, ptr %error, i64 8",
        *inner.prologue,
        *inner.lines,
        "}",
    ]
    inner.module.functions.append("\n".join(lines))
