"""Shadow memory: what a sanitized program notes of each element, as ordinary buffers.

One byte says whether an element was written. For memory that several iterations of a loop reach
which run at once, and that one of them writes, three numbers say which iterations touched it last:
the one that wrote it, the last two that read it. `survey` finds what memory needs which. Must not
know what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, PointerType, Var
from te_sched.ir.occurrences import occurrences_of
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    PrimFunc,
    Stmt,
)
from te_sched.ir.views import Views
from te_sched.ir.visitor import children
from te_sched.lower.statements import sequence

AT_ONCE = frozenset(("parallel", "vectorized"))
_ZERO = IntImm(0, "int64")


@dataclass(slots=True)
class Traces:
    """Which iterations of a loop touched an element last, by their numbers."""

    writer: Buffer
    reader: Buffer
    other: Buffer  # the reader before, where it was another


@dataclass(slots=True)
class Shadow:
    """What is noted of a memory: by the depth of loops that run at once, traces."""

    written: Buffer | None = None
    traces: dict[int, Traces] = field(default_factory=dict)

    def buffers(self) -> Iterator[Buffer]:
        """All its buffers."""
        if self.written is not None:
            yield self.written
        for one in self.traces.values():
            yield from (one.writer, one.reader, one.other)


class Survey:
    """Which memory is written, and in which loops whose iterations run at once.

    `shared` holds (memory, depth) where iterations at that depth of such loops share the memory and
    one of them writes it; `views` what views are views of.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.written: set[Var] = set()
        self.shared: set[tuple[Var, int]] = set()
        self.views = Views()
        self.deepest = 0
        self._declared = {buffer.data: 0 for buffer in func.buffer_map.values()}
        self._visit(func.body, 0)

    def _visit(self, node: Any, depth: int) -> None:
        kind = type(node)
        if kind is For and node.kind in AT_ONCE:
            depth += 1
            self.deepest = max(self.deepest, depth)
        elif kind is BufferRealize:
            self._declared.setdefault(node.buffer.data, depth)
        elif kind is Allocate:
            self._declared[node.buffer_var] = depth
        elif kind is AttrStmt:
            if node.key == "virtual_thread":
                depth += 1
                self.deepest = max(self.deepest, depth)
            elif node.key == "buffer_bind_scope":
                self.views.bind(node)
        for occurrence in occurrences_of(node):
            if occurrence.writes:
                data = self.views.base(occurrence.data)
                self.written.add(data)
                if occurrence.buffer is not None:
                    for level in range(self._declared.get(data, depth), depth):
                        self.shared.add((data, level))
        for below in children(node):
            if isinstance(below, Stmt):
                self._visit(below, depth)

    def shadow_of(self, data: Var, name: str, size: Expr, with_written: bool) -> Shadow:
        """Shadow memory for so many elements."""
        shadow = Shadow(_flat(f"{name}.written", "uint8", size) if with_written else None)
        for depth in range(self.deepest):
            if (data, depth) in self.shared:
                kinds = ("writer", "reader", "other")
                made = [_flat(f"{name}.{kind}", "int64", size) for kind in kinds]
                shadow.traces[depth] = Traces(*made)
        return shadow


def clock_of(depth: int) -> Buffer:
    """The numbers that iterations of loops have which begin next, by depth."""
    return _flat("iterations", "int64", IntImm(max(depth, 1), "int64"))


def _flat(name: str, dtype: str, size: Expr) -> Buffer:
    data = Var(name, "handle", PointerType(dtype, "global"))
    return decl_buffer((size,), dtype, name, data=data)


def allocated(buffers: Sequence[Buffer], body: Stmt, initial: int = 0) -> Stmt:
    """A statement during which buffers exist, filled with a number."""
    fills: list[Stmt] = []
    for buffer in buffers:
        place = Var("place", "int64")
        store = BufferStore(buffer, IntImm(initial, buffer.dtype), (place,))
        fills.append(For(place, _ZERO, buffer.shape[0], "serial", store))
    body = sequence([*fills, body])
    for buffer in buffers:
        body = Allocate(buffer.data, buffer.dtype, buffer.shape, IntImm(1, "bool"), body)
    return body


def load(buffer: Buffer, place: Expr) -> Expr:
    """An element of shadow memory."""
    return BufferLoad(buffer, (place,))


def store(buffer: Buffer, place: Expr, value: Expr) -> Stmt:
    """Note something of an element."""
    return BufferStore(buffer, value, (place,))


def at_least_zero(e: Expr) -> Expr:
    """An extent that may be negative."""
    return ops.maximum(e, IntImm(0, e.dtype))
