"""Functions of mathematics for floats and vectors of floats, as helper functions in LLVM text.

Each is written once, without branches, for any number of lanes: a scalar and a lane of a vector
round alike, and LLVM can vectorize loops over the scalar one. Methods are the usual ones, an exact
reduction of the argument and a polynomial. Errors are in units of the last place (ulp) of the
result, measured against longer arithmetic over the whole range; results of infinities, NaNs, zeros
and subnormal numbers are IEEE 754's.

    float32   exp log: 1.2    exp2 erf tanh: 1.5    sigmoid: 2.5
              exp10 log2 log10 expm1 log1p sinh cosh tan pow sin cos: 0.6 (computed in float64)
    float64   exp log log2 log10: 1.2    exp2: 1.4    sigmoid: 2.3    tanh: 2.7

`ULP` has these numbers, and the tests hold the functions to them. Other functions are libm's. Must
not know expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from te_sched.codegen.llvm import math_coefficients as C
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.lanes import LaneBuilder, Number
from te_sched.codegen.llvm.memory import permute
from te_sched.codegen.llvm.types import Value, floating, llvm_type
from te_sched.ir import dtypes

LOG2_E = 1 / math.log(2)
LOG2_10 = math.log2(10)
LOG10_2 = math.log10(2)


class _Format(NamedTuple):
    """A format of floats: how many bits, and constants cut so that products with exponents are
    exact."""

    mantissa: int
    bias: int
    magic: float  # adding it rounds to an integer, which is then in the low bits
    ln2: tuple[float, float]  # high part, rest
    largest: float  # arguments of exp beyond which it is infinite, with some room
    smallest: float  # and zero


_FORMATS = {
    "float": _Format(23, 127, 1.5 * 2**23, (0.693145751953125, 1.4286068203094173e-06), 89, -104),
    "double": _Format(
        52, 1023, 1.5 * 2**52, (0.6931471804855391, 7.440617110012397e-11), 710, -746
    ),
}


# -- powers -----------------------------------------------------------------------------------


def _round(x: Number) -> tuple[Number, Number]:
    """The nearest integer, as a float and as an integer; for sizes that an exponent can have."""
    return _whole_of(x + _FORMATS[x.kind].magic)


def _whole_of(shifted: Number) -> tuple[Number, Number]:
    """The integer to which the magic number was added, as a float and as an integer."""
    magic = _FORMATS[shifted.kind].magic
    return shifted - magic, shifted.bits() - _bits_of(magic, shifted.kind)


def _bits_of(value: float, kind: str) -> int:
    """The bits of a constant."""
    double = int(floating(value, "float64").text, 16)
    if kind == "double":
        return double
    return (double >> 29 & 0x7FFFFF) | ((double >> 52) - 1023 + 127) << 23


def _power_of_two(exponent: Number, kind: str) -> Number:
    """2^exponent for the exponents of normal numbers."""
    form = _FORMATS[kind]
    return ((exponent + form.bias) << form.mantissa).from_bits()


def _scale(x: Number, exponent: Number) -> Number:
    """x * 2^exponent, rounded once: the first of the two steps without an instruction is exact."""
    if x.lanes.scales_powers:
        return x.times_power_of_two(exponent)
    half = exponent >> 1
    return x * _power_of_two(half, x.kind) * _power_of_two(exponent - half, x.kind)


def _short_power_of_two(r: Number, exponent: Number) -> Number:
    """2^(r + exponent) with 23 bits, for |r| <= 1/2 and exponents of normal numbers."""
    power = r.horner((1.0, *C.SHORT_EXP2_F32))
    return (power.bits() + (exponent << _FORMATS[r.kind].mantissa)).from_bits()


def _reduce_exp(x: Number) -> tuple[Number, Number]:
    """r and k of x = k ln 2 + r."""
    high, low = _FORMATS[x.kind].ln2
    multiple, exponent = _whole_of(x.times_plus(LOG2_E, _FORMATS[x.kind].magic))
    return multiple.times_plus(-low, multiple.times_plus(-high, x)), exponent


def _exp_minus_one_near_zero(r: Number) -> Number:
    """e^r - 1 for |r| < ln 2 / 2."""
    rest = r.polynomial(C.EXP_F32 if r.kind == "float" else C.EXP_F64)
    return (r * r).times_plus(rest, r)


def _exp(x: Number) -> Number:
    return _exp_up_to(_FORMATS[x.kind].largest, x)


def _exp_up_to(limit: float, x: Number) -> Number:
    """e^x, or e^limit for larger x."""
    r, exponent = _reduce_exp(x.at_most(limit).at_least(_FORMATS[x.kind].smallest))
    if x.kind == "float" and x.lanes.scales_powers:  # multiply-adds of such processors are fused
        return _scale(r.horner((1.0, 1.0, *C.EXP_F32)), exponent)
    return _scale(_exp_minus_one_near_zero(r) + 1.0, exponent)


def _exp2(x: Number) -> Number:
    limits = (129.0, -151.0) if x.kind == "float" else (1025.0, -1076.0)
    x = x.at_most(limits[0]).at_least(limits[1])
    whole, exponent = _round(x)
    r = x - whole
    rest = r.polynomial(C.EXP2_F32 if x.kind == "float" else C.EXP2_F64)
    return _scale(r.times_plus(rest, 1.0), exponent)


def _exp2_for_f32(x: Number) -> Number:
    """2^x in float64 with 34 bits, for what is rounded to float32 then."""
    x = x.at_most(300.0).at_least(-300.0)
    whole, exponent = _round(x)
    r = x - whole
    return r.times_plus(r.polynomial(C.EXP2_FOR_F32), 1.0) * _power_of_two(exponent, "double")


def _expm1_f32(x: Number) -> Number:
    wide = x.to("double")
    small = wide.times_plus((wide * wide).times_plus(1 / 6, wide * 0.5), wide)
    large = _exp2_for_f32(wide * LOG2_E) - 1.0
    near = wide.magnitude() < 2.0**-10
    return near.choose(small, large).to("float").with_sign_of(x)


def _tanh_f32(x: Number) -> Number:
    """An odd polynomial near zero, else 1 - 2 / (1 + e^(2|x|)), from a power of two."""
    size = x.magnitude()
    bounded = size.at_most(10.0)
    whole, exponent = _whole_of(bounded.times_plus(2 * LOG2_E, _FORMATS[x.kind].magic))
    power = _short_power_of_two(bounded.times_plus(2 * LOG2_E, -whole), exponent)
    far = 1.0 - 2.0 / (power + 1.0)
    square = x * x
    near = (x * square).times_plus(square.horner(C.TANH_F32), x)
    return (size > 1.0).choose(far, near).with_sign_of(x)


def _tanh_f64(x: Number) -> Number:
    """From e^(-2|x|) - 1, which keeps its precision near zero."""
    r, exponent = _reduce_exp((x.magnitude() * -2.0).at_least(-40.0))
    power = _power_of_two(exponent, "double")
    less = power.times_plus(_exp_minus_one_near_zero(r), power - 1.0)
    return (less / (less + 2.0)).with_sign_of(x)


def _sigmoid(x: Number) -> Number:
    """e^x / (1 + e^x); that of large x is 1 long before e^x overflows."""
    power = _exp_up_to(_FORMATS[x.kind].largest - 1, x)
    return power / (power + 1.0)


def _sinh_f32(x: Number) -> Number:
    wide = x.to("double")
    size = wide * LOG2_E
    large = (_exp2_for_f32(size) - _exp2_for_f32(-size)) * 0.5
    near = wide.magnitude() < 2.0**-10
    small = (wide * wide * wide).times_plus(1 / 6, wide)
    return near.choose(small, large).to("float").with_sign_of(x)


def _cosh_f32(x: Number) -> Number:
    size = x.to("double") * LOG2_E
    return ((_exp2_for_f32(size) + _exp2_for_f32(-size)) * 0.5).to("float")


# -- logarithms -------------------------------------------------------------------------------


def _split_exponent(x: Number) -> tuple[Number, Number]:
    """k and m of x = 2^k m, sqrt(1/2) <= m < sqrt(2), for positive normal numbers."""
    form = _FORMATS[x.kind]
    bits = x.bits()
    exponent = (bits - _bits_of(math.sqrt(0.5), x.kind)) >> form.mantissa
    return exponent, (bits - (exponent << form.mantissa)).from_bits()


def _split_positive(x: Number) -> tuple[Number, Number]:
    """As above for all positive numbers; the exponent is a float."""
    form = _FORMATS[x.kind]
    subnormal = x < 2.0 ** (1 - form.bias)
    exponent, m = _split_exponent(subnormal.choose(x * 2.0**form.mantissa, x))
    multiple = _to_float(exponent, x.kind)
    return multiple - subnormal.choose(x.like(form.mantissa), 0.0), m


def _to_float(exponent: Number, kind: str) -> Number:
    """A small integer as a float; float64 by bits, since few processors convert vectors of i64."""
    if kind == "float":
        return exponent.to("float")
    magic = _FORMATS[kind].magic
    return (exponent + _bits_of(magic, kind)).from_bits() - magic


def _outside_domain(x: Number, result: Number) -> Number:
    """A logarithm's results for infinity, zeros, negative numbers and NaNs."""
    result = x.equals(math.inf).choose(x, result)
    return (x > 0.0).choose(result, x.equals(0.0).choose(x.like(-math.inf), math.nan))


