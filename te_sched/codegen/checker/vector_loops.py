"""Loops around one store to registers, of which all iterations are executed at once.

    for i, j in grid(4, 4):                                 i = [[0], [1], [2], [3]]
        C_local[i * 4 + j] += A_local[i] * B_local[j]       j = [[0, 1, 2, 3]], the store once

The variables of the loops become arrays, each along an axis of its own before those of threads.
Each iteration must store an element of its own, and nothing may be wrong in any of them: otherwise
they are executed one by one, with the findings that they have then. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

import numpy as np

from te_sched.codegen.checker import counters
from te_sched.codegen.checker.expressions import Compiler, ExprClosure
from te_sched.codegen.checker.machine import KernelState, Site
from te_sched.codegen.checker.memory import Index, Place
from te_sched.codegen.checker.numbers import Value
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import variables_of, walk

_MOST = 1 << 18  # elements of a vector: larger ones do not stay in the caches
_PLAIN = (E.Var, E.IntImm, E.FloatImm, E.Cast, E.BinaryOp, E.CompareOp, E.Not)


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Loops of constant extents around one store of elements that depend on all of them."""

    loops: tuple[S.For, ...]
    extents: tuple[int, ...]
    lets: tuple[S.LetStmt, ...]
    store: S.BufferStore

    @property
    def loads(self) -> list[E.BufferLoad]:
        """What the store loads."""
        return [part for part in walk(self.store.value) if isinstance(part, E.BufferLoad)]


def nest_of(node: S.For) -> LoopNest | None:
    """The nest that begins with a loop; None if its iterations cannot be executed at once."""
    loops: list[S.For] = []
    extents: list[int] = []
    lets: list[S.LetStmt] = []
    inner: S.Stmt = node
    while isinstance(inner, S.For | S.LetStmt):
        if isinstance(inner, S.LetStmt):
            lets.append(inner)
        elif isinstance(inner.min, E.IntImm) and isinstance(inner.extent, E.IntImm):
            loops.append(inner)
            extents.append(inner.extent.value)
        else:
            return None
        inner = inner.body
    if not isinstance(inner, S.BufferStore) or min(extents) < 1 or max(extents) == 1:
        return None
    nest = LoopNest(tuple(loops), tuple(extents), tuple(lets), inner)
    return nest if _is_of_registers(nest) and _depends_on_all(nest) else None


def _is_of_registers(nest: LoopNest) -> bool:
    """Whether registers are stored, and by computations that are the same for vectors."""
    indices = [*nest.store.indices, *(index for load in nest.loads for index in load.indices)]
    positions = [*indices, *(let.value for let in nest.lets)]
    return (
        storage_scope(nest.store.buffer.data.scope).rank == "local"
        and all(_is_plain(part) for position in positions for part in walk(position))
        and all(_is_plain(part) or _is_elementwise(part) for part in walk(nest.store.value))
    )


def _is_plain(e: E.Expr) -> bool:
    return isinstance(e, _PLAIN) and dtypes.lanes(e.dtype) == 1


def _is_elementwise(e: E.Expr) -> bool:
    if dtypes.lanes(e.dtype) > 1:
        return False
    row = INTRINSICS.get(e.op.removeprefix("tir.")) if isinstance(e, E.Call) else None
    return isinstance(e, E.BufferLoad) or (row is not None and row.meaning is not None)


def _depends_on_all(nest: LoopNest) -> bool:
    variables = set(variables_of(*nest.store.indices))
    for let in reversed(nest.lets):
        if let.var in variables:
            variables |= variables_of(let.value)
    return all(loop.loop_var in variables for loop in nest.loops)


