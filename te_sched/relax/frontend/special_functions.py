"""Special functions of floats that importers share: the inverse of erf, gamma and Bessel functions.

Each is one tensor expression, computed in float64 and rounded to the dtype of the tensor. Must not
know importers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce

from te_sched import te
from te_sched.ir import builder as loops
from te_sched.ir import ops
from te_sched.ir.builder import IRBuilder
from te_sched.ir.expr import Buffer, Expr
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.ir.stmt import Stmt
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.float_functions import emit_elementwise, polynomial, scaled_tail
from te_sched.te.tensor import Tensor

_PI = math.pi
# erfinv(x) / x in powers of w - 2.5 and of sqrt(w) - 3, w = -log(1 - x * x), the highest one first:
# below and above w = 5 (M. Giles, Approximating the erfinv function, 2012).
_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
# The gamma function as a sum of fractions (C. Lanczos 1964, with g = 7 and 9 coefficients).
_LANCZOS = (
    *(0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313),
    *(-176.61502916214059, 12.507343278686905, -0.13857109526572012),
    *(9.9843695780195716e-6, 1.5056327351493116e-7),
)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_STEPS = 10  # from which on asymptotic series of gamma functions are exact enough


def _number(value: float) -> Expr:
    return ops.const(value, "float64")


def _in_float64(
    builder: BlockBuilder, name: str, function: Callable[..., Expr], *operands: GraphExpr
) -> GraphVar:
    def value(*elements: Expr) -> Expr:
        dtype = elements[0].dtype
        return ops.cast(dtype, function(*[ops.cast("float64", element) for element in elements]))

    return emit_elementwise(builder, name, value, *operands)


def erfinv(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """The number of which erf is x: infinite for -1 and 1, NaN beyond."""
    return _in_float64(builder, "erfinv", _erfinv, x)


def _erfinv(x: Expr) -> Expr:
    one = _number(1)
    w = _number(0) - te.log((one - x) * (one + x))
    near = polynomial(_NEAR, w - _number(2.5))
    far = polynomial(_FAR, te.sqrt(ops.maximum(w, _number(0))) - _number(3))
    y = te.select(w < _number(5), near, far) * x
    for _ in range(2):  # Newton's method
        slope = te.exp(_number(0) - y * y) * _number(2 / math.sqrt(_PI))
        y = te.select(slope > _number(0), y - (te.erf(y) - x) / slope, y)
    limit = te.select(x < _number(0), _number(-math.inf), _number(math.inf))
    return te.select(te.abs(x).equal(one), limit, y)


def erfcx(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """exp(x * x) * (1 - erf(x)), without overflow between"""

    def value(v: Expr) -> Expr:
        one, size = _number(1), te.abs(v)
        inner = te.exp(v * v) * (one - te.erf(v))
        tail = scaled_tail(ops.maximum(size, one))
        below = te.exp(v * v) * _number(2) - tail
        outer = te.select(v < _number(0), below, tail)
        whole = te.select(size < one, inner, outer)
        limit = te.select(v > _number(0), _number(0), size)
        return te.select(size.equal(_number(math.inf)), limit, whole)

    return _in_float64(builder, "erfcx", value, x)


def lgamma(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """The logarithm of the absolute value of the gamma function."""

    def value(v: Expr) -> Expr:
        half, one = _number(0.5), _number(1)
        is_left = v < half
        right = te.select(is_left, one - v, v) - one
        total = _number(_LANCZOS[0])
        for n, coefficient in enumerate(_LANCZOS[1:], 1):
            total = total + _number(coefficient) / (right + _number(n))
        base = right + _number(7.5)
        log = (right + half) * te.log(base) - base + te.log(total)
        log = log + _number(0.5 * math.log(2 * _PI))
        sine = te.abs(te.sin(_number(_PI) * (v - te.floor(v))))
        mirrored = te.log(_number(_PI) / sine) - log
        is_pole = te.all(v <= _number(0), v.equal(te.floor(v)))
        infinity = _number(math.inf)
        is_infinite = te.any(is_pole, te.abs(v).equal(infinity))
        return te.select(is_infinite, infinity, te.select(is_left, mirrored, log))

    return _in_float64(builder, "lgamma", value, x)


def digamma(builder: BlockBuilder, x: GraphExpr) -> GraphVar:
    """The derivative of lgamma: infinite at 0, NaN at other poles."""

    def value(v: Expr) -> Expr:
        zero, one = _number(0), _number(1)
        is_left = v < zero
        right = te.select(is_left, one - v, v)
        far = right + _number(_STEPS)
        inverse = one / (far * far)
        series = polynomial([b / (2 * n) for n, b in enumerate(_BERNOULLI, 1)][::-1], inverse)
        total = te.log(far) - _number(0.5) / far - series * inverse
        for n in range(_STEPS):
            total = total - one / (right + _number(n))
        angle = _number(_PI) * (v - te.floor(v))
        mirrored = total - _number(_PI) * te.cos(angle) / te.sin(angle)
        result = te.select(is_left, mirrored, total)
        is_pole = te.all(is_left, v.equal(te.floor(v)))
        result = te.select(is_pole, _number(math.nan), result)
        result = te.select(v.equal(_number(math.inf)), v, result)
        return te.select(v.equal(zero), _number(-1) / v, result)

    return _in_float64(builder, "digamma", value, x)


def polygamma(builder: BlockBuilder, x: GraphExpr, order: int) -> GraphVar:
    """The derivative of digamma of an order of 1 or more, infinite at poles.

    It is mirrored at 0.5 (Abramowitz and Stegun, 6.4.7), where derivatives of the cotangent are
    polynomials of it.
    """
    derivative = [0.0, 1.0]  # of the cotangent, by powers of it, the lowest one first
    for _ in range(order):
        slope = [n * c for n, c in enumerate(derivative)][1:]
        derivative = [-(c + d) for c, d in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    sign = (-1) ** order

    def value(v: Expr) -> Expr:
        one, is_left = _number(1), v < _number(0.5)
        right = _hurwitz_zeta(order + 1, te.select(is_left, one - v, v))
        right = right * _number(-sign * math.factorial(order))
        angle = _number(_PI) * (v - te.floor(v))
        cotangent = te.cos(angle) / te.sin(angle)
        mirror = polynomial(derivative[::-1], cotangent) * _number(_PI ** (order + 1))
        whole = te.select(is_left, _number(sign) * right - mirror, right)
        is_pole = te.all(v <= _number(0), v.equal(te.floor(v)))
        return te.select(is_pole, _number(-sign * math.inf), whole)

    return _in_float64(builder, f"polygamma{order}", value, x)


def _hurwitz_zeta(s: int, q: Expr) -> Expr:
    """The sum of (n + q) ** -s over n from 0, of a q above 0 (Euler and Maclaurin)."""

    def inverse_power(x: Expr, power: int) -> Expr:
        return reduce(ops.mul, [_number(1) / x] * power)

    far = q + _number(_STEPS)
    total = inverse_power(far, s - 1) / _number(s - 1) + _number(0.5) * inverse_power(far, s)
    for n in range(_STEPS):
        total = total + inverse_power(q + _number(n), s)
    factor = 1.0
    for n, bernoulli in enumerate(_BERNOULLI, 1):
        factor *= math.prod(range(s + 2 * n - 3, s + 2 * n - 1)) if n > 1 else s
        term = _number(bernoulli / math.factorial(2 * n) * factor)
        total = total + term * inverse_power(far, s + 2 * n - 1)
    return total


def zeta(builder: BlockBuilder, s: GraphExpr, q: GraphExpr) -> GraphVar:
    """The sum of (n + q) ** -s over n from 0, of tensors of one shape: infinite where s is 1 or a
    term is, NaN for an s below 1 or infinite, and for a power that is not whole of a q below 0.
    """

    def tensor(powers: Tensor, numbers: Tensor) -> Tensor:
        def statement(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
            ib = loops.create()
            source, other, target = map(ib.buffer_ptr, (*ins, *outs))
            with ExitStack() as stack:
                index = tuple([stack.enter_context(ib.for_range(0, n)) for n in powers.shape])
                values = (ib.let("v", ops.cast("float64", x[index])) for x in (source, other))
                target[index] = ops.cast(powers.dtype, _zeta_of(ib, *values))
            return ib.get()

        outputs: Tensor = te.extern(
            [powers.shape], [powers, numbers], statement, name="zeta", dtype=[powers.dtype]
        )
        return outputs

    return builder.emit_te(tensor, s, q)


def _zeta_of(ib: IRBuilder, s: Expr, q: Expr) -> Expr:
    """A sum of terms up to a number of at least `_STEPS`, and its rest (Euler and Maclaurin)."""
    zero, one, two, infinity = (_number(x) for x in (0, 1, 2, math.inf))
    is_left, is_whole = q <= zero, s.equal(te.floor(s))
    is_defined = te.all(s > one, te.any(q > zero, te.all(is_whole, ops.not_equal(q, te.floor(q)))))
    below = te.select(te.all(is_defined, is_left), zero - te.floor(q), zero)
    count = ib.let("count", ops.cast("int64", below) + _STEPS)
    total = ib.allocate("float64", (1,), name="total", scope="local")
    total[0] = zero
    is_odd = ops.not_equal(s, te.floor(s / two) * two)
    with ib.for_range(0, count, name="n") as step:
        x = ib.let("x", q + ops.cast("float64", step))
        term = te.power(te.abs(x), zero - s)
        total[0] = total[0] + te.select(te.all(x < zero, is_odd), zero - term, term)
    far = ib.let("far", q + ops.cast("float64", count))
    power = ib.let("power", te.power(far, zero - s))
    rest = far / (s - one) + _number(0.5)
    product, inverse = s, one / far
    for n, bernoulli in enumerate(_BERNOULLI, 1):
        rest = rest + _number(bernoulli / math.factorial(2 * n)) * product * inverse
        product = product * (s + _number(2 * n - 1)) * (s + _number(2 * n))
        inverse = inverse / (far * far)
    result = total[0] + te.select(power > zero, power * rest, zero)
    is_small = ops.logical_or(s < one, te.all(s.equal(infinity), q > one))  # NaN in torch
    is_pole = te.any(s.equal(one), te.all(ops.logical_not(is_small), is_left, q.equal(te.floor(q))))
    result = te.select(te.all(is_defined, ops.logical_not(is_small)), result, _number(math.nan))
    return te.select(is_pole, infinity, result)


def bessel_i(builder: BlockBuilder, x: GraphExpr, order: int, is_scaled: bool) -> GraphVar:
    """The modified Bessel function of the first kind, of order 0 or 1.

    Near 0 by its power series, far from 0 by its asymptotic one (Abramowitz and Stegun, 9.6.10 and
    9.7.1).

    is_scaled : whether it is multiplied by exp(-abs(x)).
    """
    terms = range(60)
    near = [1 / (math.factorial(k) * math.factorial(k + order)) for k in terms]
    far = [1.0]
    for k in range(1, 15):
        far.append(far[-1] * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k))

    def value(v: Expr) -> Expr:
        size, edge = te.abs(v), _number(24)
        inside = ops.minimum(size, edge) * _number(0.5)
        small = polynomial(near[::-1], inside * inside)
        small = small * inside if order else small
        outside = ops.maximum(size, edge)
        large = polynomial(far[::-1], _number(1) / outside) / te.sqrt(_number(2 * _PI) * outside)
        decay = te.exp(_number(0) - size)
        if is_scaled:
            result = te.select(size < edge, small * decay, large)
        else:
            half = te.exp(size * _number(0.5))
            result = te.select(size < edge, small, large * half * half)
        result = te.select(te.isnan(v), v, result)
        return te.select(v < _number(0), _number(0) - result, result) if order else result

    return _in_float64(builder, f"bessel_i{order}{'e' * is_scaled}", value, x)
