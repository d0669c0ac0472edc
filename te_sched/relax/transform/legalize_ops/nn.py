"""Rules of layers, activations, normalizations and losses."""

from __future__ import annotations

import math
from typing import Any

from te_sched import te, topi
from te_sched.errors import warn
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.attention import attention
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    call_te_of,
    library_rule,
    scalar_or_expr,
)

_PAD_MODES = {"reflect": "REFLECT", "symmetric": "SYMMETRIC"}


def _numbers(values: Any) -> list[Any]:
    """An attribute of sizes as a list of numbers of Python."""
    return [getattr(one, "value", one) for one in values]


def _convolution(count: int, layouts: tuple[str, str]) -> LegalizeFunc:
    """The rule of a convolution; others than those of `layouts` are left to libraries."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        attrs, dtype = call.attrs, call.struct_info.dtype  # type: ignore[attr-defined]
        if attrs.out_layout != attrs.data_layout or len(attrs.data_layout) != count + 2:
            warn(f"{call.op} from {attrs.data_layout} to {attrs.out_layout} has no rule")
            return call
        return builder.call_te(
            topi.nn.conv,
            *call.args,
            stride=_numbers(attrs.strides),
            padding=_numbers(attrs.padding),
            dilation=_numbers(attrs.dilation),
            groups=attrs.groups,
            data_layout=attrs.data_layout,
            kernel_layout=attrs.kernel_layout,
            out_dtype=dtype,
            primfunc_name_hint=f"conv{count}d",
        )

    del layouts
    return legalize


for _count, _layouts in ((1, ("NCW", "OIW")), (2, ("NCHW", "OIHW")), (3, ("NCDHW", "OIDHW"))):
    library_rule(f"relax.nn.conv{_count}d", _convolution(_count, _layouts))


def _transposed(te_func: Any, grouped: Any, layouts: tuple[str, str]) -> LegalizeFunc:
    """The rule of a transposed convolution of the layouts that topi has."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        attrs = call.attrs
        given = (attrs.data_layout, attrs.kernel_layout)
        dilation = _numbers(attrs.dilation)
        if given != layouts or attrs.out_layout != layouts[0]:
            warn(f"{call.op} has no rule for layouts {given}")
            return call
        sizes = (_numbers(attrs.strides), _numbers(attrs.padding))
        extra = _numbers(attrs.output_padding)
        dtype = call.struct_info.dtype  # type: ignore[attr-defined]
        name = str(call.op).rpartition(".")[2]

        def te_transposed(data: Any, weight: Any) -> Any:
            if any(one != 1 for one in dilation):  # of elements and zeros between them
                weight = topi.nn.dilate(weight, [1, 1, *dilation])
            if attrs.groups == 1:
                return te_func(data, weight, *sizes, dtype, extra)
            return grouped(data, weight, *sizes, dtype, extra, attrs.groups)

        return builder.call_te(te_transposed, *call.args, primfunc_name_hint=name)

    return legalize


library_rule(
    "relax.nn.conv1d_transpose",
    _transposed(topi.nn.conv1d_transpose_ncw, topi.nn.group_conv1d_transpose_ncw, ("NCW", "IOW")),
)
library_rule(
    "relax.nn.conv2d_transpose",
    _transposed(
        topi.nn.conv2d_transpose_nchw, topi.nn.group_conv2d_transpose_nchw, ("NCHW", "IOHW")
    ),
)


