"""Data types as CUDA C++ writes them, vector types, and constants.

Must not know expressions.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache

from te_sched.codegen.cuda.pieces import POSTFIX, PRIMARY, UNARY, Piece
from te_sched.errors import BuildError
from te_sched.ir import dtypes

WIDEST = 16  # bytes that one instruction loads or stores

_SCALARS = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "half",
    "bfloat16": "nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "handle": "void*",
    "void": "void",
}
_HEADERS = {"float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}
# Vector types of CUDA, of at most 16 bytes, by what their names begin with.
_VECTORS = {
    **{"int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int"},
    **{"uint32": "uint", "int64": "longlong", "uint64": "ulonglong", "float32": "float"},
    **{"float64": "double", "float16": "half", "bfloat16": "nv_bfloat16"},
}
# What makes one is make_NAME, except where it is written here.
_MAKERS = {"nv_bfloat162": "make_bfloat162"}
# Types of this number of bytes, for element types without CUDA vector types.
_CARRIERS = {2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}
_FIELDS = "xyzw"


def scalar_type(dtype: str) -> str:
    """The type of one lane."""
    return _SCALARS[_spelled(dtype)]


def header_of(dtype: str) -> str | None:
    """The header that declares a type."""
    return _HEADERS.get(_spelled(dtype))


@cache
def _spelled(dtype: str) -> str:
    kind = dtypes.parse(dtype)
    if kind.code in ("bool", "handle", "void"):
        return kind.code
    return f"{kind.code}{kind.bits}"


def vector_type(dtype: str) -> str | None:
    """CUDA's vector type, where it has one."""
    name, lanes = _spelled(dtype), dtypes.lanes(dtype)
    widest = 2 if dtypes.is_small_float(dtype) else 4
    is_vector = lanes in (2, widest) and dtypes.storage_bytes(dtype) <= WIDEST
    return f"{_VECTORS[name]}{lanes}" if is_vector and name in _VECTORS else None


def carrier_type(dtype: str) -> str | None:
    """A type that has the size of a vector and is moved at once; None where there is none."""
    if dtypes.is_bool(dtype):
        return None
    vector = vector_type(dtype)
    return vector if vector is not None else _CARRIERS.get(dtypes.storage_bytes(dtype))


def maker(vector: str) -> str:
    """The function that makes a vector from its lanes."""
    return _MAKERS.get(vector, f"make_{vector}")


def lane_of(name: str, dtype: str, number: int) -> Piece:
    """A lane of a vector variable; vectors that CUDA has no type for are arrays."""
    if vector_type(dtype) is not None:
        return Piece(f"{name}.{_FIELDS[number]}", POSTFIX)
    return Piece(f"{name}[{number}]", POSTFIX)


def is_narrow(dtype: str) -> bool:
    """Integers, and bool, that C computes with as int."""
    return not dtypes.is_float(dtype) and dtypes.bits(dtype) < 32


def integer(value: int, dtype: str) -> Piece:
    """An integer or bool constant."""
    kind = dtypes.parse(dtype)
    if kind.code == "bool":
        return Piece("true" if value else "false")
    suffix = {"int": "", "uint": "u"}.get(kind.code, "") if kind.bits >= 32 else ""
    suffix += "ll" if kind.bits == 64 else ""
    if value < 0 and kind.bits >= 32 and value == -(1 << (kind.bits - 1)):
        return Piece(f"(-{-(value + 1)}{suffix} - 1)")  # its size is not a constant of the type
    return Piece(f"{value}{suffix}", UNARY if value < 0 else PRIMARY)


def floating(value: float, dtype: str) -> Piece:
    """A floating-point constant, with as few digits as tell it from its neighbors."""
    if dtypes.is_small_float(dtype):
        return Piece(f"{scalar_type(dtype)}({floating(value, 'float32').text})", POSTFIX)
    single = dtypes.bits(dtype) == 32
    if not math.isfinite(value):
        return _special(value, single)
    text = _shortest_single(value) if single else repr(float(value))
    if "." not in text and "e" not in text:
        text += ".0"
    return Piece(text + ("f" if single else ""), UNARY if text.startswith("-") else PRIMARY)


def _special(value: float, single: bool) -> Piece:
    if single:
        bits = "7fffffff" if math.isnan(value) else "7f800000" if value > 0 else "ff800000"
        return Piece(f"__int_as_float(0x{bits})", POSTFIX)
    bits = "7ff8" if math.isnan(value) else "7ff0" if value > 0 else "fff0"
    return Piece(f"__longlong_as_double(0x{bits}{'0' * 12}ll)", POSTFIX)


def _shortest_single(value: float) -> str:
    rounded = ctypes.c_float(value).value
    if math.isinf(rounded):
        raise BuildError(
            f"constant {value!r} is larger than the largest float32",
            help="use a constant that float32 can represent, or float64",
        )
    for digits in range(1, 10):
        text = f"{rounded:.{digits}g}"
        if ctypes.c_float(float(text)).value == rounded:
            return text
    return repr(rounded)