class _Load:
    """A load in a nest; `value` is what it gives for all iterations."""

    def __init__(self, c: Compiler, node: E.BufferLoad, site: Site) -> None:
        self.data, self.dtype, self.site = node.buffer.data, dtypes.element(node.buffer.dtype), site
        self.index = c.place(node.buffer, node.indices).run
        self.place: Place = 0
        self.value: Value = 0

    def code(self) -> ExprClosure:
        """The load, once it is executed."""
        return ExprClosure(lambda: self.value, is_pure=False, reads=True)

    def is_free_of_findings(self, machine: KernelState) -> bool:
        """Whether nothing is wrong in any iteration."""
        memory, position, mask = machine.memories[self.data], self.index(), machine.mask
        self.place = position
        if not memory.has(position):
            return False
        if not memory.is_complete and memory.unwritten(position, mask) is not None:
            return False
        return memory.shadow is None or memory.shadow.is_free_to_read(position, mask)

    def execute(self, machine: KernelState, extents: tuple[int, ...]) -> None:
        """Load for all iterations."""
        memory = machine.memories[self.data]
        if memory.shadow is not None:
            memory.shadow.read(self.place, machine.mask, self.site)
        if memory.scope != "local":
            counters.count(machine, self.site, memory, self.place, machine.mask, extents)
        self.value = memory.get(self.dtype, self.place)


class VectorLoop:
    """A nest that was compiled; `sites` are those of its loads and its store."""

    def __init__(self, c: Compiler, nest: LoopNest, sites: Sequence[Site]) -> None:
        self.machine, store = c.machine, nest.store
        self.data, self.index = store.buffer.data, c.place(store.buffer, store.indices).run
        self.dtype = dtypes.element(store.buffer.dtype)
        self.loads = [
            _Load(c, node, site) for node, site in zip(nest.loads, sites[:-1], strict=True)
        ]
        self.value = c.expression_with(store.value, [load.code() for load in self.loads]).run
        self.lets = [c.binding(let.var, let.value) for let in nest.lets]
        grid = np.ix_(*[np.arange(extent) for extent in nest.extents])
        self.variables = [
            (c.machine.slot(loop.loop_var), _over_threads(loop, numbers), object())
            for loop, numbers in zip(nest.loops, grid, strict=True)
        ]
        self.extents = nest.extents
        *_, self.count = totals = list(accumulate(nest.extents, mul))
        self.steps = sum(totals)
        self.distinct: Index | None = None  # a place that was found to be so

    def run(self) -> bool:
        """Execute all iterations at once; False, and nothing is done, if that is not possible."""
        machine = self.machine
        is_small = self.count * machine.space.lanes <= _MOST
        if not is_small or machine.steps + self.steps > machine.max_steps:
            return False
        for slot, values, version in self.variables:
            machine.values[slot], machine.versions[slot] = values, version
        for bind in self.lets:
            bind()
        stored, memory = self.index(), machine.memories[self.data]
        if not self._is_distinct(stored) or not memory.has(stored):
            return False
        for load in self.loads:
            is_other = load.data is not self.data
            if not load.is_free_of_findings(machine) or not (is_other or load.place is stored):
                return False
        machine.steps += self.steps
        for load in self.loads:
            load.execute(machine, self.extents)
        memory.mark(stored, machine.mask)
        memory.put(self.dtype, stored, machine.mask, self.value())
        for slot, values, _ in self.variables:
            machine.values[slot] = machine.versions[slot] = int(values.flat[-1])
        return True

    def _is_distinct(self, position: Place) -> bool:
        """Whether each iteration stores an element of its own, the same one for all threads."""
        if position is self.distinct:
            return True
        if not isinstance(position, Index) or position.rows is None:
            return False
        if len(np.unique(position.values)) < self.count:
            return False
        self.distinct = position
        return True


def _over_threads(loop: S.For, numbers: np.ndarray) -> np.ndarray:
    """The values of a loop's variable, with axes for the threads."""
    first = loop.min.value if isinstance(loop.min, E.IntImm) else 0
    return (numbers + first).astype(loop.loop_var.dtype)[..., None, None, None, None]