def pool(te_func: Any, kind: str, name: str) -> LegalizeFunc:
    """The rule of a pool of windows."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        attrs = call.attrs
        if attrs.out_layout != attrs.layout:
            warn(f"{call.op} from {attrs.layout} to {attrs.out_layout} has no rule")
            return call
        return builder.call_te(
            te_func,
            call.args[0],
            kernel=_numbers(attrs.pool_size),
            stride=_numbers(attrs.strides),
            dilation=_numbers(attrs.dilation),
            padding=_numbers(attrs.padding),
            pool_type=kind,
            ceil_mode=attrs.ceil_mode,
            layout=attrs.layout,
            count_include_pad=attrs.count_include_pad,
            primfunc_name_hint=name,
        )

    return legalize


for _kind in ("max", "avg"):
    for _count, _func in ((1, topi.nn.pool1d), (2, topi.nn.pool2d), (3, topi.nn.pool3d)):
        _name = f"{_kind}_pool{_count}d"
        library_rule(f"relax.nn.{_name}", pool(_func, _kind, _name))


def _adaptive(te_func: Any, count: int) -> LegalizeFunc:
    """The rule of a pool of parts."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        attrs = call.attrs
        if attrs.out_layout != attrs.layout:
            warn(f"{call.op} from {attrs.layout} to {attrs.out_layout} has no rule")
            return call

        def te_adaptive(data: Any, sizes: Any, layout: str) -> Any:
            if sizes is None:
                sizes = [data.shape[layout.index(one)] for one in "DHW"[3 - count :]]
            return te_func(data, sizes, "avg", layout)

        name = f"adaptive_avg_pool{count}d"
        sizes = None if attrs.output_size is None else list(attrs.output_size)
        return builder.call_te(
            te_adaptive, call.args[0], sizes, attrs.layout, primfunc_name_hint=name
        )

    return legalize


for _count, _parts in (
    (1, topi.nn.adaptive_pool1d),
    (2, topi.nn.adaptive_pool),
    (3, topi.nn.adaptive_pool3d),
):
    library_rule(f"relax.nn.adaptive_avg_pool{_count}d", _adaptive(_parts, _count))


