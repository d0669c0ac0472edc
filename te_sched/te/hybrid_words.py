"""Tables of the built-in functions of hybrid scripts, for arrays and for expressions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from te_sched.ir import intrinsics, ops
from te_sched.ir.intrinsic_table import INTRINSICS

TYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
# Loop functions, and their kinds of tir.For.
LOOPS = {
    "range": "serial",
    "serial": "serial",
    "parallel": "parallel",
    "vectorize": "vectorize",
    "unroll": "unroll",
}


def _of_several(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        if len(values) < 2:
            raise TypeError(f"{name} takes 2 values or more, got {len(values)}")
        return reduce(combine, values)

    return call


_SAME_NAMES = (
    *("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "power", "popcount", "floor", "ceil"),
    *("round", "trunc", "abs", "likely"),
)
# What a word makes of expressions.
SYMBOLIC: dict[str, Callable[..., Any]] = {
    **{name: getattr(intrinsics, name) for name in _SAME_NAMES},
    **{dtype: partial(ops.cast, dtype) for dtype in TYPES},
    "min": _of_several("min", ops.minimum),
    "max": _of_several("max", ops.maximum),
    "ceil_div": ops.ceildiv,
}


def _zeros(shape: Any, dtype: str, scope: str | None = None) -> Any:
    del scope
    return np.zeros(tuple(shape) if isinstance(shape, list | tuple) else shape, dtype)


# The functions while the script runs as Python, on numpy arrays.
EMULATED: dict[str, Any] = {
    **dict.fromkeys(("serial", "parallel", "vectorize", "unroll", "const_range"), builtins.range),
    **{dtype: getattr(np, dtype) for dtype in TYPES},
    "output_tensor": _zeros,
    "allocate": _zeros,
    "bind": lambda tag, extent: builtins.range(extent),
    "ceil_div": lambda a, b: -(-a // b),
    "likely": lambda condition: condition,
    "power": np.power,
    **{name: INTRINSICS[name].meaning for name in _SAME_NAMES if name in INTRINSICS},
}
