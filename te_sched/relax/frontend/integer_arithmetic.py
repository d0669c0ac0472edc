"""Arithmetic of quantized tensors: integers that stand for scale * (integer - zero point).

Products of bytes are those of unsigned and signed ones, for which processors have instructions,
with terms that correct them for zero points. Zero points and scales are arrays that are known, or
values of the graph. Must not know the format of a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, reshaped, sizes_of_tensor, tensor_info
from te_sched.relax.frontend.windows import convolution

Array = NDArray[np.generic]
Parameter = Array | GraphExpr  # a zero point or a scale
_GROUP = 4  # bytes that an instruction multiplies at once


def as_tensor(value: Parameter) -> GraphExpr:
    """A value as an expression of the graph."""
    return const(value, str(value.dtype)) if isinstance(value, np.ndarray | np.generic) else value


def dtype_of(value: Parameter) -> str:
    """The dtype of a value.

    >>> dtype_of(np.int8(3)), dtype_of(const(1.0, "float32"))
    ('int8', 'float32')
    """
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype)
    return tensor_info(value).dtype


def converted(builder: BlockBuilder, value: Parameter, dtype: str) -> Parameter:
    """A value as one of another dtype; an array stays one.

    >>> builder = BlockBuilder()
    >>> converted(builder, np.int8([1, 2]), "int32")
    array([1, 2], dtype=int32)
    """
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).astype(dtype)
    return value if dtype_of(value) == dtype else builder.emit(R.astype(value, dtype))


def with_shape(builder: BlockBuilder, value: Parameter, shape: Sequence[Size]) -> Parameter:
    """A value with other sizes.

    >>> builder = BlockBuilder()
    >>> with_shape(builder, np.int8([1, 2]), [2, 1]).shape
    (2, 1)
    """
    if isinstance(value, np.ndarray | np.generic):
        return np.reshape(value, [-1 if not isinstance(size, int) else size for size in shape])
    return reshaped(builder, value, shape)


def combined(builder: BlockBuilder, make: str, a: Parameter, b: Parameter) -> Parameter:
    """The result of a function of elements of two values ("multiply"), an array of two arrays.

    >>> builder = BlockBuilder()
    >>> combined(builder, "add", np.int32([1, 2]), np.asarray(3, "int32"))
    array([4, 5], dtype=int32)
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        result: Array = np.asarray(getattr(np, make)(a, b), a.dtype)
        return result
    return builder.emit(getattr(R, make)(as_tensor(a), as_tensor(b)))


def is_zero(value: Parameter) -> bool:
    """Whether all elements are known to be zero.

    >>> is_zero(np.zeros(3)), is_zero(const(0.0, "float32"))
    (True, False)
    """
    return isinstance(value, np.ndarray | np.generic) and not np.any(value)


def quantized(
    builder: BlockBuilder,
    x: GraphExpr,
    scale: Parameter,
    zero: Parameter,
    dtype: str,
    limits: tuple[int, int] | None = None,
) -> GraphVar:
    """round(x / scale) + zero, limited to the range of a dtype, of values that are broadcast.

    `limits` are those of a range that is smaller. Halves are rounded to even numbers.
    """
    kind = tensor_info(x).dtype
    scaled = builder.emit(R.divide(x, as_tensor(converted(builder, scale, kind))))
    return _rounded(builder, scaled, zero, dtype, limits)


def requantized(
    builder: BlockBuilder, sums: GraphExpr, factor: Parameter, zero: Parameter, dtype: str
) -> GraphVar:
    """round(sums * factor) + zero, limited to the range of a dtype; factors are of float32."""
    real = as_tensor(converted(builder, sums, "float32"))
    scaled = builder.emit(R.multiply(real, as_tensor(factor)))
    return _rounded(builder, scaled, zero, dtype)


def _rounded(
    builder: BlockBuilder,
    x: GraphVar,
    zero: Parameter,
    dtype: str,
    limits: tuple[int, int] | None = None,
) -> GraphVar:
    low, high = limits or ops.int_limits(dtype)
    whole = builder.emit(R.round(x))
    if not is_zero(zero):
        moved = as_tensor(converted(builder, zero, tensor_info(x).dtype))
        whole = builder.emit(R.add(whole, moved))
    return builder.emit(R.astype(builder.emit(R.clip(whole, low, high)), dtype))


def dequantized(
    builder: BlockBuilder, x: GraphExpr, scale: Parameter, zero: Parameter, dtype: str = "float32"
) -> GraphVar:
    """scale * (x - zero), of values that are broadcast."""
    kind = dtypes.is_float(tensor_info(x).dtype)
    wide = as_tensor(converted(builder, x, "float32" if kind else "int32"))
    if not is_zero(zero):
        offset = as_tensor(converted(builder, zero, tensor_info(wide).dtype))
        wide = builder.emit(R.subtract(wide, offset))
    real = as_tensor(converted(builder, wide, "float32"))
    factor = as_tensor(converted(builder, scale, "float32"))
    product = builder.emit(R.multiply(real, factor))
    return product if dtype == "float32" else builder.emit(R.astype(product, dtype))


def _wide(builder: BlockBuilder, value: Parameter, zero: Parameter) -> GraphExpr:
    """value - zero as numbers of 32 bits."""
    whole, offset = (converted(builder, part, "int32") for part in (value, zero))
    return as_tensor(whole if is_zero(offset) else combined(builder, "subtract", whole, offset))


def _unsigned(builder: BlockBuilder, x: Parameter, zero: Parameter) -> tuple[GraphExpr, Parameter]:
    """Bytes as unsigned ones, with their zero point of 32 bits."""
    zero = converted(builder, zero, "int32")
    if dtype_of(x) == "uint8":
        return as_tensor(x), zero
    flipped = builder.emit(R.bitwise_xor(as_tensor(x), const(-128, "int8")))
    moved = combined(builder, "add", zero, np.asarray(128, "int32"))
    return builder.emit(R.astype(flipped, "uint8")), moved


