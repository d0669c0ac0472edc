"""Normalizations, and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo, size_text
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import FOLLOWS, argument_error, tensor_of, tensors_of
from te_sched.relax.op.nn.activation import check_floats
from te_sched.relax.op.sizes import as_axes, axes_of, axis_of, check_equal, known_sizes, unknown
from te_sched.relax.operators import make_call, register_operator


def batch_norm(
    data: Value,
    gamma: Value,
    beta: Value,
    moving_mean: Value,
    moving_var: Value,
    axis: int,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
) -> GraphCall:
    """Normalization by the mean and variance of a channel; a tuple with the new mean and variance.

    Parameters
    ----------
    axis : the axis of channels.
    epsilon : is added to the variance.
    center, scale : whether `beta` is added, and whether `gamma` is multiplied.
    momentum : the part of the new mean and variance in training.
    """
    return make_call(
        "relax.nn.batch_norm",
        [data, gamma, beta, moving_mean, moving_var],
        axis=int(axis),
        epsilon=float(epsilon),
        center=bool(center),
        scale=bool(scale),
        momentum=float(momentum),
    )


def layer_norm(
    data: Value,
    gamma: Value,
    beta: Value,
    axes: Numbers,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> GraphCall:
    """Normalization over axes."""
    return make_call(
        "relax.nn.layer_norm",
        [data, gamma, beta],
        axes=as_axes(axes),
        epsilon=float(epsilon),
        center=bool(center),
        scale=bool(scale),
    )


def group_norm(
    data: Value,
    gamma: Value,
    beta: Value,
    num_groups: int,
    channel_axis: int,
    axes: Numbers,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> GraphCall:
    """Normalization over axes and the channels of a group."""
    return make_call(
        "relax.nn.group_norm",
        [data, gamma, beta],
        num_groups=int(num_groups),
        channel_axis=int(channel_axis),
        axes=as_axes(axes),
        epsilon=float(epsilon),
        center=bool(center),
        scale=bool(scale),
    )


def rms_norm(data: Value, weight: Value, axes: Numbers = -1, epsilon: float = 1e-5) -> GraphCall:
    """Division by the root of the mean of squares over axes."""
    return make_call(
        "relax.nn.rms_norm", [data, weight], axes=as_axes(axes), epsilon=float(epsilon)
    )


def dropout(data: Value, rate: float = 0.5) -> GraphCall:
    """Elements that are set to zero with a probability; a tuple of the result and the mask."""
    return make_call("relax.nn.dropout", [data], rate=float(rate))


@register_operator("relax.nn.dropout", TMixedPrecisionPolicy=FOLLOWS)
def _infer_dropout(call: GraphCall) -> StructInfo:
    data = tensor_of(call, 0)
    return TupleStructInfo((data, data))


def _sizes_fit(
    call: GraphCall, builder: Any, infos: Sequence[TensorStructInfo], axes: Sequence[int]
) -> bool:
    """Whether the parameters are known to have the sizes of the axes; GraphError if not so."""
    data, params = infos[0], infos[1:]
    check_floats(call, 0, data)
    for place, one in enumerate(params, start=1):
        if one.dtype != data.dtype:
            raise argument_error(call, place, f"a tensor of dtype {data.dtype or 'unknown'}")
        if one.ndim not in (-1, len(axes)):
            raise argument_error(call, place, f"a tensor of {len(axes)} dimensions")
    shapes = [known_sizes(one) for one in infos]
    if shapes[0] is not None:
        shapes[0] = tuple([shapes[0][at] for at in axes])
    known = [one for one in shapes if one is not None]
    fits = True
    for shape in known[1:]:
        for one, other in zip(known[0], shape, strict=True):
            check_equal(call, builder, one, other, "the sizes of the tensor and its parameters")
            fits = fits and builder.analyzer.can_prove_equal(one, other)
    return fits


def _axes(call: GraphCall, info: TensorStructInfo, axes: Sequence[int]) -> Sequence[int]:
    return axes if info.ndim == -1 else axes_of(call, axes, info.ndim)


@register_operator("relax.nn.batch_norm")
def _infer_batch_norm(call: GraphCall, builder: Any) -> StructInfo:
    infos = tensors_of(call, 5)
    data, mean, variance = infos[0], infos[3], infos[4]
    if not _sizes_fit(call, builder, infos, _axes(call, data, [call.attrs.axis])):
        data, mean, variance = unknown(data, data.ndim), unknown(mean, 1), unknown(variance, 1)
    return TupleStructInfo((data, mean, variance))


@register_operator("relax.nn.layer_norm", TMixedPrecisionPolicy=FOLLOWS)
def _infer_layer_norm(call: GraphCall, builder: Any) -> StructInfo:
    return _like_data(call, builder, tensors_of(call, 3))


@register_operator("relax.nn.rms_norm", TMixedPrecisionPolicy=FOLLOWS)
def _infer_rms_norm(call: GraphCall, builder: Any) -> StructInfo:
    return _like_data(call, builder, tensors_of(call, 2))


def _like_data(call: GraphCall, builder: Any, infos: list[TensorStructInfo]) -> StructInfo:
    data = infos[0]
    fits = _sizes_fit(call, builder, infos, _axes(call, data, call.attrs.axes))
    return data if fits else unknown(data, data.ndim)


@register_operator("relax.nn.group_norm", TMixedPrecisionPolicy=FOLLOWS)
def _infer_group_norm(call: GraphCall, builder: Any) -> StructInfo:
    infos = tensors_of(call, 3)
    data, groups = infos[0], call.attrs.num_groups
    channel: int = call.attrs.channel_axis
    if data.ndim != -1:
        channel = axis_of(call, channel, data.ndim)
        if channel in axes_of(call, call.attrs.axes, data.ndim):
            raise GraphError(
                f"axis {channel} of {call.op} is the axis of channels",
                f"channel_axis={call.attrs.channel_axis}, axes={call.attrs.axes}",
                "leave it out of axes",
            )
    sizes = known_sizes(data)
    if sizes is not None:
        rest = ops.floormod(sizes[channel], ops.const(groups, "int64"))
        if builder.analyzer.can_prove(ops.not_equal(rest, ops.const(0, "int64"))):
            raise GraphError(
                f"{call.op} has {groups} groups of {size_text(sizes[channel])} channels",
                f"the tensor is {data}",
                "give a number of groups that divides the channels",
            )
        builder.require("equal", rest, 0, f"the rest of channels in {groups} groups of {call.op}")
    _sizes_fit(call, builder, infos, [channel])
    return data
