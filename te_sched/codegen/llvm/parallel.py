"""Parallel loops: the body becomes a function of a share of the iterations, executed by the threads
of a team.

The loader stores the function that starts the team and the address of its size in slots. A
parallel loop may be anywhere in the nest; inside a parallel loop it runs serially. A share is a
contiguous part of the iterations, one for each thread, and the loop ends when all are done.

Pragmas on the axis of a parallel loop, or on one outside it, say more:

    parallel_grain            use fewer threads, so that each has at least this many iterations
    parallel_work             the same of elements that are stored in the iterations, if calls give
                              their number
    parallel_stride_pattern   deal the iterations out one by one, for those of uneven length

TVM's parallel_launch_point and parallel_barrier_when_finish join several loops under one start of
the team, because starting threads is expensive there. They have no effect here: each loop starts
its own team and waits for it.
"""

from __future__ import annotations

from collections.abc import Set

from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import evaluate
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.loops import Body, serial_loop
from te_sched.codegen.llvm.outline import (
    fill_captures,
    finish_function,
    inner_function,
    leave_on_error,
)
from te_sched.codegen.llvm.streaming import order_streams
from te_sched.codegen.llvm.types import Value, llvm_type, quote
from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.visitor import parts_of, variables_of, walk
from te_sched.wording import wording

_GRAIN, _STRIDE = "pragma_parallel_grain", "pragma_parallel_stride_pattern"
_WORK = "pragma_parallel_work"
_NUMBER, _COUNT = "%share", "%shares"  # of this share, and of all, as i64
TEAM_PRAGMAS = frozenset({_GRAIN, _STRIDE, _WORK})


def run_parallel(out: FunctionText, node: S.For, start: Value, extent: Value, body: Body) -> None:
    """Run a loop on the team's threads; leave with the first error that one reports."""
    out.signature.parallel = True
    name = f"{out.signature.symbol}.parallel.{out.module.fresh()}"
    inner = inner_function(out, name)
    write_share = _deal_iterations if _STRIDE in out.team_wishes else _write_share
    write_share(inner, node, start, extent, body)
    order_streams(inner)
    data = fill_captures(out, inner)
    _start_team(out, name, data, _team_limit(out, extent, node.body))
    finish_function(inner, name, f"ptr %error, i64 {_NUMBER}, i64 {_COUNT}", "nounwind")
    leave_on_error(out, data)


def _write_share(inner: FunctionText, node: S.For, start: Value, extent: Value, body: Body) -> None:
    """The loop over this thread's share: extent * id / count up to extent * (id + 1) / count."""
    first = inner.import_value(start)
    total = cast(inner, inner.import_value(extent), "int64")
    bounds = []
    for rank in (_NUMBER, inner.emit(f"add nuw nsw i64 {_NUMBER}, 1")):
        product = inner.emit(f"mul nsw i64 {total.text}, {rank}")
        bounds.append(inner.emit(f"sdiv i64 {product}, {_COUNT}"))
    kind = llvm_type(start.dtype)
    values = []
    for bound in bounds:
        cut = _narrowed(inner, bound, kind)
        values.append(
            cut if first.text == "0" else inner.emit(f"add nsw {kind} {cut}, {first.text}")
        )
    low, high = start.lo, start.hi + max(extent.hi, 0)
    begin, end = (Value(text, start.dtype, low, high, False) for text in values)
    serial_loop(inner, node, begin, end, body)


