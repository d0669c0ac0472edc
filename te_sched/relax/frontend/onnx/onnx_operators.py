"""Rows of operators of ONNX: each translates the inputs and attributes of a node.

Inputs are tensors of the graph, arrays whose values are known, or sizes (`OnnxSizes`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any, TypeGuard, TypeVar

import numpy as np

from te_sched import topi
from te_sched.errors import GraphError
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Cast, Expr, Var
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, GraphVar, PrimValue, TupleGetItem
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend import float_functions
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.sizes import Array, Known, Number, Numbers, OnnxSizes, Value
from te_sched.relax.frontend.tensors import (
    Size,
    filled,
    first_elements,
    fixed_size,
    product_of,
    reshaped,
    shape_expr,
    sizes_of_tensor,
    tensor_info,
)
from te_sched.relax.frontend.windows import (
    LAYOUTS,
    begun_inside,
    convolution,
    depth_to_space,
    nonnegative_indices,
    resampled,
    transposed_convolution,
)
from te_sched.relax.frontend.windows import Array as Places

# The value of a node, or of each of its outputs.
Result = Value | tuple[Value, ...]
Rule = Callable[..., Result]
Ints = Sequence[int]  # an attribute of a node
OfNumbers = Callable[[Any, Any], Any]  # of arrays, numbers and sizes
Reduction = Callable[["OnnxImporter", GraphExpr, Ints | None, bool], GraphExpr]
_R = TypeVar("_R", bound=Rule)

OPERATORS: dict[str, Rule] = {}


class OnnxImporter:
    """The translation of a model: the builder, and the values by name."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.builder = BlockBuilder()
        self.values: dict[str, Value] = {}
        self.known: dict[str, Array] = {}  # the arrays of initializers, also of those that are kept
        self.inputs: list[str] = []  # names of the inputs of the current node
        self.count = 1  # of its outputs

    def emit(self, expr: GraphExpr) -> GraphVar:
        """Bind an expression to a variable."""
        return self.builder.emit(expr)

    def tensor(self, value: Value) -> GraphExpr:
        """A value as an expression of the graph."""
        if isinstance(value, OnnxSizes):
            return self._tensor_of_sizes(value)
        if isinstance(value, np.ndarray | np.generic):
            return const(np.asarray(value), str(value.dtype))
        return value

    def _tensor_of_sizes(self, sizes: OnnxSizes) -> GraphExpr:
        """Sizes as a tensor; those of floats are computed by the graph, unless they are casts."""
        if dtypes.is_float(sizes.dtype):
            has_floats = not all(isinstance(one, Cast) for one in sizes if isinstance(one, Expr))
            if has_floats:
                assert sizes.make is not None
                return sizes.make()
        wholes = shape_expr([_sizes.integral(one)[0] for one in sizes])
        found = self.emit(R.shape_to_tensor(wholes))
        if sizes.is_scalar:
            found = self.emit(R.reshape(found, []))
        return found if sizes.dtype == "int64" else self.emit(R.astype(found, sizes.dtype))

    def size_of(self, value: Number) -> Size:
        """A number of float32 as a size: a variable that is computed, if floats remain in it."""
        size, is_plain = _sizes.integral(value)
        if is_plain:
            return size
        variable = Var("size", "int64")
        computed = self.emit(R.shape_to_tensor(shape_expr([size])))  # which passes keep
        shape = self.emit(R.tensor_to_shape(computed))
        self.builder.match_cast(shape, ShapeStructInfo((variable,)))
        return variable

    def shape(self, value: Value) -> list[Size]:
        """The sizes of a value: ints, and expressions."""
        if isinstance(value, OnnxSizes):
            return [] if value.is_scalar else [len(value)]
        if isinstance(value, np.ndarray | np.generic):
            return list(value.shape)
        return sizes_of_tensor(
            value, "give the shapes of inputs: from_onnx(model, shape_dict={...})"
        )

    def rank(self, value: Value) -> int:
        """The number of dimensions."""
        return len(self.shape(value))

    def dtype(self, value: Value) -> str:
        """The dtype."""
        if isinstance(value, OnnxSizes):
            return value.dtype
        if isinstance(value, np.ndarray | np.generic):
            return str(value.dtype)
        return tensor_info(value).dtype

    def numbers(self, value: Value | Ints | None, place: int) -> list[Number]:
        """The elements of an input that must be known: sizes, axes, ..."""
        name = self.inputs[place] if place < len(self.inputs) else ""
        if name in self.known:
            value = self.known[name]
        if isinstance(value, OnnxSizes):
            return list(value)
        if isinstance(value, Constant):
            value = value.data.numpy()
        if not isinstance(value, np.ndarray | np.generic | list | tuple):
            raise GraphError(
                f"input {place} is computed when the model runs",
                f"its value must be known, got {getattr(value, 'struct_info', value)}",
                "simplify the model, or give the shapes of its inputs",
            )
        numbers: list[Number] = np.asarray(value).ravel().tolist()
        return numbers

    def sizes(self, value: Value | Ints | None, place: int) -> list[Size]:
        """The elements of an input that are sizes: ints, and expressions."""
        return [one if isinstance(one, Expr) else int(one) for one in self.numbers(value, place)]

    def floats(self, value: Value | Ints | None, place: int) -> list[float]:
        """The elements of an input that no call gives: ints of integers, else floats."""
        numbers = self.numbers(value, place)
        fixed = [one for one in numbers if not isinstance(one, Expr)]
        if len(fixed) < len(numbers):
            raise GraphError(
                f"input {place} has sizes that a call gives",
                f"it is {numbers}",
                "give the shapes of inputs: from_onnx(model, shape_dict={...})",
            )
        return fixed

    def ints(self, value: Value | Ints | None, place: int) -> list[int]:
        """The elements of an input that are axes, places or counts, which no call gives."""
        return [int(one) for one in self.floats(value, place)]


def _has_value(imp: OnnxImporter, place: int) -> bool:
    """Whether an input is known."""
    value = imp.values.get(imp.inputs[place]) if place < len(imp.inputs) else None
    is_known = value is None or _is_known(value) or isinstance(value, Constant)
    return imp.inputs[place] in imp.known or is_known


def row(*names: str) -> Callable[[_R], _R]:
    """Add a row for operators."""

    def add(rule: _R) -> _R:
        for name in names:
            OPERATORS[name] = rule
        return rule

    return add


def _is_known(value: object) -> TypeGuard[Known]:
    return isinstance(value, np.ndarray | np.generic | OnnxSizes)


