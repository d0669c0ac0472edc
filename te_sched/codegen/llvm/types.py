"""Data types in LLVM's syntax, constants, and values with known facts.

Must not know how instructions are written.
"""

from __future__ import annotations

import ctypes
import math
import struct
from functools import cache

from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir.ops import int_limits

_NAMES = {
    ("float", 16): "half",
    ("float", 32): "float",
    ("float", 64): "double",
    ("bfloat", 16): "i16",
}
MOST_LANES = 8192
MOST_MULTIPLE = 4096


def power_of_two_in(value: int) -> int:
    """The largest power of two, up to a limit, that divides an integer."""
    return min(value & -value, MOST_MULTIPLE) if value else MOST_MULTIPLE


class Value:
    """A computed operand: its LLVM text, its dtype and, for integers, bounds.

    `data` says that it depends on memory or on calls, and not only on loop variables and sizes;
    `multiple` is a power of two that divides a scalar integer. `base` and `offset` are those of a
    scalar integer that is the sum of a base of at least 0 and a positive constant.
    """

    __slots__ = ("base", "data", "dtype", "hi", "lo", "multiple", "offset", "text")

    def __init__(
        self,
        text: str,
        dtype: str,
        lo: int = 0,
        hi: int = 0,
        data: bool = True,
        multiple: int = 1,
    ) -> None:
        self.text, self.dtype, self.lo, self.hi, self.data = text, dtype, lo, hi, data
        self.base: Value | None = None
        self.offset = 0
        self.multiple = multiple if lo != hi or text.startswith("%") else power_of_two_in(lo)

    def __repr__(self) -> str:
        return f"Value({llvm_type(self.dtype)} {self.text})"


@cache
def llvm_type(dtype: str) -> str:
    """The type of a value in a register (bool is i1, bfloat16 its 16 bits)."""
    kind = dtypes.parse(dtype)
    if kind.code == "handle":
        name = "ptr"
    elif kind.code == "void":
        return "void"
    elif kind.code in ("float", "bfloat"):
        name = _NAMES[kind.code, kind.bits]
    else:
        name = f"i{kind.bits}"
    if kind.lanes > MOST_LANES:
        raise BuildError(
            f"vectors of {kind.lanes} lanes exceed the limit of {MOST_LANES}",
            "LLVM compiles longer vectors too slowly, or aborts",
            "split the axis by 8 or 16 and vectorize the inner part",
        )
    return name if kind.lanes == 1 else f"<{kind.lanes} x {name}>"


@cache
def memory_type(dtype: str) -> str:
    """The type of a value in memory (bool takes a byte)."""
    kind = dtypes.parse(dtype)
    if kind.code != "bool":
        return llvm_type(dtype)
    return "i8" if kind.lanes == 1 else f"<{kind.lanes} x i8>"


def argument_type(dtype: str) -> str:
    """The type of a scalar argument of an entry function; small floats arrive as float32."""
    return memory_type("float32" if dtypes.is_small_float(dtype) else dtype)


@cache
def slot_type(dtype: str) -> str:
    """A type as large as an element of an array: LLVM pads <3 x float>, arrays of it are not."""
    lanes = dtypes.lanes(dtype)
    return memory_type(dtype) if lanes == 1 else f"[{lanes} x {memory_type(dtypes.element(dtype))}]"


@cache
def integer_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer type; 0 of others."""
    return int_limits(dtype) if dtypes.parse(dtype).code in ("int", "uint", "bool") else (0, 0)


def unknown(text: str, dtype: str, data: bool = True) -> Value:
    """A value of which nothing is known but its type."""
    lo, hi = integer_range(dtype)
    return Value(text, dtype, lo, hi, data)


def integer(value: int, dtype: str) -> Value:
    """An integer or bool constant (scalar)."""
    if dtypes.is_bool(dtype):
        value = int(value != 0)
        return Value("true" if value else "false", dtype, value, value, False)
    bits = dtypes.bits(dtype)
    wrapped = value & ((1 << bits) - 1)
    if dtypes.is_int(dtype) and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return Value(str(wrapped), dtype, wrapped, wrapped, False)


def floating(value: float, dtype: str) -> Value:
    """A floating-point constant (scalar)."""
    return Value(_float_text(value, dtype), dtype, data=False)


def _float_text(value: float, dtype: str) -> str:
    kind = dtypes.parse(dtype)
    if kind.code == "bfloat":
        return str(_bfloat_bits(value))
    if kind.bits == 16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', _clamp_half(value)))[0]:04X}"
    if kind.bits == 32:
        value = ctypes.c_float(value).value
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _clamp_half(value: float) -> float:
    """Values that round beyond the largest float16 are infinite."""
    return math.copysign(math.inf, value) if abs(value) >= 65520.0 else value


def _bfloat_bits(value: float) -> int:
    bits = ctypes.c_uint32.from_buffer(ctypes.c_float(value)).value
    if math.isnan(value):
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def splat(constant: Value) -> str:
    """The text of a vector of copies of a constant."""
    return f"splat ({llvm_type(constant.dtype)} {constant.text})"


@cache
def intrinsic_suffix(dtype: str) -> str:
    """A type as the names of LLVM's intrinsics end with: f32, v4i64."""
    kind = dtypes.parse(dtype)
    element = f"{'f' if kind.code == 'float' else 'i'}{kind.bits}"
    element = "p0" if kind.code == "handle" else element
    return element if kind.lanes == 1 else f"v{kind.lanes}{element}"


@cache
def mask_type(dtype: str) -> str:
    """The type of a condition for each lane of a type."""
    return llvm_type(dtypes.with_lanes("bool", dtypes.lanes(dtype)))


def quote(name: str) -> str:
    """A name as LLVM writes it after @ (always in quotes, since users choose names)."""
    if (
        name.replace("_", "a").replace(".", "a").isalnum()
        and name.isascii()
        and not name[0].isdigit()
    ):
        return name
    return (
        '"'
        + "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else _escaped(c) for c in name)
        + '"'
    )


def _escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def string_bytes(text: str | bytes) -> tuple[int, str]:
    """Length and LLVM text (c"...") of a zero-terminated string."""
    data = (text.encode(errors="surrogatepass") if isinstance(text, str) else text) + b"\0"
    return len(data), f'c"{data.decode("latin-1").translate(_ESCAPED)}"'


# The bytes of strings that LLVM text does not have as they are.
_ESCAPED = {
    byte: f"\\{byte:02X}" for byte in range(256) if not 32 <= byte < 127 or byte in (34, 92)
}
