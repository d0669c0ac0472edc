"""Activations: functions of each element, and softmax along an axis."""

from __future__ import annotations

import math

from te_sched import te
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import check_floats, tensor_of
from te_sched.relax.operators.layouts import ALONG_AXIS, OF_ELEMENTS
from te_sched.relax.operators.legalization import te_rule, topi, topi_function
from te_sched.relax.operators.registry import FOLLOWS, Rewrite, declare, make_call
from te_sched.relax.operators.sizes import axis_of


def _infer_like_data(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return tensor_of(call, 0)


def _infer_like_floats(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    check_floats(call, 0)
    return tensor_of(call, 0)


def relu(data: Value) -> GraphCall:
    """max(data, 0)"""
    return make_call("relax.nn.relu", [data])


declare(
    "relax.nn.relu",
    _infer_like_data,
    mixed_precision=FOLLOWS,
    legalize=te_rule(topi_function("nn.relu"), "relu"),
    layout=OF_ELEMENTS,
    is_elementwise=True,
)


def leakyrelu(data: Value, alpha: float = 0.01) -> GraphCall:
    """data where it is positive, elsewhere alpha * data"""
    return make_call("relax.nn.leakyrelu", [data], alpha=float(alpha))


def _legalize_leakyrelu(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(topi.nn.leaky_relu, call.args[0], call.attrs.alpha)


declare("relax.nn.leakyrelu", _infer_like_data, legalize=_legalize_leakyrelu, layout=OF_ELEMENTS)


def gelu(data: Value) -> GraphCall:
    """data * P(X <= data), for X of the standard normal distribution."""
    return make_call("relax.nn.gelu", [data])


def _gelu(x: te.Tensor) -> te.Tensor:
    dtype = x.dtype
    half = te.const(0.5, dtype)
    scaled = topi.multiply(x, te.const(0.5**0.5, dtype))
    if dtype == "float16":  # erf of float16 loses what it has
        erf = topi.cast(topi.erf(topi.cast(scaled, "float32")), "float16")
    else:
        erf = topi.erf(scaled)
    result: te.Tensor = topi.multiply(x, topi.add(half, topi.multiply(erf, half)))
    return result


declare(
    "relax.nn.gelu",
    _infer_like_floats,
    mixed_precision=FOLLOWS,
    legalize=te_rule(_gelu, "gelu"),
    layout=OF_ELEMENTS,
)


def gelu_tanh(data: Value) -> GraphCall:
    """An approximation of gelu by tanh."""
    return make_call("relax.nn.gelu_tanh", [data])


def _gelu_tanh(x: te.Tensor) -> te.Tensor:
    def number(value: float) -> Expr:
        return te.const(value, x.dtype)

    cubic = topi.multiply(topi.multiply(number(0.044715), x), x)
    scaled = topi.multiply(number(math.sqrt(2.0 / math.pi)), x)
    inner = topi.multiply(scaled, topi.add(number(1.0), cubic))
    gate = topi.add(number(1.0), topi.tanh(inner))
    result: te.Tensor = topi.multiply(topi.multiply(number(0.5), x), gate)
    return result


declare(
    "relax.nn.gelu_tanh",
    _infer_like_floats,
    mixed_precision=FOLLOWS,
    legalize=te_rule(_gelu_tanh, "gelu_tanh"),
    layout=OF_ELEMENTS,
)


def silu(data: Value) -> GraphCall:
    """data * sigmoid(data)"""
    return make_call("relax.nn.silu", [data])


def _silu(x: te.Tensor) -> te.Tensor:
    result: te.Tensor = topi.multiply(x, topi.sigmoid(x))
    return result


declare(
    "relax.nn.silu",
    _infer_like_floats,
    mixed_precision=FOLLOWS,
    legalize=te_rule(_silu, "silu"),
    layout=OF_ELEMENTS,
    is_elementwise=True,
)


def softmax(data: Value, axis: int = -1) -> GraphCall:
    """exp(data), divided by its sum along an axis."""
    return make_call("relax.nn.softmax", [data], axis=int(axis))


def log_softmax(data: Value, axis: int = -1) -> GraphCall:
    """log(softmax(data, axis))"""
    return make_call("relax.nn.log_softmax", [data], axis=int(axis))


def _infer_softmax(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data = tensor_of(call, 0)
    check_floats(call, 0)
    if data.ndim != -1:
        axis_of(call, call.attrs.axis, data.ndim)
    return data


def _softmax_rule(name: str) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        return builder.call_te(getattr(topi.nn, name), call.args[0], axis=call.attrs.axis)

    return legalize


declare(
    "relax.nn.softmax",
    _infer_softmax,
    legalize=_softmax_rule("softmax"),
    approximate=_softmax_rule("fast_softmax"),
    layout=ALONG_AXIS,
)
declare(
    "relax.nn.log_softmax", _infer_softmax, legalize=_softmax_rule("log_softmax"), layout=ALONG_AXIS
)
