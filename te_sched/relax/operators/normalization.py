"""Normalizations, and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import GraphError, warn
from te_sched.ir import ops
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, Tuple, TupleGetItem
from te_sched.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo, size_text
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.binary import add, divide, multiply, subtract
from te_sched.relax.operators.inference import argument_error, check_floats, tensor_of, tensors_of
from te_sched.relax.operators.layouts import Layout, Order, Plan, axes_in_order
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.reductions import mean, variance
from te_sched.relax.operators.registry import FOLLOWS, Rewrite, declare, make_call
from te_sched.relax.operators.reshaping import expand_dims
from te_sched.relax.operators.sizes import (
    as_axes,
    axes_of,
    axis_of,
    check_equal,
    check_groups,
    known_sizes,
    unknown,
)
from te_sched.relax.operators.unary import sqrt


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


def _infer_batch_norm(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = tensors_of(call, 5)
    data, mean, variance = infos[0], infos[3], infos[4]
    if not _sizes_fit(call, builder, infos, _axes(call, data, [call.attrs.axis])):
        data, mean, variance = unknown(data, data.ndim), unknown(mean, 1), unknown(variance, 1)
    return TupleStructInfo((data, mean, variance))


def _legalize_batch_norm(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    warn(
        "LegalizeOps computes relax.nn.batch_norm with the mean and variance of the batch, as in "
        "training; for those of the model, apply relax.transform.DecomposeOpsForInference() before",
    )
    return builder.call_te(
        topi.nn.batch_norm,
        *call.args,
        axis=attrs.axis,
        epsilon=attrs.epsilon,
        center=attrs.center,
        scale=attrs.scale,
        training=True,
        momentum=attrs.momentum,
    )


def _layout_of_batch_norm(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if order is None:
        return None
    axis = order.index(call.attrs.axis % len(order))
    return Plan({0: order}, [order, None, None], {"axis": axis})


def _batch_norm(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """batch_norm of inference: the moving mean and variance are used and stay."""
    del builder
    mean, variance = call.args[3:]
    return Tuple((_normalized(call, mean, variance), mean, variance))


def _batch_norm_of_training(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """batch_norm of training: the mean and variance are those of the data, and move."""
    data, gamma, beta, *moving = call.args
    info = data.struct_info
    assert isinstance(info, TensorStructInfo)
    axes = [at for at in range(info.ndim) if at != call.attrs.axis % info.ndim]
    of_data = [builder.emit(statistic(data, axes)) for statistic in (mean, variance)]
    parts = builder.emit(GraphCall(call.op, (data, gamma, beta, *of_data), call.attrs))
    normalized = builder.emit(TupleGetItem(parts, 0))
    rate = call.attrs.momentum
    kept, added = _number(1 - rate, moving[0]), _number(rate, moving[0])
    moved = [
        add(multiply(kept, old), multiply(added, new))
        for old, new in zip(moving, of_data, strict=True)
    ]
    return Tuple((normalized, *moved))


def _normalized(call: GraphCall, mean: Any, variance: Any) -> Any:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, by channels."""
    data, gamma, beta, attrs = *call.args[:3], call.attrs
    info = data.struct_info
    assert isinstance(info, TensorStructInfo)
    axes = [at for at in range(info.ndim) if at != attrs.axis % info.ndim]
    return _scaled(
        call,
        subtract(data, expand_dims(mean, axes)),
        expand_dims(variance, axes),
        expand_dims(gamma, axes),
        expand_dims(beta, axes),
    )


def _scaled(
    call: GraphCall, centered: Value, spread: Value, gamma: Value, beta: Value
) -> GraphCall:
    """A tensor divided by the root of its variance `spread`, by the parameters of the call."""
    attrs = call.attrs
    deviation = sqrt(add(spread, _number(attrs.epsilon, call.args[0])))
    normalized = divide(centered, deviation)
    normalized = multiply(normalized, gamma) if attrs.scale else normalized
    return add(normalized, beta) if attrs.center else normalized


def _number(value: float, like: Any) -> Constant:
    return const(value, like.struct_info.dtype)


