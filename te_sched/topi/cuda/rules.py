"""Scheduling rules for a GPU: every root stage becomes a kernel.

Contractions are tiled in shared memory, reductions run across the threads of a warp, softmax has a
block for each row, and other stages a thread for each element.
"""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.expr import IterVar
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.te.declare import thread_axis
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.tensorir.facts.axes import extent_of
from te_sched.topi.scheduling import (
    fuse_axes,
    has_fixed_window,
    inline_injective,
    is_reduction,
    plan,
    tile_axes,
)

THREADS = 256  # threads of a block of an elementwise stage
WARP = 32  # threads of one reduction
RESULTS = 8  # reductions of a block
SIDE = 16  # threads along each side of a tile
PER_THREAD = 4  # results of a thread along each side of a tile
STEP = 8  # iterations of a reduction whose inputs are in shared memory


def apply_rules(s: Schedule) -> Schedule:
    """Schedule every stage that is computed."""
    inline_injective(s)
    for task in plan(s):
        if task.kind == "softmax":
            schedule_softmax(s, task.op, task.members)
        elif task.kind == "contraction":
            schedule_contraction(s, task.op, task.final)
        elif task.kind == "injective":
            schedule_injective_stage(s[task.op], task.op)
        elif task.op.tag.startswith("comm_reduce") and has_fixed_window(task.op):
            schedule_reduction(s, task.op, task.final)
        else:
            _schedule_window(s, task.op, task.final)
    return s


def _bind(stage: Stage, axis: IterVar, tag: str) -> IterVar:
    thread = thread_axis(tag)
    stage.bind(axis, thread)
    return thread


def schedule_injective_stage(stage: Stage, op: Operation) -> IterVar:
    """Bind a thread to each element. Returns the axis bound to the threads."""
    fused = fuse_axes(stage, op.axis)
    block, thread = stage.split(fused, factor=THREADS)
    _bind(stage, block, "blockIdx.x")
    _bind(stage, thread, "threadIdx.x")
    return thread


def _schedule_window(s: Schedule, op: Operation, final: Operation) -> None:
    """Bind a thread to each result; the reduction is serial."""
    thread = schedule_injective_stage(s[final], final)
    if final is not op:
        s[op].set_scope("local")
        s[op].compute_at(s[final], thread)


def schedule_reduction(s: Schedule, op: Operation, final: Operation) -> None:
    """Bind a warp to each result: each thread reduces a part, then the parts are reduced."""
    thread = _reduce_across_threads(
        s, op.output(0), WARP
    )  # first, because it replaces the operation
    stage = s[final]
    fused = fuse_axes(stage, stage.op.axis)
    block, result = stage.split(fused, factor=RESULTS)
    _bind(stage, block, "blockIdx.x")
    _bind(stage, result, "threadIdx.y")
    if final is not op:
        s[op].compute_at(stage, result)
    stage.set_store_predicate(ops.equal(thread.var, 0))


def _reduce_across_threads(s: Schedule, output: Tensor, threads: int) -> IterVar:
    """Divide a reduction among threads. Returns the thread axis."""
    stage = s[output]
    _, inner = stage.split(fuse_axes(stage, stage.op.reduce_axis), factor=threads)
    parts = s.rfactor(output, inner)
    first = parts[0] if isinstance(parts, list | tuple) else parts
    (axis,) = stage.op.reduce_axis
    thread = _bind(stage, axis, "threadIdx.x")
    s[first].compute_at(stage, axis)
    return thread


def schedule_softmax(s: Schedule, op: Operation, members: tuple[Operation, ...]) -> None:
    """Bind a block to each row, with its maximum and sum in shared memory."""
    at = int(op.attrs["axis"])
    stage, axes = s[op], list(op.axis)
    others = [axis for number, axis in enumerate(axes) if number != at]
    stage.reorder(*others, axes[at])
    block = fuse_axes(stage, others) if others else stage.split(axes[at], nparts=1)[0]
    inner = axes[at] if others else stage.leaf_iter_vars[-1]
    _bind(stage, block, "blockIdx.x")
    _, thread = stage.split(inner, factor=WARP)
    _bind(stage, thread, "threadIdx.x")
    for member in members:
        if not is_reduction(member):
            s[member].compute_inline()
    for member in members:
        if is_reduction(member):
            lane = _reduce_across_threads(s, member.output(0), WARP)
            s[member].set_scope("shared")
            s[member].compute_at(stage, block)
            s[member].set_store_predicate(ops.equal(lane.var, 0))


def schedule_contraction(s: Schedule, op: Operation, final: Operation) -> None:
    """Tile the results in registers and the inputs in shared memory."""
    row, column = tile_axes(op)
    output = op.output(0)
    if final is op:
        sums = s.cache_write(output, "local")
    else:
        sums = output
        s[op].set_scope("local")
    copies = [s.cache_read(tensor, "shared", [sums]) for tensor in s[sums].op.input_tensors]

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
    extent = extent_of(axis)
    each = PER_THREAD if extent is None or extent >= SIDE * PER_THREAD else 1
    threads = SIDE if extent is None else max(1, min(SIDE, extent))
    block, rest = stage.split(axis, factor=threads * each)
    thread, inner = stage.split(rest, factor=each)
    return block, thread, inner, threads


def _order_sums(stage: Stage, row: int, column: int) -> IterVar:
    """Split the longest reduction axis by STEP. Returns the outer axis."""
    own = list(stage.op.axis)
    over = list(stage.op.reduce_axis)
    lengths = [extent_of(axis) or STEP for axis in over]
    longest = over[lengths.index(max(lengths))]
    outer, inner = stage.split(longest, factor=min(STEP, max(lengths)))
    rest = [axis for axis in over if axis is not longest]
    others = [axis for at, axis in enumerate(own) if at not in (row, column)]
    stage.reorder(outer, *rest, inner, *others, own[row], own[column])
    return outer


def _share_copy(stage: Stage, rows: int, columns: int) -> None:
    """Distribute the copy over all threads of the block."""
    fused = fuse_axes(stage, stage.op.axis)
    _, together = stage.split(fused, factor=rows * columns)
    row, column = stage.split(together, factor=columns)
    _bind(stage, row, "threadIdx.y")
    _bind(stage, column, "threadIdx.x")