def _log_f32(x: Number) -> Number:
    multiple, m = _split_positive(x)
    f = m - 1.0
    square, (high, low) = f * f, _FORMATS["float"].ln2
    rest = multiple.times_plus(low, square * f * f.polynomial(C.LOG_F32))
    sum_of_rest = square.times_plus(-0.5, rest) + f
    return _outside_domain(x, multiple.times_plus(high, sum_of_rest))


def _log_parts(m: Number) -> tuple[Number, Number]:
    """f and c of log(m) = f - c in float64, where c is small beside f.

    With f = m - 1 and s = f / (2 + f), log(m) is log((1 + s) / (1 - s)) = 2s + s^3 R(s^2), and
    2s = f - s f.
    """
    f = m - 1.0
    s, half = f / (f + 2.0), f * f * 0.5
    z = s * s
    return f, half - s * z.times_plus(z.polynomial(C.LOG_F64), half)


def _log_f64(x: Number) -> Number:
    multiple, m = _split_positive(x)
    f, less = _log_parts(m)
    high, low = _FORMATS["double"].ln2
    return _outside_domain(x, multiple.times_plus(high, f - (less - multiple * low)))


def _log_to_base(
    base: tuple[float, float], factor: tuple[float, float]
) -> Callable[[Number], Number]:
    """log(x) in another base: `base` is the logarithm of 2, `factor` that of e, in two parts.

    The high part of the logarithm of m has 32 bits less, so that its product is exact.
    """

    def logarithm(x: Number) -> Number:
        multiple, m = _split_positive(x)
        f, less = _log_parts(m)
        high = ((f - less).bits() & -(1 << 32)).from_bits()
        low = (f - high) - less
        rest = (high + low).times_plus(factor[1], low * factor[0])
        if base[1]:
            rest = multiple.times_plus(base[1], rest)
        whole, part = multiple * base[0], high * factor[0]
        total = whole + part
        return _outside_domain(x, total + (((whole - total) + part) + rest))

    return logarithm