@library_rule("relax.nn.pad")
def _pad(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    before, after = list(attrs.pad_width[::2]), list(attrs.pad_width[1::2])
    if attrs.pad_mode in _PAD_MODES:
        mode = _PAD_MODES[attrs.pad_mode]
        return builder.call_te(
            topi.nn.mirror_pad, call.args[0], before, after, mode, primfunc_name_hint="pad"
        )
    if attrs.pad_mode in ("replicate", "circular"):
        return builder.call_te(
            _pad_repeated, call.args[0], before, after, attrs.pad_mode, primfunc_name_hint="pad"
        )
    if attrs.pad_mode != "constant":
        return call
    value = scalar_or_expr(call.args[1], python_native=True)
    return builder.call_te(
        topi.nn.pad, call.args[0], before, after, float(value), primfunc_name_hint="pad"
    )


def _pad_repeated(data: Any, before: Any, after: Any, mode: str) -> Any:
    """A tensor with its last elements, or those of the other end, around it."""
    sizes = [one + n + other for one, n, other in zip(before, data.shape, after, strict=True)]

    def element(*i: Any) -> Any:
        at = [ops.subtract(one, low) for one, low in zip(i, before, strict=True)]
        if mode == "circular":
            return data(*[ops.floormod(one, n) for one, n in zip(at, data.shape, strict=True)])
        last = [ops.minimum(one, n - 1) for one, n in zip(at, data.shape, strict=True)]
        return data(*[ops.maximum(one, 0) for one in last])

    return topi.utils.tensor_of(sizes, element, "T_pad")


# Activations

library_rule("relax.nn.relu", call_te_of(topi.nn.relu))


@library_rule("relax.nn.leakyrelu")
def _leakyrelu(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.nn.leaky_relu, call.args[0], call.attrs.alpha)


@library_rule("relax.nn.gelu")
def _gelu(builder: BlockBuilder, call: GraphCall) -> Any:
    def gelu(x: Any) -> Any:
        dtype = x.dtype
        half = te.const(0.5, dtype)
        scaled = topi.multiply(x, te.const(0.5**0.5, dtype))
        if dtype == "float16":  # erf of float16 loses what it has
            erf = topi.cast(topi.erf(topi.cast(scaled, "float32")), "float16")
        else:
            erf = topi.erf(scaled)
        return topi.multiply(x, topi.add(half, topi.multiply(erf, half)))

    return builder.call_te(gelu, call.args[0])


@library_rule("relax.nn.gelu_tanh")
def _gelu_tanh(builder: BlockBuilder, call: GraphCall) -> Any:
    def gelu_tanh(x: Any) -> Any:
        def number(value: float) -> Any:
            return te.const(value, x.dtype)

        cubic = topi.multiply(topi.multiply(number(0.044715), x), x)
        scaled = topi.multiply(number(math.sqrt(2.0 / math.pi)), x)
        inner = topi.multiply(scaled, topi.add(number(1.0), cubic))
        return topi.multiply(topi.multiply(number(0.5), x), topi.add(number(1.0), topi.tanh(inner)))

    return builder.call_te(gelu_tanh, call.args[0])


@library_rule("relax.nn.silu")
def _silu(builder: BlockBuilder, call: GraphCall) -> Any:
    def silu(x: Any) -> Any:
        return topi.multiply(x, topi.sigmoid(x))

    return builder.call_te(silu, call.args[0])


@library_rule("relax.nn.softmax")
def _softmax(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.nn.softmax, call.args[0], call.attrs.axis)


@library_rule("relax.nn.log_softmax")
def _log_softmax(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.nn.log_softmax, call.args[0], call.attrs.axis)


# Normalizations


@library_rule("relax.nn.batch_norm")
def _batch_norm(builder: BlockBuilder, call: GraphCall) -> Any:
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


@library_rule("relax.nn.layer_norm")
def _layer_norm(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(topi.nn.layer_norm, *call.args, list(attrs.axes), attrs.epsilon)


@library_rule("relax.nn.group_norm")
def _group_norm(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(
        topi.nn.group_norm,
        *call.args,
        attrs.num_groups,
        attrs.channel_axis,
        list(attrs.axes),
        attrs.epsilon,
    )


@library_rule("relax.nn.rms_norm")
def _rms_norm(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(topi.nn.rms_norm, *call.args, list(attrs.axes), attrs.epsilon)


@library_rule("relax.nn.dropout")
def _dropout(builder: BlockBuilder, call: GraphCall) -> Any:
    del builder
    warn("relax.nn.dropout has no rule: leave it out of graphs for inference")
    return call


# Losses


@library_rule("relax.nn.cross_entropy_with_logits")
def _cross_entropy(builder: BlockBuilder, call: GraphCall) -> Any:
    def cross_entropy_with_logits(x: Any, y: Any) -> Any:
        total = topi.sum(topi.multiply(x, y))
        found = topi.multiply(total, te.const(-1, x.dtype))
        if x.ndim > 1:
            found = topi.divide(found, ops.cast(x.dtype, x.shape[0]))
        return found

    return builder.call_te(cross_entropy_with_logits, *call.args)


@library_rule("relax.nn.nll_loss")
def _nll_loss(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs

    def nll_loss_without_weight(predictions: Any, targets: Any) -> Any:
        weights = ones_of_classes(predictions)
        return topi.nn.nll_loss(predictions, targets, weights, attrs.reduction, attrs.ignore_index)

    if len(call.args) == 2:
        return builder.call_te(nll_loss_without_weight, *call.args)
    return builder.call_te(topi.nn.nll_loss, *call.args, attrs.reduction, attrs.ignore_index)


def ones_of_classes(predictions: Any) -> Any:
    """The weight 1 for each class."""
    count = predictions.shape[1 if predictions.ndim > 1 else 0]
    return topi.full((count,), predictions.dtype, 1.0)


# Attention


@library_rule("relax.nn.attention")
def _attention(builder: BlockBuilder, call: GraphCall) -> Any:
    return _attention_of(builder, call, "attention")


@library_rule("relax.nn.attention_bias")
def _attention_bias(builder: BlockBuilder, call: GraphCall) -> Any:
    return _attention_of(builder, call, "attention_bias")


def _attention_of(builder: BlockBuilder, call: GraphCall, name: str) -> Any:
    attrs = call.attrs
    if attrs.window_size is not None:
        warn(f"{call.op} with window_size has no rule")
        return call

    def te_attention(query: Any, key: Any, value: Any, bias: Any = None) -> Any:
        return attention(query, key, value, bias, attrs.scale, attrs.causal_mask)

    return builder.call_te(te_attention, *call.args, primfunc_name_hint=name)
