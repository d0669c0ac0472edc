"""Activations: functions of each element, and softmax along an axis."""

from __future__ import annotations

from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo, TensorStructInfo
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.common import FOLLOWS, argument_error, tensor_of
from te_sched.relax.op.sizes import axis_of
from te_sched.relax.operators import make_call, register_operator


def relu(data: Value) -> GraphCall:
    """max(data, 0)"""
    return make_call("relax.nn.relu", [data])


def leakyrelu(data: Value, alpha: float = 0.01) -> GraphCall:
    """data where it is positive, elsewhere alpha * data"""
    return make_call("relax.nn.leakyrelu", [data], alpha=float(alpha))


def gelu(data: Value) -> GraphCall:
    """data * P(X <= data), for X of the standard normal distribution."""
    return make_call("relax.nn.gelu", [data])


def gelu_tanh(data: Value) -> GraphCall:
    """An approximation of gelu by tanh."""
    return make_call("relax.nn.gelu_tanh", [data])


def silu(data: Value) -> GraphCall:
    """data * sigmoid(data)"""
    return make_call("relax.nn.silu", [data])


def softmax(data: Value, axis: int = -1) -> GraphCall:
    """exp(data), divided by its sum along an axis."""
    return make_call("relax.nn.softmax", [data], axis=int(axis))


def log_softmax(data: Value, axis: int = -1) -> GraphCall:
    """log(softmax(data, axis))"""
    return make_call("relax.nn.log_softmax", [data], axis=int(axis))


def check_floats(call: GraphCall, place: int, info: TensorStructInfo) -> None:
    """GraphError if an argument is known to be of another dtype than one of floats."""
    if info.dtype and not info.dtype.startswith(("float", "bfloat", "custom")):
        raise argument_error(call, place, "a tensor of floats")


@register_operator("relax.nn.relu", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.nn.leakyrelu")
def _infer_like_data(call: GraphCall) -> StructInfo:
    return tensor_of(call, 0)


@register_operator("relax.nn.gelu", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.nn.gelu_tanh", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.nn.silu", TMixedPrecisionPolicy=FOLLOWS)
def _infer_like_floats(call: GraphCall) -> StructInfo:
    data = tensor_of(call, 0)
    check_floats(call, 0, data)
    return data


@register_operator("relax.nn.softmax")
@register_operator("relax.nn.log_softmax")
def _infer_softmax(call: GraphCall) -> StructInfo:
    data = tensor_of(call, 0)
    check_floats(call, 0, data)
    if data.ndim != -1:
        axis_of(call, call.attrs.axis, data.ndim)
    return data
