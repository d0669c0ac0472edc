"""Fragments of matrices (wmma) on the emulated device: an array per warp, and loops over its rows.

A fragment belongs to the 32 threads of a warp together, and what is done with it they do together:
the emulated device does it once per warp, where the first lane comes by.

    C_frag = allocate([2 * 256], scope="wmma.accumulator")        2 fragments of 16 x 16
    tvm_fill_fragment(C_frag, 16, 16, 16, 1, 0.0)
                         ->
    C_frag = allocate([2 * 256 * warps])                          in float32
    for row in range(16):
        C_frag[ramp(warp * 512 + 256 + row * 16, 1, 16)] = broadcast(0.0, 16)

Each fragment lies row by row. What a GPU keeps in half precision is kept in single precision and
rounded where the GPU rounds it. Must not know threads, only the number of the warp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from te_sched.codegen.calls import of_type, target_of
from te_sched.codegen.cuda.tensor_cores import find_fragments
from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    PointerType,
    Ramp,
    StringImm,
    Var,
)
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import Mapper, walk
from te_sched.lower.device.kernel import scope_of
from te_sched.lower.statements import statements

_WIDE = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "uint8": "int32"}
_AROUND = frozenset((For, IfThenElse, LetStmt, AttrStmt, SeqStmt))


def is_fragment(data: Var) -> bool:
    """Whether a pointer points to fragments."""
    return scope_of(data).startswith("wmma.")


def uses_fragments(e: object) -> bool:
    """Whether a node is a call that the threads of a warp make together."""
    return isinstance(e, Call) and e.op in _CALLS


def is_of_warp(node: Stmt) -> bool:
    """Whether a statement does nothing but use fragments: a warp does it as a whole."""
    leaves = 0
    for part in statements(node):
        if type(part) in _AROUND:
            continue
        if type(part) is not Evaluate or not uses_fragments(part.value):
            return False
        leaves += 1
    return leaves > 0


class _Place(NamedTuple):
    """One fragment: its memory, where it begins, rows and columns, and the type of the GPU's."""

    buffer: Buffer
    start: Expr
    rows: int
    columns: int
    dtype: str

    def row(self, number: Expr) -> Ramp:
        """The elements of a row."""
        start = ops.add(self.start, ops.mul(number, self.columns))
        return Ramp(start, IntImm(1), self.columns)

    def load(self, number: Expr) -> Expr:
        """A row, as it is kept."""
        return BufferLoad(self.buffer, (self.row(number),))

    def store(self, number: Expr, value: Expr) -> Stmt:
        """Keep a row, rounded to what the GPU keeps."""
        kept = self.buffer.dtype
        if kept != self.dtype and not dtypes.is_int(kept):
            value = of_type(of_type(value, self.dtype), kept)
        return BufferStore(self.buffer, of_type(value, kept), (self.row(number),))