def _arrays(*values: Value) -> list[Numbers] | None:
    """Values as arrays; None if a call gives one of them, or its sizes."""
    arrays = [np.asarray(one) for one in values if isinstance(one, np.ndarray | np.generic)]
    return arrays if len(arrays) == len(values) else None


# Element by element


def _binary(make: str, of_numbers: OfNumbers) -> Callable[..., Value]:
    def rule(imp: OnnxImporter, a: Value, b: Value, **_: object) -> Value:
        def tensor() -> GraphExpr:
            return imp.emit(getattr(R, make)(imp.tensor(a), imp.tensor(b)))

        if not (_is_known(a) and _is_known(b)):
            return tensor()
        if isinstance(a, OnnxSizes) or isinstance(b, OnnxSizes):
            found = _of_sizes(imp, of_numbers, a, b, tensor)
            return tensor() if found is None else found
        return np.asarray(of_numbers(a, b))

    return rule


_ON_SIZES = {operator.add, operator.sub, operator.mod, operator.mul}


def _of_sizes(
    imp: OnnxImporter, function: OfNumbers, a: Known, b: Known, make: Callable[[], GraphExpr]
) -> Known | None:
    """The results of a function of sizes; None if they are not sizes."""
    analyzer, is_scalar = imp.builder.analyzer, not max(map(_sizes.rank_of, (a, b)))
    if function is _quotient:
        found = _sizes.zipped(lambda one, two: _sizes.quotient(one, two, analyzer), a, b)
    elif function in _ON_SIZES:
        exact = _sizes.product if function is operator.mul else function
        found = _sizes.zipped(exact, a, b)
    elif function in _CONDITIONS:
        holds = _sizes.zipped(lambda one, two: _sizes.decided(function(one, two), analyzer), a, b)
        if holds is None or None in holds:
            return None
        return np.array(holds[0] if is_scalar else holds)
    else:
        return None
    return None if found is None else _sizes.as_sizes(found, is_scalar, imp.dtype(a), make)


def _quotient(a: Numbers, b: Numbers) -> Numbers:
    if dtypes.is_integral(str(np.asarray(a).dtype)):
        return np.asarray(np.trunc(np.divide(a, b)).astype(np.asarray(a).dtype))
    return np.asarray(a / b)


_CONDITIONS: dict[OfNumbers, str] = {
    operator.eq: "Equal",
    operator.lt: "Less",
    operator.le: "LessOrEqual",
    operator.gt: "Greater",
    operator.ge: "GreaterOrEqual",
}


for _name, _make, _function in (
    ("Add", "add", operator.add),
    ("Sub", "subtract", operator.sub),
    ("Mul", "multiply", operator.mul),
    ("Equal", "equal", operator.eq),
    ("Less", "less", operator.lt),
    ("LessOrEqual", "less_equal", operator.le),
    ("Greater", "greater", operator.gt),
    ("GreaterOrEqual", "greater_equal", operator.ge),
    ("And", "logical_and", np.logical_and),
    ("Or", "logical_or", np.logical_or),
    ("Xor", "logical_xor", np.logical_xor),
    ("BitwiseAnd", "bitwise_and", np.bitwise_and),
    ("BitwiseOr", "bitwise_or", np.bitwise_or),
    ("BitwiseXor", "bitwise_xor", np.bitwise_xor),
):
    OPERATORS[_name] = _binary(_make, _function)


@row("Div")
def _div(imp: OnnxImporter, a: Value, b: Value) -> Value:
    return _binary("divide", _quotient)(imp, a, b)  # that of integers is rounded towards zero


@row("Pow")
def _pow(imp: OnnxImporter, a: Value, b: Value) -> Value:
    dtype = imp.dtype(a)
    arrays = _arrays(a, b)
    if arrays is not None and np.min(arrays[1], initial=0) >= 0:
        return np.asarray(np.power(*arrays)).astype(dtype)
    base, power = imp.tensor(a), imp.tensor(b)
    if dtypes.is_integral(dtype) and dtypes.is_float(imp.dtype(power)):
        wide = [imp.emit(R.astype(one, "float64")) for one in (base, power)]
        return imp.emit(R.astype(imp.emit(R.power(*wide)), dtype))
    if imp.dtype(power) != dtype:
        power = imp.emit(R.astype(power, dtype))
    return imp.emit(R.power(base, power))


@row("Mod")
def _mod(imp: OnnxImporter, a: Value, b: Value, fmod: int = 0) -> Value:
    make = "mod" if fmod else "floor_mod"
    return _binary(make, np.fmod if fmod else operator.mod)(imp, a, b)


def _several(make: str) -> Callable[..., GraphExpr]:
    def rule(imp: OnnxImporter, *values: Value) -> GraphExpr:
        found = imp.tensor(values[0])
        for one in values[1:]:
            found = imp.emit(getattr(R, make)(found, imp.tensor(one)))
        return found

    return rule


OPERATORS["Max"], OPERATORS["Min"] = _several("maximum"), _several("minimum")
OPERATORS["Sum"] = _several("add")


@row("Mean")
def _mean(imp: OnnxImporter, *values: Value) -> Value:
    total = _several("add")(imp, *values)
    return imp.emit(R.divide(total, const(len(values), imp.dtype(total))))


def _unary(make: str, group: ModuleType = R) -> Callable[..., GraphExpr]:
    return lambda imp, x, **_: imp.emit(getattr(group, make)(imp.tensor(x)))


def _rounded(make: str) -> Rule:
    def rule(imp: OnnxImporter, x: Value) -> Value:
        if isinstance(x, OnnxSizes):
            values = [_sizes.rounded(make, one) for one in x]
            tensor = partial(_unary(make), imp, x)
            return OnnxSizes(values, x.is_scalar, x.dtype, tensor)
        if isinstance(x, np.ndarray | np.generic):
            return np.asarray(getattr(np, make)(x))
        return imp.emit(getattr(R, make)(x))

    return rule


