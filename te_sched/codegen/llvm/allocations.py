"""Temporaries of LLVM functions: on the stack if they are small and of constant size, from the heap
otherwise.

A block of the heap that each iteration of a loop would take and give back is taken before the loop,
in a parallel loop once for each share. Must not know what is computed in temporaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import evaluate_condition
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.heap import ALIGNMENT
from te_sched.codegen.llvm.types import Value, slot_type
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import variables_of, walk


def allocate(
    out: FunctionText, node: S.Allocate, body: Callable[[FunctionText, S.Stmt], None]
) -> None:
    """Write an allocation, and the statement in it, which `body` writes."""
    if node in out.reused:
        body(out, node.body)
        return
    data = node.buffer_var
    _declare(out, node)
    item = dtypes.storage_bytes(node.dtype)
    extents = [extent.value for extent in node.extents if isinstance(extent, E.IntImm)]
    size = max(math.prod(extents), 1)
    if len(extents) == len(node.extents) and out.take_stack(size * item):
        room = f"[{size} x {slot_type(node.dtype)}]"
        out.environment[data] = Value(out.allocate_static(room, ALIGNMENT), "handle")
        out.stacked.add(data)
        body(out, node.body)
        return
    pointer = _heap_block(out, node)
    body(out, node.body)
    out.live.pop()
    out.release(pointer)


def take_for_iterations(out: FunctionText, node: S.For) -> list[S.Allocate]:
    """Take the blocks of the heap with which each iteration of a loop begins, if their sizes are
    those of the call; `give_back` releases them after the loop.
    """
    taken: list[S.Allocate] = []
    inner = node.body
    while isinstance(inner, S.Allocate):
        is_open = not all(isinstance(extent, E.IntImm) for extent in inner.extents)
        if is_open and inner not in out.reused and _is_invariant(inner, node.loop_var):
            _declare(out, inner)
            _heap_block(out, inner)
            out.reused.add(inner)
            taken.append(inner)
        inner = inner.body
    return taken


def give_back(out: FunctionText, taken: list[S.Allocate]) -> None:
    """Release what was taken before a loop."""
    for node in reversed(taken):
        out.reused.discard(node)
        out.release(out.live.pop())


def _is_invariant(node: S.Allocate, loop: E.Var) -> bool:
    """Whether an allocation has the same extents in all iterations of a loop."""
    if loop in variables_of(*node.extents):
        return False
    parts = [part for extent in node.extents for part in walk(extent)]
    return not any(isinstance(part, E.BufferLoad | E.Call) for part in parts)


def _declare(out: FunctionText, node: S.Allocate) -> None:
    out.scopes.add(node.buffer_var)
    out.scopes.alignments[node.buffer_var] = ALIGNMENT


def _heap_block(out: FunctionText, node: S.Allocate) -> str:
    """Memory from the heap; the function fails when there is none."""
    size = str(dtypes.storage_bytes(node.dtype))
    multiply = out.module.declare("llvm.umul.with.overflow.i64", "{i64, i1}", ("i64", "i64"))
    larger = out.module.declare("llvm.smax.i64", "i64", ("i64", "i64"))
    overflow = "false"
    for extent in node.extents:
        wide = cast(out, evaluate_condition(out, extent), "int64")
        positive = out.emit(f"call i64 {larger}(i64 {wide.text}, i64 0)")
        pair = out.emit(f"call {{i64, i1}} {multiply}(i64 {size}, i64 {positive})")
        size = out.emit(f"extractvalue {{i64, i1}} {pair}, 0")
        overflow = out.emit(f"or i1 {overflow}, {out.emit(f'extractvalue {{i64, i1}} {pair}, 1')}")
    kept = out.emit(f"select i1 {overflow}, i64 -1, i64 {size}")
    take, pool = (out.load_slot(kind="heap", name=name) for name in ("workspace", "pool"))
    result = f"noalias align {ALIGNMENT} ptr"
    pointer = out.emit(f"call {result} {take}(i64 {kept}, ptr {pool}) nounwind")
    failed = out.emit(f"icmp eq ptr {pointer}, null")
    name = node.buffer_var.name
    out.fail_if(
        failed,
        f"there is not enough memory for the intermediate buffer {name}",
        "",
        "use smaller arrays, or compute it inside of its consumer (compute_at)",
    )
    out.live.append(pointer)
    out.environment[node.buffer_var] = Value(pointer, "handle")
    return pointer
