"""How each kind of stage is scheduled for a GPU: every root stage is a kernel of its own.

Contractions are tiled through shared memory, reductions run across the threads of a warp, softmax
has a block for each row, all else one thread for each element.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import ops
from te_sched.ir.expr import IterVar
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.te.declare import thread_axis
from te_sched.te.operation import ComputeOp, Operation
from te_sched.te.tensor import Tensor
from te_sched.topi.scheduling import (
    epilogue,
    extent_of,
    fuse_axes,
    has_fixed_window,
    inline_injective,
    is_contraction,
    is_reduction,
    roots,
    tile_axes,
)
from te_sched.topi.utils import as_constant

THREADS = 256  # of a block of elementwise work
WARP = 32  # threads that share a reduction
RESULTS = 8  # results of a block of reductions
SIDE = 16  # threads along each side of a tile
PER_THREAD = 4  # results of a thread along each side of a tile
STEP = 8  # steps of the reduction whose inputs lie in shared memory


def apply_rules(s: Schedule) -> Schedule:
    """Schedule every stage that is computed."""
    inline_injective(s)
    done: set[Operation] = set()
    for op in roots(s):
        if op in done or not isinstance(op, ComputeOp):
            continue
        done.add(op)
        if op.tag.endswith("softmax_output") and isinstance(op.attrs.get("axis"), int):
            done |= schedule_softmax(s, op)
        elif is_reduction(op):
            _schedule_reducing(s, op, op)
        else:
            _schedule_computing(s, op, done)
    return s


def _schedule_computing(s: Schedule, op: Operation, done: set[Operation]) -> None:
    """An elementwise stage, together with the reduction of the same shape that it reads."""
    source = next((one for one in roots(s) if is_reduction(one) and epilogue(s, one) is op), None)
    if source is None or source.tag.endswith("softmax_output"):
        schedule_injective_stage(s[op], op)
        return
    done.add(source)
    _schedule_reducing(s, source, op)


def _schedule_reducing(s: Schedule, op: Operation, final: Operation) -> None:
    if is_contraction(op):
        schedule_contraction(s, op, final)
    elif op.tag.startswith("comm_reduce") and has_fixed_window(op):
        schedule_reduction(s, op, final)
    else:
        _schedule_window(s, op, final)


def _bind(stage: Stage, axis: IterVar, tag: str) -> IterVar:
    thread = thread_axis(tag)
    stage.bind(axis, thread)
    return thread


def schedule_injective_stage(stage: Stage, op: Operation) -> IterVar:
    """A thread for each element. Gives the axis bound to the threads."""
    fused = fuse_axes(stage, op.axis)
    block, thread = stage.split(fused, factor=THREADS)
    _bind(stage, block, "blockIdx.x")
    _bind(stage, thread, "threadIdx.x")
    return thread


def _schedule_window(s: Schedule, op: Operation, final: Operation) -> None:
    """A thread for each result, which goes through its window alone."""
    thread = schedule_injective_stage(s[final], final)
    if final is not op:
        s[op].set_scope("local")
        s[op].compute_at(s[final], thread)


def schedule_reduction(s: Schedule, op: Operation, final: Operation) -> None:
    """A warp for each result: each thread reduces a part, then the parts are reduced."""
    stage, output = s[final], op.output(0)
    fused = fuse_axes(stage, final.axis)
    block, result = stage.split(fused, factor=RESULTS)
    _bind(stage, block, "blockIdx.x")
    _bind(stage, result, "threadIdx.y")
    if final is not op:
        s[op].set_scope("local")
        s[op].compute_at(stage, result)
    thread = _reduce_across_threads(s, output, WARP)
    stage.set_store_predicate(ops.equal(thread.var, 0))


def _reduce_across_threads(s: Schedule, output: Tensor, threads: int) -> IterVar:
    """Divide a reduction among threads. Gives the thread axis."""
    stage = s[output]
    _, inner = stage.split(fuse_axes(stage, stage.op.reduce_axis), factor=threads)
    parts = s.rfactor(output, inner)
    first = parts[0] if isinstance(parts, list | tuple) else parts
    (axis,) = stage.op.reduce_axis
    thread = _bind(stage, axis, "threadIdx.x")
    s[first].compute_at(stage, axis)
    return thread


def schedule_softmax(s: Schedule, op: Operation) -> set[Operation]:
    """A block for each row, whose sums lie in shared memory. Gives the stages scheduled."""
    members = _softmax_members(op)
    at = int(op.attrs["axis"])
    stage, axes = s[op], list(op.axis)
    others = [axis for place, axis in enumerate(axes) if place != at]
    stage.reorder(*others, axes[at])
    block = fuse_axes(stage, others) if others else stage.split(axes[at], nparts=1)[0]
    inner = axes[at] if others else stage.leaf_iter_vars[-1]
    _bind(stage, block, "blockIdx.x")
    _, thread = stage.split(inner, factor=WARP)
    _bind(stage, thread, "threadIdx.x")
    for one in members:
        if not is_reduction(one):
            s[one].compute_inline()
    for one in members:
        if is_reduction(one):
            s[one].set_scope("shared")
            s[one].compute_at(stage, block)
            lane = _reduce_across_threads(s, one.output(0), WARP)
            s[one].set_store_predicate(ops.equal(lane.var, 0))
    return set(members)


def _softmax_members(op: Operation) -> list[Operation]:
    """The stages of the same softmax that `op` reads."""
    found: dict[Operation, None] = {}
    stack = [op]
    while stack:
        for tensor in stack.pop().input_tensors:
            if tensor.op.tag == op.tag and "axis" not in tensor.op.attrs:
                found[tensor.op] = None
                stack.append(tensor.op)
    return list(found)


def schedule_contraction(s: Schedule, op: Operation, final: Operation) -> None:
    """Tiles of results in registers, tiles of the inputs in shared memory."""
    row, column = tile_axes(op)
    output = op.output(0)
    if final is op:
        sums = s.cache_write(output, "local")
    else:
        sums = output
        s[op].set_scope("local")
    copies = [s.cache_read(one, "shared", [sums]) for one in s[sums].op.input_tensors]

    stage = s[final]
    axes = list(stage.op.axis)
    others = [axis for at, axis in enumerate(axes) if at not in (row, column)]
    row_block, row_thread, row_inner, rows = _tile(stage, axes[row])
    column_block, column_thread, column_inner, columns = _tile(stage, axes[column])
    inside = [row_thread, column_thread, row_inner, column_inner]
    stage.reorder(*others, row_block, column_block, *inside)
    if others:
        _bind(stage, fuse_axes(stage, others), "blockIdx.z")
    _bind(stage, row_block, "blockIdx.y")
    _bind(stage, column_block, "blockIdx.x")
    _bind(stage, row_thread, "threadIdx.y")
    _bind(stage, column_thread, "threadIdx.x")
    s[sums].compute_at(stage, column_thread)
    outer = _order_sums(s[sums], row, column)
    for copy in copies:
        s[copy].compute_at(s[sums], outer)
        _share_copy(s[copy], rows, columns)


def _tile(stage: Stage, axis: IterVar) -> tuple[IterVar, IterVar, IterVar, int]:
    """An axis as (blocks, threads, results of a thread), and the number of threads."""
    extent: Any = as_constant(extent_of(axis))
    each = PER_THREAD if extent is None or extent >= SIDE * PER_THREAD else 1
    threads = SIDE if extent is None else max(1, min(SIDE, extent))
    block, rest = stage.split(axis, factor=threads * each)
    thread, inner = stage.split(rest, factor=each)
    return block, thread, inner, threads


def _order_sums(stage: Stage, row: int, column: int) -> IterVar:
    """Go through the longest reduction axis in steps. Gives the axis of the steps."""
    own = list(stage.op.axis)
    over = list(stage.op.reduce_axis)
    lengths = [as_constant(extent_of(axis)) or STEP for axis in over]
    longest = over[lengths.index(max(lengths))]
    outer, inner = stage.split(longest, factor=min(STEP, max(lengths)))
    rest = [axis for axis in over if axis is not longest]
    others = [axis for at, axis in enumerate(own) if at not in (row, column)]
    stage.reorder(outer, *rest, inner, *others, own[row], own[column])
    return outer


def _share_copy(stage: Stage, rows: int, columns: int) -> None:
    """All threads of the block fetch the copy together."""
    fused = fuse_axes(stage, stage.op.axis)
    _, together = stage.split(fused, factor=rows * columns)
    row, column = stage.split(together, factor=columns)
    _bind(stage, row, "threadIdx.y")
    _bind(stage, column, "threadIdx.x")
