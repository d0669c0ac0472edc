"""All operators of all types, as elementwise computations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from te_sched import te

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
FLOATS = DTYPES[-4:]
OF_TWO = {
    "arithmetic": lambda a, b: (a + b) * a - b,
    "extrema": lambda a, b: te.max(te.min(a, b), a),
    "compare": lambda a, b: te.if_then_else(te.all(a < b, a != b), a, b),
}
DIVISION = {
    "div": te.truncdiv,
    "mod": te.truncmod,
    "floordiv": te.floordiv,
    "floormod": te.floormod,
}
OF_FLOATS = {
    **{name: getattr(te, name) for name in ("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin")},
    **{name: getattr(te, name) for name in ("floor", "ceil", "round", "trunc", "sigmoid", "abs")},
    "division": lambda a: a / (a + a),
    "isnan": lambda a: te.if_then_else(te.isnan(a), a * a, a),
}
OF_INTEGERS = {
    "bits": lambda a: ((a << 1) ^ (a >> 1)) | (a & ~a),
    "popcount": te.popcount,
    "clz": te.clz,
    "abs": te.abs,
}


class Operator(NamedTuple):
    """A computation of one element from `count` elements of a type."""

    name: str
    compute: Callable[..., Any]
    dtype: str
    count: int


def operators() -> Iterator[Operator]:
    """All operators, including conversions between all types."""
    for dtype in DTYPES:
        tables = [(OF_TWO, 2)] if dtype != "bool" else []
        if dtype in FLOATS:
            tables.append((OF_FLOATS, 1))
        elif dtype != "bool":
            tables += [(OF_INTEGERS, 1), (DIVISION, 2)]
        for table, count in tables:
            for name, compute in table.items():
                yield Operator(f"{name}_{dtype}", compute, dtype, count)
        for target in DTYPES:
            yield Operator(f"cast_{dtype}_{target}", _conversion(target), dtype, 1)


def _conversion(target: str) -> Callable[[Any], Any]:
    return lambda a: a.astype(target)
