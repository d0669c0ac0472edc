"""Operators of gradients, and marks of what is differentiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from te_sched import te
from te_sched.errors import warn
from te_sched.ir import builder as ir_builder
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr, GraphVar
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import argument_error, check_indices, shape_of, tensor_of
from te_sched.relax.operators.legalization import numbers_of, topi
from te_sched.relax.operators.loss import ones_of_classes
from te_sched.relax.operators.pooling import pool_attrs, pooled_info
from te_sched.relax.operators.registry import Rewrite, declare, make_call, named
from te_sched.relax.operators.sizes import as_sizes, axis_of, check_equal


def no_grad(input: Value) -> GraphCall:
    """The value, of which no gradient is computed."""
    return make_call("relax.grad.no_grad", [input])


def _infer_no_grad(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info: StructInfo = call.args[0].struct_info
    return info


def start_checkpoint(input: Value) -> GraphCall:
    """The value; what is computed from it is computed again for the gradient."""
    return make_call("relax.grad.start_checkpoint", [input])


def end_checkpoint(input: Value) -> GraphCall:
    """The value; the end of what is computed again for the gradient."""
    return make_call("relax.grad.end_checkpoint", [input])


def _infer_checkpoint(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    if not isinstance(call.args[0], GraphVar):
        raise argument_error(call, 0, "a variable")
    return call.args[0].struct_info


def _value(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    value: GraphExpr = call.args[0]
    return value


declare("relax.grad.no_grad", _infer_no_grad, legalize=_value)
declare("relax.grad.start_checkpoint", _infer_checkpoint, legalize=_value)
declare("relax.grad.end_checkpoint", _infer_checkpoint, legalize=_value)


def _infer_like_input(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return tensor_of(call, 1)


# Losses


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


def _nll_loss_backward_rule(is_exact: bool) -> Rewrite:
    """The rule of the gradient of nll_loss; TVM's text leaves out ignored indices from 0 on."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        reduction, ignored = call.attrs.reduction, call.attrs.ignore_index
        index = ignored if is_exact or ignored >= 0 else None

        def te_nll_loss_backward(
            grad: te.Tensor, predictions: te.Tensor, targets: te.Tensor, weights: te.Tensor
        ) -> te.Tensor:
            return _of_predictions(grad, predictions, targets, weights, reduction, index)

        def te_nll_loss_backward_no_weight(
            grad: te.Tensor, predictions: te.Tensor, targets: te.Tensor
        ) -> te.Tensor:
            weights = ones_of_classes(predictions)
            return _of_predictions(grad, predictions, targets, weights, reduction, index)

        if len(call.args) == 4:
            return builder.call_te(
                te_nll_loss_backward, *call.args, primfunc_name_hint="nll_loss_backward"
            )
        return builder.call_te(te_nll_loss_backward_no_weight, *call.args)

    return legalize


def _of_predictions(
    grad: te.Tensor,
    predictions: te.Tensor,
    targets: te.Tensor,
    weights: te.Tensor,
    reduction: str,
    ignored: int | None,
) -> te.Tensor:
    """The gradient of nll_loss by its predictions; None ignores no index."""
    zero = te.const(0, predictions.dtype)

    def weight(*i: Expr) -> Expr:
        if ignored is None:
            return weights(targets(*i))
        choose = te.select if ignored >= 0 else te.if_then_else  # which reads no weight of -1
        return choose(ops.not_equal(targets(*i), ignored), weights(targets(*i)), zero)

    of_targets = te.compute(targets.shape, weight, name="all_weights")
    if reduction in ("mean", "sum"):
        grad = topi.broadcast_to(grad, targets.shape)
    if reduction == "mean":
        total = topi.sum(of_targets) if of_targets.ndim else of_targets
        grad = topi.divide(grad, total)

    def element(*i: Expr) -> Expr:
        index, kind = ((i[0], *i[2:]), i[1]) if len(i) > 1 else ((), i[0])
        share = of_targets(*index) * te.const(-1, predictions.dtype) * grad(*index)
        return te.select(ops.equal(kind, targets(*index)), share, zero)

    return te.compute(predictions.shape, element, name="pred_grad")


declare(
    "relax.grad.nll_loss_backward",
    _infer_like_input,
    legalize=_nll_loss_backward_rule(is_exact=False),
    exact=_nll_loss_backward_rule(is_exact=True),
)

# Pools


if TYPE_CHECKING:

    class _PoolGradient(Protocol):
        def __call__(
            self,
            output_grad: Value,
            data: Value,
            pool_size: Numbers = ...,
            strides: Numbers = ...,
            padding: Numbers = ...,
            dilation: Numbers = ...,
            ceil_mode: bool = ...,
            count_include_pad: bool = ...,
            layout: str = ...,
            out_layout: str | None = ...,
        ) -> GraphCall: ...


