"""Rows of operators of torch: arithmetic, comparisons, activations.

Tensors of different dtypes, and numbers, are converted as torch does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend import float_functions
from te_sched.relax.frontend.tensors import Size, agreeing, filled, shape_expr
from te_sched.relax.frontend.torch.importer import ROWS, Importer, TorchRow, row
from te_sched.relax.frontend.torch.values import (
    Operand,
    Scalar,
    TorchDtype,
    TorchLayer,
    Value,
    dtype_of,
)
from te_sched.te.tensor import Tensor

# Dtypes of tensors and numbers


def dtype_kind(dtype: str) -> int:
    if dtype == "bool":
        return 0
    return 1 if dtypes.is_integral(dtype) else 2


def number_dtype(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    is_float = dtypes.is_float(value.dtype) if isinstance(value, Expr) else isinstance(value, float)
    return "float32" if is_float else "int64"


def promoted(imp: Importer, *values: Operand) -> list[GraphExpr]:
    """Tensors and numbers with the dtype that torch gives to their sum, as expressions."""
    tensors = [value for value in values if imp.is_tensor(value)]
    if not tensors:
        dtype = max(map(number_dtype, values), key=dtype_kind)
        return [scalar(imp, value, dtype) for value in values if not isinstance(value, GraphExpr)]
    wide = [tensor for tensor in tensors if imp.info(tensor).ndim > 0]
    dtype = _common([imp.dtype(tensor) for tensor in wide or tensors])
    others = [imp.dtype(tensor) for tensor in tensors if tensor not in wide] if wide else []
    others += [number_dtype(value) for value in values if not imp.is_tensor(value)]
    for other in others:
        if dtype_kind(other) > dtype_kind(dtype):
            dtype = other if wide or not others else _common([dtype, other])
    return [
        imp.cast(value, dtype) if imp.is_tensor(value) else scalar(imp, value, dtype)
        for value in values
    ]


def _common(names: list[str]) -> str:
    """The dtype in which values of all dtypes are represented."""
    result = names[0]
    for dtype in names[1:]:
        if dtype == result:
            continue
        if dtype_kind(dtype) != dtype_kind(result):
            result = max(result, dtype, key=dtype_kind)
        elif {dtype, result} == {"float16", "bfloat16"}:
            result = "float32"
        elif {dtype, result} == {"uint8", "int8"}:
            result = "int16"
        else:
            result = max(result, dtype, key=dtypes.bits)
    return result


def scalar(imp: Importer, value: Scalar, dtype: str) -> GraphExpr:
    """A number, perhaps of a symbolic value, as a constant or tensor of no dimensions."""
    if isinstance(value, Expr) and dtypes.is_float(value.dtype):
        return imp.builder.emit_te(_number, value, dtype, primfunc_name_hint="number")
    if isinstance(value, Expr):
        vector = imp.emit(R.shape_to_tensor(shape_expr([value])))
        return imp.cast(imp.emit(R.reshape(vector, [])), dtype)
    return const(value, dtype)


def _number(value: Expr, dtype: str) -> Tensor:
    """A tensor of no dimensions with a number that is computed of sizes."""
    tensor: Tensor = te.compute((), lambda: ops.cast(dtype, value), name="number")
    return tensor


# Arithmetic of two values: of tensors, or of numbers and sizes

OfSizes = Callable[[Any, Any], Any]  # of two numbers or sizes


def _combined(imp: Importer, make: str, a: Operand, b: Operand) -> GraphVar:
    """An operator of two values, of which one is a tensor."""
    return imp.emit(getattr(R, make)(*promoted(imp, a, b)))


def _binary(make: str, of_sizes: OfSizes, is_ratio: bool = False) -> Callable[..., Operand]:
    def rule(
        imp: Importer, a: Operand, b: Operand, *, alpha: Scalar = 1, out: object = None
    ) -> Operand:
        if not imp.is_tensor(a) and not imp.is_tensor(b):
            value: Scalar = of_sizes(a, b)
            return value
        if alpha != 1:
            b = imp.emit(R.multiply(*promoted(imp, b, alpha))) if imp.is_tensor(b) else b * alpha
        a, b = promoted(imp, a, b)
        if is_ratio and dtype_kind(imp.dtype(a)) < 2:
            a, b = imp.cast(a, "float32"), imp.cast(b, "float32")
        return imp.emit(getattr(R, make)(*agreeing(imp.builder, [a, b])))

    return rule


def _compare(op: OfSizes) -> OfSizes:
    return lambda a, b: op(a, b) if not isinstance(a, Expr) and not isinstance(b, Expr) else True


def _floor_div(a: Scalar, b: Scalar) -> Scalar:
    return ops.floordiv(a, b) if isinstance(a, Expr) or isinstance(b, Expr) else a // b


def _mod(a: Scalar, b: Scalar) -> Scalar:
    return ops.floormod(a, b) if isinstance(a, Expr) or isinstance(b, Expr) else a % b


_BINARY: dict[str, tuple[str, OfSizes]] = {
    "add": ("add", operator.add),
    "sub": ("subtract", operator.sub),
    "subtract": ("subtract", operator.sub),
    "mul": ("multiply", operator.mul),
    "multiply": ("multiply", operator.mul),
    "pow": ("power", operator.pow),
    "floordiv": ("floor_divide", _floor_div),
    "floor_divide": ("floor_divide", _floor_div),
    "mod": ("floor_mod", _mod),
    "remainder": ("floor_mod", _mod),
    "maximum": ("maximum", max),
    "minimum": ("minimum", min),
    "eq": ("equal", _compare(operator.eq)),
    "ne": ("not_equal", _compare(operator.ne)),
    "lt": ("less", _compare(operator.lt)),
    "le": ("less_equal", _compare(operator.le)),
    "gt": ("greater", _compare(operator.gt)),
    "ge": ("greater_equal", _compare(operator.ge)),
    "bitwise_and": ("bitwise_and", operator.and_),
    "bitwise_or": ("bitwise_or", operator.or_),
    "bitwise_xor": ("bitwise_xor", operator.xor),
}
_ARITHMETIC = {name: _binary(make, of_sizes) for name, (make, of_sizes) in _BINARY.items()}
ROWS.update({name: TorchRow(rule) for name, rule in _ARITHMETIC.items()})
for _name, _alias in (
    ("__and__", "bitwise_and"),
    ("__or__", "bitwise_or"),
    ("__xor__", "bitwise_xor"),
    ("and", "bitwise_and"),
    ("or", "bitwise_or"),
    ("xor", "bitwise_xor"),
):
    ROWS[_name] = ROWS[_alias]


def _logical(make: str) -> Callable[..., GraphExpr]:
    """An operator that takes numbers as conditions."""

    def rule(imp: Importer, *values: GraphExpr, out: object = None) -> GraphExpr:
        return imp.emit(getattr(R, make)(*[imp.cast(value, "bool") for value in values]))

    return rule


for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    ROWS[_name] = TorchRow(_logical(_name))


def _shift(make: str) -> Callable[..., Operand]:
    """Bits moved by a number of places; those moved by too many are gone, as in torch."""

    def rule(imp: Importer, a: Operand, b: Operand) -> Operand:
        if not imp.is_tensor(a) and not imp.is_tensor(b):
            value: Scalar = operator.lshift(a, b) if make == "left_shift" else operator.rshift(a, b)
            return value
        bits = dtypes.bits(imp.dtype(a)) if imp.is_tensor(a) else 0
        is_inside = not isinstance(b, GraphExpr | Expr) and 0 <= b < bits
        a, b = promoted(imp, a, b)
        if is_inside:
            return imp.emit(getattr(R, make)(a, b))
        dtype = imp.dtype(a)
        most = const(dtypes.bits(dtype) - 1, dtype)
        is_far = imp.emit(
            R.logical_or(
                imp.emit(R.less(b, const(0, dtype))),
                imp.emit(R.greater(b, most)),
            )
        )
        moved = imp.emit(getattr(R, make)(a, imp.emit(R.where(is_far, most, b))))
        is_filled = make == "right_shift" and not dtype.startswith("u")  # with the sign
        return moved if is_filled else imp.emit(R.where(is_far, const(0, dtype), moved))

    return rule


for _names, _make in (
    (("lshift", "bitwise_left_shift", "shift_left"), "left_shift"),
    (("rshift", "bitwise_right_shift", "shift_right_arithmetic"), "right_shift"),
):
    row(*_names, f"__{_names[0]}__")(_shift(_make))


@row("truediv", "true_divide", "div", "divide")
def _divide(imp: Importer, a: Operand, b: Operand, *, rounding_mode: str | None = None) -> Operand:
    if rounding_mode == "floor":
        return _ARITHMETIC["floordiv"](imp, a, b)
    if rounding_mode == "trunc" and (imp.is_tensor(a) or imp.is_tensor(b)):
        a, b = promoted(imp, a, b)
        quotient = imp.emit(R.divide(a, b))
        return quotient if dtypes.is_integral(imp.dtype(a)) else _trunc(imp, quotient)
    return _binary("divide", operator.truediv, is_ratio=True)(imp, a, b)


@row("fmod")
def _fmod(imp: Importer, a: Operand, b: Operand) -> GraphExpr:
    return imp.emit(R.mod(*promoted(imp, a, b)))


@row("hypot")
def _hypot(imp: Importer, a: Operand, b: Operand) -> GraphExpr:
    return float_functions.hypot(imp.builder, *promoted(imp, a, b))


@row("atan2", "arctan2")
def _atan2(imp: Importer, a: Operand, b: Operand) -> GraphExpr:
    return float_functions.atan2(imp.builder, *promoted(imp, a, b, 0.0)[:2])


@row("pow")
def _pow(imp: Importer, a: Operand, b: Operand, *, out: object = None) -> Operand:
    """Powers; torch has roots in place of the powers 0.5 and -0.5, which differ for -inf."""
    if imp.is_tensor(a) and isinstance(b, float) and abs(b) == 0.5:
        return _float_unary("sqrt" if b > 0 else "rsqrt")(imp, a)
    return _binary("power", operator.pow)(imp, a, b)


def _extreme_of_numbers(make: str) -> Callable[..., GraphExpr]:
    """The larger or smaller one of two, of which NaN is neither."""

    def rule(imp: Importer, a: Operand, b: Operand) -> GraphExpr:
        a, b = promoted(imp, a, b)
        result = imp.emit(getattr(R, make)(a, b))
        result = imp.emit(R.where(imp.emit(R.isnan(a)), b, result))
        return imp.emit(R.where(imp.emit(R.isnan(b)), a, result))

    return rule


ROWS["fmax"] = TorchRow(_extreme_of_numbers("maximum"))
ROWS["fmin"] = TorchRow(_extreme_of_numbers("minimum"))


@row("rsub")
def _rsub(imp: Importer, a: Operand, b: Operand, alpha: Scalar = 1) -> Operand:
    return _ARITHMETIC["sub"](imp, b, a, alpha=alpha)


@row("addcmul")
def _addcmul(imp: Importer, a: Operand, b: Operand, c: Operand, *, value: Operand = 1) -> Operand:
    return _ARITHMETIC["add"](imp, a, _ARITHMETIC["mul"](imp, b, c), alpha=value)


@row("addcdiv")
def _addcdiv(imp: Importer, a: Operand, b: Operand, c: Operand, *, value: Operand = 1) -> Operand:
    return _ARITHMETIC["add"](imp, a, _divide(imp, b, c), alpha=value)


@row("lerp")
def _lerp(imp: Importer, a: Operand, b: Operand, weight: Operand) -> Operand:
    return _ARITHMETIC["add"](
        imp, a, _ARITHMETIC["mul"](imp, _ARITHMETIC["sub"](imp, b, a), weight)
    )


# One value


def _unary(make: str) -> Callable[..., GraphExpr]:
    def rule(imp: Importer, x: GraphExpr, **_: object) -> GraphExpr:
        return imp.emit(getattr(R, make)(x))

    return rule


def _float_unary(make: str) -> Callable[..., Operand]:
    """An operator that makes floats of integers."""

    def rule(imp: Importer, x: Operand, **_: object) -> Operand:
        if not imp.is_tensor(x):
            value: float = getattr(math, make)(x)
            return value
        x = imp.cast(x, "float32") if dtype_kind(imp.dtype(x)) < 2 else x
        return imp.emit(getattr(R, make)(x))

    return rule


for _name in [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "erf",
    "log",
]:
    ROWS[_name] = TorchRow(_float_unary(_name))
for _name in [
    "abs",
    "isnan",
    "isinf",
    "isfinite",
    "ceil",
    "floor",
    "bitwise_not",
]:
    ROWS[_name] = TorchRow(_unary(_name))
ROWS["absolute"] = ROWS["abs"]
ROWS["arccos"], ROWS["arcsin"], ROWS["arctan"] = ROWS["acos"], ROWS["asin"], ROWS["atan"]


@row("sign", "sgn")
def _sign(imp: Importer, x: GraphExpr) -> GraphExpr:
    return x if imp.dtype(x) == "bool" else imp.emit(R.sign(x))


@row("square")
def _square(imp: Importer, x: GraphExpr) -> GraphExpr:
    return imp.emit(R.square(imp.cast(x, "int64") if imp.dtype(x) == "bool" else x))


@row("neg", "negative")
def _neg(imp: Importer, x: Operand) -> Operand:
    return imp.emit(R.negative(x)) if imp.is_tensor(x) else -x


@row("invert", "__invert__")
def _invert(imp: Importer, x: GraphExpr) -> GraphExpr:
    return imp.emit(R.logical_not(x) if imp.dtype(x) == "bool" else R.bitwise_not(x))


@row("round")
def _round(imp: Importer, x: GraphExpr, *, decimals: int = 0) -> GraphExpr:
    if decimals == 0 or dtype_kind(imp.dtype(x)) < 2:
        return imp.emit(R.round(x))
    scale, up, down = const(10.0 ** abs(decimals), imp.dtype(x)), R.multiply, R.divide
    if decimals < 0:
        up, down = down, up
    return imp.emit(down(imp.emit(R.round(imp.emit(up(x, scale)))), scale))


@row("trunc", "fix")
def _trunc(imp: Importer, x: GraphExpr) -> GraphExpr:
    below = imp.emit(R.less(x, const(0, imp.dtype(x))))  # not -0.0, which remains
    return imp.emit(R.where(below, imp.emit(R.ceil(x)), imp.emit(R.floor(x))))


@row("signbit")
def _signbit(imp: Importer, x: GraphExpr) -> GraphExpr:
    zero = const(0, imp.dtype(x))
    below = imp.emit(R.less(x, zero))
    if dtype_kind(imp.dtype(x)) < 2:
        return below
    turned = imp.emit(R.less(imp.emit(R.divide(const(1, imp.dtype(x)), x)), zero))  # -0.0
    return imp.emit(
        R.logical_or(below, imp.emit(R.logical_and(imp.emit(R.equal(x, zero)), turned)))
    )


@row("exp2")
def _exp2(imp: Importer, x: GraphExpr) -> GraphExpr:
    return _combined(imp, "power", 2.0, x)


@row("erfc")
def _erfc(imp: Importer, x: GraphExpr) -> GraphExpr:
    return float_functions.erfc(imp.builder, promoted(imp, x, 0.0)[0])


@row("copy")
def _copy(imp: Importer, x: GraphExpr, source: GraphExpr, non_blocking: bool = False) -> GraphExpr:
    source = imp.cast(source, imp.dtype(x))
    return imp.broadcast(source, imp.shape(x))


@row("reciprocal")
def _reciprocal(imp: Importer, x: Operand) -> Operand:
    return _divide(imp, 1.0, x)


@row("expm1")
def _expm1(imp: Importer, x: GraphExpr) -> GraphExpr:
    return float_functions.expm1(imp.builder, promoted(imp, x, 0.0)[0])


@row("log1p")
def _log1p(imp: Importer, x: GraphExpr) -> GraphExpr:
    return float_functions.log1p(imp.builder, promoted(imp, x, 0.0)[0])


@row("log2")
def _log2(imp: Importer, x: GraphExpr) -> GraphExpr:
    x = promoted(imp, x, 0.0)[0]
    return imp.emit(R.divide(imp.emit(R.log(x)), const(math.log(2), imp.dtype(x))))


@row("log10")
def _log10(imp: Importer, x: GraphExpr) -> GraphExpr:
    x = promoted(imp, x, 0.0)[0]
    return imp.emit(R.divide(imp.emit(R.log(x)), const(math.log(10), imp.dtype(x))))


# Activations


def _nothing(imp: Importer, module: TorchLayer) -> dict[str, object]:
    return {}


_SAME = {name: ROWS[row_name].rule for name, row_name in (("Sigmoid", "sigmoid"), ("Tanh", "tanh"))}
for _name, _rule in _SAME.items():
    row(**{_name: _nothing})(_rule)


@row("relu", ReLU=_nothing)
def _relu(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    return imp.emit(R.nn.relu(x))


@row("relu6", ReLU6=_nothing)
def _relu6(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    return imp.emit(R.clip(x, 0, 6))


@row("silu", SiLU=_nothing)
def _silu(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    return imp.emit(R.nn.silu(x))


@row("gelu", GELU=lambda imp, m: {"approximate": m.approximate})
def _gelu(imp: Importer, x: GraphExpr, approximate: str = "none") -> GraphExpr:
    return imp.emit(R.nn.gelu(x) if approximate == "none" else R.nn.gelu_tanh(x))


@row(
    "leaky_relu",
    LeakyReLU=lambda imp, m: {"negative_slope": m.negative_slope},
)
def _leaky_relu(
    imp: Importer, x: GraphExpr, negative_slope: float = 0.01, inplace: bool = False
) -> GraphExpr:
    return imp.emit(R.nn.leakyrelu(x, negative_slope))


@row("prelu", PReLU=lambda imp, m: {"weight": imp.param(m.weight)})
def _prelu(imp: Importer, x: GraphExpr, weight: GraphExpr) -> GraphExpr:
    shape: list[Size] = [1] * imp.info(x).ndim
    if imp.info(x).ndim > 1:
        shape[1] = imp.shape(weight)[0]
        weight = imp.emit(R.reshape(weight, shape))
    return float_functions.prelu(imp.builder, x, weight)


@row("elu", ELU=lambda imp, m: {"alpha": m.alpha})
def _elu(
    imp: Importer,
    x: GraphExpr,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
    inplace: bool = False,
) -> GraphExpr:
    return float_functions.elu(imp.builder, x, alpha, scale, input_scale)


@row("selu", SELU=_nothing)
def _selu(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    return _elu(imp, x, 1.6732632423543772, 1.0507009873554805)


@row("hardsigmoid", Hardsigmoid=_nothing)
def _hardsigmoid(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    dtype = imp.dtype(x)
    clipped = imp.emit(R.clip(imp.emit(R.add(x, const(3, dtype))), 0, 6))
    return imp.emit(R.divide(clipped, const(6, dtype)))


@row("hardswish", Hardswish=_nothing)
def _hardswish(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    return imp.emit(R.multiply(x, _hardsigmoid(imp, x)))


@row("hardtanh", Hardtanh=lambda imp, m: {"min_val": m.min_val, "max_val": m.max_val})
def _hardtanh(
    imp: Importer, x: GraphExpr, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> GraphExpr:
    return imp.emit(R.clip(x, min_val, max_val))


@row("softplus", Softplus=lambda imp, m: {"beta": m.beta, "threshold": m.threshold})
def _softplus(imp: Importer, x: GraphExpr, beta: float = 1.0, threshold: float = 20.0) -> GraphExpr:
    return float_functions.softplus(imp.builder, x, beta, threshold)


@row("softshrink", Softshrink=lambda imp, m: {"lambd": m.lambd})
def _softshrink(imp: Importer, x: GraphExpr, lambd: float = 0.5) -> GraphExpr:
    limit = const(lambd, imp.dtype(x))
    above, below = imp.emit(R.subtract(x, limit)), imp.emit(R.add(x, limit))
    between = imp.emit(R.multiply(x, const(0, imp.dtype(x))))  # NaN stays
    is_below = imp.emit(R.less(x, imp.emit(R.negative(limit))))
    result = imp.emit(R.where(is_below, below, between))
    return imp.emit(R.where(imp.emit(R.greater(x, limit)), above, result))


@row("mish", Mish=_nothing)
def _mish(imp: Importer, x: GraphExpr, inplace: bool = False) -> GraphExpr:
    return imp.emit(R.multiply(x, imp.emit(R.tanh(_softplus(imp, x)))))


@row("softmax", "_softmax", Softmax=lambda imp, m: {"dim": m.dim})
def _softmax(imp: Importer, x: GraphExpr, dim: int = -1, dtype: TorchDtype = None) -> GraphExpr:
    return _along_dim(imp, R.nn.softmax, x, dim, dtype)


@row("log_softmax", "_log_softmax", LogSoftmax=lambda imp, m: {"dim": m.dim})
def _log_softmax(imp: Importer, x: GraphExpr, dim: int = -1, dtype: TorchDtype = None) -> GraphExpr:
    return _along_dim(imp, R.nn.log_softmax, x, dim, dtype)


def _along_dim(
    imp: Importer,
    make: Callable[[GraphExpr, int], GraphExpr],
    x: GraphExpr,
    dim: int | None,
    dtype: TorchDtype,
) -> GraphExpr:
    """A function of a dimension, of a tensor that may have none."""
    x = imp.cast(x, dtype_of(dtype)) if dtype not in (None, False, True) else x
    axis = -1 if dim is None else dim
    if imp.info(x).ndim:
        return imp.emit(make(x, axis))
    return imp.reshape(imp.emit(make(imp.reshape(x, [1]), axis)), [])


@row("logsigmoid", "log_sigmoid", LogSigmoid=_nothing)
def _log_sigmoid(imp: Importer, x: GraphExpr) -> GraphExpr:
    return float_functions.log_sigmoid(imp.builder, x)


@row("clamp", "clip")
def _clamp(
    imp: Importer, x: GraphExpr, min: Operand | None = None, max: Operand | None = None
) -> GraphExpr:
    is_number = [bound is None or isinstance(bound, int | float) for bound in (min, max)]
    if all(is_number):
        x = promoted(imp, x, *[bound for bound in (min, max) if bound is not None])[0]
        low = -math.inf if min is None else min
        return imp.emit(R.clip(x, low, math.inf if max is None else max))
    x = x if min is None else _combined(imp, "maximum", x, min)
    return x if max is None else _combined(imp, "minimum", x, max)


@row("clamp_min")
def _clamp_min(imp: Importer, x: GraphExpr, min: Operand) -> GraphExpr:
    return _clamp(imp, x, min)


@row("clamp_max")
def _clamp_max(imp: Importer, x: GraphExpr, max: Operand) -> GraphExpr:
    return _clamp(imp, x, None, max)


def _dropout_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {"p": m.p, "train": m.training}


@row(
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_dropout",
    Dropout=_dropout_arguments,
    Dropout1d=_dropout_arguments,
    Dropout2d=_dropout_arguments,
    Dropout3d=_dropout_arguments,
)
def _dropout(
    imp: Importer, x: GraphExpr, p: float = 0.5, train: bool = True, *options: object
) -> GraphExpr:
    """The tensor itself, as in inference."""
    refuse_dropout(p, train)
    return x


def refuse_dropout(p: float, train: bool = True) -> None:
    """GraphError for dropout that replaces elements by zeros."""
    if train and p:
        raise GraphError(
            f"dropout of the probability {p} in training mode is random",
            "a graph computes the same results in each call",
            "call model.eval() before the model is exported",
        )


@row(
    "alpha_dropout",
    "feature_alpha_dropout",
    AlphaDropout=_dropout_arguments,
    FeatureAlphaDropout=_dropout_arguments,
)
def _alpha_dropout(
    imp: Importer, x: GraphExpr, p: float = 0.5, train: bool = False, *options: object
) -> GraphExpr:
    return _dropout(imp, x, p, train)


@row("native_dropout")
def _native_dropout(imp: Importer, x: GraphExpr, p: float, train: bool | None) -> Value:
    """The tensor itself, and that all of its elements stay."""
    kept = _dropout(imp, x, p, train is not False)
    return kept, filled(imp.builder, imp.shape(x), True, "bool")


@row(
    "stochastic_depth",
    StochasticDepth=lambda imp, m: {"p": m.p, "mode": m.mode, "training": m.training},
)
def _stochastic_depth(
    imp: Importer, x: GraphExpr, p: float = 0.5, mode: str = "batch", training: bool = True
) -> GraphExpr:
    return _dropout(imp, x, p, training)


@row("identity", Identity=_nothing)
def _identity(imp: Importer, x: GraphExpr) -> GraphExpr:
    return x


@row(
    "clone",
    "positive",
    "contiguous",
    "detach",
    "alias",
    "lift_fresh_copy",
    "lift_fresh",
    "cpu",
    "requires_grad",
    "_reshape_alias_copy",
    "resolve_conj",
    "resolve_neg",
)
def _same(imp: Importer, x: GraphExpr, *args: object, **kwargs: object) -> GraphExpr:
    return x
