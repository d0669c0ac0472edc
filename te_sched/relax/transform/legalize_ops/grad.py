"""Rules of gradients."""

from __future__ import annotations

from typing import Any

from te_sched import te, topi
from te_sched.ir import builder as ir_builder
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import LegalizeFunc, library_rule
from te_sched.relax.transform.legalize_ops.nn import ones_of_classes


@library_rule("relax.grad.no_grad")
@library_rule("relax.grad.start_checkpoint")
@library_rule("relax.grad.end_checkpoint")
def _value(builder: BlockBuilder, call: GraphCall) -> Any:
    del builder
    return call.args[0]


@library_rule("relax.grad.nll_loss_backward")
def _nll_loss_backward(builder: BlockBuilder, call: GraphCall) -> Any:
    reduction, ignored = call.attrs.reduction, call.attrs.ignore_index

    def te_nll_loss_backward(grad: Any, predictions: Any, targets: Any, weights: Any) -> Any:
        return _of_predictions(grad, predictions, targets, weights, reduction, ignored)

    def te_nll_loss_backward_no_weight(grad: Any, predictions: Any, targets: Any) -> Any:
        weights = ones_of_classes(predictions)
        return _of_predictions(grad, predictions, targets, weights, reduction, ignored)

    if len(call.args) == 4:
        return builder.call_te(
            te_nll_loss_backward, *call.args, primfunc_name_hint="nll_loss_backward"
        )
    return builder.call_te(te_nll_loss_backward_no_weight, *call.args)


def _of_predictions(
    grad: Any, predictions: Any, targets: Any, weights: Any, reduction: str, ignored: int
) -> Any:
    """The gradient of nll_loss by its predictions."""
    zero = te.const(0, predictions.dtype)

    def weight(*i: Any) -> Any:
        if ignored < 0:
            return weights(targets(*i))
        return te.select(ops.not_equal(targets(*i), ignored), weights(targets(*i)), zero)

    of_targets = te.compute(targets.shape, weight, name="all_weights")
    if reduction in ("mean", "sum"):
        grad = topi.broadcast_to(grad, targets.shape)
    if reduction == "mean":
        total = topi.sum(of_targets) if of_targets.ndim else of_targets
        grad = topi.divide(grad, total)

    def element(*i: Any) -> Any:
        place, kind = ((i[0], *i[2:]), i[1]) if len(i) > 1 else ((), i[0])
        share = of_targets(*place) * te.const(-1, predictions.dtype) * grad(*place)
        return te.select(ops.equal(kind, targets(*place)), share, zero)

    return te.compute(predictions.shape, element, name="pred_grad")


def _pool_backward(kind: str) -> LegalizeFunc:
    """The rule of the gradient of a pool."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        attrs = call.attrs
        if attrs.out_layout != attrs.layout:
            return call

        def te_pool_grad(grad: Any, data: Any) -> Any:
            return topi.nn.pool_grad(
                grad,
                data,
                [one.value for one in attrs.pool_size],
                [one.value for one in attrs.strides],
                [one.value for one in attrs.padding],
                kind,
                attrs.ceil_mode,
                attrs.count_include_pad,
                attrs.layout,
            )

        return builder.call_te(
            te_pool_grad, *call.args, primfunc_name_hint=f"{kind}_pool2d_backward"
        )

    return legalize


library_rule("relax.grad.max_pool2d_backward", _pool_backward("max"))
library_rule("relax.grad.avg_pool2d_backward", _pool_backward("avg"))


@library_rule("relax.grad.take_backward")
def _take_backward(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(_taken, *call.args, call.attrs.axis, primfunc_name_hint="take_backward")


def _taken(grad: Any, x: Any, indices: Any, axis: int | None) -> Any:
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
        grads, _, places = (ib.buffer_ptr(one) for one in ins)
        out = ib.buffer_ptr(outs[0])
        with ib.for_range(0, topi.utils.prod(sizes), name="i") as i:
            out[topi.utils.unravel_index(i, sizes)] = te.const(0, x.dtype)
        rows = inner if axis is None else outer * inner
        with (
            ib.for_range(0, rows, name="parallel") as row,
            ib.for_range(0, count, name="serial") as k,
        ):
            place = ops.cast("int64", places[topi.utils.unravel_index(k, indices.shape)])
            before, behind = ops.floordiv(row, inner), ops.floormod(row, inner)
            target = before * inner * extent + place * inner + behind
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
