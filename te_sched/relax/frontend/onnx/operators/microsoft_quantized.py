"""Rows of quantized operators of onnxruntime (com.microsoft), which its quantizer writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.frontend import integer_arithmetic as arithmetic
from te_sched.relax.frontend.integer_arithmetic import Parameter
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.operators.microsoft import (
    attention,
    refuse_past,
    split_projections,
)
from te_sched.relax.frontend.onnx.operators.quantized import (
    Quantized,
    dynamic_quantize,
    number,
    of_rows,
    parameter,
    product,
    quantized,
    quotient,
)
from te_sched.relax.frontend.onnx.operators.windows import pool
from te_sched.relax.frontend.onnx.registry import Rule, find_row, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.operators.linear_algebra import product_of_matrices

_DOMAIN = "com.microsoft"


def _real(imp: OnnxImporter, x: Quantized) -> GraphVar:
    """The real numbers for which integers stand."""
    return arithmetic.dequantized(imp.builder, arithmetic.as_tensor(x.values), x.scale, x.zero)


def _result(
    imp: OnnxImporter, x: GraphExpr, scale: Value, zero: Value | None, dtype: str
) -> GraphVar:
    """Real numbers as integers of the dtype of a zero point."""
    offset = number(imp, zero, dtype)
    factor = number(imp, scale)
    return arithmetic.quantized(imp.builder, x, factor, offset, imp.dtype(offset))


def _of_two(make: str) -> Rule:
    def rule(
        imp: OnnxImporter,
        a: Value,
        a_scale: Value,
        a_zero: Value | None,
        b: Value,
        b_scale: Value,
        b_zero: Value | None,
        scale: Value,
        zero: Value | None = None,
    ) -> GraphVar:
        left = _real(imp, quantized(imp, a, a_scale, a_zero))
        right = _real(imp, quantized(imp, b, b_scale, b_zero))
        result = imp.emit(getattr(R, make)(left, right))
        return _result(imp, result, scale, zero, imp.dtype(a))

    return rule


row("QLinearAdd", domain=_DOMAIN)(_of_two("add"))
row("QLinearMul", domain=_DOMAIN)(_of_two("multiply"))


def _by_floats(
    imp: OnnxImporter,
    function: Callable[[GraphVar], GraphExpr],
    inputs: Sequence[Value | None],
) -> GraphVar:
    """A function of real numbers, of integers: they, their scale and zero point, those of the
    result.
    """
    x, scale, zero, new_scale, *new_zero = inputs
    assert x is not None  # which nodes have, as their scales
    assert scale is not None
    assert new_scale is not None
    result = function(_real(imp, quantized(imp, x, scale, zero)))
    return _result(imp, result, new_scale, new_zero[0] if new_zero else None, imp.dtype(x))


@row("QLinearSigmoid", domain=_DOMAIN)
def _sigmoid(imp: OnnxImporter, *inputs: Value | None) -> GraphVar:
    return _by_floats(imp, lambda x: imp.emit(R.sigmoid(x)), inputs)


@row("QLinearLeakyRelu", domain=_DOMAIN)
def _leaky_relu(imp: OnnxImporter, *inputs: Value | None, alpha: float = 0.01) -> GraphVar:
    return _by_floats(imp, lambda x: imp.emit(R.nn.leakyrelu(x, alpha)), inputs)


@row("QLinearSoftmax", domain=_DOMAIN)
def _softmax(imp: OnnxImporter, *inputs: Value | None, axis: int = -1, opset: int = 13) -> GraphVar:
    rule = find_row("", "Softmax", opset)
    assert rule is not None

    def softmax(x: GraphVar) -> GraphExpr:
        result = rule(imp, x, axis=axis)
        assert isinstance(result, GraphExpr)
        return result

    return _by_floats(imp, softmax, inputs)


def _channels_first(
    imp: OnnxImporter, function: Callable[[GraphExpr], GraphExpr], is_last: int, x: GraphExpr
) -> GraphExpr:
    """A function of images with their channels first, of images that may have them last."""
    if not is_last:
        return function(x)
    rank = imp.rank(x)
    first = imp.emit(R.permute_dims(x, [0, rank - 1, *range(1, rank - 1)]))
    return imp.emit(R.permute_dims(function(first), [0, *range(2, rank), 1]))


@row("QLinearAveragePool", domain=_DOMAIN)
def _average_pool(
    imp: OnnxImporter, *inputs: Value | None, channels_last: int = 0, **attrs: object
) -> GraphVar:
    mean = partial(pool("avg"), imp, **attrs)
    return _by_floats(imp, partial(_channels_first, imp, mean, channels_last), inputs)


@row("QLinearGlobalAveragePool", domain=_DOMAIN)
def _global_average_pool(
    imp: OnnxImporter, *inputs: Value | None, channels_last: int = 0
) -> GraphVar:
    def mean(x: GraphExpr) -> GraphExpr:
        return imp.emit(R.mean(x, list(range(2, imp.rank(x))), True))

    return _by_floats(imp, partial(_channels_first, imp, mean, channels_last), inputs)


@row("QLinearConcat", domain=_DOMAIN)
def _concat(
    imp: OnnxImporter, scale: Value, zero: Value, *inputs: Value, axis: int = 0
) -> GraphVar:
    parts = zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
    fields = [
        _result(imp, _real(imp, quantized(imp, *part)), scale, zero, "uint8") for part in parts
    ]
    return imp.emit(R.concat(fields, axis))


@row("QLinearWhere", domain=_DOMAIN)
def _where(imp: OnnxImporter, condition: Value, *inputs: Value) -> GraphVar:
    x, y = quantized(imp, *inputs[:3]), quantized(imp, *inputs[3:6])
    choice = imp.emit(R.where(imp.tensor(condition), _real(imp, x), _real(imp, y)))
    return _result(imp, choice, inputs[6], inputs[7], "uint8")


@row("QGemm", domain=_DOMAIN)
def _gemm(
    imp: OnnxImporter,
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    c: Value | None = None,
    y_scale: Value | None = None,
    y_zero: Value | None = None,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> GraphVar:
    left, right = quantized(imp, a, a_scale, a_zero), quantized(imp, b, b_scale, b_zero)
    x = _transposed(imp, left.values) if transA else left.values
    y = _transposed(imp, right.values) if transB else right.values
    sums = product(imp, x, left.zero, y, right.zero)
    if c is not None:
        sums = imp.emit(R.add(sums, imp.tensor(c)))
    out_scale = np.ones((), "float32") if y_scale is None else number(imp, y_scale)
    factor = quotient(imp, left.scale, right.scale, out_scale)
    if alpha != 1.0:
        number_of = np.asarray(alpha, "float32")
        factor = arithmetic.combined(imp.builder, "multiply", factor, number_of)
    if y_scale is None:
        return _scaled(imp, sums, factor, None)
    zero = number(imp, y_zero, imp.dtype(a))
    return arithmetic.requantized(imp.builder, sums, factor, zero, imp.dtype(zero))


def _transposed(imp: OnnxImporter, x: Parameter) -> Parameter:
    if isinstance(x, np.ndarray | np.generic):
        return np.ascontiguousarray(x.T)
    return imp.emit(R.permute_dims(x, [1, 0]))


def _scaled(imp: OnnxImporter, sums: GraphVar, factor: Parameter, bias: Value | None) -> GraphVar:
    """Sums of 32 bits as real numbers: sums * factor + bias."""
    real = imp.emit(R.astype(sums, "float32"))
    result = imp.emit(R.multiply(real, arithmetic.as_tensor(factor)))
    return result if bias is None else imp.emit(R.add(result, imp.tensor(bias)))


def _product_to_float(
    imp: OnnxImporter, a: Quantized, b: Quantized, bias: Value | None
) -> GraphVar:
    sums = product(imp, a.values, a.zero, b.values, b.zero)
    scale = of_rows(imp, a.scale, imp.rank(a.values))
    factor = quotient(imp, scale, b.scale, np.ones((), "float32"))
    return _scaled(imp, sums, factor, bias)


@row("MatMulIntegerToFloat", domain=_DOMAIN)
def _matmul_to_float(
    imp: OnnxImporter,
    a: Value,
    b: Value,
    a_scale: Value,
    b_scale: Value,
    a_zero: Value | None = None,
    b_zero: Value | None = None,
    bias: Value | None = None,
) -> GraphVar:
    left, right = quantized(imp, a, a_scale, a_zero), quantized(imp, b, b_scale, b_zero)
    return _product_to_float(imp, left, right, bias)


@row("DynamicQuantizeMatMul", domain=_DOMAIN)
def _dynamic_matmul(
    imp: OnnxImporter,
    a: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value | None = None,
    bias: Value | None = None,
) -> GraphVar:
    left = Quantized(*dynamic_quantize(imp, a))
    return _product_to_float(imp, left, quantized(imp, b, b_scale, b_zero), bias)


@row("QAttention", domain=_DOMAIN)
def _attention(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value,
    x_scale: Value,
    w_scale: Value,
    mask: Value | None = None,
    x_zero: Value | None = None,
    w_zero: Value | None = None,
    past: Value | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
    **_: object,
) -> GraphVar:
    refuse_past(past)
    left, right = quantized(imp, x, x_scale, x_zero), quantized(imp, weight, w_scale, w_zero)
    parts = split_projections(imp, _product_to_float(imp, left, right, bias), None)
    options = (scale, unidirectional, mask_filter_value)
    return attention(imp, num_heads, parts, mask, None, *options)


@row("MatMulNBits", domain=_DOMAIN)
def _matmul_of_bits(
    imp: OnnxImporter,
    a: Value,
    b: Value,
    scales: Value,
    zeros: Value | None = None,
    groups: Value | None = None,
    bias: Value | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> GraphVar:
    if groups is not None or weight_prepacked:
        raise GraphError(
            "the weight is in another order than that of its columns",
            "g_idx or weight_prepacked is given",
            "export the model without it",
        )
    if bits not in (2, 4, 8) or block_size < 8:
        raise GraphError(f"the weight has {bits} bits in blocks of {block_size}", "", "use 4 bits")
    count = -(-K // block_size)
    x, dtype = imp.tensor(a), imp.dtype(a)
    width = count * block_size * bits // 8  # bytes of a row
    packed = arithmetic.with_shape(imp.builder, parameter(imp, b), [N, width])
    factors = arithmetic.with_shape(imp.builder, parameter(imp, scales), [N, count])
    inputs = [packed, factors]
    if zeros is not None:
        offsets = parameter(imp, zeros)
        inputs.append(arithmetic.with_shape(imp.builder, offsets, [N, -1]))
    rule = partial(_product_of_bits, depth=K, block=block_size, bits=bits, dtype=dtype)
    tensors = [arithmetic.as_tensor(value) for value in inputs]
    result = imp.builder.emit_te(rule, x, *tensors, primfunc_name_hint="matmul_of_bits")
    return result if bias is None else imp.emit(R.add(result, imp.tensor(bias)))


def _product_of_bits(
    x: te.Tensor,
    packed: te.Tensor,
    scales: te.Tensor,
    zeros: te.Tensor | None = None,
    *,
    depth: int,
    block: int,
    bits: int,
    dtype: str,
) -> te.Tensor:
    """x @ w.T, of a weight of few bits: w[n, k] = (packed[n, k] - zeros[n, k]) * scales[n, k], with
    a zero point and a scale for each block along k.
    """

    def field(tensor: te.Tensor, n: Expr, k: Expr) -> Expr:
        """The number at a place of a row of which bytes hold several, the first in the low bits."""
        count = 8 // bits
        byte = ops.cast("int32", tensor(n, ops.floordiv(k, count)))
        moved = ops.shift_right(byte, ops.cast("int32", ops.floormod(k, count) * bits))
        return ops.bitwise_and(moved, ops.const((1 << bits) - 1, "int32"))

    def element(k: Expr, n: Expr) -> Expr:
        part = ops.floordiv(k, block)
        if zeros is None:
            zero: Expr = ops.const(1 << (bits - 1), dtype)
        elif zeros.dtype == "uint8":
            zero = ops.cast(dtype, field(zeros, n, part))
        else:
            zero = zeros(n, part)
        return (ops.cast(dtype, field(packed, n, k)) - zero) * scales(n, part)

    weight = te.compute((depth, packed.shape[0]), element, name="weight")
    return product_of_matrices(x, weight, dtype)
