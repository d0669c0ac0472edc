"""Extents of a schedule that depend on the call, and their valid ranges.

Extents must not be negative. An extent of 0 computes nothing, as in numpy. An empty sum or product
gives its identity; an empty reduction that selects a value (max, min, argmax) is refused.
`check_sizes` checks the extents that are known at build time. `symbolic_sizes` lists those that a
call checks, with the lengths of splits (`StageState.lengths`), which must be at least 1, and the
intermediate values of sizes, which must not overflow (`within_types`).

Indices are int32 if the extents are: `lower` wraps around as TVM does, `build` refuses tensors that
are too large (`check_extents`). Must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from te_sched.errors import BuildError, Subject
from te_sched.ir import dtypes, ops
from te_sched.ir.argument_sizes import NOT_NEGATIVE, Size, within_types
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import Expr, IntImm, Max, Min, Reduce
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import ComputeOp, Operation, ScanOp
from te_sched.te.tensor import Tensor

LENGTH = "a loop that a split makes has at least one iteration"
NOTHING_TO_CHOOSE = "a reduction like max, min or argmax needs at least one value to choose from"


def symbolic_sizes(schedule: Schedule) -> list[Size]:
    """The extents that depend on variables, each once."""
    sizes: dict[tuple[Expr, Any], Size] = {}
    for size in _sizes(schedule):
        if not isinstance(size.extent, IntImm):
            sizes.setdefault((size.extent, size.least), size)
    return [variant for size in sizes.values() for variant in (size, *within_types(size))]


def check_sizes(schedule: Schedule) -> None:
    """Refuse a reduction that selects one of its values, if there are none.

    Raises
    ------
    BuildError for the first such reduction.
    """
    for size in _sizes(schedule):
        if size.least == 1 and isinstance(size.extent, IntImm) and size.extent.value < 1:
            raise BuildError(
                f"cannot reduce over no values: {size.what} has extent 0",
                NOTHING_TO_CHOOSE,
                "reduce over at least one value, or give the reduction an init",
            )


def _sizes(schedule: Schedule) -> Iterator[Size]:
    for stage in schedule.stages:  # sizes computed from these are described by them
        for text, value, dtype in stage.lengths:
            most = ops.int_limits(dtype)[1]
            yield Size(text, value, 1, LENGTH, most=most, needed=True)
        for thread in stage.launched_threads:
            if thread.dom is not None:
                what = f"the number of threads {thread.var.name} round {stage.op.name}"
                yield Size(what, thread.dom.extent, 1, "no thread would compute it")
    for stage in schedule.stages:
        op = stage.origin_op
        for tensor in op.outputs:
            for number, extent in enumerate(tensor.shape):
                yield Size(f"dimension {number} of {tensor.name}", extent)
        yield from _axes(op)


def _axes(op: Operation) -> Iterator[Size]:
    if isinstance(op, ScanOp) and op.scan_axis.dom is not None:
        yield Size(f"the scan axis of {op.name}", op.scan_axis.dom.extent)
    least, why = (1, NOTHING_TO_CHOOSE) if _chooses(op) else (0, NOT_NEGATIVE)
    for axis in op.reduce_axis:
        if axis.dom is not None:
            yield Size(f"axis {axis.var.name} of {op.name}", axis.dom.extent, least, why)


def _chooses(op: Operation) -> bool:
    """Whether an operation is a reduction that selects one of its values."""
    if not isinstance(op, ComputeOp) or not isinstance(op.body[0], Reduce) or op.body[0].init:
        return False
    return any(
        isinstance(value, Max | Min) or choice_of(value) is not None
        for value in op.body[0].combiner.result
    )


def check_extents(schedule: Schedule) -> None:
    """Refuse tensors with more elements than their index dtype can number.

    Raises
    ------
    BuildError for the first tensor that is stored as a whole and is too large.
    """
    for stage in schedule.stages:
        if stage.attach_type == AttachType.GROUP_ROOT:
            for tensor in stage.op.outputs:
                _check_tensor(stage, tensor)


def _check_tensor(stage: StageState, tensor: Tensor) -> None:
    extents = [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]
    if not extents or len(extents) < tensor.ndim:
        return
    widest = max([extent.dtype for extent in tensor.shape], key=dtypes.bits)
    largest = ops.int_limits(widest)[1]
    elements = _elements(stage, extents)
    if elements > largest:
        raise BuildError(
            f"tensor {tensor.name} has {elements} elements, more than {widest} indices can count",
            f"its indices have the type of its extents; {widest} reaches {largest}",
            "declare its extents as int64: te.const(n, 'int64')"
            if widest == "int32"
            else "make it smaller",
            Subject("stage", stage.op.name),
        )


def _elements(stage: StageState, extents: list[int]) -> int:
    """The number of elements in memory, including the gaps of storage_align, which
    `lowering.positions.aligned_strides` makes.
    """
    size = 1
    axes = [stage.iter_var_attrs.get(axis) for axis in stage.op.axis]
    for number in reversed(range(len(extents))):
        attr = axes[number] if number < len(axes) else None
        if attr is not None and attr.dim_align_factor:
            size += (attr.dim_align_offset - size) % attr.dim_align_factor
        size *= extents[number]
    return size
