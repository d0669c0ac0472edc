"""Device functions, compiled as C++ for the processor: integers at their limits, and NaN."""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from te_sched.codegen.cuda.helpers import HELPERS

COMPILER = shutil.which("g++") or shutil.which("clang++")
SHIM = (Path(__file__).parent / "shim.h").read_text()
TYPES = {"int8": "signed char", "uint8": "unsigned char", "int32": "int", "int64": "long long"}
TYPES |= {"uint32": "unsigned int", "uint64": "unsigned long long"}


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


MEANINGS: dict[str, Callable[[int, int], int]] = {  # with Python's integers, which do not overflow
    "te_min": min,
    "te_max": max,
    "te_div": lambda a, b: quotient(a, b) if b else 0,
    "te_mod": lambda a, b: a - quotient(a, b) * b if b else 0,
    "te_floordiv": lambda a, b: a // b if b else 0,
    "te_floormod": lambda a, b: a % b if b else 0,
    "te_floordiv_positive": lambda a, b: a // b,
    "te_floormod_positive": lambda a, b: a % b,
}
CASES = [  # floors of unsigned integers are quotients towards zero
    (name, dtype)
    for name in MEANINGS
    for dtype in TYPES
    if not (name.startswith("te_floor") and dtype.startswith("u"))
]
FLOATS = (-math.inf, -2.5, -0.0, 0.0, 1.0, math.inf, math.nan)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Each function of each type, with C's name."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    names = [*MEANINGS, "te_shift_left", "te_shift_right"]
    texts = [SHIM, ATOMICS, *HELPERS.values()]
    texts += [
        f'extern "C" {kind} {name}_{dtype}({kind} a, {kind} b) {{ return {name}<{kind}>(a, b); }}'
        for name in names
        for dtype, kind in TYPES.items()
    ]
    texts += [
        f'extern "C" float {name}_float32(float a, float b) {{ return {name}(a, b); }}'
        for name in ("te_min", "te_max", "te_float_floormod")
    ]
    texts += [
        f'extern "C" float {name}_float32(float a, float b) {{ {name}(&a, b); return a; }}'
        for name in ("te_atomic_min", "te_atomic_max")
    ]
    folder = tmp_path_factory.mktemp("helpers")
    (folder / "helpers.cpp").write_text("\n".join(texts))
    flags = ("-O1", "-fwrapv", "-fno-strict-aliasing", "-w", "-shared", "-fPIC")
    subprocess.run([COMPILER, *flags, "-o", "h.so", "helpers.cpp"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "h.so"))


ATOMICS = """
static int __float_as_int(float x) { int bits; memcpy(&bits, &x, 4); return bits; }
static float __int_as_float(int x) { float value; memcpy(&value, &x, 4); return value; }
static int atomicCAS(int* place, int old, int value) {
  int seen = *place;
  if (seen == old) *place = value;
  return seen;
}
"""


def values_of(dtype: str) -> list[int]:
    limits = np.iinfo(dtype)
    values = {limits.min, limits.min + 1, -7, -3, -1, 0, 1, 2, 7, limits.max - 1, limits.max}
    return [value for value in sorted(values) if limits.min <= value <= limits.max]


def function(library: ctypes.CDLL, name: str, dtype: str) -> Callable[[float, float], float]:
    kind = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
    compiled = getattr(library, f"{name}_{dtype}")
    compiled.argtypes, compiled.restype = (kind, kind), kind
    return lambda a, b: compiled(a, b)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_integers(library: ctypes.CDLL, name: str, dtype: str) -> None:
    compiled, bits = function(library, name, dtype), 8 * np.dtype(dtype).itemsize
    for a, b in itertools.product(values_of(dtype), repeat=2):
        if b > 0 or not name.endswith("_positive"):
            expected = MEANINGS[name](a, b)
            assert (compiled(a, b) - expected) % (1 << bits) == 0, (a, b)


@pytest.mark.parametrize("dtype", TYPES)
def test_shifts_by_any_number(library: ctypes.CDLL, dtype: str) -> None:
    bits = 8 * np.dtype(dtype).itemsize
    left, right = (function(library, f"te_shift_{side}", dtype) for side in ("left", "right"))
    counts = [b for b in (-1, 0, 1, bits - 1, bits, bits + 1) if b >= 0 or dtype[0] == "i"]
    for a, b in itertools.product(values_of(dtype), counts):
        is_inside = 0 <= b < bits
        assert (left(a, b) - (a << b if is_inside else 0)) % (1 << bits) == 0, (a, b)
        assert right(a, b) == (a >> b if is_inside else -(a < 0)), (a, b)


@pytest.mark.parametrize("name", ["min", "max", "atomic_min", "atomic_max"])
def test_extrema_of_floats_with_nan_are_nan(library: ctypes.CDLL, name: str) -> None:
    compiled, better = function(library, f"te_{name}", "float32"), min if "min" in name else max
    for a, b in itertools.product(FLOATS, repeat=2):
        result = compiled(a, b)
        is_nan = math.isnan(a) or math.isnan(b)
        assert math.isnan(result) if is_nan else result == better(a, b), (a, b)


def test_remainder_of_floats_has_the_sign_of_the_divisor(library: ctypes.CDLL) -> None:
    compiled = function(library, "te_float_floormod", "float32")
    assert [compiled(a, b) for a, b in ((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0))] == [1.5, 0.5, -0.5]