def _signed(builder: BlockBuilder, x: Parameter, zero: Parameter) -> tuple[GraphExpr, Parameter]:
    """Bytes as signed ones, with their zero point of 32 bits, which is 0 if that is possible."""
    zero = converted(builder, zero, "int32")
    if isinstance(x, np.ndarray) and isinstance(zero, np.ndarray):
        moved = x.astype("int32") - zero
        if moved.size and moved.min() >= -128 and moved.max() <= 127:
            return const(moved.astype("int8"), "int8"), np.asarray(0, "int32")
    if dtype_of(x) == "int8":
        return as_tensor(x), zero
    flipped = builder.emit(R.bitwise_xor(as_tensor(x), const(128, "uint8")))
    return builder.emit(R.astype(flipped, "int8")), combined(
        builder, "subtract", zero, np.asarray(128, "int32")
    )


def _sum(builder: BlockBuilder, x: GraphExpr, axes: Sequence[int]) -> GraphVar:
    wide = as_tensor(converted(builder, x, "int32"))
    return builder.emit(R.sum(wide, list(axes), keepdims=True))


def integer_matmul(
    builder: BlockBuilder, a: Parameter, zero_a: Parameter, b: Parameter, zero_b: Parameter
) -> GraphVar:
    """(a - zero_a) @ (b - zero_b) of bytes of at least two dimensions, with sums of 32 bits.

    Zero points are broadcast with the matrices: (), (rows, 1) or (columns,).
    """
    x, zero_x = _unsigned(builder, a, zero_a)
    y, zero_y = _signed(builder, b, zero_b)
    sums = builder.emit(R.matmul(x, y, out_dtype="int32"))
    if not is_zero(zero_x):
        term = combined(builder, "multiply", zero_x, _sum(builder, y, [-2]))
        sums = builder.emit(R.subtract(sums, as_tensor(term)))
    if not is_zero(zero_y):
        of_rows: Parameter = _sum(builder, x, [-1])
        if not is_zero(zero_x):
            depth = sizes_of_tensor(x, "give the shapes of the matrices")[-1]
            of_zeros = _times(builder, zero_x, depth)
            of_rows = combined(builder, "subtract", of_rows, of_zeros)
        term = combined(builder, "multiply", of_rows, zero_y)
        sums = builder.emit(R.subtract(sums, as_tensor(term)))
    return sums


def _times(builder: BlockBuilder, value: Parameter, size: Size) -> Parameter:
    """A value of 32 bits times a size."""
    if isinstance(size, int):
        return combined(builder, "multiply", value, np.asarray(size, "int32"))
    count = builder.emit(R.astype(builder.emit(R.shape_to_tensor([size])), "int32"))
    return combined(builder, "multiply", value, count)


def integer_convolution(
    builder: BlockBuilder,
    x: Parameter,
    zero_x: Parameter,
    weight: Parameter,
    zero_weight: Parameter,
    strides: Sequence[int],
    padding: Sequence[Size],
    dilation: Sequence[int],
    groups: int,
) -> GraphVar:
    """The convolution of x - zero_x with weight - zero_weight, of bytes, with sums of 32 bits.

    zero_x is a number, zero_weight one or a tensor (channels, 1, ...). The border is of zeros,
    which are numbers zero_x of x.
    """
    data, zero_data = _unsigned(builder, x, zero_x)
    kernel, zero_kernel = _signed(builder, weight, zero_weight)
    if not is_zero(zero_kernel) or not isinstance(zero_data, np.ndarray):
        wide = _wide(builder, x, zero_x), _wide(builder, weight, zero_weight)
        return convolution(
            builder, *wide, None, strides, padding, dilation, groups, out_dtype="int32"
        )
    data, kernel, rest = _bordered(builder, data, kernel, int(zero_data), padding, groups)
    sums = convolution(builder, data, kernel, None, strides, rest, dilation, groups, "int32")
    if is_zero(zero_data):
        return sums
    channels, *_ = sizes_of_tensor(kernel, "give the shape of the weight")
    rank = tensor_info(kernel).ndim
    terms = _sum(builder, kernel, range(1, rank))
    column = reshaped(builder, terms, [channels, *[1] * (rank - 2)])
    term = combined(builder, "multiply", zero_data, column)
    return builder.emit(R.subtract(sums, as_tensor(term)))


def _bordered(
    builder: BlockBuilder,
    data: GraphExpr,
    kernel: GraphExpr,
    zero: int,
    padding: Sequence[Size],
    groups: int,
) -> tuple[GraphExpr, GraphExpr, Sequence[Size]]:
    """Data with a border of zero points, and as many channels as instructions multiply at once, the
    kernel with these, and the padding that is left.
    """
    channels = sizes_of_tensor(kernel, "give the shape of the weight")[1]
    extra = -channels % _GROUP if isinstance(channels, int) and groups == 1 else 0
    rank = tensor_info(kernel).ndim
    is_padded = any(not isinstance(size, int) or size for size in padding)
    if extra:
        flat = [0, 0, 0, extra, *[0] * (2 * rank - 4)]
        kernel = builder.emit(R.nn.pad(kernel, flat))
    if not extra and (zero == 0 or not is_padded):
        return data, kernel, padding
    half = len(padding) // 2
    pairs = zip(padding[:half], padding[half:], strict=True)
    borders = [size for pair in pairs for size in pair]
    wide = builder.emit(R.nn.pad(data, [0, 0, 0, extra, *borders], pad_value=zero))
    return wide, kernel, [0] * len(padding)
