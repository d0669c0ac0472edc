"""Rows of normalizations."""

from __future__ import annotations

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir.expr import Expr
from te_sched.ir.graph import TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, Result, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import filled
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import tensor_of


@row("BatchNormalization")
def _batch_norm(
    imp: OnnxImporter,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    var: Value,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
) -> Value:
    if training_mode:
        raise GraphError("a batch is normalized as in training", "", "export it for inference")
    stats = (imp.tensor(mean), imp.tensor(var))
    scales = (imp.tensor(scale), imp.tensor(bias))
    call = R.nn.batch_norm(imp.tensor(x), *scales, *stats, axis=1, epsilon=epsilon)
    return imp.emit(TupleGetItem(imp.emit(call), 0))


@row("MeanVarianceNormalization")
def _mean_variance(imp: OnnxImporter, x: Value, axes: Ints = (0, 2, 3)) -> Value:
    x, places = imp.tensor(x), list(axes)
    centered = imp.emit(R.subtract(x, imp.emit(R.mean(x, places, True))))
    spread = imp.emit(R.sqrt(imp.emit(R.variance(x, places, True))))
    return imp.emit(R.divide(centered, imp.emit(R.add(spread, const(1e-9, imp.dtype(x))))))


@row("LayerNormalization")
def _layer_norm(
    imp: OnnxImporter,
    x: Value,
    scale: Value,
    bias: Value | None = None,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Result:
    x = imp.tensor(x)
    shape = imp.shape(x)
    axes = list(range(axis % len(shape), len(shape)))
    if bias is None:
        bias = filled(imp.builder, [shape[axis] for axis in axes], 0, imp.dtype(x))
    args = (x, imp.tensor(scale), imp.tensor(bias))
    result = imp.emit(R.nn.layer_norm(*args, axes=axes, epsilon=epsilon))
    if imp.count == 1:
        return result
    spread = imp.emit(R.add(imp.emit(R.variance(x, axes, True)), const(epsilon, imp.dtype(x))))
    return (result, imp.emit(R.mean(x, axes, True)), imp.emit(R.rsqrt(spread)))


@row("RMSNormalization")
def _rms_norm(
    imp: OnnxImporter, x: Value, scale: Value, axis: int = -1, epsilon: float = 1e-5, **_: object
) -> Value:
    x, rank = imp.tensor(x), imp.rank(x)
    axes = list(range(axis % rank, rank))
    return imp.emit(R.nn.rms_norm(x, imp.tensor(scale), axes, epsilon))


@row("GroupNormalization")
def _group_norm(
    imp: OnnxImporter,
    x: Value,
    scale: Value,
    bias: Value,
    num_groups: int,
    epsilon: float = 1e-5,
    **_: object,
) -> Value:
    x, axes = imp.tensor(x), list(range(2, imp.rank(x)))
    channels, gamma, beta = imp.shape(x)[1], imp.tensor(scale), imp.tensor(bias)
    if imp.shape(scale) != [channels]:  # of groups, before version 21
        times = imp.fixed_size(channels, "divide") // num_groups
        gamma, beta = [imp.emit(R.repeat(param, times, 0)) for param in (gamma, beta)]
    call = R.nn.group_norm(
        x, gamma, beta, num_groups=num_groups, channel_axis=1, axes=axes, epsilon=epsilon
    )
    return imp.emit(call)


@row("InstanceNormalization")
def _instance_norm(
    imp: OnnxImporter, x: Value, scale: Value, bias: Value, epsilon: float = 1e-5
) -> Value:
    return _group_norm(imp, x, scale, bias, imp.fixed_size(imp.shape(x)[1], "normalize"), epsilon)


@row("LpNormalization")
def _lp_norm(imp: OnnxImporter, x: Value, *, axis: int = -1, p: int = 2) -> Value:
    x, dtype = imp.tensor(x), imp.dtype(x)
    if p == 1:
        size = imp.emit(R.sum(imp.emit(R.abs(x)), axis, True))
    else:
        size = imp.emit(R.sqrt(imp.emit(R.sum(imp.emit(R.multiply(x, x)), axis, True))))
    is_zero = imp.emit(R.equal(size, const(0, dtype)))
    divisor = imp.emit(R.where(is_zero, const(1, dtype), size))  # so that zeros stay zeros
    return imp.emit(R.divide(x, divisor))


@row("LRN")
def _local_response_norm(
    imp: OnnxImporter,
    x: Value,
    *,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
) -> Value:
    x, dtype = imp.tensor(x), imp.dtype(x)

    def squares(data: Tensor) -> Tensor:
        """The sums of squares of the channels around each."""
        near = te.reduce_axis((0, size), name="r")
        channels = data.shape[1]

        def element(batch: Expr, channel: Expr, *rest: Expr) -> Expr:
            near_channel = channel + near.var - (size - 1) // 2
            value = data(batch, near_channel, *rest)
            is_inside = te.all(near_channel >= 0, near_channel < channels)
            return te.sum(te.if_then_else(is_inside, value * value, te.const(0, dtype)), axis=near)

        return tensor_of(data.shape, element, "T_squares", "")

    total = imp.builder.emit_te(squares, x)
    scaled = imp.emit(R.multiply(total, const(alpha / size, dtype)))
    divisor = imp.emit(R.power(imp.emit(R.add(scaled, const(bias, dtype))), const(beta, dtype)))
    return imp.emit(R.divide(x, divisor))
