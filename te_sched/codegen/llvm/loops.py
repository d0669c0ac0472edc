"""The serial loop, and its metadata for the optimizer. Must not know other statements."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.arith.detect import detect_linear_equation
from te_sched.codegen.llvm import quirks
from te_sched.codegen.llvm.allocations import give_back, take_for_iterations
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.polling import count_steps, part_end, part_of, poll
from te_sched.codegen.llvm.types import Value, llvm_type
from te_sched.codegen.llvm.vector_math import is_known
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import substitute, walk

Body = Callable[[FunctionText, S.Stmt], None]
NOT_UNROLLED = "llvm.loop.unroll.disable"  # an annotation, and LLVM's metadata for it
_MOST_LANES = 16
# Statements and calls that vectors with masks may have.
_PLAIN = (S.BufferStore, S.IfThenElse, S.LetStmt, S.SeqStmt)
_LANEWISE = (
    *("if_then_else", "likely", "fabs", "sqrt", "floor", "ceil", "trunc", "fma", "reinterpret"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
)


def serial_loop(out: FunctionText, node: S.For, start: Value, end: Value, body: Body) -> None:
    """for loop_var in start .. end - 1: body, in parts between which it polls if it is long."""
    taken = take_for_iterations(out, node)
    _run_in_parts(out, node, start, end, body)
    give_back(out, taken)


def _run_in_parts(out: FunctionText, node: S.For, start: Value, end: Value, body: Body) -> None:
    part = part_of(out, node, end.hi - start.lo)
    if part is None:
        _run(out, node, start, end, body)
        return
    kind = llvm_type(start.dtype)
    before, head, ask, after = out.block, out.label("part"), out.label("ask"), out.label("parted")
    out.branch(head)
    out.open(head)
    begin = Value(f"%{head}.begin", start.dtype, start.lo, max(start.hi, end.hi), False)
    place = len(out.lines)
    out.do("")  # the phi
    cut = part_end(out, begin.text, end, part)
    _run(out, node, begin, Value(cut, end.dtype, start.lo, end.hi, False), body)
    out.branch_if(out.emit(f"icmp slt {kind} {cut}, {end.text}"), ask, after)
    out.open(ask)
    poll(out)
    out.lines[place] = (
        f"  {begin.text} = phi {kind} [ {start.text}, %{before} ], [ {cut}, %{out.block} ]"
    )
    out.branch(head)
    out.open(after)


def _run(out: FunctionText, node: S.For, start: Value, end: Value, body: Body) -> None:
    kind = llvm_type(start.dtype)
    before, head, inside, after = (
        out.block,
        out.label("head"),
        out.label("loop"),
        out.label("after"),
    )
    out.branch(head)
    out.open(head)
    counter, following = f"%{head}.i", f"%{head}.next"
    line_number = len(out.lines)
    out.do("")  # the phi, when the end of the loop is known
    test = out.emit(f"icmp slt {kind} {counter}, {end.text}")
    out.branch_if(test, inside, after)
    out.open(inside)
    out.environment[node.loop_var] = Value(
        counter, start.dtype, start.lo, max(start.lo, end.hi - 1), False
    )
    body(out, node.body)
    count_steps(out, node)
    out.do(f"{following} = add nsw {kind} {counter}, 1")
    out.lines[line_number] = (
        f"  {counter} = phi {kind} [ {start.text}, %{before} ], [ {following}, %{out.block} ]"
    )
    out.do(f"br label %{head}{_loop_metadata(out, node)}")
    out.open(after)


def _loop_metadata(out: FunctionText, node: S.For) -> str:
    """Metadata for the optimizer: the loop terminates, and the pragmas of the schedule."""
    wishes = ['!"llvm.loop.mustprogress"']
    if node.kind == "unrolled":
        full = isinstance(node.extent, E.IntImm) and node.extent.value <= 256
        wishes.append('!"llvm.loop.unroll.full"' if full else '!"llvm.loop.unroll.enable"')
    if NOT_UNROLLED in node.annotations:
        wishes.append(f'!"{NOT_UNROLLED}"')
    if node.kind == "vectorized":
        wishes.append('!"llvm.loop.vectorize.enable", i1 true')
    lanes = _scalarized_lanes(node)
    scalar_loops = out.module.scalar_loops
    if node not in scalar_loops:  # of a statement that was not part of the function
        scalar_loops |= quirks.scalar_loops(node)
    if scalar_loops[node]:
        wishes.append('!"llvm.loop.vectorize.enable", i1 false')
    elif lanes and out.module.has_masks() and not _may_alias(out, node):
        wishes += _masked_vector_wishes(lanes)
    hints = [out.module.shared_metadata(f"!{{{wish}}}") for wish in wishes]
    number = out.module.metadata()
    out.module.set_metadata(
        number, f"distinct !{{!{number}, {', '.join(f'!{hint}' for hint in hints)}}}"
    )
    return f", !llvm.loop !{number}"


def _may_alias(out: FunctionText, loop: S.For) -> bool:
    """Whether a parameter that is not promised to be apart from others is one of several buffers of
    the loop. LLVM would have to compare addresses before so short a loop; it prints a remark.
    """
    accesses = (node for node in walk(loop.body) if isinstance(node, S.BufferStore | E.BufferLoad))
    touched = {access.buffer.data for access in accesses}
    params = {buffer.data for buffer in out.func.buffer_map.values()}
    return len(touched) > 1 and any(not out.scopes.holds(data) for data in touched & params)


def _scalarized_lanes(node: S.For) -> int:
    """The lanes of a scalarized vectorized loop, if it can be vectorized with masks."""
    if not node.is_scalarized or not isinstance(node.extent, E.IntImm):
        return 0
    lanes = node.extent.value
    least = quirks.TWO_MASKED_LANES.limit if quirks.TWO_MASKED_LANES.is_here else 2
    if lanes < least or lanes & (lanes - 1):
        return 0
    return lanes if _has_masked_form(node) else 0


def _has_masked_form(loop: S.For) -> bool:
    """Whether lanes store to distinct elements, read only their own, and call known functions only.
    LLVM would check this itself, but it prints remarks for loops that it cannot vectorize.
    """
    stores, loads = dict[E.Var, S.BufferStore](), list[E.BufferLoad]()
    lanes = {loop.loop_var}  # and what is computed from it
    values: dict[E.Var, E.Expr] = {}  # of lets
    for node in walk(loop.body):
        if isinstance(node, S.BufferStore):
            if node.buffer.data in stores or not _is_lane_of(node.indices, lanes):
                return False
            stores[node.buffer.data] = node
        elif isinstance(node, E.BufferLoad):
            loads.append(node)
        elif isinstance(node, S.LetStmt):
            values[node.var] = substitute(node.value, values)
            if _is_lane_of((node.value,), lanes):
                lanes.add(node.var)
        elif isinstance(node, E.Call):
            if not is_lanewise(node):
                return False
        elif isinstance(node, S.Stmt) and not isinstance(node, _PLAIN):
            return False
    touched = [load.indices for load in loads] + [store.indices for store in stores.values()]
    indices = [substitute(index, values) for access in touched for index in access]
    if any(_is_scattered(index, loop.loop_var) for index in indices):
        return False
    pairs = [(load, stores[load.buffer.data]) for load in loads if load.buffer.data in stores]
    return all(structural_equal(load.indices[0], store.indices[0]) for load, store in pairs)


def is_lanewise(call: E.Call) -> bool:
    """Whether each lane of a call depends on the same lane of its arguments alone."""
    name = call.op.removeprefix("tir.")
    return name in _LANEWISE or is_known(name, call.dtype)


def _is_lane_of(indices: tuple[E.Expr, ...], lanes: set[E.Var]) -> bool:
    """Whether it is one index, of the variables of lanes and not of memory."""
    if len(indices) != 1:
        return False
    parts = list(walk(indices[0]))
    has_lane = any(isinstance(part, E.Var) and part in lanes for part in parts)
    return has_lane and not any(isinstance(part, E.BufferLoad) for part in parts)


def _is_scattered(index: E.Expr, lane: E.Var) -> bool:
    """Whether lanes have a stride other than zero, constant or symbolic."""
    parts = detect_linear_equation(index, (lane,))
    if parts is None:
        return False
    return not isinstance(parts[0], E.IntImm) or parts[0].value not in (0, 1)


def _masked_vector_wishes(lanes: int) -> list[str]:
    """Ask for vectors, with masks where lanes differ, of what the schedule vectorized.

    LLVM would unroll so short a loop first, and make vectors of a loop round it, with gathers. It
    is not forced to (vectorize.enable): it would print a warning where it cannot.
    """
    return [
        '!"llvm.loop.unroll.disable"',
        f'!"llvm.loop.vectorize.width", i32 {min(lanes, _MOST_LANES)}',
        '!"llvm.loop.interleave.count", i32 1',
    ]
