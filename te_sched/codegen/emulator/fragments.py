"""Fragments of matrices (wmma) on the emulated device: an array per warp, and loops over its rows.

A fragment belongs to the 32 threads of a warp, and operations on it are collective: the emulated
device executes them once per warp, for its first lane.

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
from te_sched.codegen.cuda.tensor_cores import find_fragments, fragment_extents
from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.kernel import memory_scope
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import Mapper, statements, walk

_WIDE = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "uint8": "int32"}
_AROUND = frozenset((S.For, S.IfThenElse, S.LetStmt, S.AttrStmt, S.SeqStmt))


def is_fragment(data: E.Var) -> bool:
    """Whether a pointer points to fragments."""
    return storage_scope(data.scope).rank == "wmma"


def uses_fragments(e: object) -> bool:
    """Whether a node is a call that the threads of a warp make together."""
    return isinstance(e, E.Call) and e.op in _CALLS


def is_of_warp(node: S.Stmt) -> bool:
    """Whether a statement does nothing but use fragments: a warp does it as a whole."""
    leaves = 0
    for part in statements(node):
        if type(part) in _AROUND:
            continue
        if type(part) is not S.Evaluate or not uses_fragments(part.value):
            return False
        leaves += 1
    return leaves > 0


class _Place(NamedTuple):
    """One fragment: its memory, where it begins, rows and columns, and the type of the GPU's."""

    buffer: E.Buffer
    start: E.Expr
    rows: int
    columns: int
    dtype: str

    def row(self, number: E.Expr) -> E.Ramp:
        """The elements of a row."""
        start = ops.add(self.start, ops.mul(number, self.columns))
        return E.Ramp(start, E.IntImm(1), self.columns)

    def load(self, number: E.Expr) -> E.Expr:
        """A row, as it is kept."""
        return E.BufferLoad(self.buffer, (self.row(number),))

    def store(self, number: E.Expr, value: E.Expr) -> S.Stmt:
        """Keep a row, rounded to what the GPU keeps."""
        kept = self.buffer.dtype
        if kept != self.dtype and not dtypes.is_int(kept):
            value = of_type(of_type(value, self.dtype), kept)
        return S.BufferStore(self.buffer, of_type(value, kept), (self.row(number),))


class Fragments:
    """The fragments of one kernel. `warp` is the number of the warp in its block."""

    def __init__(self, kernel: str, body: S.Stmt, warp: E.Expr) -> None:
        self.kernel, self.warp = kernel, warp
        self.shapes = {var: fragment.shape for var, fragment in find_fragments(walk(body)).items()}
        self.rooms: dict[E.Var, tuple[E.Buffer, E.Expr, str]] = {}

    def room(self, node: S.Allocate, warps: E.Expr) -> S.Allocate:
        """The allocation for all warps of a block in place of that for one; the body stays."""
        dtype = dtypes.element(node.dtype)
        kept = _WIDE.get(dtype, dtype)
        size: E.Expr = E.IntImm(dtypes.lanes(node.dtype))
        for extent in node.extents:
            size = ops.mul(size, extent)
        whole = ops.mul(size, warps)
        data = E.Var(node.buffer_var.name, "handle", E.PointerType(kept, "global"))
        buffer = E.Buffer(data, kept, (whole,), (), E.IntImm(0), data.name)
        self.rooms[node.buffer_var] = (buffer, size, dtype)
        return S.Allocate(data, kept, (whole,), node.condition, node.body)

    def expand(self, node: S.Stmt) -> S.Stmt:
        """A statement of a warp with loops in place of its calls."""
        return _Expander(self).visit(node)

    def place(self, var: E.Expr, number: E.Expr) -> _Place:
        """A fragment by its allocation and its number there."""
        if not isinstance(var, E.Var) or var not in self.rooms or len(self.shapes[var]) != 3:
            raise self.error(f"fragment {var} has no memory, or no constant m, n, k")
        buffer, size, dtype = self.rooms[var]
        use = memory_scope(var).removeprefix("wmma.")
        rows, columns = fragment_extents(use, self.shapes[var])
        start = ops.add(ops.mul(self.warp, size), ops.mul(number, rows * columns))
        return _Place(buffer, start, rows, columns, dtype)

    def memory(self, call: E.Call, row: E.Expr, fragment: _Place) -> E.BufferLoad:
        """The elements of memory that make a row of a fragment."""
        pointer, stride, layout = call.args[5:8]
        load = self.first(pointer)
        (index,) = load.indices
        by_row = isinstance(layout, E.StringImm) and layout.value == "row_major"
        start = ops.add(index, ops.mul(row, stride) if by_row else row)
        step = E.IntImm(1) if by_row else stride
        return E.BufferLoad(load.buffer, (E.Ramp(start, step, fragment.columns),))

    def first(self, pointer: E.Expr) -> E.BufferLoad:
        """The element that a pointer points to."""
        load = target_of(pointer)
        if load is None or len(load.indices) != 1:
            raise self.error(f"pointer {pointer} refers to unknown memory")
        return load

    def error(self, fault: str) -> BuildError:
        """An error about fragments that cannot be emulated."""
        return BuildError(
            f"{fault} in kernel {self.kernel!r}",
            "fragments are emulated without a GPU",
            "allocate the fragments in the kernel, and load them from access_ptr or address_of",
        )


