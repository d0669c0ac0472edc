"""Rows of functions of elements: arithmetic, comparisons, rounding, casts, choices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from te_sched import topi
from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.float_functions import FloatFormat, rounded
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of, stored_dtype
from te_sched.relax.frontend.onnx.registry import Rule, row
from te_sched.relax.frontend.onnx.sizes import (
    Array,
    Known,
    Number,
    Numbers,
    OnnxSizes,
    Value,
    arrays_of,
    is_known,
)

OfNumbers = Callable[[Any, Any], Any]  # of arrays, numbers and sizes


def _binary(make: str, of_numbers: OfNumbers) -> Callable[..., Value]:
    def rule(imp: OnnxImporter, a: Value, b: Value, **_: object) -> Value:
        def tensor() -> GraphExpr:
            return imp.emit(getattr(R, make)(*imp.tensors([a, b])))

        if not (is_known(a) and is_known(b)):
            return tensor()
        if isinstance(a, OnnxSizes) or isinstance(b, OnnxSizes):
            result = _of_sizes(imp, of_numbers, a, b, tensor)
            return tensor() if result is None else result
        return np.asarray(of_numbers(a, b))

    return rule


_ON_SIZES: dict[OfNumbers, Callable[[Number, Number], Number]] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mod: operator.mod,
    operator.mul: _sizes.product,
    np.maximum: _sizes.largest,
    np.minimum: _sizes.smallest,
}


def _of_sizes(
    imp: OnnxImporter, function: OfNumbers, a: Known, b: Known, make: Callable[[], GraphExpr]
) -> Known | None:
    """The results of a function of sizes; None if they are not sizes."""
    analyzer, is_scalar = imp.builder.analyzer, not max(map(_sizes.rank_of, (a, b)))
    if function is _quotient:
        results = _sizes.zipped(lambda left, two: _sizes.quotient(left, two, analyzer), a, b)
    elif function in _ON_SIZES:
        results = _sizes.zipped(_ON_SIZES[function], a, b)
    elif function in _CONDITIONS:
        holds = _sizes.zipped(lambda left, two: _sizes.decided(function(left, two), analyzer), a, b)
        if holds is None or None in holds:
            return None
        return np.array(holds[0] if is_scalar else holds)
    else:
        return None
    return None if results is None else _sizes.as_sizes(results, is_scalar, imp.dtype(a), make)


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
    row(_name)(_binary(_make, _function))


@row("Div")
def _div(imp: OnnxImporter, a: Value, b: Value) -> Value:
    return _binary("divide", _quotient)(imp, a, b)  # that of integers is rounded towards zero


@row("Pow")
def _pow(imp: OnnxImporter, a: Value, b: Value) -> Value:
    dtype = imp.dtype(a)
    arrays = arrays_of(a, b)
    if arrays is not None and np.min(arrays[1], initial=0) >= 0:
        return np.asarray(np.power(*arrays)).astype(dtype)
    base, power = imp.tensors([a, b])
    if dtypes.is_integral(dtype) and dtypes.is_float(imp.dtype(power)):
        wide = [imp.emit(R.astype(operand, "float64")) for operand in (base, power)]
        return imp.emit(R.astype(imp.emit(R.power(*wide)), dtype))
    if imp.dtype(power) != dtype:
        power = imp.emit(R.astype(power, dtype))
    return imp.emit(R.power(base, power))


@row("Mod")
def _mod(imp: OnnxImporter, a: Value, b: Value, fmod: int = 0) -> Value:
    make = "mod" if fmod else "floor_mod"
    return _binary(make, np.fmod if fmod else operator.mod)(imp, a, b)


def _several(make: str, of_numbers: OfNumbers) -> Callable[..., Value]:
    def rule(imp: OnnxImporter, *values: Value) -> Value:
        total, *rest = values if all(map(is_known, values)) else imp.tensors(values)
        for value in rest:
            total = _binary(make, of_numbers)(imp, total, value)
        return total

    return rule


row("Max")(_several("maximum", np.maximum))
row("Min")(_several("minimum", np.minimum))
row("Sum")(_several("add", operator.add))


@row("Mean")
def _mean(imp: OnnxImporter, *values: Value) -> Value:
    total = imp.tensor(_several("add", operator.add)(imp, *values))
    return imp.emit(R.divide(total, const(len(values), imp.dtype(total))))


def _unary(make: str, group: ModuleType = R) -> Callable[..., GraphExpr]:
    return lambda imp, x, **_: imp.emit(getattr(group, make)(imp.tensor(x)))


def _rounded(make: str) -> Rule:
    def rule(imp: OnnxImporter, x: Value) -> Value:
        if isinstance(x, OnnxSizes):
            values = [_sizes.rounded(make, size) for size in x]
            tensor = partial(_unary(make), imp, x)
            return OnnxSizes(values, x.is_scalar, x.dtype, tensor)
        if isinstance(x, np.ndarray | np.generic):
            return np.asarray(getattr(np, make)(x))
        return imp.emit(getattr(R, make)(x))

    return rule


row("Floor")(_rounded("floor"))
row("Ceil")(_rounded("ceil"))
for _name in (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf"),
    *("Exp", "Log", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh"),
):
    row(_name)(_unary(_name.lower()))
for _name, _make in (
    ("Neg", "negative"),
    ("Not", "logical_not"),
    ("BitwiseNot", "bitwise_not"),
    ("IsNaN", "isnan"),
):
    row(_name)(_unary(_make))
row("Relu")(_unary("relu", R.nn))


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
def _cast_like(imp: OnnxImporter, x: Value, other: Value, saturate: int = 1) -> Value:
    return _converted(imp, x, imp.dtype(other), saturate)


@row("Cast")
def _cast(imp: OnnxImporter, x: Value, to: int, saturate: int = 1, **_: object) -> Value:
    return _converted(imp, x, dtype_of(to), saturate)


def _converted(imp: OnnxImporter, x: Value, dtype: str, saturate: int) -> Value:
    """Values of another dtype."""
    if isinstance(x, OnnxSizes) and dtype in ("int64", "int32", "float32"):
        if not dtypes.is_float(x.dtype):
            is_real = dtypes.is_float(dtype)
            values = [_sizes.real(size) for size in x] if is_real else x
        elif dtypes.is_float(dtype):
            return x
        else:
            values = [imp.size_of(size) for size in x]
        return OnnxSizes(values, x.is_scalar, dtype)
    if isinstance(x, np.ndarray | np.generic):
        return _array_of(np.asarray(x), dtype, saturate)
    tensor = imp.tensor(x)
    if stored_dtype(dtype) == dtype:
        return imp.emit(R.astype(tensor, dtype))
    result = (
        to_small_float(imp, tensor, dtype, bool(saturate) or dtype.startswith("float4_"))
        if is_small_float(dtype)
        else _few_bits_of(imp, tensor, dtype)
    )
    imp.few_bits[result] = dtype
    return result


def is_small_float(dtype: str) -> bool:
    """Whether a dtype is that of floats of 4 or 8 bits, which are computed as float32."""
    return stored_dtype(dtype) == "float32" != dtype


def to_small_float(imp: OnnxImporter, x: GraphExpr, dtype: str, is_limited: bool) -> GraphVar:
    """The numbers of a dtype of few bits next to those of a tensor, as float32."""
    import ml_dtypes

    if dtype == "float8_e8m0fnu":
        raise GraphError(
            f"values that are computed when the model runs are cast to {dtype}",
            "it has powers of two alone, which are computed while a model is read",
            "make the value an initializer of the model",
        )
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    with np.errstate(invalid="ignore"):
        special = np.array([1e30, math.nan, -0.0], "float32").astype(dtype).astype("float32")
    overflow, missing, zero = map(float, special)
    largest, has_signed_zero = float(limits.max), bool(np.signbit(zero))
    to = FloatFormat(limits.nmant, limits.minexp, largest, overflow, missing, has_signed_zero)
    return rounded(imp.builder, imp.emit(R.astype(x, "float32")), to, is_limited)


def _few_bits_of(imp: OnnxImporter, x: GraphExpr, dtype: str) -> GraphVar:
    """The lowest bits of integers, as int8."""
    bits = int(dtype[-1])
    low = 1 << (bits - 1) if dtype.startswith("int") else 0
    wide = imp.emit(R.astype(x, "int32"))
    last = imp.emit(
        R.bitwise_and(imp.emit(R.add(wide, const(low, "int32"))), const((1 << bits) - 1, "int32"))
    )
    return imp.emit(R.astype(imp.emit(R.subtract(last, const(low, "int32"))), "int8"))


def _array_of(array: Array, dtype: str, saturate: int) -> Array:
    """An array of another dtype; floats of eight bits are limited, unless saturate is 0."""
    import ml_dtypes

    if stored_dtype(str(array.dtype)) != str(array.dtype):
        array = array.astype(stored_dtype(str(array.dtype)))
    if dtype.startswith("float4_") or (dtype.startswith("float8_") and saturate):
        limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        array = np.clip(array.astype("float32"), float(limits.min), float(limits.max))
    return array.astype(dtype)


@row("Clip")
def _clip(
    imp: OnnxImporter,
    x: Value,
    low: Value | None = None,
    high: Value | None = None,
    **attrs: float,
) -> Value:
    if isinstance(x, OnnxSizes) and all(bound is None or is_known(bound) for bound in (low, high)):
        bounds = ((low, "maximum", np.maximum), (high, "minimum", np.minimum))
        for bound, make, of_numbers in bounds:
            x = x if bound is None else _binary(make, of_numbers)(imp, x, bound)
        return x
    if not all(bound is None or imp.has_value(n + 1) for n, bound in enumerate((low, high))):
        result = imp.tensor(x)
        result = result if low is None else imp.emit(R.maximum(result, imp.tensor(low)))
        return result if high is None else imp.emit(R.minimum(result, imp.tensor(high)))
    limits: list[Number] = []
    for position, limit, name, default in ((1, low, "min", -math.inf), (2, high, "max", math.inf)):
        if limit is not None:
            limits.append(imp.numbers(limit, position)[0])
        else:
            limits.append(attrs.get(name, default))
    limits[0] = min(limits)  # the upper limit has precedence
    return imp.emit(R.clip(imp.tensor(x), *limits))


@row("Where")
def _where(imp: OnnxImporter, condition: Value, a: Value, b: Value) -> Value:
    arrays = arrays_of(condition, a, b)
    if arrays is not None:
        return np.where(*arrays)
    if isinstance(condition, np.ndarray) and is_known(a) and is_known(b):
        pairs = _sizes.zipped(lambda left, two: (two, left), a, b) or []
        rows = zip(condition.flat, pairs, strict=False)
        chosen = [pair[int(holds)] for holds, pair in rows]
        if len(chosen) == len(pairs) == condition.size and condition.ndim < 2:
            return _sizes.as_sizes(chosen, not condition.ndim, imp.dtype(a))
    return imp.emit(R.where(*imp.tensors([condition, a, b])))


@row("BitCast")
def _bit_cast(imp: OnnxImporter, x: Value, to: int) -> GraphVar:
    source, dtype = imp.dtype(x), dtype_of(to)
    widths = [8 if dtypes.is_bool(name) else dtypes.bits(name) for name in (source, dtype)]
    if widths[0] != widths[1]:
        raise GraphError(
            f"the bits of numbers of dtype {source} are read as {dtype}",
            "its numbers have another width",
            "read them as a dtype of the same width",
        )
    if "bool" in (source, dtype):  # a byte that is 0 or 1
        return imp.emit(R.astype(imp.tensor(x), dtype))
    return imp.builder.emit_te(topi.reinterpret, imp.tensor(x), dtype)


@row("BitShift")
def _bit_shift(imp: OnnxImporter, x: Value, count: Value, *, direction: str) -> GraphExpr:
    shift = R.left_shift if direction == "LEFT" else R.right_shift
    return imp.emit(shift(imp.tensor(x), imp.tensor(count)))
