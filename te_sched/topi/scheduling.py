"""Shared by the schedules of all targets: classification of stages, and inlining.

topi schedules by rules for kinds of operations, which are recognized by tags and structure. Must
not know targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from te_sched.errors import ScheduleError, kind_of, repr_of
from te_sched.ir.expr import IterVar, ProducerLoad
from te_sched.schedule.schedule import Schedule, create_schedule
from te_sched.schedule.stage import Stage
from te_sched.schedule.state import AttachType
from te_sched.signatures import is_sequence
from te_sched.te.operation import ComputeOp, Operation
from te_sched.te.tensor import Tensor
from te_sched.tensorir.facts.axes import extent_of, size_of
from te_sched.topi.tag import is_broadcast, is_injective
from te_sched.topi.utils import is_same

# The operators for which every target has a schedule function, besides those that it defines: the
# shapes of the inputs X and W of an example, and its call.
_SCHEDULED = {
    "softmax": ("(4, 8)", "", "nn.softmax(X)"),
    "dense": ("(4, 8)", "(16, 8)", "nn.dense(X, W)"),
    "matmul": ("(4, 8)", "(8, 16)", "nn.matmul(X, W)"),
    "batch_matmul": ("(2, 4, 8)", "(2, 16, 8)", "nn.batch_matmul(X, W)"),
    "lrn": ("(1, 4, 8, 8)", "", "nn.lrn(X, size=3)"),
    "batch_norm": ("(1, 4, 8, 8)", "(4,)", "nn.batch_norm(X, W, W, W, W)[0]"),
    "conv1d_ncw": ("(1, 4, 8)", "(6, 4, 3)", "nn.conv1d_ncw(X, W)"),
    "conv1d_nwc": ("(1, 8, 4)", "(3, 4, 6)", "nn.conv1d_nwc(X, W)"),
    "group_conv1d_ncw": ("(1, 4, 8)", "(6, 2, 3)", "nn.group_conv1d_ncw(X, W, groups=2)"),
    "group_conv1d_nwc": ("(1, 8, 4)", "(3, 2, 6)", "nn.group_conv1d_nwc(X, W, groups=2)"),
    "conv1d_transpose_ncw": (
        *("(1, 4, 8)", "(4, 6, 3)"),
        'nn.conv1d_transpose_ncw(X, W, 2, 1, "float32", 1)',
    ),
    "conv2d_nchw": ("(1, 4, 8, 8)", "(6, 4, 3, 3)", "nn.conv2d_nchw(X, W, 1, 1)"),
    "conv2d_nhwc": ("(1, 8, 8, 4)", "(3, 3, 4, 6)", "nn.conv2d_nhwc(X, W, 1, 1)"),
    "conv2d_hwcn": ("(8, 8, 4, 1)", "(3, 3, 4, 6)", "nn.conv2d_hwcn(X, W, 1, 1)"),
    "group_conv2d_nchw": (
        *("(1, 4, 8, 8)", "(6, 2, 3, 3)"),
        "nn.group_conv2d_nchw(X, W, 1, 1, 1, groups=2)",
    ),
    "group_conv2d_nhwc": (
        *("(1, 8, 8, 4)", "(3, 3, 2, 6)"),
        "nn.group_conv2d_nhwc(X, W, 1, 1, 1, groups=2)",
    ),
    "depthwise_conv2d_nchw": (
        *("(1, 4, 8, 8)", "(4, 2, 3, 3)"),
        "nn.depthwise_conv2d_nchw(X, W, 1, 1)",
    ),
    "depthwise_conv2d_nhwc": (
        *("(1, 8, 8, 4)", "(3, 3, 4, 2)"),
        "nn.depthwise_conv2d_nhwc(X, W, 1, 1)",
    ),
    "conv2d_transpose_nchw": (
        *("(1, 4, 8, 8)", "(4, 6, 3, 3)"),
        'nn.conv2d_transpose_nchw(X, W, 2, 1, "float32", 1)',
    ),
    "conv3d_ncdhw": (
        *("(1, 4, 5, 8, 8)", "(6, 4, 3, 3, 3)"),
        "nn.conv3d_ncdhw(X, W, 1, 1, 1)",
    ),
    "conv3d_ndhwc": (
        *("(1, 5, 8, 8, 4)", "(3, 3, 3, 4, 6)"),
        "nn.conv3d_ndhwc(X, W, 1, 1, 1)",
    ),
}
# Those that some targets have.
_FURTHER = {
    "reduce": ("(4, 8)", "", "sum(X, axis=1)"),
    "extern": ("(4, 8)", "", "sort(X)"),
    "einsum": ("(4, 8)", "(8,)", 'einsum("ij,j->i", X, W)'),
    "dense_nopack": _SCHEDULED["dense"],
}
_PRODUCTS = ("dense", "matmul", "batch_matmul", "einsum")
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "group_conv", "depthwise_conv")
_CHANNELS_SECOND = ("_ncw", "_nchw", "_ncdhw")


def start_schedule(outs: Any) -> Schedule:
    """The schedule of the outputs: a tensor, an operation or a sequence of them."""
    items = list(outs) if is_sequence(outs) else [outs]
    for item in items:
        if not isinstance(item, Tensor | Operation):
            raise ScheduleError(
                f"cannot schedule {repr_of(item)}: {kind_of(item)} is not an output",
                "",
                "give the tensor that topi or te.compute returned, or a list of tensors",
            )
    return create_schedule(items)


def schedule_functions(
    module: str, target: str, schedule: Callable[[Any], Schedule], *more: str
) -> dict[str, Callable[[Any], Schedule]]:
    """The functions `schedule_dense` etc. of a target, by name, also for `more` operators.

    `module` is where they are: topi.generic, topi.x86 or topi.cuda. Their docstrings have examples,
    which run if the module names the functions in `__test__`.
    """
    examples = _SCHEDULED | {name: _FURTHER[name] for name in more}

    def function(operator: str) -> Callable[[Any], Schedule]:
        def scheduled(outs: Any) -> Schedule:
            return schedule(outs)

        scheduled.__module__ = f"te_sched.{module}"
        scheduled.__name__ = scheduled.__qualname__ = f"schedule_{operator}"
        data, weight, call = examples[operator]
        inputs = f'te.placeholder({data}, name="X")'
        if weight:
            inputs += f', te.placeholder({weight}, name="W")'
        scheduled.__doc__ = f"""A schedule of {operator} for {target}; outs is a tensor or a list.

        >>> {"X, W" if weight else "X"} = {inputs}
        >>> C = topi.{call}
        >>> s = {module}.schedule_{operator}(C)
        >>> s.outputs[0] is C.op
        True
        """
        return scheduled

    return {f"schedule_{name}": function(name) for name in examples}


def is_reduction(op: Operation) -> bool:
    """Whether the operation reduces."""
    return isinstance(op, ComputeOp) and bool(op.reduce_axis)


def is_contraction(op: Operation) -> bool:
    """Whether the operation is a product of matrices or a convolution."""
    is_product = op.tag in _PRODUCTS or op.tag.startswith(_CONVOLUTIONS)
    return is_product and is_reduction(op) and len(op.axis) >= 2


def tile_axes(op: Operation) -> tuple[int, int]:
    """The two dimensions of a contraction to tile: rows, and columns, which lie in a row."""
    last = len(op.axis) - 1
    is_channel_row = op.tag.endswith(_CHANNELS_SECOND) and not op.tag.startswith("depthwise")
    return (1 if is_channel_row and last > 1 else last - 1), last


def has_fixed_window(op: Operation) -> bool:
    """Whether the extents of all reduction axes are constant."""
    return all(extent_of(axis) is not None for axis in op.reduce_axis)


def reduction_size(op: Operation) -> int | None:
    """The number of elements reduced into one, or None when it is not constant."""
    return size_of(op.reduce_axis) if has_fixed_window(op) else None


def moves_only(op: Operation) -> bool:
    """Whether each element is a copy of an input element."""
    return isinstance(op, ComputeOp) and isinstance(op.body[0], ProducerLoad)


def inline_injective(s: Schedule, keep: Iterable[Operation] = ()) -> None:
    """Inline injective stages that are not outputs, not in `keep`, and read by computes only."""
    kept = set(keep)
    for op in [stage.op for stage in s.stages]:
        if op not in kept and _can_inline(s, op):
            s[op].compute_inline()


def _can_inline(s: Schedule, op: Operation) -> bool:
    if not isinstance(op, ComputeOp) or op in s.outputs or op.num_outputs != 1 or op.reduce_axis:
        return False
    if not (is_injective(op.tag) or op.tag == "comm_reduce_idx"):
        return False
    return all(isinstance(reader, ComputeOp) for reader in direct_readers(s, op))


def direct_readers(s: Schedule, op: Operation) -> list[Operation]:
    """The operations that read an output of `op`."""
    return [
        stage.op for stage in s.stages if any(tensor.op is op for tensor in stage.op.input_tensors)
    ]


def readers(s: Schedule, op: Operation) -> list[Operation]:
    """The operations that are not inlined and read `op`, directly or through inlined ones."""
    operations: dict[Operation, None] = {}
    for reader in direct_readers(s, op):
        is_inlined = s[reader].attach_type is AttachType.INLINE
        operations |= dict.fromkeys(readers(s, reader) if is_inlined else [reader])
    return list(operations)


def roots(s: Schedule) -> list[Operation]:
    """The computed operations that are not inlined, consumers first."""
    return [
        stage.op
        for stage in reversed(s.stages)
        if isinstance(stage.op, ComputeOp) and stage.attach_type is not AttachType.INLINE
    ]


def epilogue(s: Schedule, op: Operation) -> Operation | None:
    """The only consumer of `op`, if it is elementwise and of the same shape."""
    users = readers(s, op)
    if len(users) != 1 or op in s.outputs or is_reduction(users[0]):
        return None
    reader = users[0]
    is_alike = len(reader.axis) == len(op.axis) and all(
        a.dom is not None and b.dom is not None and is_same(a.dom.extent, b.dom.extent)
        for a, b in zip(reader.axis, op.axis, strict=True)
    )
    return reader if is_alike and _reads_in_place(s, op, reader) else None


def _reads_in_place(s: Schedule, op: Operation, reader: Operation) -> bool:
    """Whether every operation from `op` to `reader` reads the element at its own index."""
    step = [consumer for consumer in direct_readers(s, op)]
    return all(
        (is_broadcast(consumer.tag) or consumer.tag.endswith("_idx"))
        and (consumer is reader or _reads_in_place(s, consumer, reader))
        for consumer in step
    )


def fuse_axes(stage: Stage, axes: Iterable[IterVar]) -> IterVar:
    """The fusion of axes; of none, an axis of extent 1."""
    items = list(axes)
    return items[0] if len(items) == 1 else stage.fuse(*items)


@dataclass(frozen=True)
class Task:
    """Stages to schedule together.

    kind : "injective", "reduction", "contraction" or "softmax".
    op : the operation that the kind describes.
    final : the operation whose loops compute it: itself, or its elementwise consumer.
    members : the stages before the last one of a softmax.
    """

    kind: str
    op: Operation
    final: Operation
    members: tuple[Operation, ...] = ()


def plan(s: Schedule) -> list[Task]:
    """The tasks of a schedule, consumers first. Call it before changing any stage."""
    epilogues = {epilogue(s, op): op for op in roots(s) if is_reduction(op) and not _is_softmax(op)}
    done: set[Operation] = set()
    tasks = []
    for op in roots(s):
        if op in done:
            continue
        task = _task(op, epilogues.get(op))
        done |= {task.op, task.final, *task.members}
        tasks.append(task)
    return tasks


def _task(op: Operation, reduction: Operation | None) -> Task:
    if _is_softmax(op) and isinstance(op.attrs.get("axis"), int):
        return Task("softmax", op, op, _softmax_members(op))
    if reduction is not None:
        return Task(_reduction_kind(reduction), reduction, op)
    return Task(_reduction_kind(op) if is_reduction(op) else "injective", op, op)


def _reduction_kind(op: Operation) -> str:
    return "contraction" if is_contraction(op) else "reduction"


def _is_softmax(op: Operation) -> bool:
    return op.tag.endswith("softmax_output")


def _softmax_members(op: Operation) -> tuple[Operation, ...]:
    """The stages of the same softmax that `op` reads, consumers first."""
    members: dict[Operation, None] = {}
    stack = [op]
    while stack:
        for tensor in stack.pop().input_tensors:
            if tensor.op.tag == op.tag and "axis" not in tensor.op.attrs:
                members[tensor.op] = None
                stack.append(tensor.op)
    return tuple(members)
