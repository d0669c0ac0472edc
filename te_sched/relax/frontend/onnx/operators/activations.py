"""Rows of activations: functions of elements with parameters, and softmax."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend import float_functions
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import product_of


@row("Gelu")
def _gelu(imp: OnnxImporter, x: Value, approximate: str = "none") -> GraphExpr:
    return imp.emit((R.nn.gelu if approximate == "none" else R.nn.gelu_tanh)(imp.tensor(x)))


@row("LeakyRelu")
def _leaky_relu(imp: OnnxImporter, x: Value, alpha: float = 0.01) -> GraphExpr:
    return imp.emit(R.nn.leakyrelu(imp.tensor(x), alpha))


@row("PRelu")
def _prelu(imp: OnnxImporter, x: Value, slope: Value) -> GraphExpr:
    x, slope = imp.tensor(x), imp.tensor(slope)
    return float_functions.prelu(imp.builder, x, slope, of_zero=True)


@row("Elu")
def _elu(imp: OnnxImporter, x: Value, alpha: float = 1.0) -> GraphExpr:
    return float_functions.elu(imp.builder, imp.tensor(x), alpha)


@row("Celu")
def _celu(imp: OnnxImporter, x: Value, alpha: float = 1.0) -> GraphExpr:
    return float_functions.elu(imp.builder, imp.tensor(x), alpha, 1.0, 1.0 / alpha)


@row("Selu")
def _selu(
    imp: OnnxImporter,
    x: Value,
    alpha: float = 1.67326319217681884765625,
    gamma: float = 1.05070102214813232421875,
) -> GraphExpr:
    return float_functions.elu(imp.builder, imp.tensor(x), alpha, gamma)


@row("HardSigmoid")
def _hard_sigmoid(imp: OnnxImporter, x: Value, alpha: float = 0.2, beta: float = 0.5) -> GraphExpr:
    dtype = imp.dtype(x)
    scaled = imp.emit(R.multiply(imp.tensor(x), const(alpha, dtype)))
    return imp.emit(R.clip(imp.emit(R.add(scaled, const(beta, dtype))), 0, 1))


@row("HardSwish")
def _hard_swish(imp: OnnxImporter, x: Value) -> GraphExpr:
    return imp.emit(R.multiply(imp.tensor(x), _hard_sigmoid(imp, x, 1 / 6, 0.5)))


@row("Softplus")
def _softplus(imp: OnnxImporter, x: Value) -> GraphExpr:
    return float_functions.softplus(imp.builder, imp.tensor(x))


@row("Softsign")
def _softsign(imp: OnnxImporter, x: Value) -> GraphExpr:
    x = imp.tensor(x)
    size = imp.emit(R.add(imp.emit(R.abs(x)), const(1, imp.dtype(x))))
    return imp.emit(R.divide(x, size))


@row("ThresholdedRelu")
def _thresholded_relu(imp: OnnxImporter, x: Value, alpha: float = 1.0) -> GraphExpr:
    x, dtype = imp.tensor(x), imp.dtype(x)
    is_above = imp.emit(R.greater(x, const(alpha, dtype)))
    return imp.emit(R.where(is_above, x, const(0, dtype)))


@row("Shrink")
def _shrink(imp: OnnxImporter, x: Value, bias: float = 0.0, lambd: float = 0.5) -> GraphExpr:
    x, dtype = imp.tensor(x), imp.dtype(x)
    below = imp.emit(R.less(x, const(-lambd, dtype)))
    above = imp.emit(R.greater(x, const(lambd, dtype)))
    grown = imp.emit(R.add(x, const(bias, dtype)))
    shrunk = imp.emit(R.subtract(x, const(bias, dtype)))
    result = imp.emit(R.where(below, grown, const(0, dtype)))
    return imp.emit(R.where(above, shrunk, result))


@row("Mish")
def _mish(imp: OnnxImporter, x: Value) -> GraphExpr:
    return imp.emit(R.multiply(imp.tensor(x), imp.emit(R.tanh(_softplus(imp, x)))))


@row("Softmax", since=13)
def _softmax(imp: OnnxImporter, x: Value, axis: int = -1) -> GraphExpr:
    return imp.emit(R.nn.softmax(imp.tensor(x), axis))


@row("Softmax")
def _softmax_of_rows(imp: OnnxImporter, x: Value, axis: int = 1) -> GraphExpr:
    return _of_rows(imp, R.nn.softmax, x, axis)


@row("LogSoftmax", since=13)
def _log_softmax(imp: OnnxImporter, x: Value, axis: int = -1) -> GraphExpr:
    return imp.emit(R.nn.log_softmax(imp.tensor(x), axis))


@row("LogSoftmax")
def _log_softmax_of_rows(imp: OnnxImporter, x: Value, axis: int = 1) -> GraphExpr:
    return _of_rows(imp, R.nn.log_softmax, x, axis)


def _of_rows(imp: OnnxImporter, make: Callable[..., GraphCall], x: Value, axis: int) -> GraphExpr:
    """A function along a row, which are the elements of all dimensions from an axis on."""
    x, shape = imp.tensor(x), imp.shape(x)
    first = axis % len(shape)
    if first == len(shape) - 1:
        return imp.emit(make(x, -1))
    flat = imp.emit(R.reshape(x, [product_of(shape[:first]), product_of(shape[first:])]))
    return imp.emit(R.reshape(imp.emit(make(flat, -1)), shape))


@row("Hardmax", since=13)
def _hardmax(imp: OnnxImporter, x: Value, axis: int = -1) -> GraphExpr:
    return imp.emit(_first_largest(imp, imp.tensor(x), axis))


@row("Hardmax")
def _hardmax_of_rows(imp: OnnxImporter, x: Value, axis: int = 1) -> GraphExpr:
    return _of_rows(imp, partial(_first_largest, imp), x, axis)


def _first_largest(imp: OnnxImporter, x: GraphExpr, axis: int) -> GraphCall:
    """1 for the first of the greatest elements along an axis, 0 for others."""
    shape = imp.shape(x)
    places = imp.emit(R.argmax(x, axis, True))
    sizes = [1] * len(shape)
    sizes[axis] = -1
    numbers = imp.emit(R.arange(0, shape[axis], 1, "int64"))
    column = imp.emit(R.reshape(numbers, sizes))
    return R.astype(imp.emit(R.equal(column, places)), imp.dtype(x))
