"""The context of a place in a program: known facts, and the conditions of an access there.

The walker of a program enters the scopes of its statements. Must not know the analyses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any, NamedTuple, TypeGuard

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.config import TO_RUN
from te_sched.errors import Subject
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    BinaryOp,
    Buffer,
    Div,
    Expr,
    IntImm,
    Mod,
    Ramp,
    Range,
    Var,
)
from te_sched.ir.occurrences import Occurrence
from te_sched.ir.scopes import Loop, Memory, scope_of, whole
from te_sched.ir.stmt import AttrStmt, BufferRealize, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import reads_data, variables_of
from te_sched.lowering.positions import row_major, weighted_sum
from te_sched.wording import wording

_ONE: Expr = IntImm(1)
_ZERO = IntImm(0)


class Need(NamedTuple):
    """The condition of an index of an access: low <= at < low + extent. A dimension that `repeats`
    has a stride of 0 if its extent is 1, so that any index is within bounds.
    """

    number: int
    at: Expr
    low: Expr
    extent: Expr
    repeats: bool = False


class AccessContext:
    """The current place of a walk through a program, and the facts known there."""

    def __init__(self, func: PrimFunc) -> None:
        self.analyzer = Analyzer(TO_RUN)
        self.scope = scope_of(func)
        self.defined = self.scope.defined
        self.memory, self.values = self.defined.memory, self.defined.values
        # views and strided arguments: their layout is not that of the memory
        self.views: dict[Var, Buffer] = {}
        # the buffers that memory was declared with
        self.owners = {buffer.data: buffer for buffer in func.buffer_map.values()}
        self.stage = ""  # the name of the stored buffer
        self.symbols = {param for param in func.params if param.dtype != "handle"}
        for buffer in func.buffer_map.values():
            self.symbols.update(variables_of(*buffer.shape, *buffer.strides))
            self._note_sizes(*buffer.shape, *buffer.strides)
            if buffer.strides:
                self.views[buffer.data] = buffer

    @contextmanager
    def inside(self, node: Stmt, part: str = "body") -> Iterator[None]:
        """A scope for the walk of a field of a statement."""
        outside, self.scope = self.scope, self.scope.inside(node, part)
        for loop in self.scope.loops[len(outside.loops) :]:
            self.enter(loop)
        if type(node) is LetStmt and node.var.dtype.startswith(("int", "uint")):
            self.bind(node.var, node.value)
        elif type(node) is AttrStmt and node.key == "buffer_bind_scope":
            self.add_view(*node.node)
        elif type(node) is BufferRealize:
            self.owners.setdefault(node.buffer.data, node.buffer)
        with ExitStack() as facts:
            for loop in self.scope.loops[len(outside.loops) :]:
                if type(loop.range.extent) is not IntImm:  # an iteration is run
                    facts.enter_context(self.assuming(loop.range.extent > 0))
            yield
        self.scope = outside

    def enter(self, loop: Loop) -> None:
        """Enter a loop."""
        self.analyzer.bind(loop.var, loop.range)

    def add_view(self, view: Buffer, buffer: Buffer) -> None:
        """Define a view; it has the name of its buffer."""
        extents = self.defined.views[view.data].extents
        region = whole(extents[len(extents) - len(view.shape) :])
        name = self.memory[buffer.data].name if buffer.data in self.memory else buffer.name
        self.memory[view.data] = Memory(name, region, view.shape, view.dtype)
        self.views[view.data] = view
        self._note_sizes(*view.strides)

    def _note_sizes(self, *sizes: Expr) -> None:
        """Note that extents of arguments, and strides, are not negative."""
        for size in sizes:
            if type(size) is Var:
                self.analyzer.mark_nonnegative(size)

    def place_name(self) -> str:
        """The name of the current stage; in an extern operation, that of its last view."""
        if self.scope.extern is not None and self.views:
            return self.memory[next(reversed(self.views))].name
        return self.stage

    def bind(self, var: Var, value: Expr) -> None:
        """Bind a variable to its value, or to the bounds of the value if it reads memory."""
        if not reads_data(value):
            self.analyzer.bind(var, value)
            return
        low, high = self.analyzer.const_bounds(value)
        if low is not None and high is not None:
            extent = IntImm(high - low + 1, "int64")
            self.analyzer.bind(var, Range(IntImm(low, "int64"), extent))
        self.analyzer.data.add(var)

    @contextmanager
    def assuming(self, condition: Expr) -> Iterator[None]:
        """A scope in which a condition holds; conditions that may wrap around are ignored."""
        exact = [part for part in conjuncts(condition) if not self.analyzer.may_wrap(part)]
        if not exact:
            yield
            return
        conjunction = reduce(ops.logical_and, exact)
        simple = self.analyzer.simplify(conjunction)
        with self.analyzer.constraint(conjunction):
            if simple is conjunction or type(simple) is IntImm:
                yield
            else:
                with self.analyzer.constraint(simple):
                    yield

    # -- conditions of accesses --------------------------------------------------------------------

    def needs(self, occurrence: Occurrence) -> Iterator[Need]:
        """The conditions for an access to be in bounds."""
        memory = self.memory.get(occurrence.data)
        if memory is None:
            return  # an external pointer
        if occurrence.buffer is None and occurrence.extent is None:
            return  # a function that receives the whole buffer
        whole = occurrence.data, memory, occurrence.buffer
        if occurrence.extent is not None:  # the declared extent may be larger than the memory
            yield Need(0, self._offset(occurrence), _ZERO, self.reach(occurrence.data, memory))
        elif self._is_beyond_a_row(occurrence, memory):
            yield Need(0, self._flat_index(occurrence, memory), _ZERO, self.reach(*whole))
        elif self._is_another_view(occurrence, memory):
            yield from self._needs_of_view(occurrence, memory)
        elif len(occurrence.indices) == len(memory.region):
            pairs = zip(occurrence.indices, memory.region, strict=True)
            for number, (index, (low, extent)) in enumerate(pairs):
                if len(memory.region) == 1 and self._is_flat(occurrence):
                    extent = self.reach(*whole)
                repeats = self.repeats(occurrence, index)
                if not (repeats and ops.is_const(extent, 1)):
                    yield Need(number, index, low, extent, repeats)
            yield from (need for need in self.declared(occurrence) if reads_data(need.at))
        elif len(occurrence.indices) == 1:
            yield Need(0, occurrence.indices[0], _ZERO, self.reach(*whole))

    def repeats(self, occurrence: Occurrence, index: Expr) -> bool:
        """Whether a dimension that is read may be of one element for all values of a loop."""
        view = self.views.get(occurrence.data)
        is_auto = view is not None and view.buffer_type == "auto_broadcast"
        return is_auto and not occurrence.writes and type(index) is Var

    def _is_beyond_a_row(self, occurrence: Occurrence, memory: Memory) -> bool:
        """Whether a vector extends beyond a row into the next one."""
        if len(occurrence.indices) < 2 or len(occurrence.indices) != len(memory.region):
            return False
        last, extent = occurrence.indices[-1], memory.region[-1][1]
        is_row = type(last) is Ramp and ops.is_const(last.stride, 1)
        return is_row and type(extent) is IntImm and dtypes.lanes(last.dtype) > extent.value

    def _is_another_view(self, occurrence: Occurrence, memory: Memory) -> bool:
        """Whether an access is to a view of memory with a layout or elements of its own."""
        data, buffer, count = occurrence.data, occurrence.buffer, len(occurrence.indices)
        if buffer is None or count != len(buffer.shape):
            return False
        if buffer is self.owners.get(data) or buffer is self.views.get(data):
            return False
        if buffer.strides or not ops.is_const(buffer.elem_offset, 0):
            return True
        if count == 1:
            return False  # the index counts elements of memory
        if count != len(memory.shape) or count != len(memory.region):
            return True
        is_alike = dtypes.storage_bytes(buffer.dtype) == dtypes.storage_bytes(memory.dtype)
        return not is_alike or not all(
            map(self.analyzer.can_prove_equal, buffer.shape, memory.shape)
        )

    def _needs_of_view(self, occurrence: Occurrence, memory: Memory) -> Iterator[Need]:
        """The conditions for an access to be inside a view, and in its memory if that may be
        smaller.
        """
        buffer = occurrence.buffer
        assert buffer is not None
        for number, (index, extent) in enumerate(
            zip(occurrence.indices, buffer.shape, strict=True)
        ):
            yield Need(number, index, _ZERO, extent)
        reach = self.reach(occurrence.data, memory, buffer)
        offset = self._offset_of_view(occurrence.data, memory, buffer)
        if buffer.strides:
            position = weighted_sum(occurrence.indices, buffer.strides)
        else:
            position = row_major(occurrence.indices, buffer.shape)
            size = reduce(ops.mul, buffer.shape, _ONE)
            if ops.is_const(offset, 0) and self.analyzer.can_prove_equal(size, reach):
                return
        yield Need(0, ops.add(position, offset), _ZERO, reach)

    def _offset_of_view(self, data: Var, memory: Memory, buffer: Buffer) -> Expr:
        """The elements of a view from the first one of its memory to that of the view."""
        owner = self.owners.get(data)
        if owner is None or ops.is_const(owner.elem_offset, 0):
            return buffer.elem_offset
        start = _counted_in(buffer, memory, owner.elem_offset)
        return self.analyzer.simplify(ops.sub(buffer.elem_offset, start))

    def _flat_index(self, occurrence: Occurrence, memory: Memory) -> Expr:
        """The flat index of an element."""
        *outer, last = occurrence.indices
        assert type(last) is Ramp
        strides = self.views[occurrence.data].strides if occurrence.data in self.views else ()
        flat: Expr = _ZERO
        for number, (low, extent) in enumerate(memory.region):
            offset = ops.sub((*outer, last.base)[number], low)
            if strides:
                flat = ops.add(flat, ops.mul(offset, strides[number]))
            else:
                flat = ops.add(ops.mul(flat, extent), offset)
        return Ramp(flat, last.stride, last.lanes)

    def declared(self, occurrence: Occurrence) -> Iterator[Need]:
        """The conditions of reads by the declared shape of a tensor of which only a region is
        stored. Unknown indices need no check, since the region bounds memory, except those from
        data: the region may hold an element that no stage computes.
        """
        memory = self.memory.get(occurrence.data)
        if memory is None or memory.is_argument or occurrence.buffer is None:
            return
        if self._is_beyond_a_row(occurrence, memory):
            return
        if occurrence.reads and len(occurrence.indices) == len(memory.shape):
            for number, index in enumerate(occurrence.indices):
                whole = memory.shape[number]
                if memory.region[number][1] is not whole:
                    yield Need(number, index, _ZERO, whole)

    def is_strided(self, data: Var) -> bool:
        """Whether an argument has strides."""
        view = self.views.get(data)
        return view is not None and bool(view.strides)

    def _is_flat(self, occurrence: Occurrence) -> bool:
        """Whether an index counts elements of memory, not of a declared buffer."""
        view = self.views.get(occurrence.data)
        return view is None or occurrence.buffer is not view

    def _offset(self, occurrence: Occurrence) -> Expr:
        """The offset of a pointer from the first element."""
        view = self.views.get(occurrence.data)
        offset = occurrence.indices[0]
        if view is None:
            return offset
        return self.analyzer.simplify(ops.sub(offset, view.elem_offset))

    def reach(self, data: Var, memory: Memory, buffer: Buffer | None = None) -> Expr:
        """The number of elements from the first to the last, with gaps."""
        extents = [extent for _, extent in memory.region]
        whole = reduce(ops.mul, extents, _ONE)
        view = self.views.get(data, self.owners.get(data))
        if view is not None and view.strides:
            lasts = [ops.sub(extent, _ONE) for extent in extents]
            whole = reduce(ops.add, map(ops.mul, lasts, view.strides), _ONE)
        return whole if buffer is None else _counted_in(buffer, memory, whole)

    def name_of(self, occurrence: Occurrence) -> str:
        """The name of the memory of an access in messages."""
        if occurrence.buffer is not None and occurrence.data not in self.views:
            return occurrence.buffer.name
        return self.memory[occurrence.data].name

    def site(
        self, kind: str, occurrence: Occurrence, named: Callable[[str], Subject], **more: Any
    ) -> dict[str, Any]:
        """The description of an access for reports, as far as it is known at build time; without
        lines of the user's program, which may differ when a kept program is found.
        """
        stage = self.place_name()
        return {
            "kind": kind,
            "buffer": self.name_of(occurrence),
            "does": "read" if occurrence.reads else "write",
            "stage": stage,
            "where": named(stage).text if stage else "",
            "memory": wording().memory,
            "guard": guard_of(self.name_of(occurrence), occurrence),
            "wide": wording().wide_sizes,
            **more,
        }


def _counted_in(buffer: Buffer, memory: Memory, count: Expr) -> Expr:
    """How many elements of a buffer a number of elements of memory are."""
    own, other = dtypes.storage_bytes(memory.dtype), dtypes.storage_bytes(buffer.dtype)
    return count if own == other else ops.floordiv(ops.mul(count, own), other)


def guard_of(name: str, occurrence: Occurrence) -> str:
    """The advice how to make an access only where its indices are within the memory."""
    words = wording()
    return (words.guard if occurrence.reads else words.guard_write).format(name)


def is_index_operator(e: Any) -> TypeGuard[BinaryOp]:
    """Whether an expression is a binary operation that indices may contain."""
    return isinstance(e, BinaryOp) and not isinstance(e, Div | Mod)