_LOG2_OF_E = (1.4426950216293335, 1.9259629911266175e-08)
_LOG10_OF_E = (0.4342944771051407, 4.798111141615973e-09)
_LOG10_OF_2 = (0.30102999560767785, 5.630334806675098e-11)
_log2_f64 = _log_to_base((1.0, 0.0), _LOG2_OF_E)
_log10_f64 = _log_to_base(_LOG10_OF_2, _LOG10_OF_E)


def _log2_for_f32(x: Number) -> Number:
    """log2 of a positive normal float64 with 38 bits."""
    exponent, m = _split_exponent(x)
    f = m - 1.0
    return f.times_plus(f.polynomial(C.LOG2_FOR_F32), _to_float(exponent, "double"))


def _log2_f32(x: Number) -> Number:
    return _outside_domain(x, _log2_for_f32(x.to("double")).to("float"))


def _log10_f32(x: Number) -> Number:
    return _outside_domain(x, (_log2_for_f32(x.to("double")) * LOG10_2).to("float"))


def _log1p_f32(x: Number) -> Number:
    wide = x.to("double")
    small = wide.times_plus((wide * wide).times_plus(1 / 3, wide * -0.5), wide)
    more = wide + 1.0
    large = _outside_domain(more, _log2_for_f32(more) * math.log(2))
    near = wide.magnitude() < 2.0**-10
    return near.choose(small, large).to("float").with_sign_of(x)


