"""Folding constants and neutral operands: what needs neither rules nor facts.

Integers fold exactly; floats fold in the precision of their type, and only what cannot change a
result that a program may see as TVM defines it. Must not know how expressions are visited.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from te_sched.arith import build
from te_sched.arith.build import INDEX_TYPES
from te_sched.ir.expr import EQ, LT, Add, Div, Expr, FloatImm, FloorMod, IntImm, Max, Min, Mul, Sub


def fold(e: Any) -> Any | None:
    """The value of an operation on constants, or what a neutral operand leaves; else None."""
    a, b = e.a, e.b
    kind_a, kind_b = type(a), type(b)
    if kind_a is IntImm or kind_b is IntImm:
        if type(e) is FloorMod and kind_a is not kind_b and e.dtype not in INDEX_TYPES:
            return None
        folded = build.BINARY[type(e)](a, b)
        return None if type(folded) is type(e) else folded
    if kind_a is FloatImm or kind_b is FloatImm:
        return _fold_float(type(e), a, b)
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


def _fold_float(kind: type, a: Any, b: Any) -> Any | None:
    first = a.value if type(a) is FloatImm else None
    second = b.value if type(b) is FloatImm else None
    if first is not None and second is not None:
        function = _FLOAT_FOLDS.get(kind)
        if function is None or (kind is Div and second == 0):
            return None
        value = function(first, second)
        return _rounded(value, a.dtype)
    if kind is Add:
        return b if first == 0 else a if second == 0 else None
    if kind is Sub:
        return a if second == 0 else None
    if kind is Mul:
        if first in (0, 1) and first is not None:
            return b if first == 1 else a
        if second in (0, 1) and second is not None:
            return a if second == 1 else b
        return None
    if kind is Div:
        if first == 0 or second == 1:
            return a
        # Multiplying is cheaper than dividing; TVM keeps the reciprocal in double precision.
        return Mul(a, FloatImm(1.0 / second, a.dtype)) if second else None
    return None


def _rounded(value: float, dtype: str) -> Expr:
    """A float constant rounded to its type; infinite when it is too large."""
    if dtype != "float32":
        return FloatImm(value, dtype)
    if abs(value) > _LARGEST_FLOAT32:
        return FloatImm(math.copysign(math.inf, value), dtype)
    return FloatImm(float(struct.unpack("f", struct.pack("f", value))[0]), dtype)


_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    LT: lambda x, y: bool(x < y),
    EQ: lambda x, y: bool(x == y),
}


def fold_comparison(kind: type, a: Any, b: Any) -> Any | None:
    """The truth of a comparison of constants, or None."""
    if type(a) in (IntImm, FloatImm) and type(b) is type(a):
        return build.truth(_COMPARE[kind](a.value, b.value))
    return None


FOLDED_CALLS: dict[str, Callable[..., int]] = {
    "tir.shift_left": lambda x, y: x << y,
    "tir.shift_right": lambda x, y: x >> y,
    "tir.bitwise_and": lambda x, y: x & y,
    "tir.bitwise_or": lambda x, y: x | y,
    "tir.bitwise_xor": lambda x, y: x ^ y,
    "tir.bitwise_not": lambda x: ~x,
    "tir.clz": lambda x: 32 - x.bit_length(),
}
