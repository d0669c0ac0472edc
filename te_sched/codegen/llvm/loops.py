"""The serial loop, and what the optimiser is told about it. Must not know other statements."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, llvm_type
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.lower.vectorize_loops import SCALAR_SUFFIX

_MOST_LANES = 16


def serial_loop(
    out: FunctionText,
    node: S.For,
    start: Value,
    end: Value,
    body: Callable[[FunctionText, S.Stmt], None],
) -> None:
    """for loop_var in start .. end - 1: body"""
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
    place = len(out.lines)
    out.do("")  # the phi, when the end of the loop is known
    test = out.emit(f"icmp slt {kind} {counter}, {end.text}")
    out.branch_if(test, inside, after)
    out.open(inside)
    out.environment[node.loop_var] = Value(
        counter, start.dtype, start.lo, max(start.lo, end.hi - 1), False
    )
    body(out, node.body)
    out.do(f"{following} = add nsw {kind} {counter}, 1")
    out.lines[place] = (
        f"  {counter} = phi {kind} [ {start.text}, %{before} ], [ {following}, %{out.block} ]"
    )
    out.do(f"br label %{head}{_loop_metadata(out, node)}")
    out.open(after)


def _loop_metadata(out: FunctionText, node: S.For) -> str:
    """What the optimiser should know: the loop ends, and what the schedule wants of it."""
    wishes = ['!"llvm.loop.mustprogress"']
    if node.kind == "unrolled":
        full = isinstance(node.extent, E.IntImm) and node.extent.value <= 256
        wishes.append('!"llvm.loop.unroll.full"' if full else '!"llvm.loop.unroll.enable"')
    if node.kind == "vectorized":
        wishes.append('!"llvm.loop.vectorize.enable", i1 true')
    lanes = _scalarized_lanes(node)
    if lanes and out.module.has_masks():
        wishes += _masked_vector_wishes(lanes)
    hints = [out.module.shared_metadata(f"!{{{wish}}}") for wish in wishes]
    number = out.module.metadata()
    out.module.set_metadata(
        number, f"distinct !{{!{number}, {', '.join(f'!{hint}' for hint in hints)}}}"
    )
    return f", !llvm.loop !{number}"


def _scalarized_lanes(node: S.For) -> int:
    """The lanes of a vectorised loop that had no vector form, if a whole register has them."""
    if not isinstance(node.extent, E.IntImm) or not node.loop_var.name.endswith(SCALAR_SUFFIX):
        return 0
    lanes = node.extent.value
    return lanes if lanes > 1 and lanes & (lanes - 1) == 0 else 0


def _masked_vector_wishes(lanes: int) -> list[str]:
    """Ask for vectors, with masks where lanes differ, of what the schedule vectorised.

    LLVM would unroll so short a loop first, and make vectors of a loop round it, with gathers.
    """
    return [
        '!"llvm.loop.unroll.disable"',
        '!"llvm.loop.vectorize.enable", i1 true',
        f'!"llvm.loop.vectorize.width", i32 {min(lanes, _MOST_LANES)}',
        '!"llvm.loop.interleave.count", i32 1',
    ]
