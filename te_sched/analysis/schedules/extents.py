"""Whether the elements of a schedule's tensors can be numbered by their index type.

Indices are int32 where the extents are; `lower` wraps around as TVM does, `build` asks here first.
Must not know loops.
"""

from __future__ import annotations

from math import prod

from te_sched.errors import BuildError, Subject
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import IntImm
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import AttachType, Stage
from te_sched.te.tensor import Tensor


def check_extents(schedule: Schedule) -> None:
    """Refuse tensors with more elements than indices of their type reach.

    Raises
    ------
    BuildError for the first tensor that is stored as a whole and is too large.
    """
    for stage in schedule.stages:
        if stage.attach_type == AttachType.GROUP_ROOT:
            for tensor in stage.op.outputs:
                _check_tensor(stage, tensor)


def _check_tensor(stage: Stage, tensor: Tensor) -> None:
    extents = [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]
    if not extents or len(extents) < tensor.ndim:
        return
    widest = max([extent.dtype for extent in tensor.shape], key=dtypes.bits)
    largest = ops.int_limits(widest)[1]
    elements = _elements(stage, extents)
    if elements > largest:
        raise BuildError(
            f"build with the tensor {tensor.name}, stored as {elements} elements",
            f"its indices are {widest} as its extents are, and reach {largest}",
            "declare its extents as int64: te.const(n, 'int64')"
            if widest == "int32"
            else "make it smaller",
            Subject("stage", stage.op.name),
        )


def _elements(stage: Stage, extents: list[int]) -> int:
    """Elements of memory, with the gaps that storage_align leaves."""
    stride = 1
    axes = [stage.iter_var_attrs.get(axis) for axis in stage.op.axis]
    for number in reversed(range(len(extents))):
        attr = axes[number] if number < len(axes) else None
        if attr is not None and attr.dim_align_factor:
            stride += attr.dim_align_factor + attr.dim_align_offset
        stride *= extents[number]
    return max(stride, prod(extents))
