"""Small hand-written programs for the tests of passes, and their text."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    IntImm,
    IterVar,
    PointerType,
    Range,
    Var,
)
from te_sched.ir.ops import TRUE
from te_sched.ir.printer import script
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
)

NOTHING = Evaluate(IntImm(0))
EFFECT = Evaluate(call_extern("int32", "f"))


def var(name: str, dtype: str = "int32") -> Var:
    return Var(name, dtype)


def loop(index: Var, extent: Any, *body: Stmt, kind: str = "serial") -> For:
    zero = IntImm(0, index.dtype)
    return For(index, zero, ops.cast(index.dtype, extent), kind, block(*body))


def block(*parts: Stmt) -> Stmt:
    return parts[0] if len(parts) == 1 else SeqStmt(parts)


def read(buffer: Buffer, *indices: Any) -> BufferLoad:
    return BufferLoad(buffer, tuple([ops.convert(index) for index in indices]))


def store(buffer: Buffer, value: Any, *indices: Any) -> BufferStore:
    value = ops.cast(buffer.dtype, value)
    return BufferStore(buffer, value, tuple([ops.convert(index) for index in indices]))


def temporary(name: str, *shape: int, scope: str = "", dtype: str = "float32") -> Buffer:
    """A buffer that a stage realizes; its scope may be undefined."""
    data = Var(name, "handle", PointerType("int8" if dtype == "bool" else dtype, scope))
    return decl_buffer(shape, dtype, name, data)


def region(*bounds: tuple[Any, Any]) -> tuple[Range, ...]:
    return tuple([Range(ops.convert(low), ops.convert(extent)) for low, extent in bounds])


def realize(buffer: Buffer, bounds: tuple[Range, ...], *body: Stmt) -> BufferRealize:
    return BufferRealize(buffer, bounds, TRUE, block(*body))


def allocate(buffer: Buffer, *body: Stmt) -> Allocate:
    return Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, block(*body))


def attribute(node: Any, key: str, value: Any, *body: Stmt) -> AttrStmt:
    return AttrStmt(node, key, ops.convert(value), block(*body))


def thread(tag: str, extent: int, index: Var, *body: Stmt) -> AttrStmt:
    key = "virtual_thread" if tag in ("vthread", "cthread") else "thread_extent"
    return attribute(IterVar(None, index, "ThreadIndex", tag), key, extent, *body)


def function(body: Stmt, *params: Buffer | Var) -> PrimFunc:
    buffers = {Var(param.name, "handle"): param for param in params if isinstance(param, Buffer)}
    scalars = [param for param in params if isinstance(param, Var)]
    return PrimFunc((*buffers, *scalars), body, buffers, {})


def text(func: PrimFunc) -> str:
    """The body of a function as text."""
    lines = script(func).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    return dedent("\n".join(lines[start + 1 :])).strip()


def expected(block_of_text: str) -> str:
    return dedent(block_of_text).strip()
