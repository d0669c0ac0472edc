"""Rows of quantized operators of ONNX: conversions, products and convolutions of integers.

Integers of two or four bits are computed as int8, floats of four or eight bits as float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend import integer_arithmetic as arithmetic
from te_sched.relax.frontend.integer_arithmetic import Parameter
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of, stored_dtype
from te_sched.relax.frontend.onnx.operators.elementwise import is_small_float, to_small_float
from te_sched.relax.frontend.onnx.operators.windows import padding_of
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, shape_expr
from te_sched.relax.frontend.windows import with_bias

_FEW_BITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")


class Quantized(NamedTuple):
    """A tensor of integers that stand for scale * (integer - zero)."""

    values: Parameter
    scale: Parameter
    zero: Parameter


def parameter(imp: OnnxImporter, value: Value) -> Parameter:
    """An input as an array that is known, or as a value of the graph."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).astype(stored_dtype(str(value.dtype)))
    return imp.tensor(value)


def number(imp: OnnxImporter, value: Value | None, dtype: str = "uint8") -> Parameter:
    """A scale or a zero point, as a number if it has one element; 0 if it is absent."""
    if value is None:
        return np.zeros((), stored_dtype(dtype))
    result = parameter(imp, value)
    if all(size == 1 for size in imp.shape(value)) and imp.rank(value):
        return arithmetic.with_shape(imp.builder, result, [])
    return result


def quantized(imp: OnnxImporter, values: Value, scale: Value, zero: Value | None) -> Quantized:
    """The inputs of a tensor of integers."""
    return Quantized(
        parameter(imp, values), number(imp, scale), number(imp, zero, imp.dtype(values))
    )


def along(imp: OnnxImporter, value: Parameter, axis: int, rank: int) -> Parameter:
    """A number, or a vector along an axis of a tensor, so that it is broadcast with it."""
    sizes = imp.shape(value)
    if not sizes:
        return value
    shape: list[Size] = [1] * rank
    shape[axis % rank] = sizes[0]
    return arithmetic.with_shape(imp.builder, value, shape)


def _supported(dtype: str) -> str:
    """A dtype; GraphError for one that tensors are not quantized to."""
    if dtype not in (*_INTEGERS, *_FEW_BITS) and not is_small_float(dtype):
        raise GraphError(
            f"a tensor is quantized to {dtype}",
            "numbers of this dtype are not computed",
            f"quantize to {', '.join((*_INTEGERS[:4], *_FEW_BITS))}, or floats of 4 or 8 bits",
        )
    return dtype


def _blocks(imp: OnnxImporter, x: GraphExpr, value: Parameter, axis: int, block: int) -> Parameter:
    """A scale or a zero point of each block along an axis, as one of each element."""
    repeated = imp.emit(R.repeat(arithmetic.as_tensor(value), block, axis))
    size, whole = imp.shape(x)[axis], imp.shape(repeated)[axis]
    if imp.builder.analyzer.can_prove_equal(*shape_expr([size, whole]).values):
        return repeated
    return imp.emit(R.strided_slice(repeated, [axis], [0], [size], [1], True))


def _spread(
    imp: OnnxImporter, x: GraphExpr, values: Sequence[Parameter], axis: int, block: int
) -> list[Parameter]:
    """Scales and zero points so that they are broadcast with a tensor."""
    rank = imp.rank(x)
    is_number = all(not imp.shape(value) for value in values)
    if not is_number and not -rank <= axis < rank:
        raise GraphError(
            f"a tensor of {rank} dimensions is quantized along axis {axis}",
            "it does not have this axis",
            f"give an axis from {-rank} to {rank - 1}",
        )
    parameters: list[Parameter] = []
    for value in values:
        sizes = imp.shape(value)
        if block and sizes:
            parameters.append(_blocks(imp, x, value, axis % rank, block))
        elif len(sizes) > 1:
            raise GraphError(
                f"a scale or a zero point has {len(sizes)} dimensions",
                "block_size is 0",
                "give a number, a vector along the axis, or a block_size",
            )
        else:
            parameters.append(along(imp, value, axis, rank))
    return parameters