OPERATORS["Floor"], OPERATORS["Ceil"] = _rounded("floor"), _rounded("ceil")
for _name in (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf"),
    *("Exp", "Log", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh"),
):
    OPERATORS[_name] = _unary(_name.lower())
for _name, _make in (
    ("Neg", "negative"),
    ("Not", "logical_not"),
    ("BitwiseNot", "bitwise_not"),
    ("IsNaN", "isnan"),
):
    OPERATORS[_name] = _unary(_make)
OPERATORS["Relu"] = _unary("relu", R.nn)


@row("Sign")
def _sign(imp: OnnxImporter, x: Value) -> GraphExpr:
    x = imp.tensor(x)
    sign = imp.emit(R.sign(x))
    if not dtypes.is_float(imp.dtype(x)):
        return sign
    return imp.emit(R.where(imp.emit(R.isnan(x)), x, sign))


@row("IsInf")
def _is_inf(
    imp: OnnxImporter, x: Value, detect_negative: int = 1, detect_positive: int = 1
) -> GraphExpr:
    x = imp.tensor(x)
    if detect_negative and detect_positive:
        return imp.emit(R.isinf(x))
    sign = detect_positive - detect_negative  # 0 if neither counts
    return imp.emit(R.equal(x, const(sign * math.inf if sign else math.nan, imp.dtype(x))))


@row("Identity")
def _identity(imp: OnnxImporter, x: Value) -> Value:
    return x


@row("Dropout")
def _dropout(
    imp: OnnxImporter,
    x: Value,
    ratio: object = None,
    training_mode: Value | None = None,
    **_: object,
) -> Value | tuple[Value, GraphVar]:
    if training_mode is not None and any(imp.numbers(training_mode, 2)):
        raise GraphError("elements are dropped as in training", "", "export it for inference")
    return (x, imp.emit(R.ones(imp.shape(x), "bool"))) if imp.count > 1 else x


@row("Reciprocal")
def _reciprocal(imp: OnnxImporter, x: Value) -> Value:
    return imp.emit(R.divide(const(1, imp.dtype(x)), imp.tensor(x)))


@row("CastLike")
def _cast_like(imp: OnnxImporter, x: Value, other: Value, **_: object) -> Value:
    return imp.emit(R.astype(imp.tensor(x), imp.dtype(other)))


@row("Cast")
def _cast(imp: OnnxImporter, x: Value, to: int, **_: object) -> Value:
    import onnx

    dtype = str(onnx.helper.tensor_dtype_to_np_dtype(to))
    if isinstance(x, OnnxSizes) and dtype in ("int64", "int32", "float32"):
        if not dtypes.is_float(x.dtype):
            is_real = dtypes.is_float(dtype)
            values = [_sizes.real(one) for one in x] if is_real else x
        elif dtypes.is_float(dtype):
            return x
        else:
            values = [imp.size_of(one) for one in x]
        return OnnxSizes(values, x.is_scalar, dtype)
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x).astype(dtype)
    return imp.emit(R.astype(imp.tensor(x), dtype))


@row("Clip")
def _clip(
    imp: OnnxImporter,
    x: Value,
    low: Value | None = None,
    high: Value | None = None,
    **attrs: float,
) -> GraphExpr:
    if not all(one is None or _has_value(imp, n + 1) for n, one in enumerate((low, high))):
        found = imp.tensor(x)
        found = found if low is None else imp.emit(R.maximum(found, imp.tensor(low)))
        return found if high is None else imp.emit(R.minimum(found, imp.tensor(high)))
    limits: list[Number] = []
    for place, one, name, default in ((1, low, "min", -math.inf), (2, high, "max", math.inf)):
        if one is not None:
            limits.append(imp.numbers(one, place)[0])
        else:
            limits.append(attrs.get(name, default))
    limits[0] = min(limits)  # the upper limit has precedence
    return imp.emit(R.clip(imp.tensor(x), *limits))


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
    found = imp.emit(R.where(below, grown, const(0, dtype)))
    return imp.emit(R.where(above, shrunk, found))


@row("Mish")
def _mish(imp: OnnxImporter, x: Value) -> GraphExpr:
    return imp.emit(R.multiply(imp.tensor(x), imp.emit(R.tanh(_softplus(imp, x)))))


@row("Softmax")
def _softmax(imp: OnnxImporter, x: Value, axis: int | None = None) -> Value:
    return _along(imp, R.nn.softmax, x, axis)


@row("LogSoftmax")
def _log_softmax(imp: OnnxImporter, x: Value, axis: int | None = None) -> Value:
    return _along(imp, R.nn.log_softmax, x, axis)


def _along(imp: OnnxImporter, make: Callable[..., GraphCall], x: Value, axis: int | None) -> Value:
    """Until version 12 the dimensions from an axis on are one."""
    x = imp.tensor(x)
    if imp.opset >= 13:
        return imp.emit(make(x, -1 if axis is None else axis))
    shape = imp.shape(x)
    first = (1 if axis is None else axis) % len(shape)
    if first == len(shape) - 1:
        return imp.emit(make(x, -1))
    flat = imp.emit(R.reshape(x, [product_of(shape[:first]), product_of(shape[first:])]))
    return imp.emit(R.reshape(imp.emit(make(flat, -1)), shape))


@row("Where")
def _where(imp: OnnxImporter, condition: Value, a: Value, b: Value) -> Value:
    arrays = _arrays(condition, a, b)
    if arrays is not None:
        return np.where(*arrays)
    if isinstance(condition, np.ndarray) and _is_known(a) and _is_known(b):
        pairs = _sizes.zipped(lambda one, two: (two, one), a, b) or []
        rows = zip(condition.flat, pairs, strict=False)
        chosen = [pair[int(holds)] for holds, pair in rows]
        if len(chosen) == len(pairs) == condition.size and condition.ndim < 2:
            return _sizes.as_sizes(chosen, not condition.ndim, imp.dtype(a))
    return imp.emit(R.where(imp.tensor(condition), imp.tensor(a), imp.tensor(b)))


# Reductions


def _reduced(make: Reduction) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter,
        x: Value,
        axes_input: Value | None = None,
        *,
        axes: Ints | None = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> GraphExpr:
        if axes_input is not None:
            axes = imp.ints(axes_input, 1)
        if not axes:  # of each element alone, or of all
            axes = [] if noop_with_empty_axes else None
        return make(imp, imp.tensor(x), axes, bool(keepdims))

    return rule


def _plain(make: str) -> Callable[..., GraphExpr]:
    return _reduced(lambda imp, x, axes, keep: imp.emit(getattr(R, make)(x, axes, keep)))


def _log_sum_exp(imp: OnnxImporter, x: GraphExpr, axes: Ints | None, keep: bool) -> GraphExpr:
    most = imp.emit(R.max(x, axes, True))
    is_finite = imp.emit(R.isfinite(most))
    most = imp.emit(R.where(is_finite, most, const(0, imp.dtype(x))))
    total = imp.emit(R.sum(imp.emit(R.exp(imp.emit(R.subtract(x, most)))), axes, True))
    found = imp.emit(R.add(imp.emit(R.log(total)), most))
    return found if keep or axes == [] else imp.emit(R.squeeze(found, axes))


