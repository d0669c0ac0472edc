"""Shadow memory of sanitized programs, as ordinary buffers.

One byte says whether an element was written. For memory that is shared by concurrent iterations of
a loop and written by one of them, three numbers record the last iterations that accessed it: the
last writer and the last two readers. `survey` determines which memory needs which. Must not
know the checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, PointerType, Var
from te_sched.ir.occurrences import occurrences_of
from te_sched.ir.scopes import Loop, scope_of, scoped
from te_sched.ir.stmt import Allocate, BufferStore, For, PrimFunc, Stmt
from te_sched.lowering.statements import sequence

AT_ONCE = frozenset(("parallel", "vectorized", "virtual"))
_ZERO = IntImm(0, "int64")


@dataclass(slots=True)
class Traces:
    """The last iterations of a loop that accessed an element, by their numbers."""

    writer: Buffer
    reader: Buffer
    other: Buffer  # the previous reader, if different


@dataclass(slots=True)
class ShadowMemory:
    """The shadow memory of a buffer; `traces` by the depth of concurrent loops."""

    written: Buffer | None = None
    traces: dict[int, Traces] = field(default_factory=dict)

    def buffers(self) -> Iterator[Buffer]:
        """All its buffers."""
        if self.written is not None:
            yield self.written
        for trace in self.traces.values():
            yield from (trace.writer, trace.reader, trace.other)


class Survey:
    """The memory that is written, and that is shared by concurrent iterations.

    `shared` holds (memory, depth) if iterations of a concurrent loop at that depth share the memory
    and one of them writes it; `deepest` is the maximum depth.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.written: set[Var] = set()
        self.shared: set[tuple[Var, int]] = set()
        self.deepest = 0
        start = scope_of(func)
        memory, views = start.defined.memory, start.defined.views
        for node, scope in scoped(func.body, start):
            depth = _depth(scope.loops)
            self.deepest = max(self.deepest, depth)
            for occurrence in occurrences_of(node):
                if occurrence.writes:
                    data = views.base(occurrence.data)
                    self.written.add(data)
                    if occurrence.buffer is not None and data in memory:
                        levels = range(_depth(memory[data].loops), depth)
                        self.shared.update([(data, level) for level in levels])

    def shadow_of(self, data: Var, name: str, size: Expr, with_written: bool) -> ShadowMemory:
        """Shadow memory for a number of elements."""
        shadow = ShadowMemory(_flat(f"{name}.written", "uint8", size) if with_written else None)
        for depth in range(self.deepest):
            if (data, depth) in self.shared:
                kinds = ("writer", "reader", "other")
                buffers = [_flat(f"{name}.{kind}", "int64", size) for kind in kinds]
                shadow.traces[depth] = Traces(*buffers)
        return shadow


def _depth(loops: Iterable[Loop]) -> int:
    """The number of concurrent loops."""
    return sum(loop.kind in AT_ONCE for loop in loops)


def clock_of(depth: int) -> Buffer:
    """A buffer with the number of the next iteration, by depth."""
    return _flat("iterations", "int64", IntImm(max(depth, 1), "int64"))


def _flat(name: str, dtype: str, size: Expr) -> Buffer:
    data = Var(name, "handle", PointerType(dtype, "global"))
    return decl_buffer((size,), dtype, name, data=data)


def allocated(buffers: Sequence[Buffer], body: Stmt, initial: int = 0) -> Stmt:
    """A statement during which buffers exist, filled with a number."""
    fills: list[Stmt] = []
    for buffer in buffers:
        position = Var("place", "int64")
        store = BufferStore(buffer, IntImm(initial, buffer.dtype), (position,))
        fills.append(For(position, _ZERO, buffer.shape[0], "serial", store))
    body = sequence([*fills, body])
    for buffer in buffers:
        body = Allocate(buffer.data, buffer.dtype, buffer.shape, IntImm(1, "bool"), body)
    return body


def load(buffer: Buffer, position: Expr) -> Expr:
    """An element of shadow memory."""
    return BufferLoad(buffer, (position,))


def store(buffer: Buffer, position: Expr, value: Expr) -> Stmt:
    """Store a value in an element of shadow memory."""
    return BufferStore(buffer, value, (position,))


def at_least_zero(e: Expr) -> Expr:
    """An extent, or 0 if it is negative."""
    return ops.maximum(e, IntImm(0, e.dtype))
