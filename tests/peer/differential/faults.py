"""Faults of a lowered program: undefined variables and memory, stores out of bounds.

If TVM's program has a fault and te_sched's does not, this explains a difference of texts. Must not
know the source of the programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from te_sched.ir import dtypes
from te_sched.ir.expr import Broadcast, Buffer, Expr, IntImm, Ramp, Var
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
)
from te_sched.ir.verify import free_variables
from te_sched.ir.visitor import walk
from tests.arith.brute import value

UNDEFINED = "a variable that nothing defines"
OUTSIDE = "a store out of bounds"
_THREADS = ("thread_extent", "virtual_thread")
_MOST_STORES = 200_000


def faults(func: PrimFunc, sizes: Mapping[str, int]) -> set[str]:
    """The faults of a program, for given values of its shape variables."""
    found = set()
    if free_variables(func) - _threads(func) or _marks_of_nothing(func):
        found.add(UNDEFINED)
    if _Stores(func, sizes).are_outside():
        found.add(OUTSIDE)
    return found


def _threads(func: PrimFunc) -> set[Var]:
    """The variables of threads, which a program may use outside of their launch."""
    nodes = (node for node in walk(func.body) if type(node) is AttrStmt and node.key in _THREADS)
    return {node.node.var for node in nodes}


def _marks_of_nothing(func: PrimFunc) -> bool:
    """Whether an attribute of a double buffer refers to memory that does not exist."""
    there = {node.buffer_var for node in walk(func.body) if type(node) is Allocate}
    marks = (
        node
        for node in walk(func.body)
        if type(node) is AttrStmt and node.key == "double_buffer_write"
    )
    return any(mark.node not in there for mark in marks)


class _TooLong(Exception):
    """Raised if there are too many stores to check."""


class _Outside(Exception):
    """Raised for a store out of bounds."""


class _Stores:
    """Executes all iterations; indices that depend on data count as in bounds."""

    def __init__(self, func: PrimFunc, sizes: Mapping[str, int]) -> None:
        self.func = func
        self.env: dict[Var, int] = {}
        self.room: dict[Var, int] = {}
        self.left = _MOST_STORES
        for buffer in func.buffer_map.values():
            self._measure(buffer, sizes)

    def _measure(self, buffer: Buffer, sizes: Mapping[str, int]) -> None:
        for node in [node for extent in buffer.shape for node in walk(extent)]:
            if type(node) is Var and node.name in sizes:
                self.env[node] = sizes[node.name]
        extents = [value(extent, self.env) for extent in buffer.shape]
        for place, stride in enumerate(buffer.strides):
            if type(stride) is Var:
                self.env[stride] = prod(extents[place + 1 :])
        self.room[buffer.data] = prod(extents) * dtypes.storage_bytes(buffer.dtype)

    def are_outside(self) -> bool:
        """Whether a store is provably out of bounds."""
        try:
            self.visit(self.func.body)
        except _Outside:
            return True
        except (_TooLong, KeyError, ZeroDivisionError):
            return False
        return False

    def visit(self, node: Any) -> None:
        kind = type(node)
        if kind is SeqStmt:
            for part in node.seq:
                self.visit(part)
        elif kind is For:
            self._loop(node.loop_var, value(node.min, self.env), node.extent, node.body)
        elif kind is AttrStmt and node.key in _THREADS:
            self._loop(node.node.var, 0, node.value, node.body)
        elif kind is Allocate:
            elements = prod([value(extent, self.env) for extent in node.extents])
            self.room[node.buffer_var] = elements * dtypes.storage_bytes(node.dtype)
            self.visit(node.body)
        elif kind is IfThenElse:
            self._choose(node)
        elif kind is BufferStore:
            self._store(node)
        elif kind is LetStmt:
            self._let(node)
        elif hasattr(node, "body"):
            self.visit(node.body)

    def _loop(self, var: Var, first: int, extent: Expr, body: Any) -> None:
        for step in range(value(extent, self.env)):
            self.env[var] = first + step
            self.visit(body)
        self.env.pop(var, None)

    def _choose(self, node: IfThenElse) -> None:
        holds = self._known(node.condition)
        if holds:
            self.visit(node.then_case)
        elif holds is not None and node.else_case is not None:
            self.visit(node.else_case)

    def _let(self, node: LetStmt) -> None:
        known = self._known(node.value)
        if known is not None:
            self.env[node.var] = known
        self.visit(node.body)

    def _known(self, e: Expr) -> int | None:
        """The value of an expression; None if it depends on data or on undefined variables."""
        try:
            return value(e, self.env)
        except KeyError:
            return None

    def _store(self, node: BufferStore) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooLong
        room = self.room.get(node.buffer.data)
        if room is None:
            return
        if len(node.indices) != 1:
            places = [self._known(index) for index in node.indices]
            sizes = [self._known(extent) for extent in node.buffer.shape]
            pairs = zip(places, sizes, strict=True)
            if any(
                one is not None and size is not None and not 0 <= one < size for one, size in pairs
            ):
                raise _Outside
            return
        unit = dtypes.storage_bytes(node.buffer.dtype)
        for index in _ends(node.indices[0]):
            place = self._known(index)
            if place is not None and not 0 <= place * unit <= room - unit:
                raise _Outside


def _ends(index: Expr) -> list[Expr]:
    """The first and last index that a store writes."""
    if isinstance(index, Ramp):
        return [index.base, index.base + index.stride * IntImm(index.lanes - 1, index.base.dtype)]
    return [index.value if isinstance(index, Broadcast) else index]
