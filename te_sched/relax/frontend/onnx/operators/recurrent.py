"""Rows of recurrent layers: LSTM, GRU and RNN, and the LSTM that onnxruntime quantizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from te_sched import te
from te_sched.errors import GraphError, did_you_mean
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend import integer_arithmetic as arithmetic
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.operators.quantized import dynamic_quantize, parameter
from te_sched.relax.frontend.onnx.registry import Result, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.recurrent import Cell, Function, State, emit_recurrence
from te_sched.relax.frontend.tensors import filled


class _Activation(NamedTuple):
    """A function of an element and of its parameters, of which ONNX has default values."""

    compute: Callable[..., Expr]
    alpha: float | None = None
    beta: float | None = None


def _number(value: float, x: Expr) -> Expr:
    return ops.const(value, x.dtype)


def _affine(x: Expr, alpha: float, beta: float) -> Expr:
    return _number(alpha, x) * x + _number(beta, x)


def _hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    return ops.minimum(ops.maximum(_affine(x, alpha, beta), _number(0, x)), _number(1, x))


def _leaky(x: Expr, alpha: float) -> Expr:
    return te.select(x < _number(0, x), _number(alpha, x) * x, x)


def _elu(x: Expr, alpha: float) -> Expr:
    return te.select(x < _number(0, x), _number(alpha, x) * (te.exp(x) - _number(1, x)), x)


def _softplus(x: Expr) -> Expr:
    size = te.exp(_number(0, x) - te.abs(x))
    return ops.maximum(x, _number(0, x)) + te.log(_number(1, x) + size)


_ACTIVATIONS = {
    "relu": _Activation(lambda x: ops.maximum(x, _number(0, x))),
    "tanh": _Activation(te.tanh),
    "sigmoid": _Activation(te.sigmoid),
    "affine": _Activation(_affine, 1.0, 0.0),
    "leakyrelu": _Activation(_leaky, 0.01),
    "thresholdedrelu": _Activation(
        lambda x, alpha: te.select(x > _number(alpha, x), x, _number(0, x)), 1.0
    ),
    "scaledtanh": _Activation(
        lambda x, alpha, beta: _number(alpha, x) * te.tanh(_number(beta, x) * x), 1.0, 1.0
    ),
    "hardsigmoid": _Activation(_hard_sigmoid, 0.2, 0.5),
    "elu": _Activation(_elu, 1.0),
    "softsign": _Activation(lambda x: x / (_number(1, x) + te.abs(x))),
    "softplus": _Activation(_softplus),
}


def _functions(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> list[Function]:
    """The activations by their names; those that have parameters take the next ones."""
    next_alphas, next_betas = iter(alphas), iter(betas)
    return [_function(name, next_alphas, next_betas) for name in names]


def _function(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Function:
    activation = _ACTIVATIONS.get(name.lower())
    if activation is None:
        raise GraphError(
            f"the activation {name} of a recurrent layer is not supported",
            f"supported are {', '.join(_ACTIVATIONS)}",
            f"use another activation{did_you_mean(name.lower(), _ACTIVATIONS)}",
        )
    numbers = [
        next(values, default)
        for values, default in ((alphas, activation.alpha), (betas, activation.beta))
        if default is not None
    ]
    return lambda x: activation.compute(x, *numbers)


class _Layer(NamedTuple):
    """The inputs of a node, and its attributes that all kinds of layers have."""

    x: Value
    weights: Value
    state_weights: Value
    biases: Value | None
    lengths: Value | None
    hidden: Value | None
    cell: Value | None = None
    peepholes: Value | None = None


class _Options(NamedTuple):
    """Attributes that decide about the order of dimensions and steps."""

    direction: str
    layout: int


_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def _emit_layer(
    imp: OnnxImporter, layer: _Layer, options: _Options, cells: Sequence[Cell]
) -> tuple[GraphExpr, ...]:
    """All results of a layer: with dimensions of directions, in the order of the layout."""
    x = imp.tensor(layer.x)
    if options.layout:  # batches before steps
        x = imp.emit(R.permute_dims(x, [1, 0, 2]))
    rows = [
        _emit_direction(imp, x, layer, options, direction, cell, is_reversed)
        for direction, (cell, is_reversed) in enumerate(
            zip(cells, _DIRECTIONS[options.direction], strict=True)
        )
    ]
    axes = (2, 1, 1) if options.layout else (1, 0, 0)
    results = []
    for axis, *parts in zip(axes, *rows, strict=False):
        if options.layout and axis == 2:
            parts = [imp.emit(R.permute_dims(part, [1, 0, 2])) for part in parts]
        wide = [imp.emit(R.expand_dims(part, axis)) for part in parts]
        results.append(wide[0] if len(wide) == 1 else imp.emit(R.concat(wide, axis)))
    return tuple(results)


def _emit_direction(
    imp: OnnxImporter,
    x: GraphExpr,
    layer: _Layer,
    options: _Options,
    direction: int,
    cell: Cell,
    is_reversed: bool,
) -> list[GraphExpr]:
    """The states of a direction, without a dimension of directions."""

    def part(value: Value | None, axis: int = 0) -> GraphExpr | None:
        """What a tensor has for the direction."""
        if value is None:
            return None
        return imp.emit(R.take(imp.tensor(value), const(direction, "int64"), axis))

    weight, state_weight = part(layer.weights), part(layer.state_weights)
    assert weight is not None
    assert state_weight is not None
    products = imp.emit(R.matmul(x, imp.emit(R.permute_dims(weight, [1, 0]))))
    size = imp.fixed_size(imp.shape(state_weight)[1], "make a recurrent layer of")
    state_bias = None
    biases = part(layer.biases)
    if biases is not None:
        bias, state_bias = _biases(imp, biases, cell, size)
        products = imp.emit(R.add(products, bias))
    lengths = None if layer.lengths is None else imp.tensor(layer.lengths)
    batch_axis = 1 if options.layout else 0
    state = State(
        imp.emit(R.permute_dims(state_weight, [1, 0])),
        state_bias,
        part(layer.hidden, batch_axis),
        part(layer.cell, batch_axis),
        lengths,
        part(layer.peepholes),
    )
    return list(emit_recurrence(imp.builder, products, state, cell, is_reversed))


def _biases(
    imp: OnnxImporter, biases: GraphExpr, cell: Cell, size: int
) -> tuple[GraphExpr, GraphExpr | None]:
    """What is added to the products of inputs, and to that of the state which a GRU resets."""
    count = cell.gates * size

    def between(begin: int, end: int) -> GraphExpr:
        return imp.emit(R.strided_slice(biases, [0], [begin], [end]))

    bias, state_bias = between(0, count), between(count, 2 * count)
    if not cell.resets_product:
        return imp.emit(R.add(bias, state_bias)), None
    gates = between(count, count + 2 * size)
    zeros = filled(imp.builder, [size], 0, imp.dtype(biases))
    return imp.emit(R.add(bias, imp.emit(R.concat([gates, zeros], 0)))), state_bias


def _cells(
    direction: str,
    gates: int,
    activations: Sequence[str] | None,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    **options: float | None,
) -> list[Cell]:
    """The cell of each direction."""
    defaults = {4: ["Sigmoid", "Tanh", "Tanh"], 3: ["Sigmoid", "Tanh"], 1: ["Tanh"]}[gates]
    count, directions = len(defaults), len(_DIRECTIONS[direction])
    names = activations or defaults * directions
    functions = _functions(names, alphas or [], betas or [])
    clip = options.pop("clip")
    flags = {name: bool(value) for name, value in options.items()}
    return [
        Cell(gates, functions[first : first + count], clip, **flags)
        for first in range(0, count * directions, count)
    ]


@row("LSTM")
def _lstm(
    imp: OnnxImporter,
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    initial_c: Value | None = None,
    p: Value | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
) -> Result:
    parameters = (activations, activation_alpha, activation_beta)
    cells = _cells(direction, 4, *parameters, clip=clip, couples_gates=input_forget)
    layer = _Layer(x, w, r, b, sequence_lens, initial_h, initial_c, p)
    return _emit_layer(imp, layer, _Options(direction, layout), cells)


@row("DynamicQuantizeLSTM", domain="com.microsoft")
def _quantized_lstm(
    imp: OnnxImporter,
    x: Value,
    w: Value,
    r: Value,
    b: Value | None,
    sequence_lens: Value | None,
    initial_h: Value | None,
    initial_c: Value | None,
    p: Value | None,
    w_scale: Value,
    w_zero: Value,
    r_scale: Value,
    r_zero: Value,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> Result:
    """An LSTM of integers, computed as one of the reals for which they stand."""
    parameters = (activations, activation_alpha, activation_beta)
    cells = _cells(
        direction, 4, *parameters, clip=clip, couples_gates=input_forget, quantizes_state=True
    )
    data = arithmetic.dequantized(imp.builder, *dynamic_quantize(imp, x))
    weights, state_weights = (
        _real_weights(imp, w, w_scale, w_zero),
        _real_weights(imp, r, r_scale, r_zero),
    )
    layer = _Layer(data, weights, state_weights, b, sequence_lens, initial_h, initial_c, p)
    return _emit_layer(imp, layer, _Options(direction, 0), cells)


def _real_weights(imp: OnnxImporter, values: Value, scale: Value, zero: Value) -> GraphExpr:
    """Weights (directions, gates * state, inputs) of integers (directions, inputs, gates * state),
    with a scale of each direction, or of each of its columns.
    """
    directions, columns = imp.shape(values)[0], -1 if imp.rank(scale) == 2 else 1
    whole = parameter(imp, values)
    factor, offset = [
        arithmetic.with_shape(imp.builder, parameter(imp, value), [directions, 1, columns])
        for value in (scale, zero)
    ]
    arrays = [part for part in (whole, factor, offset) if isinstance(part, np.ndarray)]
    if len(arrays) == 3:
        integers, factors, offsets = [array.astype("float32") for array in arrays]
        weights = (integers - offsets) * factors
        return const(np.ascontiguousarray(weights.transpose(0, 2, 1)), "float32")
    real = arithmetic.dequantized(imp.builder, arithmetic.as_tensor(whole), factor, offset)
    return imp.emit(R.permute_dims(real, [0, 2, 1]))


@row("GRU")
def _gru(
    imp: OnnxImporter,
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 1,
) -> Result:
    parameters = (activations, activation_alpha, activation_beta)
    cells = _cells(direction, 3, *parameters, clip=clip, resets_product=linear_before_reset)
    layer = _Layer(x, w, r, b, sequence_lens, initial_h)
    return _emit_layer(imp, layer, _Options(direction, layout), cells)


@row("RNN")
def _rnn(
    imp: OnnxImporter,
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    sequence_lens: Value | None = None,
    initial_h: Value | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 1,
) -> Result:
    parameters = (activations, activation_alpha, activation_beta)
    cells = _cells(direction, 1, *parameters, clip=clip)
    layer = _Layer(x, w, r, b, sequence_lens, initial_h)
    return _emit_layer(imp, layer, _Options(direction, layout), cells)