class Fragments:
    """The fragments of one kernel. `warp` is the number of the warp in its block."""

    def __init__(self, kernel: str, body: Stmt, warp: Expr) -> None:
        self.kernel, self.warp = kernel, warp
        self.shapes = {var: one.shape for var, one in find_fragments(walk(body)).items()}
        self.rooms: dict[Var, tuple[Buffer, Expr, str]] = {}

    def room(self, node: Allocate, warps: Expr) -> Allocate:
        """The allocation for all warps of a block in place of that for one; the body stays."""
        dtype = dtypes.element(node.dtype)
        kept = _WIDE.get(dtype, dtype)
        size: Expr = IntImm(dtypes.lanes(node.dtype))
        for extent in node.extents:
            size = ops.mul(size, extent)
        whole = ops.mul(size, warps)
        data = Var(node.buffer_var.name, "handle", PointerType(kept, "global"))
        buffer = Buffer(data, kept, (whole,), (), IntImm(0), data.name)
        self.rooms[node.buffer_var] = (buffer, size, dtype)
        return Allocate(data, kept, (whole,), node.condition, node.body)

    def expand(self, node: Stmt) -> Stmt:
        """A statement of a warp with loops in place of its calls."""
        return _Expander(self).visit(node)

    def place(self, var: Expr, number: Expr) -> _Place:
        """A fragment by its allocation and its number there."""
        if not isinstance(var, Var) or var not in self.rooms or len(self.shapes[var]) != 3:
            raise self.error(f"fragment {var} has no memory, or no constant m, n, k")
        buffer, size, dtype = self.rooms[var]
        m, n, k = self.shapes[var]
        use = scope_of(var).removeprefix("wmma.")
        rows, columns = {"matrix_a": (m, k), "matrix_b": (k, n)}.get(use, (m, n))
        start = ops.add(ops.mul(self.warp, size), ops.mul(number, rows * columns))
        return _Place(buffer, start, rows, columns, dtype)

    def memory(self, call: Call, row: Expr, place: _Place) -> BufferLoad:
        """The elements of memory that make a row of a fragment."""
        pointer, stride, layout = call.args[5:8]
        load = self.first(pointer)
        (index,) = load.indices
        by_row = isinstance(layout, StringImm) and layout.value == "row_major"
        start = ops.add(index, ops.mul(row, stride) if by_row else row)
        step = IntImm(1) if by_row else stride
        return BufferLoad(load.buffer, (Ramp(start, step, place.columns),))

    def first(self, pointer: Expr) -> BufferLoad:
        """The element that a pointer points to."""
        load = target_of(pointer)
        if load is None or len(load.indices) != 1:
            raise self.error(f"nobody knows where {pointer} points to")
        return load

    def error(self, why: str) -> BuildError:
        """Fragments that cannot be emulated."""
        return BuildError(
            f"emulate the fragments of kernel {self.kernel!r}",
            why,
            "allocate the fragments in the kernel, and load them from access_ptr or address_of",
        )


class _Expander(Mapper):
    """Replaces calls."""

    def __init__(self, fragments: Fragments) -> None:
        self.fragments = fragments

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        if not isinstance(call, Call) or call.op not in _CALLS:
            return node
        return _CALLS[call.op](self.fragments, call)


def _rows(place: _Place, body: Callable[[Expr], Stmt]) -> Stmt:
    row = Var("row", "int32")
    return For(row, IntImm(0), IntImm(place.rows), "serial", body(row))


def _fill(fragments: Fragments, call: Call) -> Stmt:
    place = fragments.place(call.args[0], call.args[4])
    value = Broadcast(call.args[5], place.columns)
    return _rows(place, lambda row: place.store(row, value))


def _load(fragments: Fragments, call: Call) -> Stmt:
    place = fragments.place(call.args[0], call.args[4])
    return _rows(place, lambda row: place.store(row, fragments.memory(call, row, place)))


def _store(fragments: Fragments, call: Call) -> Stmt:
    place = fragments.place(call.args[0], call.args[4])

    def one(row: Expr) -> Stmt:
        there = fragments.memory(call, row, place)
        value = of_type(place.load(row), there.buffer.dtype)
        return BufferStore(there.buffer, value, there.indices)

    return _rows(place, one)


def _multiply(fragments: Fragments, call: Call) -> Stmt:
    d, a, b, c = (
        fragments.place(var, number)
        for var, number in zip(call.args[::2], call.args[1::2], strict=True)
    )

    def one(row: Expr) -> Stmt:
        total = c.load(row)
        for k in range(a.columns):
            place = ops.add(a.start, ops.add(ops.mul(row, a.columns), k))
            factor = of_type(BufferLoad(a.buffer, (place,)), c.buffer.dtype)
            product = ops.mul(
                Broadcast(factor, b.columns), of_type(b.load(IntImm(k)), c.buffer.dtype)
            )
            total = ops.add(total, product)
        return d.store(row, total)

    return _rows(d, one)


_CALLS: Mapping[str, Callable[[Fragments, Call], Stmt]] = {
    "tir.tvm_fill_fragment": _fill,
    "tir.tvm_load_matrix_sync": _load,
    "tir.tvm_store_matrix_sync": _store,
    "tir.tvm_mma_sync": _multiply,
}
