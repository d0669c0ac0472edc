"""The layouts of mma.sync, as the PTX manual has them, not as te_sched computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from te_sched.ir import expr as E

Place = Callable[[Any, Any, int], tuple[Any, Any]]


class Case(NamedTuple):
    """An instruction: types, places of ai, bi, ci for g = lane >> 2 and t = lane % 4, and archs."""

    shape: str
    types: tuple[str, str, str]
    dtypes: tuple[str, str, str]
    a: Place
    b: Place
    c: Place
    archs: tuple[str, ...] = ("sm_80", "sm_90")


def c16(g: Any, t: Any, i: int) -> tuple[Any, Any]:
    """The place of a sum in 16 rows."""
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


HALF = ("fp16", "fp16", "fp32")


HALVES = ("float16", "float16", "float32")


K16: tuple[Place, Place, Place] = (
    lambda g, t, i: (
        g if i < 2 or 4 <= i < 6 else g + 8,
        t * 2 + (i & 1) + (0 if i < 4 else 8),
    ),
    lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g),
    c16,
)


K8: tuple[Place, Place, Place] = (
    lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    lambda g, t, i: (t * 2 + i, g),
    c16,
)


I32: tuple[Place, Place, Place] = (
    lambda g, t, i: (
        g if i < 4 or 8 <= i < 12 else g + 8,
        t * 4 + (i & 3) + (0 if i < 8 else 16),
    ),
    lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
    c16,
)


CASES = [
    Case("m16n8k16", HALF, HALVES, *K16),
    Case("m16n8k16", ("fp16", "fp16", "fp16"), ("float16", "float16", "float16"), *K16),
    Case("m16n8k16", ("bf16", "bf16", "fp32"), ("bfloat16", "bfloat16", "float32"), *K16),
    Case("m16n8k8", HALF, HALVES, *K8, ("sm_75", "sm_80", "sm_90")),
    Case(
        "m16n8k8",
        ("tf32", "tf32", "fp32"),
        ("float32", "float32", "float32"),
        lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        lambda g, t, i: (t if i == 0 else t + 4, g),
        c16,
    ),
    Case("m16n8k32", ("int8", "int8", "int32"), ("int8", "int8", "int32"), *I32),
    Case("m16n8k32", ("uint8", "int8", "int32"), ("uint8", "int8", "int32"), *I32),
    Case(
        "m16n8k16",
        ("int8", "int8", "int32"),
        ("int8", "int8", "int32"),
        lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
        lambda g, t, i: (t * 4 + i, g),
        c16,
    ),
    Case(
        "m8n8k16",
        ("int8", "int8", "int32"),
        ("int8", "int8", "int32"),
        lambda g, t, i: (g, t * 4 + i),
        lambda g, t, i: (t * 4 + i, g),
        lambda g, t, i: (g, t * 2 + i),
        ("sm_75", "sm_80", "sm_90"),
    ),
]


def sizes(shape: str) -> tuple[int, int, int]:
    """m, n and k"""
    m, rest = shape[1:].split("n")
    n, depth = rest.split("k")
    return int(m), int(n), int(depth)


def mma(case: Case, a: Any, b: Any, c: Any, *more: Any) -> E.Call:
    """ptx_mma of the registers from the first on."""
    words = [E.StringImm(word) for word in (case.shape, "row", "col", *case.types)]
    places = [arg for one in (a, b, c) for arg in (one, E.IntImm(0))]
    finite = E.IntImm(0, "bool")
    return E.Call("handle", "tir.ptx_mma", (*words, *places, finite, *more))
