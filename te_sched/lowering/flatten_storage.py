"""Flatten storage: realized regions become allocations, multi-dimensional indices one index.

An index is relative to the region that is realized. Strides come from the buffer, from
storage_align, or are compact; a storage scope that is not given follows from the threads around the
stage. Views that tensor intrinsics and extern operations declare (`buffer_bind_scope`) are
replaced: their pointers, offsets, strides and shapes become those of the regions they view.
Before and after, for a stage realized in a loop over i:

    realize(B[i * 4:i * 4 + 4, 0:8])         B = allocate([32], "float32")
    B[i * 4 + x, y] = A[i * 4 + x, y]        B[x * 8 + y] = A_1[i * 32 + x * 8 + y]

(TVM's name: StorageFlatten.) Must not know why a stage has the region that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import plain
from te_sched.arith.iter_map import iter_map_simplify
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError, Subject
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import Block
from te_sched.ir.buffer import flat_offset
from te_sched.ir.expr import (
    DEFAULT_ALIGNMENT,
    Add,
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    Expr,
    IntImm,
    IterVar,
    Mul,
    Not,
    PointerType,
    Range,
    StringImm,
    Sub,
    Var,
)
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    PrimFunc,
    Stmt,
)
from te_sched.ir.storage_scopes import default_scope
from te_sched.ir.visitor import Mapper, replace
from te_sched.lowering.facts_mapper import FactsMapper
from te_sched.lowering.positions import aligned_strides, row_major, weighted_sum
from te_sched.lowering.simplify import index_simplifier, mark_sizes
from te_sched.lowering.view_binder import ViewBinder


def flatten_storage(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with flat storage only; its parameters keep their declared buffers."""
    kind = _Flattener if func.origin == "schedule" else _FunctionFlattener
    return func.with_body(kind(func, settings).visit(func.body))


@dataclass(slots=True)
class _Layout:
    """The layout of a buffer in its flat buffer. `shape` is that of the realized region, `origin`
    its first element (None: all zeros), `strides` are empty if the region is
    compact. `view_of` is the buffer that this one is a view
    of, beginning at `origin`.
    """

    flat: Buffer
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] = ()
    origin: tuple[Expr, ...] | None = None
    offset: Expr | None = None
    view_of: Buffer | None = None


