"""Functions of floats that importers share, which graphs have no operators for.

Each is one tensor expression, accurate for small values, where exp(x) - 1, log(1 + x) and
1 - erf(x) of operators lose all digits, and gives what torch and onnxruntime give for NaN and
infinities. Must not know importers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from te_sched import te, topi
from te_sched.config import TO_RUN
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Call, Expr
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.emit_te import call_te
from te_sched.te.tensor import Tensor

# erfc(x) = exp(-x**2) * P(x) / Q(x), highest power first: for 1 to 8, and from 8 on (W. J. Cody
# 1969, with the coefficients of Cephes).
_MIDDLE = (
    (
        *(2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0),
        *(4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2),
        *(9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2),
    ),
    (
        *(1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2),
        *(9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3),
        *(1.65666309194161350182e3, 5.57535340817727675546e2),
    ),
)
_FAR = (
    (
        *(5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0),
        *(6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0),
    ),
    (
        *(1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1),
        *(1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0),
    ),
)


def _call(name: str, *args: Expr) -> Expr:
    return Call(args[0].dtype, f"tir.{name}", args)


def _like(value: float, x: Expr) -> Expr:
    return ops.const(value, x.dtype)


def emit_elementwise(
    builder: BlockBuilder, name: str, function: Callable[..., Expr], *operands: GraphExpr
) -> GraphVar:
    """Bind `function` of the elements of tensors, which are broadcast."""

    def computed(*tensors: Tensor) -> Tensor:
        shape = reduce(
            lambda a, b: topi.broadcast.broadcast_shape([a, b], name), [t.shape for t in tensors]
        )

        def value(*i: Expr) -> Expr:
            elements = [topi.broadcast.element(tensor, i, shape) for tensor in tensors]
            dtype = elements[0].dtype
            wide = "float32" if dtypes.is_small_float(dtype) else dtype
            return ops.cast(dtype, function(*[ops.cast(wide, element) for element in elements]))

        return topi.utils.tensor_of(shape, value, f"T_{name}", topi.tag.ELEMWISE)

    call = call_te(
        builder.add_func, TO_RUN, builder.analyzer, computed, *operands, primfunc_name_hint=name
    )
    return builder.emit(call)


class FloatFormat(NamedTuple):
    """A format of floats of few bits.

    Parameters
    ----------
    digits : the bits after the leading one.
    least : the exponent of the least normal number.
    largest : the largest number.
    overflow : what numbers beyond it become: infinity or NaN.
    missing : what NaN becomes: 0 if the format has no NaN.
    has_signed_zero : whether -0 is a number.
    """

    digits: int
    least: int
    largest: float
    overflow: float
    missing: float
    has_signed_zero: bool


def rounded(builder: BlockBuilder, x: GraphExpr, to: FloatFormat, is_limited: bool) -> GraphVar:
    """The numbers of a format next to float32, even ones of two that are as near; `is_limited` are
    those beyond the largest one, which become it.
    """

    def function(v: Expr) -> Expr:
        bits = intrinsics.reinterpret("int32", te.abs(v))
        least = ops.const(to.least + 127, "int32")
        exponent = ops.maximum(ops.shift_right(bits, ops.const(23, "int32")), least)
        shifted = ops.shift_left(exponent - to.digits, ops.const(23, "int32"))
        step = intrinsics.reinterpret("float32", shifted)
        near = intrinsics.nearbyint(v / step) * step
        largest, zero = _like(to.largest, v), _like(0, v)
        for sign, is_beyond in ((1, near > largest), (-1, near < -largest)):
            end = _like(sign * (to.largest if is_limited else to.overflow), v)
            near = te.select(is_beyond, end, near)
        if not to.has_signed_zero:
            near = te.select(ops.equal(near, zero), zero, near)
        is_missing = ops.not_equal(v, v)
        return near if math.isnan(to.missing) else te.select(is_missing, _like(to.missing, v), near)

    return emit_elementwise(builder, "rounded", function, x)


def expm1(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """exp(x) - 1"""
    return emit_elementwise(builder, "expm1", _grown, x)


def _grown(v: Expr) -> Expr:
    """exp(v) - 1; by its series near 0, of float32, where that is exact enough."""
    if v.dtype == "float64":
        return _call("expm1", v)
    series = polynomial([1 / math.factorial(n) for n in range(8, 0, -1)], v) * v
    is_small = te.abs(v) < _like(0.4, v)
    return te.select(is_small, series, te.exp(v) - _like(1, v))


def log1p(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """log(1 + x)"""

    def value(v: Expr) -> Expr:
        one = _like(1, v)
        is_near = te.all(v > _like(-0.5, v), v < one)
        return (
            _above_one(v)
            if v.dtype == "float64"
            else te.select(is_near, _above_one(v), te.log(v + one))
        )

    return emit_elementwise(builder, "log1p", value, x)


def _above_one(v: Expr) -> Expr:
    """log(1 + v); of float32 for v from -0.5 to 1, by the series of 2 * atanh(v / (v + 2))."""
    if v.dtype == "float64":
        return te.log1p(v)
    part = v / (v + _like(2, v))
    series = polynomial([2 / n for n in range(15, 0, -2)], part * part)
    return series * part


def log_add_exp(v: Expr, w: Expr) -> Expr:
    """log(exp(v) + exp(w)) of expressions, without overflow between."""
    most, least = ops.maximum(v, w), ops.minimum(v, w)
    grown = most + _above_one(te.exp(least - most))
    total = te.select(te.abs(most).equal(_like(math.inf, v)), most, grown)
    return te.select(te.any(te.isnan(v), te.isnan(w)), v + w, total)


def hypot(builder: BlockBuilder, x: GraphExpr, y: GraphExpr) -> GraphVar:
    """sqrt(x * x + y * y), without overflow between"""

    def value(v: Expr, w: Expr) -> Expr:
        v, w = te.abs(v), te.abs(w)
        most, least = ops.maximum(v, w), ops.minimum(v, w)
        infinity, zero = _like(math.inf, v), _like(0, v)
        part = least / te.select(most > zero, most, _like(1, v))
        size = most * te.sqrt(part * part + _like(1, v))
        return te.select(te.any(v.equal(infinity), w.equal(infinity)), infinity, size)

    return emit_elementwise(builder, "hypot", value, x, y)


def atan2(builder: BlockBuilder, y: GraphExpr, x: GraphExpr) -> GraphVar:
    """The angle of the point (x, y)."""
    return emit_elementwise(builder, "atan2", te.atan2, y, x)


def softplus(
    builder: BlockBuilder, x: GraphExpr, beta: float = 1.0, threshold: float | None = None
) -> GraphVar:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""

    def value(v: Expr) -> Expr:
        scaled = v * _like(beta, v)
        soft = _soft(scaled) / _like(beta, v)
        return soft if threshold is None else te.select(scaled > _like(threshold, v), v, soft)

    return emit_elementwise(builder, "softplus", value, x)


def log_sigmoid(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """log(1 / (1 + exp(-x)))"""
    return emit_elementwise(
        builder, "logsigmoid", lambda v: _like(0, v) - _soft(_like(0, v) - v), x
    )


def _soft(v: Expr) -> Expr:
    """log(1 + exp(v))"""
    return ops.maximum(v, _like(0, v)) + _above_one(te.exp(_like(0, v) - te.abs(v)))


def elu(
    builder: BlockBuilder,
    x: GraphExpr,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
) -> GraphVar:
    """scale * x where x >= 0, else scale * alpha * (exp(input_scale * x) - 1)."""

    def value(v: Expr) -> Expr:
        grown = _grown(v * _like(input_scale, v)) * _like(alpha * scale, v)
        return te.select(v >= _like(0, v), v * _like(scale, v), grown)

    return emit_elementwise(builder, "elu", value, x)


def prelu(builder: BlockBuilder, x: GraphExpr, slope: GraphExpr, of_zero: bool = False) -> GraphVar:
    """x where x > 0, else slope * x; `of_zero`: only where x < 0, so that no slope changes 0."""

    def value(v: Expr, w: Expr) -> Expr:
        zero = _like(0, v)
        return te.select(v < zero, v * w, v) if of_zero else te.select(v > zero, v, v * w)

    return emit_elementwise(builder, "prelu", value, x, slope)


def erfc(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """1 - erf(x)"""

    def value(v: Expr) -> Expr:
        size = ops.maximum(te.abs(v), _like(1, v))
        decay = te.exp(_like(0, v) - size * size)
        # Where the polynomials are infinite, nothing is left; a NaN stays.
        tail = te.select(decay.equal(_like(0, v)), decay, decay * scaled_tail(size))
        folded = te.select(v < _like(0, v), _like(2, v) - tail, tail)
        return te.select(te.abs(v) > _like(1, v), folded, _like(1, v) - te.erf(v))

    return emit_elementwise(builder, "erfc", value, x)


def scaled_tail(size: Expr) -> Expr:
    """exp(size * size) * (1 - erf(size)) of numbers from 1 on; of float32, up to 8."""
    if size.dtype != "float64":
        return _ratio(_MIDDLE, size)
    return te.select(size < _like(8, size), _ratio(_MIDDLE, size), _ratio(_FAR, size))


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Expr) -> Expr:
    above, below = [polynomial(series, x) for series in coefficients]
    return above / below


def polynomial(coefficients: Sequence[float], x: Expr) -> Expr:
    """The value of a polynomial, the coefficient of its highest power first."""
    first, *rest = coefficients
    return reduce(lambda total, c: total * x + _like(c, x), rest, _like(first, x))
