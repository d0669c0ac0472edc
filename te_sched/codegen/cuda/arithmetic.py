"""Scalar operators and conversions as C++ text, by data type.

Results are those of numpy and of the processor's code: narrow integers wrap, conversions of floats
to narrow integers go through int. Signed integers of 32 and 64 bits are added and multiplied as C++
does, which is free to assume that they do not overflow, but those from memory as unsigned ones,
which wrap around. float16 and bfloat16 are computed with their own operators, which round as
float32 arithmetic rounded to them does; vectors of them by pairs (`pairs`).
Must not know expressions.
"""

from __future__ import annotations

from te_sched.codegen.cuda import types
from te_sched.codegen.cuda.pieces import EQUAL, Piece, call, converted, operation
from te_sched.codegen.cuda.writer import Unit
from te_sched.ir import dtypes

Bounds = tuple[int, int]
SYMBOLS = {"add": "+", "sub": "-", "mul": "*"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def linear(unit: Unit, name: str, a: Piece, b: Piece, dtype: str, may_wrap: bool = False) -> Piece:
    """add, sub, mul"""
    unit.type_of(dtype)
    if may_wrap and dtype in ("int32", "int64"):
        unsigned = unit.type_of(f"u{dtype}")
        value = operation(SYMBOLS[name], converted(unsigned, a), converted(unsigned, b))
        return converted(unit.type_of(dtype), value)
    if dtype == "uint16" and name == "mul":
        a = converted("unsigned int", a)  # as int the product may overflow
    return narrowed(unit, operation(SYMBOLS[name], a, b), dtype)


def narrowed(unit: Unit, value: Piece, dtype: str) -> Piece:
    """A value that C computed as int, converted to the type."""
    return converted(unit.type_of(dtype), value) if types.is_narrow(dtype) else value


def division(
    unit: Unit, name: str, a: Piece, b: Piece, dtype: str, bounds: tuple[Bounds, Bounds]
) -> Piece:
    """div, mod (towards zero), floordiv, floormod; `bounds` are those of a and b."""
    if dtypes.is_float(dtype):
        return _float_division(unit, name, a, b, dtype)
    (a_low, _), (low, high) = bounds
    unsigned = not dtypes.is_int(dtype)
    quotient = name.endswith("div")
    if name.startswith("floor") and low == high > 0 and low & (low - 1) == 0:
        if quotient:
            return (
                a if low == 1 else operation(">>", a, types.integer(low.bit_length() - 1, "int32"))
            )
        return operation("&", a, types.integer(low - 1, dtype))
    symbol = "/" if quotient else "%"
    safe = low > 0 or (high < -1 and not unsigned)
    if safe and (unsigned or (a_low >= 0 and low > 0) or not name.startswith("floor")):
        return operation(symbol, a, b)
    if unsigned or not name.startswith("floor"):
        helper = "te_div" if quotient else "te_mod"
    else:
        helper = f"te_{name}" + ("_positive" if low > 0 else "")
    return _of_type(unit, helper, a, b, dtype)


def shift(unit: Unit, left: bool, a: Piece, b: Piece, dtype: str, bounds: Bounds) -> Piece:
    """a << b, a >> b; `bounds` are those of b."""
    low, high = bounds
    if not 0 <= low <= high < dtypes.bits(dtype):
        return _of_type(unit, "te_shift_left" if left else "te_shift_right", a, b, dtype)
    result = operation("<<" if left else ">>", a, b)
    return narrowed(unit, result, dtype) if left or dtypes.is_bool(dtype) else result


def _of_type(unit: Unit, helper: str, a: Piece, b: Piece, dtype: str) -> Piece:
    """A template of one type; written out where C would see int."""
    name, kind = unit.helper(helper), unit.type_of(dtype)
    return call(f"{name}<{kind}>" if types.is_narrow(dtype) else name, a, b)


def _float_division(unit: Unit, name: str, a: Piece, b: Piece, dtype: str) -> Piece:
    unit.type_of(dtype)
    if name == "div":
        return operation("/", a, b)
    if dtypes.is_small_float(dtype):
        wide = _float_division(unit, name, to_float(unit, a), to_float(unit, b), "float32")
        return converted(unit.type_of(dtype), wide)
    suffix = "f" if dtypes.bits(dtype) == 32 else ""
    if name == "mod":
        return call(f"fmod{suffix}", a, b)
    if name == "floordiv":
        return call(f"floor{suffix}", operation("/", a, b))
    return call(unit.helper("te_float_floormod"), a, b)


def extremum(unit: Unit, name: str, a: Piece, b: Piece, dtype: str) -> Piece:
    """min, max"""
    if dtypes.is_integral(dtype) and not types.is_narrow(dtype):
        return call(name, a, b)
    return _of_type(unit, f"te_{name}", a, b, dtype)


def to_float(unit: Unit, value: Piece) -> Piece:
    """A small float as float."""
    return converted(unit.type_of("float32"), value)


def cast(unit: Unit, value: Piece, source: str, target: str) -> Piece:
    """A scalar converted to another type."""
    if source == target:
        return value
    kind = unit.type_of(target)
    if dtypes.is_small_float(source):
        value = to_float(unit, value)
        source = "float32"
        if target == source:
            return value
    if dtypes.is_bool(target) and dtypes.is_float(source):
        return Piece(f"{value.at(EQUAL + 1)} != 0", EQUAL)
    if dtypes.is_float(source) and not dtypes.is_float(target) and types.is_narrow(target):
        value = converted("int", value)
    if dtypes.is_small_float(target) and not dtypes.is_float(source):
        value = converted("float", value)
    return converted(kind, value)
