"""Folding of constants and neutral operands.

Integers fold exactly. Floats fold in the precision of their type as in TVM, which treats them as
real numbers; or, if exact, only if the result is the same for all numbers, infinities, NaN and
signed zeros. Must not know how expressions are visited.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched.arith import build
from te_sched.arith.build import INDEX_TYPES
from te_sched.ir import ops
from te_sched.ir.expr import (
    EQ,
    LE,
    LT,
    Add,
    Call,
    Div,
    Expr,
    FloatImm,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Sub,
)
from te_sched.ir.intrinsic_table import FOLDED


def fold(e: Any, is_exact: bool) -> Any | None:
    """The value of an operation on constants, or the other operand of a neutral one; else None.

    `is_exact` is about floats.
    """
    a, b = e.a, e.b
    kind_a, kind_b = type(a), type(b)
    if kind_a is IntImm or kind_b is IntImm:
        if type(e) is FloorMod and kind_a is not kind_b and e.dtype not in INDEX_TYPES:
            return None
        folded = build.BINARY[type(e)](a, b)
        return folded if _is_folded(folded, e) else None
    if kind_a is FloatImm or kind_b is FloatImm:
        return _fold_exactly(e) if is_exact else _fold_float(type(e), a, b)
    return None


_LARGEST_FLOAT32 = 3.4028234663852886e38
_FLOAT_FOLDS: dict[type, Callable[[float, float], float]] = {
    Add: lambda x, y: x + y,
    Sub: lambda x, y: x - y,
    Mul: lambda x, y: x * y,
    Div: lambda x, y: x / y,
    Min: min,
    Max: max,
}


_FOLDED_FLOATS = ("float32", "float64")  # TVM does not compute with shorter ones


def _fold_float(kind: type, a: Any, b: Any) -> Any | None:
    first = a.value if type(a) is FloatImm else None
    second = b.value if type(b) is FloatImm else None
    is_folded = a.dtype in _FOLDED_FLOATS or kind in (Min, Max)
    if first is not None and second is not None and is_folded:
        function = _FLOAT_FOLDS.get(kind)
        if function is None or (kind is Div and second == 0):
            return None
        value = function(first, second)
        return _rounded(value, a.dtype)
    done = ops.of_reals(kind, a, b)
    if done is None and kind is Div and second:
        # Multiplying is cheaper than dividing; TVM keeps the reciprocal in double precision.
        return Mul(a, FloatImm(1.0 / second, a.dtype))
    return done


def _fold_exactly(e: Any) -> Any | None:
    if type(e) is Div:
        is_alike = type(e.b) is FloatImm and _is_invertible(e.b)
        return _fold_float(Div, e.a, e.b) if is_alike else None
    if type(e) not in _EXACT_FOLDS:
        return None
    folded = ops.BUILDERS[type(e)](e.a, e.b)
    return folded if _is_folded(folded, e) else None


def _is_folded(result: Expr, e: Any) -> bool:
    """Whether what was built for an operation is a constant or an operand."""
    return result is e.a or result is e.b or type(result) is not type(e)


_EXACT_FOLDS = (Add, Sub, Mul, Min, Max)


def _is_invertible(divisor: FloatImm) -> bool:
    """Whether multiplying by the reciprocal only rounds differently than dividing does.

    It does where neither is rounded to fewer bits, as denormal numbers are, nor infinite.
    """
    limit = _INVERTIBLE.get(divisor.dtype)
    return limit is not None and 1 / limit <= abs(divisor.value) <= limit


_INVERTIBLE = {"float32": 2.0**126, "float64": 2.0**1022}


def _rounded(value: float, dtype: str) -> Expr:
    """A float constant rounded to its type; infinite when it is too large."""
    if dtype != "float32":
        return FloatImm(value, dtype)
    if abs(value) > _LARGEST_FLOAT32:
        return FloatImm(math.copysign(math.inf, value), dtype)
    return FloatImm(float(struct.unpack("f", struct.pack("f", value))[0]), dtype)


_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    LT: lambda x, y: bool(x < y),
    LE: lambda x, y: bool(x <= y),
    EQ: lambda x, y: bool(x == y),
}


def fold_comparison(kind: type, a: Any, b: Any) -> Any | None:
    """The value of a comparison of constants, or None."""
    if type(a) in (IntImm, FloatImm) and type(b) is type(a):
        return build.truth(_COMPARE[kind](a.value, b.value))
    return None


_SHIFTS = ("tir.shift_left", "tir.shift_right")


def fold_call(e: Any, as_tvm: bool = False) -> Any | None:
    """The value of a call of integer constants, or of ceil(log2(constant)); else None. `as_tvm`:
    of operations on bits, only shifts of indices are folded.
    """
    if e.op == "tir.ceil":
        return _fold_ceil_log2(e)
    meaning = FOLDED.get(e.op)
    if as_tvm and not (e.op in _SHIFTS and e.dtype in INDEX_TYPES):
        return None
    if meaning is None or not all([type(arg) is IntImm for arg in e.args]):
        return None
    values = [np.asarray(arg.value).astype(arg.dtype) for arg in e.args]
    return build.imm(int(meaning(*values)), e.dtype)


def ceil_log2(value: int) -> int:
    """The logarithm of a positive integer to the base 2, rounded up."""
    return (value - 1).bit_length()


def log2_in(e: Any) -> Any | None:
    """x of ceil(log2(x)), or None."""
    inner = e.args[0] if type(e) is Call and e.op == "tir.ceil" else None
    return inner.args[0] if type(inner) is Call and inner.op == "tir.log2" else None


def _fold_ceil_log2(e: Any) -> Any | None:
    x = log2_in(e)
    if type(x) is not FloatImm or x.value < 1 or not float(x.value).is_integer():
        return None
    return FloatImm(float(ceil_log2(int(x.value))), e.dtype)