def _infer_pool_gradient(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    """The gradient of the pool has its shape."""
    grad, pooled = tensor_of(call, 0), pooled_info(call, builder, 2, index=1)
    if grad.ndim not in (-1, pooled.ndim):
        raise argument_error(call, 0, f"a tensor of {pooled.ndim} dimensions")
    for size, expected in zip(shape_of(grad) or (), shape_of(pooled) or (), strict=False):
        check_equal(call, builder, size, expected, "the sizes of the gradient and of the pool")
    return tensor_of(call, 1)


def _pool_gradient(kind: str) -> _PoolGradient:
    """The function that makes calls of the gradient of a pool, which it declares."""
    name = f"{kind}_pool2d_backward"
    declare(f"relax.grad.{name}", _infer_pool_gradient, legalize=_pool_gradient_rule(kind))

    def call_operator(
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
        sizes = as_sizes(pool_size, 2, "pool_size", dtype="int32")  # as in TVM
        windows = (sizes, strides, padding, dilation, ceil_mode, count_include_pad)
        attrs = pool_attrs(2, *windows, layout, out_layout)
        return make_call(f"relax.grad.{name}", [output_grad, data], **attrs)

    return named(call_operator, name, f"The gradient of {kind}_pool2d by its input.")


def _pool_gradient_rule(kind: str) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs
        is_dilated = any(step != 1 for step in numbers_of(attrs.dilation))
        if attrs.out_layout != attrs.layout or is_dilated:
            what = "with dilation" if is_dilated else f"from {attrs.layout} to {attrs.out_layout}"
            warn(f"{call.op} {what} has no rule")
            return call

        def te_pool_grad(grad: te.Tensor, data: te.Tensor) -> te.Tensor:
            return topi.nn.pool_grad(
                grad,
                data,
                numbers_of(attrs.pool_size),
                numbers_of(attrs.strides),
                numbers_of(attrs.padding),
                kind,
                attrs.ceil_mode,
                attrs.count_include_pad,
                attrs.layout,
            )

        return builder.call_te(
            te_pool_grad, *call.args, primfunc_name_hint=f"{kind}_pool2d_backward"
        )

    return legalize


max_pool2d_backward = _pool_gradient("max")
avg_pool2d_backward = _pool_gradient("avg")

# Gathers


def take_backward(
    output_grad: Value, x: Value, indices: Value, axis: int | None = None
) -> GraphCall:
    """The gradient of take by its input."""
    return make_call(
        "relax.grad.take_backward",
        [output_grad, x, indices],
        axis=None if axis is None else int(axis),
    )


def _infer_take_backward(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    x = tensor_of(call, 1)
    check_indices(call, 2)
    if call.attrs.axis is not None and x.ndim != -1:
        axis_of(call, call.attrs.axis, x.ndim)
    return x


def _legalize_take_backward(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(_taken, *call.args, call.attrs.axis, primfunc_name_hint="take_backward")


def _taken(grad: te.Tensor, x: te.Tensor, indices: te.Tensor, axis: int | None) -> te.Tensor:
    """The sum of the gradients of the elements that were taken from each place of `x`."""
    sizes = list(x.shape)
    outer, inner = topi.utils.prod(sizes), 1
    extent = outer
    if axis is not None:
        at = axis % len(sizes)
        outer = topi.utils.prod(sizes[:at])
        inner, extent = topi.utils.prod(sizes[at + 1 :]), sizes[at]
    count = topi.utils.prod(indices.shape)

    def statement(ins: Any, outs: Any) -> Any:
        ib = ir_builder.create()
        grads, _, places = (ib.buffer_ptr(buffer) for buffer in ins)
        out = ib.buffer_ptr(outs[0])
        with ib.for_range(0, topi.utils.prod(sizes), name="i") as i:
            out[topi.utils.unravel_index(i, sizes)] = te.const(0, x.dtype)
        rows = inner if axis is None else outer * inner
        with (
            ib.for_range(0, rows, name="parallel") as row,
            ib.for_range(0, count, name="serial") as k,
        ):
            index = ops.cast("int64", places[topi.utils.unravel_index(k, indices.shape)])
            before, behind = ops.floordiv(row, inner), ops.floormod(row, inner)
            target = before * inner * extent + index * inner + behind
            source = before * inner * count + k * inner + behind
            where = tuple(topi.utils.unravel_index(target, sizes))
            out[where] += grads[tuple(topi.utils.unravel_index(source, grad.shape))]
        return ib.get()

    return topi.utils.extern(
        [tuple(sizes)],
        [grad, x, indices],
        statement,
        name="take_backward",
        dtype=[x.dtype],
        out_buffers=[decl_buffer(sizes, x.dtype, "out_buf")],
        tag="take_backward",
    )


declare("relax.grad.take_backward", _infer_take_backward, legalize=_legalize_take_backward)
