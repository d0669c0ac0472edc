"""Data types are strings: "float32", "int8", "uint16", "bool", "handle", "float32x4" (4 lanes),
"float32xvscalex4" (4 lanes for each unit of a scalable vector).

Owns their spelling, width and arithmetic class. Must not know expressions. Programs can be written
and printed, but not executed, with int1, int2, int4, uint2, uint4, e4m3_float8 and e5m2_float8.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple, NoReturn

from te_sched.errors import DeclarationError, did_you_mean, repr_of

_PATTERN = re.compile(
    r"(float|int|uint|bfloat|e4m3_float|e5m2_float|handle|bool|void)(\d*)(?:x(vscalex)?(\d+))?\Z"
)
_LEGAL_BITS = {
    "float": (16, 32, 64),
    "bfloat": (16,),
    "int": (8, 16, 32, 64),
    "uint": (8, 16, 32, 64),
}
_UNSUPPORTED_BITS = {"int": (1, 2, 4), "uint": (2, 4), "e4m3_float": (8,), "e5m2_float": (8,)}
_SHORT = {"float": "float32", "int": "int32", "uint": "uint32", "bfloat": "bfloat16"}
LEGAL = "bool, int8/16/32/64, uint8/16/32/64, float16/32/64, bfloat16, handle"
_NAMES = [f"{code}{bits}" for code, widths in _LEGAL_BITS.items() for bits in widths]
UNSUPPORTED = tuple(f"{code}{bits}" for code, all_ in _UNSUPPORTED_BITS.items() for bits in all_)


class ScalableLanes(int):
    """The lanes of a scalable vector: a multiple, 2 at least, of what T.vscale() is at run time.

    It differs from that int; only products with ints and comparisons of sizes are defined.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is ScalableLanes and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("vscale", int(self)))

    def __repr__(self) -> str:
        return f"vscalex{int(self)}"

    def __str__(self) -> str:
        return f"T.vscale() * {int(self)}"

    __format__ = object.__format__

    def __mul__(self, other: int) -> ScalableLanes:
        return ScalableLanes(int(self) * int(other))

    __rmul__ = __mul__

    def _undefined(self, other: object) -> NoReturn:
        raise TypeError("the number of lanes of a scalable vector is known at run time only")

    __add__ = __radd__ = __sub__ = __rsub__ = _undefined
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _undefined


# The largest finite numbers, as TVM has them.
LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.4028234663852886e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
    "e4m3_float8": 448.0,
    "e5m2_float8": 57344.0,
}


class DType(NamedTuple):
    """A parsed data type. `code` is one of float, bfloat, e4m3_float, e5m2_float, int, uint, bool,
    handle, void.
    """

    code: str
    bits: int
    lanes: int


@cache
def parse(dtype: str) -> DType:
    """Parse a data type; a DeclarationError lists the valid ones."""
    match = _PATTERN.match(dtype)
    if match is None:
        raise _unknown(dtype)
    code, bits, lanes = match[1], match[2], int(match[4] or 1)
    if lanes < 1 or (match[3] and lanes < 2):
        raise _unknown(dtype)
    if match[3]:
        lanes = ScalableLanes(lanes)
    if code in ("bool", "handle", "void"):
        if bits not in ("", "64" if code == "handle" else ""):
            raise _unknown(dtype)
        return DType(code, {"bool": 1, "handle": 64, "void": 0}[code], lanes)
    if code == "uint" and bits == "1":
        return DType("bool", 1, lanes)
    bit_counts = (*_LEGAL_BITS.get(code, ()), *_UNSUPPORTED_BITS.get(code, ()))
    if not bits or int(bits) not in bit_counts:
        raise _unknown(dtype)
    return DType(code, int(bits), lanes)


def spelled(dtype: object) -> str:
    """The full name of a data type that may be short ("float") or numpy's (`np.float32`)."""
    if isinstance(dtype, str):
        name: object = _SHORT.get(dtype, dtype)
    elif isinstance(dtype, type) and (dtype is bool or dtype.__module__ == "numpy"):
        name = dtype.__name__.rstrip("_")
    elif type(dtype).__module__.startswith("numpy"):
        name = getattr(dtype, "name", None)
    else:
        name = None
    if not isinstance(name, str):
        raise _unknown(dtype)
    kind = parse(name)
    return with_lanes("bool", kind.lanes) if kind.code == "bool" else name