for _name, _make in (
    ("ReduceSum", "sum"),
    ("ReduceMean", "mean"),
    ("ReduceMax", "max"),
    ("ReduceMin", "min"),
):
    OPERATORS[_name] = _plain(_make)


@row("ReduceProd")
def _reduce_prod(
    imp: OnnxImporter, x: Value, *axes: Value, keepdims: int = 1, **attrs: Any
) -> Value:
    if isinstance(x, OnnxSizes) and not x.is_scalar and not dtypes.is_float(x.dtype):
        return _sizes.as_sizes([product_of(imp.sizes(x, 0))], not keepdims, x.dtype)
    return _plain("prod")(imp, x, *axes, keepdims=keepdims, **attrs)


OPERATORS["ReduceL1"] = _reduced(
    lambda imp, x, axes, keep: imp.emit(R.sum(imp.emit(R.abs(x)), axes, keep))
)
OPERATORS["ReduceSumSquare"] = _reduced(
    lambda imp, x, axes, keep: imp.emit(R.sum(imp.emit(R.multiply(x, x)), axes, keep))
)
OPERATORS["ReduceL2"] = _reduced(
    lambda imp, x, axes, keep: imp.emit(
        R.sqrt(imp.emit(R.sum(imp.emit(R.multiply(x, x)), axes, keep)))
    )
)
OPERATORS["ReduceLogSum"] = _reduced(
    lambda imp, x, axes, keep: imp.emit(R.log(imp.emit(R.sum(x, axes, keep))))
)
OPERATORS["ReduceLogSumExp"] = _reduced(_log_sum_exp)


def _place_of(make: str) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter, x: Value, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> GraphExpr:
        x = imp.tensor(x)
        x = imp.emit(R.flip(x, axis)) if select_last_index else x
        found = imp.emit(getattr(R, make)(x, axis, bool(keepdims)))
        if not select_last_index:
            return found
        return imp.emit(R.subtract(const(imp.shape(x)[axis] - 1, "int64"), found))

    return rule


OPERATORS["ArgMax"], OPERATORS["ArgMin"] = _place_of("argmax"), _place_of("argmin")


@row("CumSum")
def _cumsum(
    imp: OnnxImporter, x: Value, axis: Value, exclusive: int = 0, reverse: int = 0
) -> GraphExpr:
    (place,) = imp.ints(axis, 1)
    x = imp.tensor(x)
    x = imp.emit(R.flip(x, place)) if reverse else x
    found = imp.emit(R.cumsum(x, place, None, bool(exclusive)))
    return imp.emit(R.flip(found, place)) if reverse else found


@row("TopK")
def _topk(
    imp: OnnxImporter, x: Value, k: Value, axis: int = -1, largest: int = 1, sorted: int = 1
) -> Result:
    (count,) = imp.ints(k, 1)
    if count == 0:  # of R.topk all
        shape = imp.shape(x)
        shape[axis] = 0
        return imp.emit(R.zeros(shape, imp.dtype(x))), imp.emit(R.zeros(shape, "int64"))
    found = imp.emit(R.topk(imp.tensor(x), count, axis, "both", bool(largest), "int64"))
    return (imp.emit(TupleGetItem(found, 0)), imp.emit(TupleGetItem(found, 1)))


# Products and layers


@row("MatMul")
def _matmul(imp: OnnxImporter, a: Value, b: Value) -> GraphExpr:
    return imp.emit(R.matmul(imp.tensor(a), imp.tensor(b)))


