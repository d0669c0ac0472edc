"""Non-temporal stores, which bypass the caches: the pragma "nontemporal".

`s[C].pragma(axis, "nontemporal")` makes the vector stores below the axis non-temporal, of arrays
that are not read there. A processor does this with aligned vectors only, so the body is generated
twice, and the one for aligned arrays is taken where all of them begin at a multiple of 16 bytes, as
those of te_sched and numpy do; a store is non-temporal where its index shows that it is aligned
then. Scalar stores and unaligned ones stay as they are. A fence at the end, on every thread, orders
the stores with those that follow. Must not know other statements.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.memory import STREAM_ALIGNMENT
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import walk


def run_streaming(
    out: FunctionText, body: S.Stmt, execute: Callable[[FunctionText, S.Stmt], None]
) -> None:
    """Run a statement, with stores past the caches where memory is aligned."""
    written = _only_written(body)
    alignments = out.scopes.alignments
    unsure = [data for data in written if data not in alignments]
    if not written:
        execute(out, body)
        return
    if not unsure:
        _stream(out, body, written, execute)
        return
    fast, plain, done = out.label("streaming"), out.label("unaligned"), out.label("streamed")
    out.branch_if(_are_aligned(out, unsure), fast, plain)
    out.open(fast)
    alignments.update(dict.fromkeys(unsure, STREAM_ALIGNMENT))
    _stream(out, body, written, execute)
    for data in unsure:
        del alignments[data]
    out.branch(done)
    out.open(plain)
    execute(out, body)
    out.branch(done)
    out.open(done)


def order_streams(out: FunctionText) -> None:
    """Wait for the stores past the caches, where there are any."""
    if not out.streamed:
        return
    if out.module.is_x86:
        out.do(f"call void {out.module.declare('llvm.x86.sse.sfence', 'void', ())}()")
    else:
        out.do("fence seq_cst")


def _stream(
    out: FunctionText,
    body: S.Stmt,
    written: list[E.Var],
    execute: Callable[[FunctionText, S.Stmt], None],
) -> None:
    before, out.streamed = out.streamed, out.streamed | frozenset(written)
    execute(out, body)
    order_streams(out)
    out.streamed = before


def _only_written(body: S.Stmt) -> list[E.Var]:
    """Memory of the outside that is stored to and neither loaded from nor handed to others."""
    stored: dict[E.Var, None] = {}
    used: set[E.Var] = set()
    for node in walk(body):
        if isinstance(node, S.BufferStore):
            stored[node.buffer.data] = None
        elif isinstance(node, E.BufferLoad):
            used.add(node.buffer.data)
        elif isinstance(node, S.Allocate):
            used.add(node.buffer_var)
        elif isinstance(node, E.Var):
            used.add(node)
    return [data for data in stored if data not in used]


def _are_aligned(out: FunctionText, pointers: list[E.Var]) -> str:
    """Whether all pointers are multiples of the alignment (an i1)."""
    bits = "0"
    for data in pointers:
        number = out.emit(f"ptrtoint ptr {out.lookup(data).text} to i64")
        bits = number if bits == "0" else out.emit(f"or i64 {bits}, {number}")
    low = out.emit(f"and i64 {bits}, {STREAM_ALIGNMENT - 1}")
    return out.emit(f"icmp eq i64 {low}, 0")
