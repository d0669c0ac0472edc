"""Binary operators, comparisons and selection, by data type, with the bounds of integer results.

Integer arithmetic wraps unless the bounds show that it cannot, or indices assume that it does not.
Floating-point operations may be contracted to fused multiply-adds and are otherwise exact to the
letter, unless the target says -fast-math. Must not know expressions.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.llvm.casts import narrow, widen
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import (
    MOST_MULTIPLE,
    Value,
    integer,
    integer_range,
    llvm_type,
    mask_type,
    splat,
)
from te_sched.ir import dtypes

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "mod": "frem"}
_FLOAT_TYPES = ("float", "double", "float>", "double>")


def binary(out: FunctionText, name: str, a: Value, b: Value) -> Value:
    """One of add, sub, mul, div, mod (towards zero), floordiv, floormod, min, max."""
    if dtypes.is_small_float(a.dtype):
        return narrow(out, binary(out, name, widen(out, a), widen(out, b)), a.dtype)
    return _OPERATIONS[name](out, a, b)


def compare(out: FunctionText, name: str, a: Value, b: Value) -> Value:
    """A comparison: eq, ne, lt, le, gt, ge."""
    if dtypes.is_small_float(a.dtype):
        return compare(out, name, widen(out, a), widen(out, b))
    result = dtypes.with_lanes("bool", dtypes.lanes(a.dtype))
    kind, data = llvm_type(a.dtype), a.data or b.data
    if dtypes.is_float(a.dtype):
        order = "u" if name == "ne" else "o"  # a NaN differs from everything
        instruction = f"fcmp {_float_flags(out, name)}{order}"
    else:
        sign = "s" if dtypes.is_int(a.dtype) else "u"
        instruction = "icmp " + ("" if name in ("eq", "ne") else sign)
    return Value(out.emit(f"{instruction}{name} {kind} {a.text}, {b.text}"), result, 0, 1, data)


def select(out: FunctionText, condition: Value, yes: Value, no: Value) -> Value:
    """yes where the condition holds, else no; both are computed."""
    kind = llvm_type(yes.dtype)
    flags = _float_flags(out, "select") if kind.endswith(_FLOAT_TYPES) else ""
    test = f"{llvm_type(condition.dtype)} {condition.text}"
    text = out.emit(f"select {flags}{test}, {kind} {yes.text}, {kind} {no.text}")
    data = condition.data or yes.data or no.data
    return Value(text, yes.dtype, min(yes.lo, no.lo), max(yes.hi, no.hi), data)


def constant_like(value: int, dtype: str) -> Value:
    """An integer constant with the lanes of a type."""
    scalar, lanes = integer(value, dtypes.element(dtype)), dtypes.lanes(dtype)
    return scalar if lanes == 1 else Value(splat(scalar), dtype, scalar.lo, scalar.hi, False)


def _linear(name: str) -> Callable[[FunctionText, Value, Value], Value]:
    def emit(out: FunctionText, a: Value, b: Value) -> Value:
        kind, data = llvm_type(a.dtype), a.data or b.data
        if dtypes.is_float(a.dtype):
            flags = _float_flags(out, name)
            return Value(
                out.emit(f"{_FLOAT[name]} {flags}{kind} {a.text}, {b.text}"), a.dtype, data=data
            )
        if dtypes.is_bool(a.dtype) and name == "add":
            return Value(out.emit(f"or {kind} {a.text}, {b.text}"), a.dtype, 0, 1, data)
        lo, hi = _BOUNDS[name](a, b)
        least, most = integer_range(a.dtype)
        flags = ""
        if least <= lo and hi <= most:
            flags = "nsw " if least < 0 else "nuw "
        else:
            # What 64 bits of memory add up to no check has seen in more.
            is_checked = out.indexing and (not data or dtypes.element(a.dtype) != "int64")
            if dtypes.counts(a.dtype) and (is_checked or (out.deciding and not data)):
                flags = "nsw "
                out.assumed += 1
                lo, hi = max(lo, least), min(hi, most)
            if lo < least or hi > most or not flags:
                lo, hi = least, most
        multiple = min(a.multiple, b.multiple)
        if name == "mul":
            multiple = min(a.multiple * b.multiple, MOST_MULTIPLE)
        text = out.emit(f"{name} {flags}{kind} {a.text}, {b.text}")
        value = Value(text, a.dtype, lo, hi, data, multiple)
        if name == "add" and flags == "nsw " and a.lo >= 0 and 0 < b.lo == b.hi:
            value.base, value.offset = a.base or a, a.offset + b.lo
        return value

    return emit


def _float_flags(out: FunctionText, name: str) -> str:
    """The fast-math flags of an operation; comparisons and divisions are never contracted."""
    flags = out.module.float_flags
    return flags if name in ("add", "sub", "mul") or flags.startswith("fast") else ""


def _product_bounds(a: Value, b: Value) -> tuple[int, int]:
    corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
    return min(corners), max(corners)


_BOUNDS: dict[str, Callable[[Value, Value], tuple[int, int]]] = {
    "add": lambda a, b: (a.lo + b.lo, a.hi + b.hi),
    "sub": lambda a, b: (a.lo - b.hi, a.hi - b.lo),
    "mul": _product_bounds,
}


def _safe_operands(out: FunctionText, a: Value, b: Value) -> tuple[Value, Value, str | None]:
    """A dividend, a divisor that does not trap, and the condition (if any) that it was zero.

    Division by zero gives 0, as numpy's does, and the smallest integer divided by -1 gives itself.
    """
    kind, bools, least = llvm_type(b.dtype), mask_type(b.dtype), integer_range(a.dtype)[0]
    bad, zero = None, None
    may_be_zero = b.lo <= 0 <= b.hi
    may_overflow = least < 0 and b.lo <= -1 <= b.hi and a.lo == least
    if may_be_zero or may_overflow:
        # LLVM drops the tests of what is taken not to overflow, as if it did not.
        a, b = frozen(out, a), frozen(out, b)
    if may_be_zero:
        bad = zero = out.emit(f"icmp eq {kind} {b.text}, zeroinitializer")
    if may_overflow:
        minus_one, smallest = constant_like(-1, b.dtype).text, constant_like(least, a.dtype).text
        negates = out.emit(f"icmp eq {kind} {b.text}, {minus_one}")
        overflows = out.emit(f"icmp eq {kind} {a.text}, {smallest}")
        both = out.emit(f"and {bools} {negates}, {overflows}")
        bad = both if bad is None else out.emit(f"or {bools} {bad}, {both}")
    if bad is None:
        return a, b, None
    unit = constant_like(1, b.dtype)
    text = out.emit(f"select {bools} {bad}, {kind} {unit.text}, {kind} {b.text}")
    least = max(b.lo, 1) if b.lo >= 0 else b.lo
    return a, Value(text, b.dtype, least, max(b.hi, 1), b.data), zero


def frozen(out: FunctionText, value: Value) -> Value:
    """The value with poison frozen to an arbitrary number."""
    if not value.text.startswith("%"):
        return value
    text = out.emit(f"freeze {llvm_type(value.dtype)} {value.text}")
    return Value(text, value.dtype, value.lo, value.hi, value.data, value.multiple)


def shift(out: FunctionText, left: bool, a: Value, b: Value) -> Value:
    """a << b or a >> b; by the width or more, or less than 0, all bits go, as in numpy."""
    width, kind, bools = dtypes.bits(a.dtype), llvm_type(a.dtype), mask_type(a.dtype)
    name = "shl" if left else "ashr" if dtypes.is_int(a.dtype) else "lshr"
    inside = None
    if not 0 <= b.lo <= b.hi < width:
        limit = constant_like(width, b.dtype)
        inside = out.emit(f"icmp ult {kind} {b.text}, {limit.text}")
        most = constant_like(width - 1 if name == "ashr" else 0, b.dtype)
        text = out.emit(f"select {bools} {inside}, {kind} {b.text}, {kind} {most.text}")
        b = Value(text, b.dtype, b.lo, b.hi, b.data)
    text = out.emit(f"{name} {kind} {a.text}, {b.text}")
    if inside is not None and name != "ashr":
        text = out.emit(f"select {bools} {inside}, {kind} {text}, {kind} zeroinitializer")
    return Value(text, a.dtype, *integer_range(a.dtype), a.data or b.data)


def _zero_where(out: FunctionText, zero: str | None, text: str, dtype: str) -> str:
    if zero is None:
        return text
    kind = llvm_type(dtype)
    return out.emit(f"select {mask_type(dtype)} {zero}, {kind} zeroinitializer, {kind} {text}")


def _division(quotient: bool, floor: bool) -> Callable[[FunctionText, Value, Value], Value]:
    float_name = "div" if quotient else "mod"

    def emit(out: FunctionText, a: Value, b: Value) -> Value:
        if dtypes.is_float(a.dtype):
            return (
                _float_floor_division(out, quotient, a, b)
                if floor
                else _linear(float_name)(out, a, b)
            )
        a, b, zero = _safe_operands(out, a, b)
        plain = not floor or dtypes.is_uint(a.dtype) or (a.lo >= 0 and b.lo > 0)
        text = (
            _plain_division(out, quotient, a, b) if plain else _floor_division(out, quotient, a, b)
        )
        text = _zero_where(out, zero, text, a.dtype)
        lo, hi = _division_bounds(quotient, floor, a, b)
        if zero is not None:
            lo, hi = min(lo, 0), max(hi, 0)
        return Value(text, a.dtype, lo, hi, a.data or b.data)

    return emit


def _float_floor_division(out: FunctionText, quotient: bool, a: Value, b: Value) -> Value:
    flags, kind = _float_flags(out, "div"), llvm_type(a.dtype)
    ratio = out.emit(f"fdiv {flags}{kind} {a.text}, {b.text}")
    floored = Value(out.intrinsic("floor", a.dtype, ratio), a.dtype)
    return floored if quotient else binary(out, "sub", a, binary(out, "mul", floored, b))


def _plain_division(out: FunctionText, quotient: bool, a: Value, b: Value) -> str:
    unsigned = dtypes.is_uint(a.dtype) or (a.lo >= 0 and b.lo >= 0)
    instruction = ("u" if unsigned else "s") + ("div" if quotient else "rem")
    return out.emit(f"{instruction} {llvm_type(a.dtype)} {a.text}, {b.text}")


def _floor_division(out: FunctionText, quotient: bool, a: Value, b: Value) -> str:
    """Division towards zero, corrected where the remainder and the divisor differ in sign."""
    kind, bools = llvm_type(a.dtype), mask_type(a.dtype)
    rest = out.emit(f"srem {kind} {a.text}, {b.text}")
    if b.lo > 0:
        wrong = out.emit(f"icmp slt {kind} {rest}, zeroinitializer")
    else:
        signs = out.emit(
            f"icmp slt {kind} {out.emit(f'xor {kind} {rest}, {b.text}')}, zeroinitializer"
        )
        wrong = out.emit(
            f"and {bools} {signs}, {out.emit(f'icmp ne {kind} {rest}, zeroinitializer')}"
        )
    if quotient:
        result = out.emit(f"sdiv {kind} {a.text}, {b.text}")
        return out.emit(f"add {kind} {result}, {out.emit(f'sext {bools} {wrong} to {kind}')}")
    fix = out.emit(f"select {bools} {wrong}, {kind} {b.text}, {kind} zeroinitializer")
    return out.emit(f"add {kind} {rest}, {fix}")


def _division_bounds(quotient: bool, floor: bool, a: Value, b: Value) -> tuple[int, int]:
    if b.lo > 0 and quotient and (floor or a.lo >= 0):
        corners = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return min(corners), max(corners)
    if b.lo > 0 and not quotient and (floor or a.lo >= 0):
        return 0, min(b.hi - 1, a.hi) if a.lo >= 0 else b.hi - 1
    return integer_range(a.dtype)


def _extremum(name: str) -> Callable[[FunctionText, Value, Value], Value]:
    better = "lt" if name == "min" else "gt"
    choose = min if name == "min" else max

    def emit(out: FunctionText, a: Value, b: Value) -> Value:
        if dtypes.is_float(a.dtype):
            return _float_extremum(out, name, a, b)
        if dtypes.is_bool(a.dtype):
            return select(out, compare(out, better, a, b), a, b)
        sign = "s" if dtypes.is_int(a.dtype) else "u"
        text = out.intrinsic(f"{sign}{name}", a.dtype, a.text, b.text)
        return Value(text, a.dtype, choose(a.lo, b.lo), choose(a.hi, b.hi), a.data or b.data)

    return emit


_NAN_AWARE = {"min": "minimum", "max": "maximum"}


def _float_extremum(out: FunctionText, name: str, a: Value, b: Value) -> Value:
    """The extremum of two floats, or NaN if either is one; the sign of a zero is free.

    x86 has one instruction for it if an operand is a constant, else three: its own minimum and
    maximum give their second operand where one is NaN, and the first is compared with itself. That
    is `b`, since each step of a reduction waits for the `a` of the step before.
    """
    flags = _float_flags(out, name) or "nsz "
    return Value(
        out.intrinsic(_NAN_AWARE[name], a.dtype, b.text, a.text, flags=flags),
        a.dtype,
        data=a.data or b.data,
    )


_OPERATIONS: dict[str, Callable[[FunctionText, Value, Value], Value]] = {
    "add": _linear("add"),
    "sub": _linear("sub"),
    "mul": _linear("mul"),
    "div": _division(quotient=True, floor=False),
    "mod": _division(quotient=False, floor=False),
    "floordiv": _division(quotient=True, floor=True),
    "floormod": _division(quotient=False, floor=True),
    "min": _extremum("min"),
    "max": _extremum("max"),
}
