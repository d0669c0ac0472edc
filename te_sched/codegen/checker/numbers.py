"""Numbers of the checked mode: numpy arrays where threads differ, else Python's ints and bools and
numpy's floats.

bfloat16 is kept as float32 that was rounded. Must not know expressions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir.ops import int_limits

Value = Any  # an array over threads, a Python int or bool, or a numpy float


@cache
def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """How elements of a type are kept."""
    kind = dtypes.parse(dtypes.element(dtype))
    if kind.code == "bfloat":
        return np.dtype(np.float32)
    if kind.code == "bool":
        return np.dtype(np.bool_)
    if kind.code == "handle":
        return np.dtype(np.int64)
    if kind.code == "void":
        raise BuildError("cannot store a value of type void", help="remove it")
    return np.dtype(f"{kind.code}{kind.bits}")


def constant(value: int | float, dtype: str) -> Value:
    """A constant of a type."""
    if dtypes.is_bool(dtype):
        return bool(value)
    if dtypes.is_float(dtype):
        return rounded(numpy_dtype(dtype).type(value), dtype)
    return wrapped(int(value), dtype)


@cache
def _limits(dtype: str) -> tuple[int, int]:
    return int_limits("int64" if dtype == "handle" else dtype)


def wrapped(value: Value, dtype: str) -> Value:
    """A Python int brought into the range of its type, as a register does; the rest is there."""
    if type(value) is not int:
        return value
    low, high = _limits(dtype)
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


def rounded(value: Value, dtype: str) -> Value:
    """A float32 rounded to bfloat16 (to nearest, halves to even); other types are exact."""
    if not dtype.startswith("bfloat"):
        return value
    bits = np.asarray(value, np.float32).view(np.uint32)
    up = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) & np.uint32(0xFFFF0000)
    result = np.where(np.isnan(value), value, up.view(np.float32))
    return result if result.ndim else result[()]


def cast(value: Value, source: str, dtype: str) -> Value:
    """A value converted to another type."""
    if isinstance(value, np.ndarray):
        return rounded(value.astype(numpy_dtype(dtype)), dtype)
    if dtypes.is_float(source) and not (dtypes.is_float(dtype) or dtypes.is_bool(dtype)):
        return plain(np.asarray(value).astype(numpy_dtype(dtype)))
    return constant(value, dtype)


def typed(value: Value, dtype: str) -> Value:
    """A number that knows its type also by itself, for numpy's functions of several arguments."""
    return value if isinstance(value, np.ndarray) else numpy_dtype(dtype).type(value)


def plain(value: Value) -> Value:
    """A result of numpy for uniform numbers, in the representation of this module."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The positions at which two arrays of one type are equal, NaN included."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    return np.asarray(np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits))


def from_argument(array: np.ndarray, dtype: str) -> np.ndarray:
    """The elements of an argument, in one row, as they are kept (a view where that can be)."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtypes.element(dtype) != "bfloat16":
        return flat.view(numpy_dtype(dtype))
    bits = flat.view(np.uint16).astype(np.uint32)
    return (bits << 16).view(np.float32)


def to_argument(elements: np.ndarray, array: np.ndarray, dtype: str) -> None:
    """Copy results into an argument of which `elements` is not a view."""
    if np.shares_memory(elements, array):
        return
    if dtypes.element(dtype) == "bfloat16":
        bits = (elements.view(np.uint32) >> 16).astype(np.uint16)
        array[...] = bits.view(array.dtype).reshape(array.shape)
    else:
        array[...] = elements.reshape(array.shape)
