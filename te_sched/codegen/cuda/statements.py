"""Statements as C++ text: loops, branches, memory, stores.

Must not know how a kernel begins and ends (`printer`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from te_sched.codegen.cuda import memory, types
from te_sched.codegen.cuda.expressions import bind
from te_sched.codegen.cuda.pieces import Piece, negated, operation
from te_sched.codegen.cuda.tensor_cores import declare_fragments
from te_sched.codegen.cuda.writer import KernelText
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.calls import effect_of
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.kernel import memory_scope
from te_sched.ir.storage_scopes import KERNEL_SCOPES, storage_scope
from te_sched.ir.visitor import walk

DYNAMIC = "dynamic_shared"  # the array that all of shared.dyn is in


def _for(out: KernelText, node: S.For) -> None:
    if node.kind == "thread_binding":
        raise _late_thread(out, node.loop_var.name)
    if isinstance(node.extent, E.IntImm) and node.extent.value <= 0:
        return
    var, dtype = node.loop_var, node.loop_var.dtype
    start, extent = out.scalar(node.min), out.scalar(node.extent)
    if isinstance(node.min, E.IntImm) and isinstance(node.extent, E.IntImm):
        end = types.integer(node.min.value + node.extent.value, dtype)
    else:
        end = extent if start.text == "0" else operation("+", start, extent)
    if node.kind == "unrolled":
        out.do("#pragma unroll")
    out.names.enter()
    name = out.names.fresh(var.name)
    out.environment[var] = [Piece(name)]
    out.analyzer.bind(var, E.Range(node.min, node.extent))
    kind = out.unit.type_of(dtype)
    with out.block(f"for ({kind} {name} = {start.text}; {name} < {end.at(11)}; ++{name})"):
        out.execute(node.body)
    out.names.leave()


def _late_thread(out: KernelText, name: str) -> BuildError:
    return out.error(
        f"thread axis {name} is bound inside of a kernel",
        "thread axes must be bound at the beginning of a kernel",
        "run the passes for the device (te_sched.lowering.device)",
    )


def _while(out: KernelText, node: S.While) -> None:
    with out.capture() as lines:
        condition = out.scalar(node.condition)
    if not lines:
        with out.block(f"while ({condition.text})"):
            out.execute(node.body)
        return
    with out.block("while (true)"):
        condition = out.scalar(node.condition)
        out.do(f"if ({negated(condition).text}) break;")
        out.execute(node.body)


def _if(out: KernelText, node: S.IfThenElse) -> None:
    condition = out.scalar(node.condition)
    if condition.text in ("true", "false"):
        taken = node.then_case if condition.text == "true" else node.else_case
        if taken is not None:
            out.execute(taken)
        return
    otherwise = node.else_case is not None
    tail = "} else {" if otherwise else "}"
    with out.block(f"if ({condition.text})", tail), out.analyzer.constraint(node.condition):
        out.execute(node.then_case)
    if otherwise:
        with out.scope():
            out.execute(node.else_case)
        out.do("}")


def _let(out: KernelText, node: S.LetStmt) -> None:
    bind(out, node.var, node.value)
    out.execute(node.body)


def _sequence(out: KernelText, node: S.SeqStmt) -> None:
    for part in node.seq:
        out.execute(part)


def _evaluate(out: KernelText, node: S.Evaluate) -> None:
    if isinstance(node.value, (E.IntImm, E.FloatImm, E.StringImm)):
        return
    if effect_of(node.value) <= Effect.PURE:
        return
    for piece in out.lanes(node.value):
        out.do(f"{piece.text};")


def _attribute(out: KernelText, node: S.AttrStmt) -> None:
    if node.key in S.THREAD_KEYS:
        raise _late_thread(out, node.node.thread_tag or node.node.var.name)
    if node.key == "pragma_import_c" and isinstance(node.value, E.StringImm):
        out.unit.sources[node.value.value] = None
    out.execute(node.body)


def _assert(out: KernelText, node: S.AssertStmt) -> None:
    out.do(f"if ({negated(out.scalar(node.condition)).text}) __trap();")
    out.execute(node.body)


def _store(out: KernelText, node: S.BufferStore) -> None:
    target = E.BufferLoad(node.buffer, node.indices)
    if type(node.value) is E.BufferLoad and memory.copy(out, target, node.value):
        return
    data = node.buffer.data
    several = dtypes.lanes(node.value.dtype) > 1 or dtypes.lanes(target.dtype) > 1
    reads = several and any(
        type(part) is E.BufferLoad and part.buffer.data is data for part in walk(node.value)
    )
    memory.store(out, node.buffer, node.indices, out.lanes(node.value), reads)


def _allocate(out: KernelText, node: S.Allocate) -> None:
    var, scope = node.buffer_var, memory_scope(node.buffer_var)
    if storage_scope(scope).rank == "wmma":
        declare_fragments(out, node)
        out.execute(node.body)
        return
    out.elements[var] = dtypes.element(node.dtype)
    kind = out.unit.type_of(node.dtype)
    name = out.names.fresh(var.name)
    out.environment[var] = [Piece(name)]
    if scope == "shared.dyn":
        offset = out.scalar(out.dynamic_offsets[var])
        address = DYNAMIC if offset.text == "0" else f"({DYNAMIC} + {offset.text})"
        out.do(f"{kind}* {name} = ({kind}*){address};")
    else:
        _declare_array(out, node, scope, f"{kind} {name}")
    out.execute(node.body)


def _declare_array(out: KernelText, node: S.Allocate, scope: str, declared: str) -> None:
    name, storage = node.buffer_var.name, storage_scope(scope)
    if scope not in KERNEL_SCOPES or storage.owner not in ("block", "thread"):
        raise out.error(
            f"array {name} of a kernel has scope {scope!r}, expected shared.dyn, shared or local",
            "a kernel cannot allocate other memory",
            "compute it inside of the kernel, or outside of all kernels",
        )
    if not all(isinstance(extent, E.IntImm) for extent in node.extents):
        raise out.error(
            f"size of array {name} of scope {scope!r} is not a constant",
            "CUDA allocates such arrays at compile time",
            "give it a constant size, or use the scope shared.dyn",
        )
    sizes = [extent.value for extent in node.extents if isinstance(extent, E.IntImm)]
    count = max(1, math.prod(sizes) * dtypes.lanes(node.dtype))
    alignment = out.alignments.get(node.buffer_var, 0)
    if storage.owner == "block":
        aligned = f"__align__({max(storage.alignment, alignment)}) "
        out.do(f"__shared__ {aligned}{declared}[{count}];")
    else:
        out.do((f"__align__({alignment}) " if alignment else "") + f"{declared}[{count}];")


WRITERS: Mapping[type, Callable[[KernelText, Any], None]] = {
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
