"""The built-in functions of hybrid scripts, for arrays and for expressions.

`HYBRID_GLOBALS` are those for arrays, by which a script runs as Python; each is an attribute too.
`SYMBOLIC` are those for expressions.
"""

from __future__ import annotations

import importlib
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


def allocate(shape: Any, dtype: str = "float32", scope: str = "global") -> Any:
    """An array of zeros; in a script, memory with a storage scope.

    >>> allocate((2,), "int32", "local")
    array([0, 0], dtype=int32)
    """
    del scope
    return np.zeros(tuple(shape) if isinstance(shape, list | tuple) else shape, dtype)


def output_tensor(shape: Any, dtype: str) -> Any:
    """An array of zeros; in a script, an output.

    >>> output_tensor((2, 1), "float32").shape
    (2, 1)
    """
    return allocate(shape, dtype)


def bind(tag: str, extent: int) -> range:
    """The range of a loop; in a script, one of threads.

    >>> bind("threadIdx.x", 4)
    range(0, 4)
    """
    del tag
    return range(extent)


def ceil_div(a: Any, b: Any) -> Any:
    """a / b, rounded up.

    >>> ceil_div(7, 4)
    2
    """
    return -(-a // b)


def max_num_threads(allow_none: bool = True) -> int:
    """The most threads of a block on the target in scope; without a target 1 if `allow_none`.

    >>> with te_sched.target.Target("cuda"):
    ...     max_num_threads()
    ...
    1024
    """
    target = importlib.import_module("te_sched.codegen.target").Target.current(allow_none)
    return 1 if target is None else int(target.max_num_threads)


def _of_several(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        if len(values) < 2:
            raise TypeError(f"{name} takes 2 values or more, got {len(values)}")
        return reduce(combine, values)

    return call


def _cast(dtype: str, value: Any) -> Any:
    if isinstance(value, float) and dtype == "float64":  # which float32 may not hold
        return ops.const(value, dtype)
    return ops.cast(dtype, value)


_SAME_NAMES = (
    *("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "power", "popcount", "floor", "ceil"),
    *("round", "trunc", "abs", "likely"),
)
SYMBOLIC: dict[str, Callable[..., Any]] = {
    **{name: getattr(intrinsics, name) for name in _SAME_NAMES},
    **{dtype: partial(_cast, dtype) for dtype in TYPES},
    "min": _of_several("min", ops.minimum),
    "max": _of_several("max", ops.maximum),
    "ceil_div": ops.ceildiv,
    "max_num_threads": max_num_threads,
}
HYBRID_GLOBALS: dict[str, Any] = {
    **dict.fromkeys(("serial", "parallel", "vectorize", "unroll", "const_range"), range),
    **{dtype: getattr(np, dtype) for dtype in TYPES},
    **{word.__name__: word for word in (allocate, output_tensor, bind, ceil_div, max_num_threads)},
    "likely": lambda condition: condition,
    "power": np.power,
    **{name: INTRINSICS[name].meaning for name in _SAME_NAMES if name in INTRINSICS},
}


def __getattr__(name: str) -> Any:
    if name in HYBRID_GLOBALS:
        return HYBRID_GLOBALS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