@row("QuantizeLinear", domain="com.microsoft")
@row("QuantizeLinear")
def _quantize(
    imp: OnnxImporter,
    x: Value,
    scale: Value,
    zero: Value | None = None,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> GraphVar:
    dtype = dtype_of(output_dtype) if output_dtype else "uint8"
    dtype = _supported(imp.dtype(zero) if zero is not None else dtype)
    stored = stored_dtype(dtype)
    tensor, factor = imp.tensor(x), number(imp, scale)
    kind = imp.dtype(factor)
    if not dtypes.is_float(imp.dtype(tensor)) or precision:
        kind = "float32"
    tensor = arithmetic.as_tensor(arithmetic.converted(imp.builder, tensor, kind))
    parts = [factor, number(imp, zero, stored)]
    factor, offset = _spread(imp, tensor, parts, axis, block_size)
    if stored == "float32":  # whose zero point is 0
        scaled = imp.emit(R.divide(tensor, arithmetic.as_tensor(factor)))
        result = to_small_float(imp, scaled, dtype, bool(saturate))
    else:
        limits = _FEW_BITS.get(dtype)
        result = arithmetic.quantized(imp.builder, tensor, factor, offset, stored, limits)
    if stored != dtype:
        imp.few_bits[result] = dtype
    return result


@row("DequantizeLinear", domain="com.microsoft")
@row("DequantizeLinear")
def _dequantize(
    imp: OnnxImporter,
    x: Value,
    scale: Value,
    zero: Value | None = None,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> GraphVar:
    tensor = arithmetic.as_tensor(parameter(imp, x))
    if imp.dtype(x) != "float32":
        _supported(imp.dtype(x))
    factor = number(imp, scale)
    dtype = imp.dtype(factor)
    if output_dtype:
        dtype = dtype_of(output_dtype)
    parts = [factor, number(imp, zero, imp.dtype(tensor))]
    factor, offset = _spread(imp, tensor, parts, axis, block_size)
    return arithmetic.dequantized(imp.builder, tensor, factor, offset, dtype)


@row("DynamicQuantizeLinear")
def dynamic_quantize(imp: OnnxImporter, x: Value) -> tuple[GraphVar, GraphVar, GraphVar]:
    """A tensor as unsigned bytes whose range is that of its values and 0; scale and zero point."""
    tensor, nothing = imp.tensor(x), const(0.0, "float32")
    low = imp.emit(R.minimum(imp.emit(R.min(tensor)), nothing))
    high = imp.emit(R.maximum(imp.emit(R.max(tensor)), nothing))
    width = imp.emit(R.subtract(high, low))
    # A quotient by a number becomes a product with its reciprocal, which rounds differently.
    wide = imp.emit(R.divide(imp.emit(R.astype(width, "float64")), const(255.0, "float64")))
    step = imp.emit(R.astype(wide, "float32"))
    is_flat = imp.emit(R.equal(width, nothing))
    scale = imp.emit(R.where(is_flat, const(1.0, "float32"), step))
    negated = imp.emit(R.negative(low))
    none = np.zeros((), "uint8")
    zero = arithmetic.quantized(imp.builder, negated, scale, none, "uint8")
    return arithmetic.quantized(imp.builder, tensor, scale, zero, "uint8"), scale, zero


def of_rows(imp: OnnxImporter, value: Parameter, rank: int) -> Parameter:
    """A number, or one of each row of matrices, so that it is broadcast with them."""
    sizes = imp.shape(value)
    return along(imp, value, -2, max(rank, 2)) if len(sizes) == 1 else value


def product(
    imp: OnnxImporter, a: Parameter, zero_a: Parameter, b: Parameter, zero_b: Parameter
) -> GraphVar:
    """The product of two quantized matrices, or of batches of them, as integers of 32 bits."""
    ranks = imp.rank(a), imp.rank(b)
    left, right = imp.shape(a), imp.shape(b)
    builder = imp.builder
    if ranks[0] == 1:
        a = arithmetic.with_shape(builder, a, [1, *left])
    if ranks[1] == 1:
        b = arithmetic.with_shape(builder, b, [*right, 1])
    zero_a = of_rows(imp, zero_a, ranks[0])
    sums = arithmetic.integer_matmul(builder, a, zero_a, b, zero_b)
    if 1 not in ranks:
        return sums
    sizes = imp.shape(sums)
    rows = [] if ranks[0] == 1 else [sizes[-2]]
    return imp.emit(R.reshape(sums, [*sizes[:-2], *rows, *(sizes[-1:] if ranks[1] > 1 else [])]))


@row("MatMulInteger")
def _matmul_integer(
    imp: OnnxImporter, a: Value, b: Value, zero_a: Value | None = None, zero_b: Value | None = None
) -> GraphVar:
    zeros = number(imp, zero_a, imp.dtype(a)), number(imp, zero_b, imp.dtype(b))
    return product(imp, parameter(imp, a), zeros[0], parameter(imp, b), zeros[1])


def quotient(imp: OnnxImporter, a: Parameter, b: Parameter, result: Parameter) -> Parameter:
    """The factor from products of numbers of two scales to numbers of a third one."""
    wide = [arithmetic.converted(imp.builder, value, "float32") for value in (a, b, result)]
    scale = arithmetic.combined(imp.builder, "multiply", wide[0], wide[1])
    return arithmetic.combined(imp.builder, "divide", scale, wide[2])


@row("QLinearMatMul")
def _qlinear_matmul(
    imp: OnnxImporter,
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    y_scale: Value,
    y_zero: Value,
) -> GraphVar:
    left, right = quantized(imp, a, a_scale, a_zero), quantized(imp, b, b_scale, b_zero)
    sums = product(imp, left.values, left.zero, right.values, right.zero)
    scale_of_rows = of_rows(imp, left.scale, imp.rank(a))
    factor = quotient(imp, scale_of_rows, right.scale, number(imp, y_scale))
    zero = number(imp, y_zero)
    return arithmetic.requantized(imp.builder, sums, factor, zero, imp.dtype(zero))


def _convolution(
    imp: OnnxImporter,
    x: Quantized,
    weight: Quantized,
    auto_pad: str,
    dilations: Ints | None,
    group: int,
    pads: Ints | None,
    strides: Ints | None,
) -> GraphVar:
    kernel = imp.shape(weight.values)[2:]
    rank = len(kernel)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    extents = imp.shape(x.values)[2:]
    borders = padding_of(auto_pad, pads, extents, kernel, strides, dilations)
    padding = [width for width in borders if isinstance(width, int)]
    if len(padding) < len(borders):
        raise GraphError(
            f"auto_pad={auto_pad!r} depends on the sizes {shape_expr(extents)}",
            "a convolution of integers has fixed padding",
            imp.help_with_shapes,
        )
    zero = along(imp, weight.zero, 0, rank + 2)
    windows = (strides, padding, dilations, group)
    return arithmetic.integer_convolution(
        imp.builder, x.values, x.zero, weight.values, zero, *windows
    )


@row("ConvInteger")
def _conv_integer(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    x_zero: Value | None = None,
    w_zero: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> GraphVar:
    no_scale = np.ones((), "float32")
    data, kernel = quantized(imp, x, no_scale, x_zero), quantized(imp, weight, no_scale, w_zero)
    return _convolution(imp, data, kernel, auto_pad, dilations, group, pads, strides)


@row("QLinearConv")
def _qlinear_conv(
    imp: OnnxImporter,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    weight: Value,
    w_scale: Value,
    w_zero: Value,
    y_scale: Value,
    y_zero: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> GraphVar:
    data, kernel = quantized(imp, x, x_scale, x_zero), quantized(imp, weight, w_scale, w_zero)
    sums = _convolution(imp, data, kernel, auto_pad, dilations, group, pads, strides)
    sums = with_bias(imp.builder, sums, None if bias is None else imp.tensor(bias))
    of_channels = along(imp, kernel.scale, 1, imp.rank(x))
    factor = quotient(imp, data.scale, of_channels, number(imp, y_scale))
    zero = number(imp, y_zero)
    return arithmetic.requantized(imp.builder, sums, factor, zero, imp.dtype(zero))
