"""Operators of gradients, and marks of what is differentiated."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall, GraphVar
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import argument_error, tensor_of
from te_sched.relax.op.nn.pooling import pool_attrs
from te_sched.relax.op.sizes import as_sizes
from te_sched.relax.operators import make_call, register_operator


def no_grad(input: Value) -> GraphCall:
    """The value, of which no gradient is computed."""
    return make_call("relax.grad.no_grad", [input])


def start_checkpoint(input: Value) -> GraphCall:
    """The value; what is computed from it is computed again for the gradient."""
    return make_call("relax.grad.start_checkpoint", [input])


def end_checkpoint(input: Value) -> GraphCall:
    """The value; the end of what is computed again for the gradient."""
    return make_call("relax.grad.end_checkpoint", [input])


@register_operator("relax.grad.no_grad")
def _infer_no_grad(call: GraphCall) -> StructInfo:
    found: StructInfo = call.args[0].struct_info
    return found


@register_operator("relax.grad.start_checkpoint")
@register_operator("relax.grad.end_checkpoint")
def _infer_checkpoint(call: GraphCall) -> StructInfo:
    if not isinstance(call.args[0], GraphVar):
        raise argument_error(call, 0, "a variable")
    return call.args[0].struct_info


def nll_loss_backward(
    output_grad: Value,
    predictions: Value,
    targets: Value,
    weights: Value | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> GraphCall:
    """The gradient of nll_loss by its predictions."""
    args = [output_grad, predictions, targets]
    args += [] if weights is None else [weights]
    return make_call(
        "relax.grad.nll_loss_backward",
        args,
        reduction=str(reduction),
        ignore_index=int(ignore_index),
    )


def _pool_gradient(
    kind: str, output_grad: Any, data: Any, pool_size: Any, *others: Any
) -> GraphCall:
    """A gradient of pools, whose sizes are int32 as in TVM."""
    attrs = pool_attrs(2, as_sizes(pool_size, 2, "pool_size", dtype="int32"), *others)
    return make_call(f"relax.grad.{kind}_pool2d_backward", [output_grad, data], **attrs)


def max_pool2d_backward(
    output_grad: Value,
    data: Value,
    pool_size: Numbers = (1, 1),
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0, 0, 0),
    dilation: Numbers = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The gradient of max_pool2d by its input."""
    others = strides, padding, dilation, ceil_mode, count_include_pad, layout, out_layout
    return _pool_gradient("max", output_grad, data, pool_size, *others)


def avg_pool2d_backward(
    output_grad: Value,
    data: Value,
    pool_size: Numbers = (1, 1),
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0, 0, 0),
    dilation: Numbers = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The gradient of avg_pool2d by its input."""
    others = strides, padding, dilation, ceil_mode, count_include_pad, layout, out_layout
    return _pool_gradient("avg", output_grad, data, pool_size, *others)


def take_backward(
    output_grad: Value, x: Value, indices: Value, axis: int | None = None
) -> GraphCall:
    """The gradient of take by its input."""
    return make_call(
        "relax.grad.take_backward",
        [output_grad, x, indices],
        axis=None if axis is None else int(axis),
    )


@register_operator("relax.grad.nll_loss_backward")
@register_operator("relax.grad.max_pool2d_backward")
@register_operator("relax.grad.avg_pool2d_backward")
@register_operator("relax.grad.take_backward")
def _infer_like_input(call: GraphCall) -> StructInfo:
    return tensor_of(call, 1)