# -- the others -------------------------------------------------------------------------------


def _pow_f32(x: Number, y: Number) -> Number:
    """2^(y log2|x|) in float64, with the sign and the special cases of IEEE 754."""
    size, power = x.magnitude(), y.to("double")
    wide = size.to("double")
    logarithm = _outside_domain(wide, _log2_for_f32(wide))
    product = logarithm.equals(0.0).choose(logarithm, logarithm * power)  # 1^inf is 1
    result = _exp2_for_f32(product).to("float")
    bounded = power.at_most(2.0**25).at_least(-(2.0**25))  # larger ones are even
    nearest, integer = _round(bounded)
    whole = nearest.equals(bounded)
    odd = whole.choose(integer.to("i32") << 31, 0)
    signed = (result.bits() | (odd & x.bits())).from_bits()
    negative = (x < 0.0) & (size < math.inf)
    result = negative.choose(whole.choose(signed, math.nan), signed)
    return x.equals(1.0).choose(x, y.equals(0.0).choose(x.like(1.0), result))


def _erf_f32(x: Number) -> Number:
    """An odd polynomial near zero, else 1 - erfc(|x|), from the logarithm of erfc."""
    size = x.magnitude()
    near = x.times_plus((x * x).horner(C.ERF_F32), x)
    logarithm = size.at_most(4.0).horner(C.ERFC_LOG2_F32)
    whole, exponent = _round(logarithm)
    far = 1.0 - _short_power_of_two(logarithm - whole, exponent)
    return (size > 1.0).choose(far.with_sign_of(x), near)


_TABLE = "te_sched.two_over_pi"
_FIRST_EXPONENT, _LAST_EXPONENT = -24, 104
_FRACTION = 192  # bits of TWO_OVER_PI


def _quarter_turns(x: Number) -> tuple[Number, Number]:
    """y and k of x = (k + y) pi/2, |y| <= 1/2, in float64: for every float32.

    x is 24 bits times 2^e; a table has 2^e 2/pi mod 4, its high part short enough for an exact
    product (`_table_row`).
    """
    size = x.bits() & 0x7FFFFFFF
    exponent = (size >> 23) - 150
    exponent = (exponent < _FIRST_EXPONENT).choose(exponent.like(_FIRST_EXPONENT), exponent)
    exponent = (exponent > _LAST_EXPONENT).choose(exponent.like(_LAST_EXPONENT), exponent).to("i64")
    digits = x.to("double") * _power_of_two(0 - exponent, "double")
    row = (exponent - _FIRST_EXPONENT) << 1
    high = digits * x.lanes.look_up("@" + _TABLE, "double", row)
    whole, turns = _round(high)
    low = digits * x.lanes.look_up("@" + _TABLE, "double", row + 1)
    return (high - whole) + low, turns.to("i32")


def _sine_and_cosine(y: Number) -> tuple[Number, Number]:
    """Of y quarter turns."""
    z = y * y
    return y * z.polynomial(C.SIN_FOR_F32), z.times_plus(z.polynomial(C.COS_FOR_F32), 1.0)