class _Flattener(Mapper):
    """Rebuilds the body of a schedule's function; `layouts` has the layout of the elements of each
    buffer.
    """

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        # For schedules, ranges are not used here but by `simplify`, which follows.
        self.analyzer, self.settings = Analyzer(settings), settings
        self.simplified = index_simplifier(self.analyzer)
        self.params = set(func.buffer_map.values())
        self.layouts: dict[Buffer, _Layout] = {}
        # storage_align: factor and offset of some dimensions
        self.alignments: dict[Buffer, dict[int, tuple[int, int]]] = {}
        self.values: dict[Var, Expr] = {}
        self.threads: list[str] = []
        # Stores and loads of a reduction share their index tuple: flattened once.
        self.found: dict[tuple[Buffer, tuple[Expr, ...]], Expr] = {}

    # -- expressions -------------------------------------------------------------------------------

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        layout = self.layout_of(node.buffer)
        mask = None if node.predicate is None else self.visit(node.predicate)
        load = BufferLoad(layout.flat, self.places(node.buffer, node.indices), mask)
        return Cast(node.dtype, load) if load.dtype != node.dtype else load

    def visit_Call(self, node: Call) -> Expr:
        if node.op == "tir.address_of" and type(node.args[0]) is BufferLoad:
            load = self.visit_BufferLoad(node.args[0])
            return Call(node.dtype, node.op, (load.value if type(load) is Cast else load,))
        return self.generic(node)

    def places(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The flat index of an element, one for each dimension of its memory."""
        cuts = buffer.axis_separators
        if not cuts:
            return (self.index(buffer, indices),)
        layout = self.layout_of(buffer)
        mapped = [self.mapped(index) for index in indices]
        if layout.origin is not None:
            mapped = [
                ops.sub(index, start) for index, start in zip(mapped, layout.origin, strict=True)
            ]
        parts = zip(_grouped(mapped, cuts), _grouped(layout.shape, cuts), strict=True)
        return tuple([self.simplified(row_major(*part, self.settings)) for part in parts])

    def index(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        """The flat index of an element."""
        key = (buffer, indices)
        index = self.found.get(key)
        if index is None:
            index = self.found[key] = self.computed_index(buffer, indices)
        return index

    def computed_index(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        """The flat index of an element, simplified."""
        return self.simplified(self.position(buffer, [self.mapped(index) for index in indices]))

    def mapped(self, index: Expr) -> Expr:
        """An index of at least 32 bits."""
        new: Expr = self.visit(index)
        return new if dtypes.bits(new.dtype) >= 32 else ops.cast(_of_32_bits(new.dtype), new)

    def position(self, buffer: Buffer, indices: Sequence[Expr]) -> Expr:
        """The position of an element in flat storage, not simplified."""
        layout = self.layout_of(buffer)
        if layout.view_of is not None:
            return self.position(layout.view_of, _inside_view(layout.origin or (), indices))
        if layout.origin is not None:
            indices = [
                ops.sub(index, start) for index, start in zip(indices, layout.origin, strict=True)
            ]
        if layout.strides:
            flat = weighted_sum(indices, layout.strides, self.settings)
        else:
            flat = row_major(indices, layout.shape, self.settings)
        return flat if layout.offset is None else ops.add(flat, layout.offset)

    def layout_of(self, buffer: Buffer) -> _Layout:
        """The layout of a buffer; parameters and temporaries have the one they are declared
        with."""
        layout = self.layouts.get(buffer)
        if layout is None:
            offset = None if ops.is_const(buffer.elem_offset, 0) else buffer.elem_offset
            flat = self.flat(buffer, buffer.data, buffer.shape, buffer.strides)
            layout = _Layout(flat, buffer.shape, buffer.strides, None, offset)
            self.layouts[buffer] = layout
        return layout

    def flat(
        self, buffer: Buffer, data: Var, shape: tuple[Expr, ...], strides: tuple[Expr, ...]
    ) -> Buffer:
        """The flat buffer of a buffer."""
        return _flat_buffer(buffer, data, shape, strides)

    # -- statements --------------------------------------------------------------------------------

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        layout = self.layout_of(node.buffer)
        places = self.places(node.buffer, node.indices)
        value = self.visit(node.value)
        if dtypes.is_bool(node.buffer.dtype):
            value = Cast(dtypes.with_lanes(layout.flat.dtype, dtypes.lanes(value.dtype)), value)
        mask = None if node.predicate is None else self.visit(node.predicate)
        return BufferStore(layout.flat, value, places, mask)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        method = _ATTRIBUTES.get(node.key)
        if method is not None:
            return method(self, node)
        if type(node.node) is Buffer:
            data = self.layout_of(node.node).flat.data
            return AttrStmt(data, node.key, self.visit(node.value), self.visit(node.body))
        return self.generic(node)

    def roll(self, node: AttrStmt) -> Stmt:
        """rolling_buffer: recognized by the shape of the region, not by its memory."""
        tile = replace(node.node, shape=self.layout_of(node.node).shape)
        return AttrStmt(tile, node.key, node.value, self.visit(node.body))

    def thread(self, node: AttrStmt) -> Stmt:
        """Inside of a thread axis."""
        assert isinstance(node.node, IterVar)
        self.threads.append(node.node.thread_tag)
        inside = self.generic(node)
        self.threads.pop()
        return inside

    def align(self, node: AttrStmt) -> Stmt:
        """storage_align: recorded for the realization in its body."""
        assert isinstance(node.value, Call)
        dim, factor, offset = [_integer(arg) for arg in node.value.args]
        self.alignments.setdefault(node.node, {})[dim] = (factor, offset)
        return self.visit(node.body)

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        buffer = node.buffer
        if buffer in self.params:
            return self.visit(node.body)
        origin = tuple([self.visit(bound.min) for bound in node.bounds])
        shape = tuple([self.visit(bound.extent) for bound in node.bounds])
        if buffer in self.alignments:
            strides = aligned_strides(shape, self.alignments[buffer], self.analyzer)
        else:
            strides = tuple(map(self.visit, self.declared_strides(buffer)))
        data = self.scoped(buffer)
        flat = self.flat(buffer, data, shape, strides)
        flat = self.aligned(flat, buffer, shape)
        self.layouts[buffer] = _Layout(flat, shape, strides, origin)
        if self.found:
            self.found = {}
        body = self.visit(node.body)
        return Allocate(data, flat.dtype, flat.shape, self.visit(node.condition), body)

    def declared_strides(self, buffer: Buffer) -> tuple[Expr, ...]:
        """The strides with which a realized buffer is declared: stages have compact regions."""
        return ()

    def aligned(self, flat: Buffer, buffer: Buffer, shape: tuple[Expr, ...]) -> Buffer:
        """The flat buffer of a realized buffer with the alignment of its memory."""
        return replace(flat, data_alignment=_temporary_alignment(_product(shape), buffer.dtype))

    def visit_Block(self, node: Block) -> Stmt:
        if node.match_buffers:
            view = node.match_buffers[0].buffer.name
            raise LoweringError(
                f"cannot flatten block {node.name_hint}: it has the matched view {view}",
                "indices of a view are relative to its region",
                "apply LowerMatchBuffer first",
                where=Subject("buffer", view),
            )
        buffers = tuple([self.layout_of(buffer).flat for buffer in node.alloc_buffers])
        inside: Stmt = self.generic(node)
        return replace(inside, alloc_buffers=buffers)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        """The flat range from the first to the last element, for each dimension of memory."""
        ends = [ops.sub(ops.add(dim_range.min, dim_range.extent), 1) for dim_range in node.region]
        low = self.places(node.buffer, tuple([dim_range.min for dim_range in node.region]))
        last = self.places(node.buffer, tuple(ends))
        ranges = [
            Range(begin, ops.sub(ops.add(end, 1), begin))
            for begin, end in zip(low, last, strict=True)
        ]
        return BufferRegion(self.layout_of(node.buffer).flat, tuple(ranges))

    def visit_Allocate(self, node: Allocate) -> Stmt:
        if len(node.extents) < 2:
            return self.generic(node)
        return self.generic(replace(node, extents=(_product(node.extents),)))

    def scoped(self, buffer: Buffer) -> Var:
        """The pointer of a realized buffer; without a scope, that of its threads."""
        data = buffer.data
        if data.scope:
            return data
        element = data.pointer.element if data.pointer is not None else _stored(buffer.dtype)
        scope = default_scope(self.threads[-1] if self.threads else "")
        fresh = Var(data.name, data.dtype, PointerType(element, scope))
        self.values[data] = fresh
        return fresh

    # -- views -------------------------------------------------------------------------------------

    def bind_view(self, node: AttrStmt) -> Stmt:
        """Replace a view by the region that it is bound to."""
        view, buffer = node.node
        assert isinstance(node.value, Call)
        region = [self.visit(part) for part in node.value.args]
        begins, extents = tuple(region[::2]), tuple(region[1::2])
        layout = self.layout_of(buffer)
        binder = ViewBinder(view, buffer, self.analyzer, self.values)
        binder.check_scope(layout.flat)
        binder.bind("pointer", view.data, layout.flat.data)
        offset = self.analyzer.simplify(self.position(buffer, begins))
        binder.bind("offset", view.elem_offset, offset)
        if view.offset_factor > 1:
            remainder = ops.truncmod(offset, view.offset_factor)
            binder.require(
                ops.equal(remainder, 0), f"its offset must be a multiple of {view.offset_factor}"
            )
        dropped = len(extents) - len(view.shape)
        binder.check_rank(extents[:dropped] if dropped > 0 else (), dropped)
        for wanted, value in zip(view.shape, extents[dropped:], strict=True):
            binder.bind("shape", wanted, value)
        strides = self.strides_of(buffer)[dropped:]
        if view.strides:
            for wanted, value in zip(view.strides, strides, strict=True):
                binder.bind("stride", wanted, value)
        else:
            binder.check_compact(extents[dropped:], strides)
        self.layouts[view] = _Layout(layout.flat, extents[dropped:], origin=begins, view_of=buffer)
        self.found = {}
        body = self.visit(node.body)
        binder.release()
        for condition, message in reversed(binder.asserts):
            body = AssertStmt(condition, StringImm(message), body)
        return body

    def strides_of(self, buffer: Buffer) -> tuple[Expr, ...]:
        """The strides of a buffer, also where they are compact."""
        layout = self.layout_of(buffer)
        if layout.view_of is not None:
            outer = self.strides_of(layout.view_of)
            return outer[len(outer) - len(layout.shape) :]
        if layout.strides:
            return layout.strides
        strides: list[Expr] = [IntImm(1, layout.shape[-1].dtype)] if layout.shape else []
        for extent in reversed(layout.shape[1:]):
            strides.append(self.analyzer.simplify(ops.mul(strides[-1], extent)))
        return tuple(reversed(strides))


_ATTRIBUTES = {
    "thread_extent": _Flattener.thread,
    "buffer_dim_align": _Flattener.align,
    "buffer_bind_scope": _Flattener.bind_view,
    "rolling_buffer_scope": _Flattener.roll,
}


class _FunctionFlattener(_Flattener, FactsMapper):
    """Rebuilds the body of another function, as TVM's FlattenBuffer: it makes all buffers anew, and
    simplifies sizes, and indices within loops and conditions. Only StorageFlatten of TVM knows
    realized buffers, which functions of blocks have here.
    """

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        super().__init__(func, settings)
        self.loops: dict[Var, Range] = {}
        self.conditions: list[Expr] = []
        self.is_of_blocks = func.origin == "blocks"
        # Indices are simplified as maps of iterators, which only shows in texts.
        self.uses_iterators = not self.analyzer.is_exact
        if self.uses_iterators:
            mark_sizes(self.analyzer, func)

    def visit_Call(self, node: Call) -> Expr:
        if node.op != "tir.if_then_else" or not self.uses_iterators:
            return super().visit_Call(node)
        condition = self.visit(node.args[0])
        with self.assuming(condition):
            then = self.visit(node.args[1])
        with self.assuming(Not(condition)):  # as TVM: iterator maps have no predicate here
            other = self.visit(node.args[2])
        return replace(node, args=(condition, then, other))

    def index(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        return self.computed_index(buffer, indices)  # it depends on the loops around it

    def computed_index(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        """The flat index of an element, simplified as a map of the loops around it."""
        simple = super().computed_index(buffer, indices)
        is_unchanged = not self.conditions and _is_plain(simple, self.loops)
        if not self.uses_iterators or is_unchanged:
            return simple
        condition = reduce(ops.logical_and, self.conditions) if self.conditions else None
        return iter_map_simplify((simple,), self.loops, condition, analyzer=self.analyzer)[0]

    @contextmanager
    def assuming(self, condition: Expr, holds: bool = True) -> Iterator[None]:
        """Where a condition holds, or does not. One that holds restricts iterator maps."""
        outside = self.conditions
        if self.uses_iterators and holds:
            self.conditions = [*outside, plain(condition)]
        with super().assuming(condition, holds):
            yield
        self.conditions = outside

    def flat(
        self, buffer: Buffer, data: Var, shape: tuple[Expr, ...], strides: tuple[Expr, ...]
    ) -> Buffer:
        """The flat buffer of a buffer, with simplified sizes."""
        new = super().flat(buffer, data, shape, strides)
        if new is buffer:
            return replace(buffer) if buffer in self.params else buffer
        exact = self.analyzer.is_exact
        simplified = self.simplified if exact else self.analyzer.canonical_simplify
        return replace(new, shape=tuple(map(simplified, new.shape)))

    def declared_strides(self, buffer: Buffer) -> tuple[Expr, ...]:
        return buffer.strides if self.is_of_blocks else ()

    def aligned(self, flat: Buffer, buffer: Buffer, shape: tuple[Expr, ...]) -> Buffer:
        return flat if self.is_of_blocks else super().aligned(flat, buffer, shape)

    def visit_For(self, node: For) -> Stmt:
        looped: Stmt = self.in_loop(node, self.generic)
        return looped

    def in_loop(self, node: Any, action: Callable[[Any], Any]) -> Any:
        """The result of an action in a loop or thread axis."""
        loop = loop_of(node)
        if loop is None:
            return action(node)
        self.analyzer.bind(loop.var, loop.range)
        outside = self.loops
        self.loops = {**outside, loop.var: loop.range}
        new = action(node)
        self.loops = outside
        return new

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        inside: Stmt = self.in_loop(node, super().visit_AttrStmt)
        return inside


def _inside_view(begins: Sequence[Expr], indices: Sequence[Expr]) -> list[Expr]:
    """Translate indices of a view into indices of its buffer."""
    dropped = len(begins) - len(indices)
    inner = [ops.add(begin, index) for begin, index in zip(begins[dropped:], indices, strict=True)]
    return [*begins[:dropped], *inner]


def _is_plain(index: Expr, loops: Container[Var]) -> bool:
    """Whether an index is a sum of multiples of loops, which iterator maps do not change. They put
    other variables last.
    """
    if type(index) is Add or type(index) is Sub:
        return _is_plain(index.a, loops) and _is_plain(index.b, loops)
    if type(index) is Mul:
        return type(index.b) is IntImm and _is_plain(index.a, loops)
    return type(index) is IntImm or (type(index) is Var and index in loops)


def _of_32_bits(dtype: str) -> str:
    return dtypes.with_lanes("int32", dtypes.lanes(dtype))


def _grouped(parts: Sequence[Expr], cuts: Sequence[int]) -> list[list[Expr]]:
    """The parts between the separators of axes."""
    ends = [*cuts, len(parts)]
    return [list(parts[low:high]) for low, high in zip([0, *cuts], ends, strict=True)]


def _product(shape: Sequence[Expr]) -> Expr:
    return reduce(ops.mul, shape) if shape else IntImm(1)


def _stored(dtype: str) -> str:
    """Truth values are stored as bytes."""
    return dtypes.with_lanes("int8", dtypes.lanes(dtype)) if dtypes.is_bool(dtype) else dtype


def _flat_buffer(
    buffer: Buffer, data: Var, shape: tuple[Expr, ...], strides: tuple[Expr, ...]
) -> Buffer:
    """The flat buffer of the same memory; the buffer itself when it is that already."""
    dtype = _stored(buffer.dtype)
    same = data is buffer.data and dtype == buffer.dtype and shape is buffer.shape
    is_flat = bool(shape) and buffer.axis_separators == tuple(range(1, len(shape)))
    if same and is_flat and not strides:
        return buffer
    if buffer.axis_separators:
        sizes = tuple([_product(part) for part in _grouped(shape, buffer.axis_separators)])
    else:
        sizes = (ops.mul(strides[0], shape[0]) if strides else _product(shape),)
    return Buffer(
        data,
        dtype,
        sizes,
        (),
        flat_offset(buffer, sizes),
        buffer.name,
        buffer.data_alignment,
        buffer.offset_factor,
        buffer.buffer_type,
        tuple(range(1, len(sizes))),
    )


def _temporary_alignment(size: Expr, dtype: str) -> int:
    """The alignment of a temporary in bytes: at most its size, without gaps between rows."""
    if type(size) is not IntImm:
        return DEFAULT_ALIGNMENT
    room = size.value * dtypes.bits(dtype) * dtypes.lanes(dtype) // 8
    align = DEFAULT_ALIGNMENT
    while align > room > 0:
        align //= 2
    return align


def _integer(value: Expr) -> int:
    assert isinstance(value, IntImm)
    return value.value