declare(
    "relax.nn.batch_norm",
    _infer_batch_norm,
    legalize=_legalize_batch_norm,
    layout=Layout(_layout_of_batch_norm),
    inference=_batch_norm,
    training=_batch_norm_of_training,
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


def _infer_layer_norm(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return _like_data(call, builder, tensors_of(call, 3))


def _like_data(call: GraphCall, builder: BlockBuilder, infos: list[TensorStructInfo]) -> StructInfo:
    data = infos[0]
    fits = _sizes_fit(call, builder, infos, _axes(call, data, call.attrs.axes))
    return data if fits else unknown(data, data.ndim)


def _axes(call: GraphCall, info: TensorStructInfo, axes: Sequence[int]) -> Sequence[int]:
    return axes if info.ndim == -1 else axes_of(call, axes, info.ndim)


def _sizes_fit(
    call: GraphCall, builder: BlockBuilder, infos: Sequence[TensorStructInfo], axes: Sequence[int]
) -> bool:
    """Whether the parameters are known to have the sizes of the axes; GraphError if not so."""
    data, params = infos[0], infos[1:]
    check_floats(call, 0)
    for index, param in enumerate(params, start=1):
        if param.dtype != data.dtype:
            raise argument_error(call, index, f"a tensor of dtype {data.dtype or 'unknown'}")
        if param.ndim not in (-1, len(axes)):
            raise argument_error(call, index, f"a tensor of {len(axes)} dimensions")
    shapes = [known_sizes(info) for info in infos]
    if shapes[0] is not None:
        shapes[0] = tuple([shapes[0][at] for at in axes])
    known_shapes = [shape for shape in shapes if shape is not None]
    fits = True
    for shape in known_shapes[1:]:
        for size, other in zip(known_shapes[0], shape, strict=True):
            check_equal(call, builder, size, other, "the sizes of the tensor and its parameters")
            fits = fits and builder.analyzer.can_prove_equal(size, other)
    return fits


def _layer_norm_rule(is_exact: bool) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs

        def layer_norm(data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
            parameters, axes = _applied(call, gamma, beta), list(attrs.axes)
            return topi.nn.layer_norm(data, *parameters, axes, attrs.epsilon, is_exact=is_exact)

        return builder.call_te(layer_norm, *call.args)

    return legalize


def _applied(call: GraphCall, gamma: te.Tensor, beta: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
    """The parameters that a normalization scales and centers by: ones and zeros if it does not."""
    attrs = call.attrs
    return (
        gamma if attrs.scale else topi.full_like(gamma, 1.0),
        beta if attrs.center else topi.full_like(beta, 0.0),
    )


def _layout_of_layer_norm(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if order is None:
        return None
    return Plan({0: order}, order, {"axes": tuple(axes_in_order(call, "axes", order))})


def _layer_norm_of_training(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    data, gamma, beta = call.args
    axes = list(call.attrs.axes)
    centered = subtract(data, mean(data, axes, keepdims=True))
    return _scaled(call, centered, variance(data, axes, keepdims=True), gamma, beta)


declare(
    "relax.nn.layer_norm",
    _infer_layer_norm,
    mixed_precision=FOLLOWS,
    legalize=_layer_norm_rule(is_exact=False),
    exact=_layer_norm_rule(is_exact=True),
    layout=Layout(_layout_of_layer_norm, numbers_axes=True),
    training=_layer_norm_of_training,
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
    check_groups(num_groups, "group_norm")
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


def _infer_group_norm(call: GraphCall, builder: BlockBuilder) -> StructInfo:
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


def _group_norm_rule(is_exact: bool) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs

        def group_norm(data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
            groups, channel, axes = attrs.num_groups, attrs.channel_axis, list(attrs.axes)
            values = [data, *_applied(call, gamma, beta), groups, channel, axes, attrs.epsilon]
            return topi.nn.group_norm(*values, is_exact=is_exact)

        return builder.call_te(group_norm, *call.args)

    return legalize


declare(
    "relax.nn.group_norm",
    _infer_group_norm,
    mixed_precision=FOLLOWS,
    legalize=_group_norm_rule(is_exact=False),
    exact=_group_norm_rule(is_exact=True),
)


def rms_norm(data: Value, weight: Value, axes: Numbers = -1, epsilon: float = 1e-5) -> GraphCall:
    """Division by the root of the mean of squares over axes."""
    return make_call(
        "relax.nn.rms_norm", [data, weight], axes=as_axes(axes), epsilon=float(epsilon)
    )


def _infer_rms_norm(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return _like_data(call, builder, tensors_of(call, 2))


def _legalize_rms_norm(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    return builder.call_te(topi.nn.rms_norm, *call.args, list(attrs.axes), attrs.epsilon)


declare("relax.nn.rms_norm", _infer_rms_norm, mixed_precision=FOLLOWS, legalize=_legalize_rms_norm)


def dropout(data: Value, rate: float = 0.5) -> GraphCall:
    """Elements that are set to zero with a probability; a tuple of the result and the mask."""
    return make_call("relax.nn.dropout", [data], rate=float(rate))


def _infer_dropout(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data = tensor_of(call, 0)
    return TupleStructInfo((data, data))


def _legalize_dropout(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    del builder
    warn("relax.nn.dropout has no rule: leave it out of graphs for inference")
    return call


def _layout_of_dropout(call: GraphCall, orders: list[Order]) -> Plan | None:
    return Plan({0: orders[0]}, [orders[0], orders[0]])


declare(
    "relax.nn.dropout",
    _infer_dropout,
    mixed_precision=FOLLOWS,
    legalize=_legalize_dropout,
    layout=Layout(_layout_of_dropout),
)