class _Expander(Mapper):
    """Replaces calls."""

    def __init__(self, fragments: Fragments) -> None:
        self.fragments = fragments

    def visit_Evaluate(self, node: S.Evaluate) -> S.Stmt:
        call = node.value
        if not isinstance(call, E.Call) or call.op not in _CALLS:
            return node
        return _CALLS[call.op](self.fragments, call)


def _rows(fragment: _Place, body: Callable[[E.Expr], S.Stmt]) -> S.Stmt:
    row = E.Var("row", "int32")
    return S.For(row, E.IntImm(0), E.IntImm(fragment.rows), "serial", body(row))


def _fill(fragments: Fragments, call: E.Call) -> S.Stmt:
    fragment = fragments.place(call.args[0], call.args[4])
    value = E.Broadcast(call.args[5], fragment.columns)
    return _rows(fragment, lambda row: fragment.store(row, value))


def _load(fragments: Fragments, call: E.Call) -> S.Stmt:
    fragment = fragments.place(call.args[0], call.args[4])
    return _rows(fragment, lambda row: fragment.store(row, fragments.memory(call, row, fragment)))


def _store(fragments: Fragments, call: E.Call) -> S.Stmt:
    fragment = fragments.place(call.args[0], call.args[4])

    def store_row(row: E.Expr) -> S.Stmt:
        there = fragments.memory(call, row, fragment)
        value = of_type(fragment.load(row), there.buffer.dtype)
        return S.BufferStore(there.buffer, value, there.indices)

    return _rows(fragment, store_row)


def _multiply(fragments: Fragments, call: E.Call) -> S.Stmt:
    d, a, b, c = (
        fragments.place(var, number)
        for var, number in zip(call.args[::2], call.args[1::2], strict=True)
    )

    def multiply_row(row: E.Expr) -> S.Stmt:
        total = c.load(row)
        for k in range(a.columns):
            index = ops.add(a.start, ops.add(ops.mul(row, a.columns), k))
            factor = of_type(E.BufferLoad(a.buffer, (index,)), c.buffer.dtype)
            product = ops.mul(
                E.Broadcast(factor, b.columns), of_type(b.load(E.IntImm(k)), c.buffer.dtype)
            )
            total = ops.add(total, product)
        return d.store(row, total)

    return _rows(d, multiply_row)


_CALLS: Mapping[str, Callable[[Fragments, E.Call], S.Stmt]] = {
    "tir.tvm_fill_fragment": _fill,
    "tir.tvm_load_matrix_sync": _load,
    "tir.tvm_store_matrix_sync": _store,
    "tir.tvm_mma_sync": _multiply,
}