def _wave(shift: int) -> Callable[[Number], Number]:
    """sin(x + shift quarter turns)"""

    def function(x: Number) -> Number:
        y, turns = _quarter_turns(x)
        turns = turns + shift
        sine, cosine = _sine_and_cosine(y)
        chosen = (turns & 1).equals(1).choose(cosine, sine).to("float")
        signed = (chosen.bits() ^ ((turns & 2) << 30)).from_bits()
        if shift:
            return _unless_infinite(x, signed)
        return x.equals(0.0).choose(x, _unless_infinite(x, signed))

    return function


def _tan_f32(x: Number) -> Number:
    y, turns = _quarter_turns(x)
    sine, cosine = _sine_and_cosine(y)
    odd = (turns & 1).equals(1)
    result = (odd.choose(cosine, sine) / odd.choose(-sine, cosine)).to("float")
    return x.equals(0.0).choose(x, _unless_infinite(x, result))


def _unless_infinite(x: Number, result: Number) -> Number:
    """A NaN for infinities and NaNs."""
    return (x.magnitude() < math.inf).choose(result, math.nan)


# -- helper functions -------------------------------------------------------------------------

_FUNCTIONS: dict[tuple[str, str], Callable[..., Number]] = {
    **{(name, kind): function for kind in ("float32", "float64") for name, function in (
        ("exp", _exp), ("exp2", _exp2), ("sigmoid", _sigmoid))},
    ("tanh", "float32"): _tanh_f32,
    ("tanh", "float64"): _tanh_f64,
    ("log", "float32"): _log_f32,
    ("log", "float64"): _log_f64,
    ("log2", "float32"): _log2_f32,
    ("log2", "float64"): _log2_f64,
    ("log10", "float32"): _log10_f32,
    ("log10", "float64"): _log10_f64,
    ("exp10", "float32"): lambda x: _exp2_for_f32(x.to("double") * LOG2_10).to("float"),
    ("expm1", "float32"): _expm1_f32,
    ("log1p", "float32"): _log1p_f32,
    ("sinh", "float32"): _sinh_f32,
    ("cosh", "float32"): _cosh_f32,
    ("pow", "float32"): _pow_f32,
    ("erf", "float32"): _erf_f32,
    ("sin", "float32"): _wave(0),
    ("cos", "float32"): _wave(1),
    ("tan", "float32"): _tan_f32,
}  # fmt: skip
# The largest error of each function, in units of the last place.
ULP = {
    **dict.fromkeys(_FUNCTIONS, 0.6),
    **{(name, "float32"): 1.2 for name in ("exp", "log")},
    **{(name, "float32"): 1.5 for name in ("exp2", "erf", "tanh")},
    **{(name, "float64"): 1.2 for name in ("exp", "log", "log2", "log10")},
    **{("exp2", "float64"): 1.4, ("tanh", "float64"): 2.7},
    **{("sigmoid", "float32"): 2.5, ("sigmoid", "float64"): 2.3},
}
_USING_TABLE = ("sin", "cos", "tan")
_REGISTER_BYTES = 64  # longer vectors are computed in parts


def is_known(name: str, dtype: str) -> bool:
    """Whether there is a helper function for it (any lanes)."""
    return (name, dtypes.element(dtype)) in _FUNCTIONS


def call_helper(out: FunctionText, name: str, values: list[Value]) -> Value:
    """Call the helper function of a name on values of one type."""
    dtype = values[0].dtype
    element, lanes = dtypes.element(dtype), dtypes.lanes(dtype)
    most = _REGISTER_BYTES * 8 // dtypes.bits(element)
    if lanes <= most:
        return _call(out, name, values)
    parts = []
    for start in range(0, lanes, most):
        count = min(most, lanes - start)
        cuts = [_cut(out, value, start, count) for value in values]
        parts.append(_call(out, name, cuts))
    return _join(out, parts)


