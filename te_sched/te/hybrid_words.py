"""The words of hybrid scripts that Python does not have, for arrays and for expressions: tables."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched.ir import intrinsics, ops
from te_sched.ir.intrinsic_table import INTRINSICS

TYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
# Words for loops, and the kinds of tir.For that they make.
LOOPS = {
    "range": "serial",
    "serial": "serial",
    "parallel": "parallel",
    "vectorize": "vectorize",
    "unroll": "unroll",
}


def _cast_to(dtype: str) -> Callable[[Any], Any]:
    return lambda value: ops.cast(dtype, value)


def _smallest(*values: Any) -> Any:
    return _chained(ops.minimum, values)


def _largest(*values: Any) -> Any:
    return _chained(ops.maximum, values)


def _chained(function: Callable[[Any, Any], Any], values: tuple[Any, ...]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


_SAME_NAMES = (
    *("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "power", "popcount", "floor", "ceil"),
    *("round", "trunc", "abs", "likely"),
)
# What a word makes of expressions.
SYMBOLIC: dict[str, Callable[..., Any]] = {
    **{name: getattr(intrinsics, name) for name in _SAME_NAMES},
    **{dtype: _cast_to(dtype) for dtype in TYPES},
    "min": _smallest,
    "max": _largest,
    "ceil_div": ops.ceildiv,
}


def _zeros(shape: Any, dtype: str, scope: str | None = None) -> Any:
    del scope
    return np.zeros(tuple(shape) if isinstance(shape, list | tuple) else shape, dtype)


def _threads(tag: str, extent: int) -> range:
    del tag
    return builtins.range(extent)


def _rounded_up(a: int, b: int) -> int:
    return -(-a // b)


# What a word is while the script runs as Python, on numpy arrays.
EMULATED: dict[str, Any] = {
    **dict.fromkeys(("serial", "parallel", "vectorize", "unroll", "const_range"), builtins.range),
    **{dtype: getattr(np, dtype) for dtype in TYPES},
    "output_tensor": _zeros,
    "allocate": _zeros,
    "bind": _threads,
    "ceil_div": _rounded_up,
    "likely": lambda condition: condition,
    "power": np.power,
    **{name: INTRINSICS[name].meaning for name in _SAME_NAMES if name in INTRINSICS},
}