@row("Gemm")
def _gemm(
    imp: OnnxImporter,
    a: Value,
    b: Value,
    c: Value | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    a, b = imp.tensor(a), imp.tensor(b)
    if alpha != 1.0:
        a = imp.emit(R.multiply(a, const(alpha, imp.dtype(a))))
    a = imp.emit(R.permute_dims(a, [1, 0])) if transA else a
    b = imp.emit(R.permute_dims(b, [1, 0])) if transB else b
    y = imp.emit(R.matmul(a, b))
    if c is None:
        return y
    c = imp.tensor(c)
    if beta != 1.0:
        c = imp.emit(R.multiply(c, const(beta, imp.dtype(c))))
    return imp.emit(R.add(y, c))


@row("Einsum")
def _einsum(imp: OnnxImporter, *values: Value, equation: str) -> Value:
    return imp.emit(R.einsum([imp.tensor(one) for one in values], equation))


def _padding(
    auto_pad: str,
    pads: Ints | None,
    sizes: Sequence[Size],
    kernel: Sequence[Size],
    strides: Ints,
    dilations: Ints,
) -> list[int]:
    """The padding before and after each dimension."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", "VALID"):
        return list(pads) if pads and auto_pad == "NOTSET" else [0] * (2 * rank)
    before, after = [], []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (fixed_size(k, "pad for windows of") - 1) * dilation + 1
        if isinstance(size, int):
            total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        elif stride == 1:
            total = reach - 1
        else:
            raise GraphError(
                f"auto_pad cannot pad a dimension of size {size} with stride {stride}",
                "the padding depends on the size, which a call gives",
                "give the size: from_onnx(model, shape_dict={...})",
            )
        small, great = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else great)
        after.append(great if auto_pad == "SAME_UPPER" else small)
    return before + after


@row("Conv")
def _conv(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Value:
    x, weight = imp.tensor(x), imp.tensor(weight)
    kernel = imp.shape(weight)[2:]
    rank = len(kernel)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    padding = _padding(auto_pad, pads, imp.shape(x)[2:], kernel, strides, dilations)
    channels = None if bias is None else imp.tensor(bias)
    return convolution(imp.builder, x, weight, channels, strides, padding, dilations, group)


@row("ConvTranspose")
def _conv_transpose(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Value:
    x, weight = imp.tensor(x), imp.tensor(weight)
    rank = imp.rank(weight) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    output_padding = output_padding or [0] * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") and output_shape is None:
        output_shape = [
            fixed_size(one, "pad") * step
            for one, step in zip(imp.shape(x)[2:], strides, strict=True)
        ]
    if output_shape is not None:
        window = [(k - 1) * d + 1 for k, d in zip(imp.shape(weight)[2:], dilations, strict=True)]
        rows = zip(imp.shape(x)[2:], strides, output_padding, window, strict=True)
        whole = [(n - 1) * step + more + k for n, step, more, k in rows]
        rests = zip(whole, output_shape[-rank:], strict=True)
        cut = [fixed_size(n - wanted, "crop") for n, wanted in rests]
        pairs = zip(output_padding, cut, strict=True)
        output_padding = [more + max(-one, 0) for more, one in pairs]
        cut = [max(one, 0) for one in cut]
        small, large = [one // 2 for one in cut], [one - one // 2 for one in cut]
        pads = small + large if auto_pad == "SAME_UPPER" else large + small
    return transposed_convolution(
        imp.builder,
        x,
        weight,
        None if bias is None else imp.tensor(bias),
        strides=strides,
        padding=pads or [0] * (2 * rank),
        output_padding=output_padding,
        dilation=dilations,
        groups=group,
    )


def _pool(kind: str) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter,
        x: Value,
        *,
        kernel_shape: Ints,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        count_include_pad: int = 0,
        dilations: Ints | None = None,
        pads: Ints | None = None,
        storage_order: int = 0,
        strides: Ints | None = None,
    ) -> GraphExpr:
        if imp.count > 1:
            raise GraphError("a pool gives the places of its elements", "", "use one output")
        x = imp.tensor(x)
        rank = len(kernel_shape)
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        extents = imp.shape(x)[2:]
        borders = _padding(auto_pad, pads, extents, kernel_shape, strides, dilations)
        call = getattr(R.nn, f"{kind}_pool{rank}d")(
            x,
            pool_size=kernel_shape,
            strides=strides,
            padding=borders,
            dilation=dilations,
            ceil_mode=bool(ceil_mode),
            count_include_pad=bool(count_include_pad),
            layout=LAYOUTS[rank][0],
        )
        found = imp.emit(call)
        before = borders[:rank]
        return begun_inside(imp.builder, found, extents, before, strides) if ceil_mode else found

    return rule


OPERATORS["MaxPool"], OPERATORS["AveragePool"] = _pool("max"), _pool("avg")


def _global_pool(make: str) -> Callable[..., GraphExpr]:
    def rule(imp: OnnxImporter, x: Value) -> GraphExpr:
        axes = list(range(2, imp.rank(x)))
        return imp.emit(getattr(R, make)(imp.tensor(x), axes, True))

    return rule


OPERATORS["GlobalAveragePool"] = _global_pool("mean")
OPERATORS["GlobalMaxPool"] = _global_pool("max")


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
        bias = filled(imp.builder, [shape[one] for one in axes], 0, imp.dtype(x))
    args = (x, imp.tensor(scale), imp.tensor(bias))
    found = imp.emit(R.nn.layer_norm(*args, axes=axes, epsilon=epsilon))
    if imp.count == 1:
        return found
    spread = imp.emit(R.add(imp.emit(R.variance(x, axes, True)), const(epsilon, imp.dtype(x))))
    return (found, imp.emit(R.mean(x, axes, True)), imp.emit(R.rsqrt(spread)))


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
        times = fixed_size(channels, "divide") // num_groups
        gamma, beta = [imp.emit(R.repeat(one, times, 0)) for one in (gamma, beta)]
    call = R.nn.group_norm(
        x, gamma, beta, num_groups=num_groups, channel_axis=1, axes=axes, epsilon=epsilon
    )
    return imp.emit(call)


@row("InstanceNormalization")
def _instance_norm(
    imp: OnnxImporter, x: Value, scale: Value, bias: Value, epsilon: float = 1e-5
) -> Value:
    return _group_norm(imp, x, scale, bias, fixed_size(imp.shape(x)[1], "normalize"), epsilon)


# Shapes


@row("Shape")
def _shape(imp: OnnxImporter, x: Value, start: int = 0, end: int | None = None) -> Value:
    return _sizes.as_sizes(imp.shape(x)[start:end])


@row("Size")
def _size(imp: OnnxImporter, x: Value) -> Value:
    return _sizes.as_sizes([product_of(imp.shape(x))], is_scalar=True)


@row("Constant")
def _constant(imp: OnnxImporter, **attrs: object) -> Value:
    name, value = next(iter(attrs.items()))
    if name == "value":
        return np.asarray(value)
    dtypes_of = {"value_float": "float32", "value_floats": "float32"}
    return np.asarray(value, dtypes_of.get(name, "int64"))


@row("ConstantOfShape")
def _constant_of_shape(imp: OnnxImporter, shape: Value, value: Value | None = None) -> Value:
    fill = np.zeros(1, "float32") if value is None else np.asarray(value)
    sizes = imp.sizes(shape, 0)
    fixed = [one for one in sizes if isinstance(one, int)]
    if len(fixed) == len(sizes):
        return np.full(fixed, fill.ravel()[0])
    return imp.emit(R.full(sizes, const(fill.ravel()[0], str(fill.dtype)), str(fill.dtype)))


@row("Reshape")
def _reshape(imp: OnnxImporter, x: Value, shape: Value, allowzero: int = 0) -> Value:
    sizes = imp.sizes(shape, 1)
    old = imp.shape(x)
    if isinstance(x, OnnxSizes):
        if len(sizes) < 2:
            return OnnxSizes(x, not sizes, x.dtype)
        x = imp.tensor(x)
    if not allowzero:
        sizes = [
            old[n] if not isinstance(one, Expr) and one == 0 else one for n, one in enumerate(sizes)
        ]
    if isinstance(x, np.ndarray):
        return np.reshape(x, [fixed_size(one, "reshape to") for one in sizes])
    return reshaped(imp.builder, imp.tensor(x), sizes)


@row("Flatten")
def _flatten(imp: OnnxImporter, x: Value, axis: int = 1) -> Value:
    shape = imp.shape(x)
    first = axis if axis >= 0 else axis + len(shape)
    sizes = [product_of(shape[:first]), product_of(shape[first:])]
    return imp.emit(R.reshape(imp.tensor(x), sizes))


@row("Transpose")
def _transpose(imp: OnnxImporter, x: Value, perm: Ints | None = None) -> Value:
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(np.transpose(x, perm))
    return imp.emit(R.permute_dims(imp.tensor(x), perm))


@row("Unsqueeze")
def _unsqueeze(
    imp: OnnxImporter, x: Value, axes_input: Value | None = None, *, axes: Ints | None = None
) -> Value:
    places = imp.ints(axes if axes_input is None else axes_input, 1)
    if isinstance(x, OnnxSizes) and x.is_scalar and len(places) == 1:
        return OnnxSizes(x, False, x.dtype)
    x = imp.tensor(x) if isinstance(x, OnnxSizes) else x
    if isinstance(x, np.ndarray | np.generic):
        return np.expand_dims(x, tuple(places))
    return imp.emit(R.expand_dims(x, places))


@row("Squeeze")
def _squeeze(
    imp: OnnxImporter, x: Value, axes_input: Value | None = None, *, axes: Ints | None = None
) -> Value:
    places = axes if axes_input is None else imp.ints(axes_input, 1)
    if isinstance(x, OnnxSizes):
        return OnnxSizes(x, x.is_scalar or len(x) == 1, x.dtype)
    if isinstance(x, np.ndarray | np.generic):
        return np.squeeze(x, None if places is None else tuple(places))
    return imp.emit(R.squeeze(x, places))


@row("Concat")
def _concat(imp: OnnxImporter, *values: Value, axis: int) -> Value:
    known = [one for one in values if _is_known(one)]
    if len(known) == len(values):
        arrays = [one for one in known if not isinstance(one, OnnxSizes)]
        if len(arrays) < len(values):
            found = [item for one in known for item in _sizes.elements(one)]
            return _sizes.as_sizes(found, dtype=imp.dtype(values[0]))
        return np.concatenate(arrays, axis)
    return imp.emit(R.concat([imp.tensor(one) for one in values], axis))


@row("Split")
def _split(
    imp: OnnxImporter,
    x: Value,
    split_input: Value | None = None,
    *,
    axis: int = 0,
    split: Ints | None = None,
    num_outputs: int | None = None,
) -> Result:
    sizes = split if split_input is None else imp.sizes(split_input, 1)
    x = imp.tensor(x)
    if sizes is None:
        extent = imp.shape(x)[axis]
        each = -(-extent // imp.count) if isinstance(extent, int) else None
        if each is None or extent % imp.count == 0:
            where: int | list[Size] = imp.count
        else:
            where = [each * (n + 1) for n in range(imp.count - 1)]
    else:
        where = [sum(sizes[: n + 1]) for n in range(len(sizes) - 1)]
    found = imp.emit(R.split(x, where, axis))
    return tuple([imp.emit(TupleGetItem(found, n)) for n in range(imp.count)])


@row("Slice")
def _slice(
    imp: OnnxImporter,
    x: Value,
    starts_input: Value | None = None,
    ends_input: Value | None = None,
    axes_input: Value | None = None,
    steps_input: Value | None = None,
    *,
    starts: Ints | None = None,
    ends: Ints | None = None,
    axes: Ints | None = None,
) -> Value:
    begin = imp.sizes(starts if starts_input is None else starts_input, 1)
    end = imp.sizes(ends if ends_input is None else ends_input, 2)
    axes = axes if axes_input is None else imp.ints(axes_input, 3)
    places = list(range(len(begin)) if axes is None else axes)
    steps: list[Size] = [1] * len(begin)
    steps = steps if steps_input is None else imp.sizes(steps_input, 4)
    if isinstance(x, OnnxSizes):
        return _sizes.as_sizes(list(x)[_cut(begin[0], end[0], steps[0])], dtype=x.dtype)
    if isinstance(x, np.ndarray):
        cuts = [slice(None)] * x.ndim
        for place, *bounds in zip(places, begin, end, steps, strict=True):
            cuts[place] = _cut(*bounds)
        return x[tuple(cuts)]
    return imp.emit(R.strided_slice(x, places, begin, end, steps))


def _cut(*bounds: Size) -> slice:
    """A slice of numbers that are known."""
    return slice(*[fixed_size(one, "slice") for one in bounds])


@row("Gather")
def _gather(imp: OnnxImporter, x: Value, indices: Value, axis: int = 0) -> Value:
    if isinstance(x, OnnxSizes) and _is_known(indices):
        if not isinstance(indices, OnnxSizes) and np.ndim(indices) < 2:
            found = [x[int(one)] for one in np.asarray(indices).ravel()]
            return _sizes.as_sizes(found, not np.ndim(indices), x.dtype)
        x = imp.tensor(x)
    if isinstance(x, np.ndarray) and isinstance(indices, np.ndarray | np.generic):
        return np.take(x, np.asarray(indices), axis)
    places = imp.tensor(indices)
    if isinstance(indices, np.ndarray | np.generic):
        extent = imp.shape(x)[axis]
        if not np.ndim(indices) and int(indices) < 0 and not isinstance(extent, int):
            return imp.emit(R.take(imp.tensor(x), PrimValue(extent + int(indices)), axis))
    places = nonnegative_indices(imp.builder, places, imp.shape(x)[axis])
    return imp.emit(R.take(imp.tensor(x), places, axis))


@row("GatherElements")
def _gather_elements(imp: OnnxImporter, x: Value, indices: Value, axis: int = 0) -> GraphExpr:
    x = imp.tensor(x)
    places = nonnegative_indices(imp.builder, imp.tensor(indices), imp.shape(x)[axis])
    sizes = imp.shape(places)
    x = first_elements(imp.builder, x, sizes, axis % len(sizes))
    return imp.emit(R.gather_elements(x, places, axis))


@row("GatherND")
def _gather_nd(imp: OnnxImporter, x: Value, indices: Value, batch_dims: int = 0) -> GraphExpr:
    x, places = imp.tensor(x), imp.tensor(indices)
    depth = fixed_size(imp.shape(places)[-1], "index with")
    extents = imp.shape(x)[batch_dims : batch_dims + depth]
    places = nonnegative_indices(imp.builder, places, extents)
    return imp.emit(R.gather_nd(x, places, batch_dims))


@row("ScatterElements", "Scatter")
def _scatter_elements(
    imp: OnnxImporter,
    x: Value,
    indices: Value,
    updates: Value,
    axis: int = 0,
    reduction: str = "none",
) -> GraphExpr:
    mode = {"none": "update"}.get(reduction, reduction)
    x, indices, updates = [imp.tensor(one) for one in (x, indices, updates)]
    return imp.emit(R.scatter_elements(x, indices, updates, axis, mode))


@row("ScatterND")
def _scatter_nd(
    imp: OnnxImporter, x: Value, indices: Value, updates: Value, reduction: str = "none"
) -> GraphExpr:
    mode = {"none": "update"}.get(reduction, reduction)
    x, indices, updates = [imp.tensor(one) for one in (x, indices, updates)]
    extents = imp.shape(x)[: fixed_size(imp.shape(indices)[-1], "index with")]
    places = nonnegative_indices(imp.builder, indices, extents)
    return imp.emit(R.scatter_nd(x, places, updates, mode))


@row("Expand")
def _expand(imp: OnnxImporter, x: Value, shape: Value) -> GraphExpr:
    sizes, old = imp.sizes(shape, 1), imp.shape(x)
    count = max(len(sizes), len(old))
    wide: list[list[Size]] = [[*[1] * (count - len(one)), *one] for one in (sizes, old)]
    found = [
        two if not isinstance(one, Expr) and one == 1 else one
        for one, two in zip(*wide, strict=True)
    ]
    return imp.emit(R.broadcast_to(imp.tensor(x), found))


@row("Tile")
def _tile(imp: OnnxImporter, x: Value, repeats: Value) -> GraphExpr:
    counts, x = imp.sizes(repeats, 1), imp.tensor(x)
    if not _is_open(*counts):
        return imp.emit(R.tile(x, counts))
    sizes = imp.shape(x)
    inner = [part for one in sizes for part in (1, one)]
    outer = [part for pair in zip(counts, sizes, strict=True) for part in pair]
    whole = imp.emit(R.broadcast_to(imp.emit(R.reshape(x, inner)), outer))
    pairs = zip(counts, sizes, strict=True)
    return imp.emit(R.reshape(whole, [ops.multiply(*pair) for pair in pairs]))


@row("Pad")
def _pad(
    imp: OnnxImporter,
    x: Value,
    pads_input: Value | None = None,
    value_input: Value | None = None,
    axes: Ints | None = None,
    mode: str = "constant",
    pads: Ints | None = None,
    value: float = 0.0,
) -> GraphExpr:
    widths = imp.sizes(pads if pads_input is None else pads_input, 1)
    fill = value if value_input is None else imp.numbers(value_input, 2)[0]
    x = imp.tensor(x)
    rank = imp.rank(x)
    places = list(range(rank)) if axes is None else imp.ints(axes, 3)
    half = len(widths) // 2
    flat: list[Size] = [0] * (2 * rank)
    for n, place in enumerate(places):
        flat[2 * (place % rank)], flat[2 * (place % rank) + 1] = widths[n], widths[half + n]
    if _is_open(*flat):
        if mode != "constant":
            raise GraphError(
                f"pads that calls give in mode {mode!r}", f"they are {flat}", "use fixed pads"
            )
        return _padded(imp, x, flat[::2], flat[1::2], fill)
    kind = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return imp.emit(R.nn.pad(x, flat, pad_mode=kind, pad_value=fill))


def _padded(
    imp: OnnxImporter, x: GraphExpr, before: Sequence[Size], after: Sequence[Size], fill: Number
) -> GraphVar:
    """A tensor with elements of a value around it, as many as calls give."""
    sides = [[ops.convert(one) for one in side] for side in (before, after)]
    return imp.builder.emit_te(topi.nn.pad, x, *sides, fill, primfunc_name_hint="pad")


@row("Trilu")
def _trilu(imp: OnnxImporter, x: Value, k: Value | None = None, upper: int = 1) -> GraphExpr:
    diagonal = 0 if k is None else imp.ints(k, 1)[0]
    return imp.emit((R.triu if upper else R.tril)(imp.tensor(x), diagonal))


@row("Range")
def _range(imp: OnnxImporter, start: Value, limit: Value, delta: Value) -> Value:
    begin, end, step = [
        imp.numbers(one, place)[0] for place, one in enumerate((start, limit, delta))
    ]
    dtype = imp.dtype(start)
    if not (isinstance(begin, Expr) or isinstance(end, Expr) or isinstance(step, Expr)):
        return np.arange(begin, end, step, dtype=dtype)
    if not isinstance(step, Expr) and step != 0:  # a sequence against its direction is empty
        end = (ops.maximum if step > 0 else ops.minimum)(end, begin)
    return imp.emit(R.arange(begin, end, step, dtype))


@row("OneHot")
def _one_hot(
    imp: OnnxImporter, indices: Value, depth: Value, values: Value, axis: int = -1
) -> GraphExpr:
    off, on = imp.numbers(values, 2)
    (count,) = imp.ints(depth, 1)
    dtype = imp.dtype(values)
    wide = imp.emit(R.astype(imp.tensor(indices), "int64"))
    places = nonnegative_indices(imp.builder, wide, count)
    values_of = [PrimValue(ops.const(one, dtype)) for one in (on, off)]
    return imp.emit(R.one_hot(places, values_of[0], values_of[1], count, axis))


@row("Upsample")
def _upsample(
    imp: OnnxImporter,
    x: Value,
    factors: Value | None = None,
    *,
    mode: str = "nearest",
    scales: Sequence[float] | None = None,
) -> GraphExpr:
    """What Resize was until version 9; version 10 has the same semantics."""
    imp.inputs = [imp.inputs[0], "", *imp.inputs[1:]]  # as Resize has them
    given = np.array(scales, "float32") if factors is None else factors
    return _resized(
        imp,
        x,
        None,
        given,
        mode=mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


@row("Resize")
def _resize(imp: OnnxImporter, x: Value, *inputs: Value | None, **attrs: Any) -> GraphExpr:
    if imp.opset < 11:
        return _upsample(imp, x, *inputs, **attrs)
    return _resized(imp, x, *inputs, **attrs)


def _resized_sizes(
    imp: OnnxImporter,
    extents: Sequence[Size],
    scales: Value | None,
    sizes: Value | None,
    policy: str,
) -> tuple[list[Size], list[float | None]]:
    """The new sizes and the factors of dimensions; None for the ratio of sizes that calls give."""
    if sizes is None:
        scale = imp.floats(scales, 2)
        scaled = [_scaled_size(imp, *pair) for pair in zip(extents, scale, strict=True)]
        return scaled, [*scale]
    size = imp.sizes(sizes, 3)
    factors = [_ratio(*pair) for pair in zip(extents, size, strict=True)]
    if policy == "stretch":
        return size, factors
    ratios = [one for one in factors if one is not None]
    if len(ratios) < len(factors):
        raise GraphError(
            f"keep_aspect_ratio_policy={policy!r} of sizes that calls give",
            f"the sizes are {extents} and {size}",
            "give the shapes of inputs: from_onnx(model, shape_dict={...})",
        )
    factor = min(ratios) if policy == "not_larger" else max(ratios)
    fixed = [one for one in extents if isinstance(one, int)]
    return [math.floor(one * factor + 0.5) for one in fixed], [factor] * len(factors)


def _ratio(extent: Size, size: Size) -> float | None:
    """The factor of a dimension; None of one that calls give."""
    return size / extent if isinstance(extent, int) and isinstance(size, int) else None


def _is_open(*sizes: Number) -> bool:
    """Whether a call gives one of the sizes."""
    return any(isinstance(one, Expr) for one in sizes)


def _scaled_size(imp: OnnxImporter, extent: Size, factor: float) -> Size:
    """A size times a factor, which calls check to be a whole number."""
    if not isinstance(extent, Expr):
        return math.floor(extent * factor)
    exact = _sizes.product(_sizes.real(extent), factor)
    new = imp.size_of(_sizes.rounded("floor", exact))
    if not float(factor).is_integer():  # else elements are not those of the ratio of the sizes
        rest = ops.cast("int64", ops.not_equal(exact, intrinsics.floor(exact)))
        zero = ShapeStructInfo((ops.const(0, "int64"),))
        imp.builder.match_cast(ShapeExpr((rest,)), zero)
    return new


def _resized(
    imp: OnnxImporter,
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    antialias: int = 0,
    axes: Ints | None = None,
    keep_aspect_ratio_policy: str = "stretch",
) -> GraphExpr:
    shape = imp.shape(x)
    places = [one % len(shape) for one in axes or range(len(shape))]
    extents = [shape[one] for one in places]
    size, factors = _resized_sizes(imp, extents, scales, sizes, keep_aspect_ratio_policy)
    if antialias and any(one is None or one < 1 for one in factors):
        raise GraphError("antialias is not supported", "", "resize without it")
    rows = list(zip(places, extents, size, factors, strict=True))
    changed = [one for one in rows if not _is_kept(imp, *one[1:])]
    is_open = any(_is_open(*one[1:3]) for one in changed)
    is_plain = coordinate_transformation_mode in ("half_pixel", "align_corners", "asymmetric")
    is_plain &= nearest_mode != "round_prefer_ceil" and len(shape) == 4
    is_plain &= all(n > 1 and _is_product(old, new, factor) for n, old, new, factor in changed)
    if is_open and not is_plain:
        raise GraphError(
            f"dimensions {[one[0] for one in changed]} are resized, of which calls give the sizes",
            f"the tensor has the shape {shape}, and the mode is {coordinate_transformation_mode}",
            "give the shapes of inputs: from_onnx(model, shape_dict={...})",
        )
    if not is_plain:
        regions = (
            imp.floats(roi, 1) if coordinate_transformation_mode == "tf_crop_and_resize" else []
        )
        found = imp.tensor(x)
        for row_number, (axis, old, new, factor) in enumerate(rows):
            region = regions[row_number :: len(rows)] or [0, 1]
            if _is_open(old) and region == [0, 1]:
                continue
            extent, count = fixed_size(old, "resize"), fixed_size(new, "resize to")
            assert factor is not None
            at = _sources(extent, count, factor, coordinate_transformation_mode, region)
            is_outside = (at < 0) | (at > extent - 1)
            method, keeps = mode, bool(exclude_outside) and mode == "cubic"
            at = _ROUNDINGS[nearest_mode](at) if mode == "nearest" else at
            found = resampled(imp.builder, found, axis, extent, at, method, cubic_coeff_a, keeps)
            if regions and is_outside.any():
                mask = is_outside.reshape([-1 if n == axis else 1 for n in range(len(shape))])
                border = const(extrapolation_value, imp.dtype(x))
                found = imp.emit(R.where(const(mask, "bool"), border, found))
        return found
    size = [dict((n, new) for n, _, new, _ in rows).get(axis, shape[axis]) for axis in (2, 3)]
    method = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}[mode]
    call = R.image.resize2d(
        imp.tensor(x),
        size,
        layout="NCHW",
        method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=nearest_mode,
        cubic_alpha=cubic_coeff_a,
        cubic_exclude=exclude_outside,
        extrapolation_value=extrapolation_value,
    )
    return imp.emit(call)


def _is_product(extent: Size, size: Size, factor: float | None) -> bool:
    """Whether a size is that of a dimension times a factor, unless calls give one of them."""
    if isinstance(extent, Expr) or isinstance(size, Expr) or factor is None:
        return True
    return size == extent * factor


def _is_kept(imp: OnnxImporter, old: Size, new: Size, factor: float | None) -> bool:
    """Whether a dimension keeps its size."""
    if _is_open(old, new):
        return imp.builder.analyzer.can_prove_equal(*shape_expr([old, new]).values)
    return bool(old == new and factor == 1)


_ROUNDINGS: dict[str, Callable[[Places], Places]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _sources(extent: int, size: int, factor: float, mode: str, region: Sequence[float]) -> Places:
    """The places between which the elements of a larger or smaller dimension are."""
    places, length = np.arange(size, dtype=np.float64), extent * factor
    if mode == "asymmetric":
        return places / factor
    if mode == "align_corners":
        return places * ((extent - 1) / (length - 1) if length > 1 else 0)
    if mode == "tf_crop_and_resize":
        begin, end = region
        if size == 1:
            return np.array([0.5 * (begin + end) * (extent - 1)])
        return begin * (extent - 1) + places * (end - begin) * (extent - 1) / (size - 1)
    if mode == "pytorch_half_pixel" and size == 1:
        return np.zeros(1)
    offset = 0.0
    if mode == "half_pixel_symmetric":
        offset = extent / 2 * (1 - size / length)
    return offset + (places + 0.5) / factor - 0.5


@row("DepthToSpace")
def _depth_to_space(imp: OnnxImporter, x: Value, blocksize: int, mode: str = "DCR") -> GraphExpr:
    return depth_to_space(imp.builder, imp.tensor(x), blocksize, mode == "DCR")


@row("SpaceToDepth")
def _space_to_depth(imp: OnnxImporter, x: Value, blocksize: int, mode: str = "DCR") -> GraphExpr:
    batch, channels, height, width = imp.shape(x)
    tall, wide = height // blocksize, width // blocksize
    parts = [batch, channels, tall, blocksize, wide, blocksize]
    axes = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    y = imp.emit(R.permute_dims(imp.emit(R.reshape(imp.tensor(x), parts)), axes))
    return imp.emit(R.reshape(y, [batch, channels * blocksize * blocksize, tall, wide]))