def _deal_iterations(
    inner: FunctionText, node: S.For, start: Value, extent: Value, body: Body
) -> None:
    """The loop over the iterations id, id + count, id + 2 * count, ... of this thread."""
    first = inner.import_value(start)
    total = cast(inner, inner.import_value(extent), "int64")
    left = inner.emit(f"sub nsw i64 {total.text}, {_NUMBER}")
    rounded = inner.emit(f"add nsw i64 {left}, {_COUNT}")
    turns = inner.emit(f"sdiv i64 {inner.emit(f'sub nsw i64 {rounded}, 1')}, {_COUNT}")
    kind = llvm_type(start.dtype)
    low, high = start.lo, start.hi + max(extent.hi, 1) - 1

    def turn(inside: FunctionText, stmt: S.Stmt) -> None:
        number = cast(inside, inside.environment[node.loop_var], "int64").text
        before = inside.emit(f"mul nsw i64 {number}, {_COUNT}")
        dealt = inside.emit(f"add nsw i64 {before}, {_NUMBER}")
        cut = _narrowed(inside, dealt, kind)
        text = inside.emit(f"add nsw {kind} {cut}, {first.text}")
        inside.environment[node.loop_var] = Value(text, start.dtype, low, high, False)
        body(inside, stmt)

    most = max(extent.hi, 0)
    end = _narrowed(inner, turns, kind)
    zero = Value("0", start.dtype, 0, 0, False)
    serial_loop(inner, node, zero, Value(end, start.dtype, 0, most, False), turn)


def _narrowed(out: FunctionText, number: str, kind: str) -> str:
    """An i64 as the type of a loop's variable."""
    return number if kind == "i64" else out.emit(f"trunc i64 {number} to {kind}")


def _team_limit(out: FunctionText, extent: Value, body: S.Stmt) -> str:
    """The requested number of shares, as i32."""
    size = out.emit(f"load i32, ptr {out.load_slot(kind='thread', name='size')}, align 4")
    total = cast(out, extent, "int64").text
    shares = out.emit(f"sdiv i64 {total}, {_grain(out, body)}")
    threads = out.intrinsic("smin", "int64", shares, out.emit(f"sext i32 {size} to i64"))
    return out.emit(f"trunc i64 {out.intrinsic('smax', 'int64', threads, '1')} to i32")


def _grain(out: FunctionText, body: S.Stmt) -> str:
    """The least number of iterations of a share, as i64."""
    grain = out.team_wishes.get(_GRAIN, E.IntImm(1))
    if not isinstance(grain, E.IntImm) or grain.value < 1:
        raise BuildError(
            f"parallel_grain must be a constant of at least 1, got {grain}",
            "it is the minimum number of iterations of a thread",
            f"use a number: {wording().grain}",
        )
    work = out.team_wishes.get(_WORK)
    stored = ops.convert(1) if work is None else _elements_stored(body, {*out.environment})
    if isinstance(stored, E.IntImm) or not isinstance(work, E.IntImm):
        return str(grain.value)
    each = out.intrinsic("smax", "int64", cast(out, evaluate(out, stored), "int64").text, "1")
    least = out.emit(f"add i64 {out.emit(f'sdiv i64 {work.value}, {each}')}, 1")
    return out.intrinsic("smax", "int64", least, str(grain.value))


def _elements_stored(body: S.Stmt, bound_vars: Set[E.Var]) -> E.Expr:
    """How many elements a statement stores, as far as the `bound_vars` variables tell it."""
    if isinstance(body, S.For):
        inside = _elements_stored(body.body, bound_vars)
        is_known = {*variables_of(body.extent)} <= bound_vars
        is_known &= not any(isinstance(part, E.BufferLoad | E.Call) for part in walk(body.extent))
        return inside * ops.cast("int64", body.extent) if is_known else inside
    if isinstance(body, S.BufferStore):
        return ops.const(dtypes.lanes(body.value.dtype), "int64")
    count = ops.const(0, "int64")
    for part in parts_of(body):
        if isinstance(part, S.Stmt):
            count = count + _elements_stored(part, bound_vars)
    return count


def _start_team(out: FunctionText, name: str, data: str, limit: str) -> None:
    """Run the shares."""
    fork = out.load_slot(kind="thread", name="fork")
    out.do(f"call void {fork}(ptr @{quote(name)}, ptr {data}, i32 {limit})")
