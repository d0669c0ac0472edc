"""The mapping of matrix elements to lanes and registers for mma.sync and ldmatrix.

One rule gives all layouts of the PTX manual from m8n8k16 to m16n8k32. With g = lane // 4 and
t = lane % 4, and p elements in a register (or one, where an element fills it):

    A   registers stand for 8 rows and 4 p columns each, rows first:     [g][t * p + e]
    B   registers stand for 4 p rows and 8 columns each:                 [t * p + e][g]
    C   pairs of elements stand for 8 rows and 8 columns each:           [g][t * 2 + e]

Must not know who runs the kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from te_sched.codegen.calls import array_of
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, StringImm, Var

PRODUCT, LOAD = "tir.ptx_mma", "tir.ptx_ldmatrix"
SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\Z")
_NAMES = {"fp16": "float16", "fp32": "float32", "bf16": "bfloat16", "fp64": "float64"}
_NAMES |= {"tf32": "float32"}
_NAMES |= {name: name for name in ("float16", "bfloat16", "float32", "float64")}
_NAMES |= {name: name for name in ("int8", "uint8", "int32")}
_RIGHT = {"float16": 2, "bfloat16": 2, "float32": 1, "float64": 1, "int8": 4, "uint8": 4}


@dataclass(frozen=True, slots=True)
class Registers:
    """What one lane has of one matrix: the elements of memory from `start` on."""

    data: Var
    start: Expr
    dtype: str
    rows: int
    columns: int
    use: str  # "a", "b" or "c"

    @property
    def count(self) -> int:
        """How many elements a lane has."""
        return self.rows * self.columns // 32

    def element(self, number: int) -> BufferLoad:
        """One of them."""
        return element(self.data, self.start, number, self.dtype)

    def place(self, number: int, group: Any, thread: Any) -> tuple[Any, Any]:
        """Row and column of an element of a lane: `group` is lane // 4, `thread` is lane % 4."""
        packed = 2 if self.use == "c" else _RIGHT[self.dtype]
        register, inner = divmod(number, packed)
        along = thread * packed + inner
        if self.use == "b":
            return along + register * 4 * packed, group
        tall = self.rows // 8
        across = 8 if self.use == "c" else 4 * packed
        return group + register % tall * 8, along + register // tall * across


@dataclass(frozen=True, slots=True)
class Product:
    """c += a * b"""

    a: Registers
    b: Registers
    c: Registers
    saturates: bool

    @property
    def wide(self) -> str:
        """The type in which sums are computed."""
        kind = self.c.dtype
        return {"float64": "float64", "int32": "int64"}.get(kind, "float32")


@dataclass(frozen=True, slots=True)
class Load:
    """Matrices of 8 rows of 16 bytes; lane 8 i + j says where row j of matrix i is."""

    transposed: bool
    count: int
    data: Var
    start: Expr
    dtype: str
    source: Expr
    offset: Expr

    @property
    def packed(self) -> int:
        """Elements in a register."""
        return 32 // dtypes.bits(self.dtype)

    def place(self, inner: int, group: Any, thread: Any) -> tuple[Any, Any]:
        """Row and column of an element of a lane's register, in that register's matrix."""
        along = thread * self.packed + inner
        return (along, group) if self.transposed else (group, along)


def element(data: Var, start: Expr, number: int, dtype: str) -> BufferLoad:
    """The element `number` after `start`."""
    return BufferLoad(array_of(data, dtype), (start if number == 0 else start + number,))


def product_of(call: Call) -> Product:
    """What a ptx_mma does."""
    words = [arg.value if isinstance(arg, StringImm) else "" for arg in call.args[:6]]
    match = SHAPE.match(words[0]) if len(call.args) >= 12 else None
    kinds = [_NAMES.get(word, "") for word in words[3:]]
    if match is None or not all(kinds) or [w[:3] for w in words[1:3]] != ["row", "col"]:
        raise _error(call, "expects a product of rows by columns, of a known shape and known types")
    m, n, k = map(int, match.groups())
    a, b, c = kinds
    bytes_of_both = a in ("int8", "uint8") and b in ("int8", "uint8")
    legal = bytes_of_both if c == "int32" else a == b and c in _sums(a)
    legal = legal and (m == 16 or a in ("int8", "uint8", "float64"))
    width = _RIGHT.get(a, 0) * 4
    depths = (width, 2 * width, 4 * width)[: 3 if a == "float64" else 2]
    if not legal or n != 8 or m not in (8, 16) or k not in depths or (m == 8 and k != width):
        raise _error(call, f"does not support {words[0]} of {a} and {b} to {c}")
    shapes = ((m, k, "a"), (k, n, "b"), (m, n, "c"))
    left, right, sums = [
        Registers(*_registers(call, 6 + 2 * number, kinds[number]), rows, columns, use)
        for number, (rows, columns, use) in enumerate(shapes)
    ]
    saturate = call.args[12] if len(call.args) > 12 else None
    saturates = isinstance(saturate, IntImm) and saturate.value != 0
    return Product(left, right, sums, saturates)


def _sums(kind: str) -> tuple[str, ...]:
    return {
        "float16": ("float16", "float32"),
        "bfloat16": ("float32",),
        "float32": ("float32",),
        "float64": ("float64",),
    }.get(kind, ())


def _registers(call: Call, number: int, dtype: str) -> tuple[Var, Expr, str]:
    data, start = call.args[number : number + 2]
    if isinstance(data, Var) and data.pointer is not None:
        kept = dtypes.element(data.pointer.element)
        if kept == dtype:
            return data, start, dtype
        raise _error(call, f"expects elements of {dtype}, got {data.name} of {kept}")
    raise _error(call, f"expects memory of {dtype}, got {data}")


def load_of(call: Call) -> Load:
    """What a ptx_ldmatrix does."""
    transposed, count = (arg.value if isinstance(arg, IntImm) else -1 for arg in call.args[:2])
    if len(call.args) != 7 or transposed not in (0, 1) or count not in (1, 2, 4):
        raise _error(call, "expects 7 arguments and 1, 2 or 4 matrices")
    data, start, source, offset = call.args[3:]
    if not isinstance(data, Var) or data.pointer is None:
        raise _error(call, f"expects memory of a thread, got {data}")
    dtype = dtypes.element(data.pointer.element)
    if dtypes.bits(dtype) not in (8, 16) or (transposed and dtypes.bits(dtype) != 16):
        raise _error(call, f"expects elements of 16 bits, got {data.name} of {dtype}")
    return Load(bool(transposed), count, data, start, dtype, source, offset)


def _error(call: Call, fault: str) -> BuildError:
    return BuildError(
        f"{call.op} {fault}",
        "it is emulated without a GPU",
        'use for example ptx_mma("m16n8k16", "row", "col", "fp16", "fp16", "fp32", ...)',
    )
