"""Losses."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, VDevice
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import (
    argument_error,
    common_dtype,
    common_vdevice,
    shape_of,
    tensor_of,
    tensors_of,
)
from te_sched.relax.operators.legalization import te_rule, topi
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import check_equal, known_sizes


def cross_entropy_with_logits(predictions: Value, labels: Value) -> GraphCall:
    """-sum(predictions * labels), divided by the size of the batch if there is one."""
    return make_call("relax.nn.cross_entropy_with_logits", [predictions, labels])


def _infer_cross_entropy(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    a, b = infos = tensors_of(call, 2)
    dtype, vdevice = common_dtype(call, infos), common_vdevice(call, infos)
    if -1 not in (a.ndim, b.ndim) and a.ndim != b.ndim:
        raise argument_error(call, 1, f"a tensor of {a.ndim} dimensions")
    sizes, others = known_sizes(a), known_sizes(b)
    if sizes is not None and others is not None:
        for size, other in zip(sizes, others, strict=True):
            check_equal(call, builder, size, other, "the sizes")
    return TensorStructInfo(ShapeExpr(()), dtype, vdevice)


def _cross_entropy(x: te.Tensor, y: te.Tensor) -> te.Tensor:
    total: te.Tensor = topi.multiply(topi.sum(topi.multiply(x, y)), te.const(-1, x.dtype))
    if x.ndim > 1:
        total = topi.divide(total, ops.cast(x.dtype, x.shape[0]))
    return total


declare(
    "relax.nn.cross_entropy_with_logits",
    _infer_cross_entropy,
    legalize=te_rule(_cross_entropy, "cross_entropy_with_logits"),
)


def nll_loss(
    predictions: Value,
    targets: Value,
    weights: Value | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> GraphCall:
    """The negative logarithms of the probabilities of classes, of which `predictions` has the logs.

    Parameters
    ----------
    weights : of each class.
    reduction : "none", or "mean" or "sum" for one number.
    ignore_index : the class of the targets that are left out.
    """
    args = [predictions, targets] if weights is None else [predictions, targets, weights]
    return make_call(
        "relax.nn.nll_loss", args, reduction=str(reduction), ignore_index=int(ignore_index)
    )


def _infer_nll_loss(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    predictions, targets = infos = tensors_of(call, 2)
    weights = tensor_of(call, 2) if len(call.args) > 2 else None
    of_floats = [predictions] if weights is None else [predictions, weights]
    dtype = common_dtype(call, of_floats)
    vdevice = common_vdevice(call, [*infos, *of_floats[1:]])
    if targets.dtype and not targets.dtype.startswith(("int", "uint", "bool")):
        raise argument_error(call, 1, "a tensor of integers")
    classes = _checked_classes(call, builder, predictions, targets)
    if weights is not None:
        if weights.ndim not in (-1, 1):
            raise argument_error(call, 2, "a tensor of 1 dimension")
        sizes = known_sizes(weights)
        if sizes is not None and classes is not None:
            check_equal(call, builder, classes, sizes[0], "the numbers of classes")
    reduction = call.attrs.reduction
    if reduction not in ("none", "mean", "sum"):
        raise GraphError(
            f"{call.op} has reduction={reduction!r}", "", 'use "none", "mean" or "sum"'
        )
    if reduction != "none":
        return TensorStructInfo(ShapeExpr(()), dtype, vdevice)
    return _each_loss(predictions, targets, dtype, vdevice)


def _checked_classes(
    call: GraphCall, builder: BlockBuilder, predictions: TensorStructInfo, targets: TensorStructInfo
) -> Any:
    """The number of classes; GraphError if predictions and targets do not fit."""
    ndim = predictions.ndim
    if ndim == 0:
        raise argument_error(call, 0, "a tensor of at least 1 dimension")
    rank = 0 if ndim == 1 else ndim - 1
    if -1 not in (ndim, targets.ndim) and targets.ndim != rank:
        raise argument_error(call, 1, f"a tensor of {rank} dimensions")
    sizes, others = known_sizes(predictions), known_sizes(targets)
    if sizes is None:
        return None
    batches = () if len(sizes) == 1 else (sizes[0], *sizes[2:])
    for size, other in zip(batches, others or (), strict=False):
        check_equal(call, builder, size, other, "the sizes of predictions and targets")
    return sizes[0] if len(sizes) == 1 else sizes[1]


def _each_loss(
    predictions: TensorStructInfo, targets: TensorStructInfo, dtype: str, vdevice: VDevice | None
) -> TensorStructInfo:
    """The struct info of one loss for each target."""
    sizes = shape_of(predictions)
    if sizes is not None:
        loss_sizes = () if len(sizes) == 1 else (sizes[0], *sizes[2:])
        return TensorStructInfo(ShapeExpr(loss_sizes), dtype, vdevice)
    ndim = predictions.ndim
    rank = ndim if ndim == -1 else max(ndim - 1, 0)
    return TensorStructInfo(None, dtype, vdevice, rank)


def _legalize_nll_loss(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs

    def nll_loss_without_weight(predictions: te.Tensor, targets: te.Tensor) -> te.Tensor:
        weights = ones_of_classes(predictions)
        return topi.nn.nll_loss(predictions, targets, weights, attrs.reduction, attrs.ignore_index)

    if len(call.args) == 2:
        return builder.call_te(nll_loss_without_weight, *call.args)
    return builder.call_te(topi.nn.nll_loss, *call.args, attrs.reduction, attrs.ignore_index)


def ones_of_classes(predictions: te.Tensor) -> te.Tensor:
    """The weight 1 for each class."""
    count = predictions.shape[1 if predictions.ndim > 1 else 0]
    return topi.full((count,), predictions.dtype, 1.0)


declare("relax.nn.nll_loss", _infer_nll_loss, legalize=_legalize_nll_loss)
