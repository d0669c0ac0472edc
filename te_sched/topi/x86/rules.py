"""Scheduling rules for a CPU: outer loops parallel, inner loops vectorized.

There is a rule for contractions (tiled, with the sums of a tile in a local buffer), for softmax,
for other reductions, and for all other stages.
"""

from __future__ import annotations

from te_sched.ir.expr import ProducerLoad, Reduce
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.te.operation import ComputeOp, Operation
from te_sched.tensorir.facts.axes import extent_of, largest_divisor
from te_sched.topi.scheduling import (
    fuse_axes,
    has_fixed_window,
    inline_injective,
    is_contraction,
    is_reduction,
    moves_only,
    plan,
    reduction_size,
    tile_axes,
)
from te_sched.topi.tag import is_injective

LANES = 16  # float32 elements of the widest vector
ROWS = 4  # rows of a tile, chosen so that its sums fit in registers
PARTS = 64  # parallel parts of a full reduction
LONG = 1024  # the least size of a full reduction that is split


def apply_rules(s: Schedule) -> Schedule:
    """Schedule every stage."""
    inline_injective(s, keep=_computed_once(s))
    for task in plan(s):
        if task.kind == "softmax":
            schedule_softmax(s, task.op, task.members)
        elif task.kind == "contraction":
            schedule_contraction(s, task.op, task.final)
        elif task.kind == "reduction":
            schedule_reduction(s, task.op, task.final)
        else:
            schedule_injective_stage(s[task.op], task.op)
    return s


def _computed_once(s: Schedule) -> list[Operation]:
    """Injective inputs of contractions, which read elements repeatedly, except plain copies."""
    return [
        tensor.op
        for stage in s.stages
        if is_contraction(stage.op)
        for tensor in stage.op.input_tensors
        if is_injective(tensor.op.tag) and not moves_only(tensor.op)
    ]


def schedule_injective_stage(stage: Stage, op: Operation) -> None:
    """Parallelize the outer axes and vectorize the last one."""
    axes = list(op.axis)
    if not axes:
        return
    lanes = largest_divisor(extent_of(axes[-1]), LANES)
    outer, inner = axes[:-1], axes[-1]
    if lanes > 1:
        whole = inner
        if largest_divisor(extent_of(whole), lanes) != extent_of(whole):
            rest, inner = stage.split(whole, factor=lanes)
            outer = outer if outer else [rest]
        stage.vectorize(inner)
    if outer:
        stage.parallel(fuse_axes(stage, outer))


def schedule_contraction(s: Schedule, op: Operation, final: Operation) -> None:
    """Tile rows and columns, vectorize columns, and accumulate each tile in a local buffer."""
    row, column = tile_axes(op)
    output = op.output(0)
    sums = s.cache_write(output, "global") if final is op else output
    stage, axes = s[final], list(s[final].op.axis)
    rows, lanes = (
        largest_divisor(extent_of(axes[at]), limit) for at, limit in ((row, ROWS), (column, LANES))
    )
    row_outer, row_inner = stage.split(axes[row], factor=rows)
    column_outer, column_inner = stage.split(axes[column], factor=lanes)
    others = [axis for at, axis in enumerate(axes) if at not in (row, column)]
    stage.reorder(*others, row_outer, column_outer, row_inner, column_inner)
    stage.parallel(fuse_axes(stage, [*others, row_outer]))

    inner = s[sums]
    inner.compute_at(stage, column_outer)
    own = list(inner.op.axis)
    rest = [axis for at, axis in enumerate(own) if at not in (row, column)]
    inner.reorder(*rest, *inner.op.reduce_axis, own[row], own[column])
    if rows > 1:
        inner.unroll(own[row])
    if lanes > 1:
        inner.vectorize(own[column])
        stage.vectorize(column_inner)


def schedule_reduction(s: Schedule, op: Operation, final: Operation) -> None:
    """Parallelize output elements; vectorize them where their inputs are contiguous."""
    if not op.axis:
        _cut_whole_reduction(s, op)
        return
    if final is op:
        _schedule_elements(s[op], op)
        return
    stage = s[final]
    axes = list(final.axis)
    outer = axes[:-1] if len(axes) > 1 else axes
    at = fuse_axes(stage, outer)
    stage.parallel(at)
    s[op].compute_at(stage, at)


def _schedule_elements(stage: Stage, op: Operation) -> None:
    axes = list(op.axis)
    lanes = largest_divisor(extent_of(axes[-1]), LANES) if _reads_rows(op) else 1
    if lanes > 1:
        outer, inner = stage.split(axes[-1], factor=lanes)
        stage.reorder(*axes[:-1], outer, *op.reduce_axis, inner)
        stage.vectorize(inner)
        axes[-1] = outer
    stage.parallel(fuse_axes(stage, axes))


def _reads_rows(op: Operation) -> bool:
    """Whether adjacent output elements read adjacent input elements."""
    if not isinstance(op, ComputeOp) or len(op.body) != 1 or not has_fixed_window(op):
        return False
    value = op.body[0].source[0] if isinstance(op.body[0], Reduce) else None
    return isinstance(value, ProducerLoad) and value.indices[-1] is op.axis[-1].var


def _cut_whole_reduction(s: Schedule, op: Operation) -> None:
    """Split a long full reduction: reduce parts in parallel, then the results of the parts."""
    size = reduction_size(op)
    parts = largest_divisor(size, PARTS)
    if size is None or size < LONG or parts == 1:
        return
    stage = s[op]
    outer, _ = stage.split(fuse_axes(stage, op.reduce_axis), nparts=parts)
    pieces = s.rfactor(op.output(0), outer)
    first = pieces[0] if isinstance(pieces, list | tuple) else pieces
    s[first].parallel(s[first].op.axis[0])


def schedule_softmax(s: Schedule, op: Operation, members: tuple[Operation, ...]) -> None:
    """Parallelize the rows, and compute all stages of a row in its iteration."""
    at = int(op.attrs["axis"])
    if at > 0:
        stage = s[op]
        row = fuse_axes(stage, op.axis[:at])
        stage.parallel(row)
        for member in members:
            s[member].compute_at(stage, row)
        return
    for member in (op, *members):
        if not is_reduction(member):
            schedule_injective_stage(s[member], member)
        elif member.axis:
            _schedule_elements(s[member], member)