def known(dtype: object) -> str:
    """The full name of a data type; "" for None, "" and "void", the types that are not known.

    >>> known("void"), known("float")
    ('', 'float32')
    """
    is_unknown = dtype is None or (isinstance(dtype, str) and dtype in ("", "void"))
    return "" if is_unknown else spelled(dtype)


def is_name(text: str) -> bool:
    """Whether a text is the name of a data type.

    >>> is_name("float32"), is_name("A")
    (True, False)
    """
    try:
        spelled(text)
    except DeclarationError:
        return False
    return True


def _unknown(dtype: object) -> DeclarationError:
    near = did_you_mean(dtype, _NAMES)
    error = DeclarationError(
        f"unknown data type {repr_of(dtype)}",
        "",
        f"use one of {LEGAL}, with xN for N lanes{near}",
    )
    error.refused_dtype, error.is_dtype = "" if near else repr_of(dtype), is_name
    return error


@cache
def lanes(dtype: str) -> int:
    """Number of vector lanes: 4 for "float32x4", 1 for "float32"."""
    return parse(dtype).lanes


@cache
def bits(dtype: str) -> int:
    """Width of one lane in bits (bool has 1)."""
    return parse(dtype).bits


# The numbers of kinds of dtypes in DLPack, and those of float8 in TVM.
_TYPE_CODES = {
    "int": 0,
    "uint": 1,
    "bool": 1,
    "float": 2,
    "handle": 3,
    "bfloat": 4,
    "e4m3_float": 6,
    "e5m2_float": 7,
}


def type_code(dtype: str) -> int:
    """The number of the kind of a dtype, as in DLPack.

    >>> type_code("float16"), type_code("uint8")
    (2, 1)
    """
    return _TYPE_CODES[parse(dtype).code]


@cache
def is_scalable(dtype: str) -> bool:
    """Whether the lanes are those of a scalable vector."""
    return "xvscalex" in dtype


@cache
def with_lanes(dtype: str, count: int) -> str:
    """The same element type with `count` lanes; vectors of bools are "uint1x4", as in TVM."""
    base = dtype.split("x")[0]
    if base in ("bool", "uint1"):
        return "bool" if count == 1 else f"uint1x{count!r}"
    return base if count == 1 else f"{base}x{count!r}"


@cache
def element(dtype: str) -> str:
    """The type of one lane."""
    return with_lanes(dtype, 1)


@cache
def is_int(dtype: str) -> bool:
    """Signed integers (not bool)."""
    return parse(dtype).code == "int"


@cache
def is_uint(dtype: str) -> bool:
    """Unsigned integers (not bool)."""
    return parse(dtype).code == "uint"


@cache
def is_integral(dtype: str) -> bool:
    """Signed or unsigned integers (not bool)."""
    return parse(dtype).code in ("int", "uint")


@cache
def counts(dtype: str) -> bool:
    """int32 and int64, the types of loop variables and sizes; also vectors of them."""
    return element(dtype) in ("int32", "int64")


@cache
def is_float(dtype: str) -> bool:
    """float16/32/64, bfloat16, e4m3_float8 and e5m2_float8."""
    return parse(dtype).code.endswith("float")


@cache
def is_small_float(dtype: str) -> bool:
    """float16 and bfloat16, which are computed in float32."""
    return is_float(dtype) and bits(dtype) == 16


@cache
def is_supported(dtype: str) -> bool:
    """Whether programs with values of this type can be executed."""
    return element(dtype) not in UNSUPPORTED


@cache
def is_bool(dtype: str) -> bool:
    """Truth values."""
    return parse(dtype).code == "bool"


@cache
def storage_bytes(dtype: str) -> int:
    """The size of an element in memory, in bytes (1 for bool)."""
    kind = parse(dtype)
    if is_scalable(dtype):
        raise DeclarationError(
            f"the size of {dtype} is not known before the program runs",
            "it has the lanes of the machine's scalable vectors",
            "use a vector of a constant number of lanes",
        )
    return max(1, (kind.bits * kind.lanes + 7) // 8) if kind.code != "bool" else kind.lanes
