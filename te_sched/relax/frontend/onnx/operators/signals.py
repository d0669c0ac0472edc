"""Rows of signals: windows, Fourier transforms, weights of mel scales.

A transform is one product with the matrix of its coefficients, which is a constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from te_sched.ir import ops
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of
from te_sched.relax.frontend.onnx.registry import row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, reshaped

Matrix = NDArray[np.float64]

_FLOAT = 1  # float32 among ONNX's dtypes


def _window(name: str, *coefficients: float) -> None:
    """Add the row of a window, a sum of cosines."""

    @row(name)
    def rule(
        imp: OnnxImporter, size: Value, output_datatype: int = _FLOAT, periodic: int = 1
    ) -> Value:
        (count,) = imp.ints(size, 0)
        period = max(count if periodic else count - 1, 1)
        angles = 2 * np.pi * np.arange(count) / period
        terms = [factor * np.cos(n * angles) for n, factor in enumerate(coefficients)]
        return np.asarray(np.sum(terms, 0)).astype(dtype_of(output_datatype))


_window("HannWindow", 0.5, -0.5)
_window("HammingWindow", 25 / 46, -21 / 46)
_window("BlackmanWindow", 0.42, -0.5, 0.08)


@row("MelWeightMatrix")
def _mel_weights(imp: OnnxImporter, *numbers: Value, output_datatype: int = _FLOAT) -> Value:
    filters, length, rate, lowest, highest = [
        imp.floats(value, position)[0] for position, value in enumerate(numbers)
    ]
    count, ends = int(filters), np.array([lowest, highest])
    low, high = 2595 * np.log10(1 + ends / 700)
    mels = low + np.arange(count + 2) * (high - low) / (count + 2)
    bins = ((length + 1) * 700 * (10 ** (mels / 2595) - 1) // rate).astype(int)
    weights = np.zeros((int(length) // 2 + 1, count))
    for column, (begin, center, end) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        upward, downward = np.arange(begin, center + 1), np.arange(center, end)
        weights[upward, column] = (upward - begin) / (center - begin) if center > begin else 1
        weights[downward, column] = (end - downward) / max(end - center, 1)
    return weights.astype(dtype_of(output_datatype))


def _transform(length: int, parts: int, is_inverse: bool, is_onesided: bool) -> Matrix:
    """The matrix of a transform: [length * parts, frequencies * 2], of real and imaginary parts."""
    count = length // 2 + 1 if is_onesided else length
    angles = 2 * np.pi * np.outer(np.arange(length), np.arange(count)) / length
    angles = angles if is_inverse else -angles
    real, imaginary = np.cos(angles), np.sin(angles)
    rows = [np.stack([real, imaginary], -1)]
    if parts == 2:
        rows.append(np.stack([-imaginary, real], -1))
    matrix = np.stack(rows, 1) / (length if is_inverse else 1)
    return matrix.reshape(length * parts, count * 2)


def _real_inverse(length: int) -> Matrix:
    """The matrix of the real inverse of frequencies of which half are given:
    [(length // 2 + 1) * 2, length]."""
    count = length // 2 + 1
    angles = 2 * np.pi * np.outer(np.arange(count), np.arange(length)) / length
    times = np.full((count, 1), 2.0)
    times[0] = 1
    if length % 2 == 0:
        times[-1] = 1
    matrix = np.stack([times * np.cos(angles), -times * np.sin(angles)], 1) / length
    return matrix.reshape(count * 2, length)


def _with_length(imp: OnnxImporter, x: GraphExpr, axis: int, length: int) -> GraphExpr:
    """A tensor that is cut, or followed by zeros, along an axis."""
    size = imp.fixed_size(imp.shape(x)[axis], "transform")
    if size > length:
        return imp.emit(R.strided_slice(x, [axis], [0], [length]))
    if size == length:
        return x
    pads = [0] * (2 * imp.rank(x))
    pads[2 * axis + 1] = length - size
    return imp.emit(R.nn.pad(x, pads))


def _transformed(
    imp: OnnxImporter,
    x: Value,
    dft_length: Value | None,
    axis: int,
    is_inverse: bool,
    is_onesided: bool,
) -> GraphExpr:
    x = imp.tensor(x)
    rank = imp.rank(x)
    along, parts = axis % rank, imp.fixed_size(imp.shape(x)[-1], "transform")
    is_real_inverse = is_inverse and is_onesided
    length = imp.fixed_size(imp.shape(x)[along], "transform")
    length = 2 * (length - 1) if is_real_inverse else length
    if dft_length is not None:
        (length,) = imp.ints(dft_length, 1)
    count = length // 2 + 1 if is_real_inverse else length
    x = _with_length(imp, x, along, count)
    order = [*[n for n in range(rank - 1) if n != along], along, rank - 1]
    x = imp.emit(R.permute_dims(x, order))
    if is_real_inverse:
        matrix, ends = _real_inverse(length), [length, 1]
    else:
        matrix = _transform(length, parts, is_inverse, is_onesided)
        ends = [matrix.shape[1] // 2, 2]
    y = _multiplied(imp, x, matrix, ends)
    return imp.emit(R.permute_dims(y, [order.index(n) for n in range(rank)]))


def _multiplied(imp: OnnxImporter, x: GraphExpr, matrix: Matrix, ends: list[int]) -> GraphExpr:
    """The products of the last two dimensions, which become others, and a matrix."""
    outer = imp.shape(x)[:-2]
    flat = reshaped(imp.builder, x, [*outer, len(matrix)])
    y = imp.emit(R.matmul(flat, const(matrix, imp.dtype(x))))
    return reshaped(imp.builder, y, [*outer, *ends])


@row("DFT")
def _dft_along_attribute(
    imp: OnnxImporter,
    x: Value,
    dft_length: Value | None = None,
    *,
    axis: int = 1,
    inverse: int = 0,
    onesided: int = 0,
) -> GraphExpr:
    return _transformed(imp, x, dft_length, axis, bool(inverse), bool(onesided))


@row("DFT", since=20)
def _dft(
    imp: OnnxImporter,
    x: Value,
    dft_length: Value | None = None,
    axis: Value | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> GraphExpr:
    dim = -2 if axis is None else imp.ints(axis, 2)[0]
    return _transformed(imp, x, dft_length, dim, bool(inverse), bool(onesided))


@row("STFT")
def _stft(
    imp: OnnxImporter,
    signal: Value,
    frame_step: Value,
    window: Value | None = None,
    frame_length: Value | None = None,
    *,
    onesided: int = 1,
) -> GraphExpr:
    signal = imp.tensor(signal)
    if imp.rank(signal) == 2:  # as onnxruntime allows for real signals
        signal = imp.emit(R.expand_dims(signal, -1))
    _, size, parts = imp.shape(signal)
    (step,) = imp.ints(frame_step, 1)
    if frame_length is not None:
        (length,) = imp.ints(frame_length, 3)
    else:
        extents = [size] if window is None else imp.shape(window)
        length = imp.fixed_size(extents[0], "transform")
    frames = imp.emit(R.take(signal, _frame_places(imp, size, length, step), 1))
    if window is not None:
        weights = imp.emit(R.reshape(imp.tensor(window), [1, 1, length, 1]))
        frames = imp.emit(R.multiply(frames, weights))
    matrix = _transform(length, imp.fixed_size(parts, "transform"), False, bool(onesided))
    return _multiplied(imp, frames, matrix, [matrix.shape[1] // 2, 2])


def _frame_places(imp: OnnxImporter, size: Size, length: int, step: int) -> GraphExpr:
    """The places of the elements of frames: [frames, length]."""
    count = ops.floordiv(ops.subtract(size, length), step) + 1
    begins = imp.emit(R.arange(0, count * step, step, "int64"))
    return imp.emit(R.add(imp.emit(R.expand_dims(begins, 1)), const(np.arange(length), "int64")))