def _call(out: FunctionText, name: str, values: list[Value]) -> Value:
    dtype = values[0].dtype
    lanes, kind = dtypes.lanes(dtype), llvm_type(dtype)
    symbol = f"te_sched.{name}.{dtypes.element(dtype)}x{lanes}"
    scales_powers = out.module.scales_powers()
    text, declarations = _helper(name, dtypes.element(dtype), lanes, symbol, scales_powers)
    for function, (result, parameters) in declarations.items():
        out.module.declare(function, result, parameters)
    if name in _USING_TABLE:
        out.module.define(_TABLE, _table_text())
    out.module.define(symbol, text)
    operands = ", ".join(f"{kind} {value.text}" for value in values)
    return Value(out.emit(f"call {kind} @{symbol}({operands})"), dtype)


@cache
def _helper(
    name: str, element: str, lanes: int, symbol: str, scales_powers: bool
) -> tuple[str, dict[str, tuple[str, tuple[str, ...]]]]:
    """The text of a helper function, and the intrinsics that it calls."""
    function = _FUNCTIONS[name, element]
    body = LaneBuilder(lanes, scales_powers)
    kind = "float" if element == "float32" else "double"
    names = ["x", "y"] if name == "pow" else ["x"]
    result = function(*(Number(body, f"%{name}", kind) for name in names))
    parameters = ", ".join(f"{body.type(kind)} %{name}" for name in names)
    lines = [
        f"define internal {body.type(kind)} @{symbol}({parameters}) alwaysinline nounwind {{",
        "entry:",
        *body.lines,
        f"  ret {body.type(kind)} {result.text}",
        "}",
    ]
    return "\n".join(lines), body.declarations


def _table_row(exponent: int) -> tuple[float, float]:
    """2^exponent * 2/pi mod 4, as the sum of 29 bits and 53 more."""
    fraction = _FRACTION - _FIRST_EXPONENT
    turns = (C.TWO_OVER_PI << exponent - _FIRST_EXPONENT) % (4 << fraction)
    rest = turns % (1 << turns.bit_length() - 29)
    return math.ldexp(turns - rest, -fraction), math.ldexp(rest, -fraction)


@cache
def _table_text() -> str:
    rows = map(_table_row, range(_FIRST_EXPONENT, _LAST_EXPONENT + 1))
    numbers = [floating(part, "float64").text for row in rows for part in row]
    elements = ", ".join(f"double {number}" for number in numbers)
    return f"@{_TABLE} = internal unnamed_addr constant [{len(numbers)} x double] [{elements}]"


def _lanes(out: FunctionText, value: Value, start: int, count: int) -> Value:
    """Some of the lanes, from `start` on; those beyond the last one are undefined."""
    lane_count = dtypes.lanes(value.dtype)
    picks = [k if k < lane_count else -1 for k in range(start, start + count)]
    return permute(out, value, Value("poison", value.dtype), picks)


def _cut(out: FunctionText, value: Value, start: int, count: int) -> Value:
    """Some of the lanes: a vector, or the only one as a scalar."""
    if count == 1:
        kind = llvm_type(value.dtype)
        text = out.emit(f"extractelement {kind} {value.text}, i32 {start}")
        return Value(text, dtypes.element(value.dtype))
    return _lanes(out, value, start, count)


def _with_last(out: FunctionText, a: Value, b: Value) -> Value:
    """A vector and one more lane."""
    lanes = dtypes.lanes(a.dtype)
    wide = _lanes(out, a, 0, lanes + 1)
    last = f"{llvm_type(b.dtype)} {b.text}"
    text = out.emit(f"insertelement {llvm_type(wide.dtype)} {wide.text}, {last}, i32 {lanes}")
    return Value(text, wide.dtype)


def _join(out: FunctionText, parts: list[Value]) -> Value:
    """One vector of all lanes: neighbors are joined, and what results again."""
    while len(parts) > 1:
        joined = []
        for k in range(0, len(parts) - 1, 2):
            a, b = parts[k], parts[k + 1]
            first, second = dtypes.lanes(a.dtype), dtypes.lanes(b.dtype)
            if second == 1:
                joined.append(_with_last(out, a, b))
                continue
            if second < first:  # only the last part may be shorter
                b = _lanes(out, b, 0, first)
            joined.append(permute(out, a, b, list(range(first + second))))
        parts = joined + (parts[-1:] if len(parts) % 2 else [])
    return parts[0]
