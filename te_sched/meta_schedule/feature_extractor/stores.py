"""The stores of a function of blocks: loops around, accesses, operations of the stored value.

Functions are read without lowering them, which takes ten times longer; what passes would change is
computed here: loops of one iteration are left out, loops that are bound to one thread axis are one
loop, values replace iterators of blocks, views access the buffers that they are of, and allocated
buffers have the size of the region that is accessed (see `Program.shapes`). A store of a constant
is left out. Must not know features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferLoad, Call, Cast, Expr, IntImm, Var
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import children
from te_sched.meta_schedule.feature_extractor.index_sums import (
    UNKNOWN,
    IndexSum,
    LoopLevel,
    bounds,
    constant,
    floor_divided,
    moved,
    operations,
    part,
    plus,
    remainder,
    times,
    variable,
)

OPERATIONS = ("mad", "addsub", "mul", "divmod", "cmp", "mathfunc", "otherfunc")  # of one type
FLOATS, INTS = 0, len(OPERATIONS)  # where the counts of a type begin
BOOL, SELECT = 2 * len(OPERATIONS), 2 * len(OPERATIONS) + 1
_ADDSUB, _MUL, _DIVMOD, _CMP, _MATH, _OTHER = range(1, len(OPERATIONS))

_SLOTS: dict[type, int] = {
    E.Add: _ADDSUB,
    E.Sub: _ADDSUB,
    E.Mul: _MUL,
    E.Div: _DIVMOD,
    E.Mod: _DIVMOD,
    E.FloorDiv: _DIVMOD,
    E.FloorMod: _DIVMOD,
    E.Min: _CMP,
    E.Max: _CMP,
}
_LEAVES = frozenset([IntImm, E.FloatImm, E.StringImm])
_COMPARISONS = frozenset([E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE])
_UNROLL = "pragma_auto_unroll_max_step"


@dataclass(slots=True)
class BufferAccess:
    """Indices of an access; `is_write` tells stores from loads. A load that is part of several
    expressions is there several `times`."""

    buffer: Buffer
    indices: tuple[IndexSum, ...]
    is_write: bool
    times: int = 1


@dataclass(slots=True)
class Store:
    """A store: the loops around it, outermost first, its own access after those of its loads, the
    operations of one iteration by kind, and the largest step of automatic unrolling."""

    loops: tuple[LoopLevel, ...]
    accesses: list[BufferAccess]
    operations: list[int]
    unroll_step: int

    @property
    def buffer(self) -> Buffer:
        """The buffer that is written."""
        return self.accesses[-1].buffer


@dataclass(slots=True)
class Program:
    """The stores of a function, in order.

    `depths` is the number of loops around the allocation of a buffer, `shapes` the region of it
    that is accessed; parameters are as they are declared.
    """

    stores: list[Store] = field(default_factory=list)
    depths: dict[Buffer, int] = field(default_factory=dict)
    shapes: dict[Buffer, tuple[int, ...]] = field(default_factory=dict)

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        """The extents of a buffer."""
        shape = self.shapes.get(buffer)
        if shape is None:
            shape = tuple([_number(extent, UNKNOWN) for extent in buffer.shape])
            self.shapes[buffer] = shape
        return shape


@walks_deeply("extract the features of a program")
def read(func: S.PrimFunc) -> Program:
    """The stores of a function.

    Raises
    ------
    LoweringError if it is nested too deeply.
    """
    reader = _StoreReader()
    reader.statement(func.body)
    program = Program([store for store in reader.stores if store.operations])
    for buffer in reader.allocated:
        _place(program, buffer, reader.stores)
    for store in program.stores:
        for access in store.accesses:
            if not access.is_write:
                for index in access.indices:
                    _add(store.operations, operations(index), access.times)
    return program


def _place(program: Program, buffer: Buffer, stores: Sequence[Store]) -> None:
    """Find the loops that are around all accesses of a buffer, and the region that is accessed in
    one iteration of them; indices begin there."""
    uses = [(store.loops, a) for store in stores for a in store.accesses if a.buffer is buffer]
    if not uses:
        return
    depth = 0
    for around in zip(*[loops for loops, _ in uses], strict=False):
        if any([loop is not around[0] for loop in around]):
            break
        depth += 1
    scope = storage_scope(buffer.scope())
    extents, lows = [], []
    for dim, size in enumerate(program.shape(buffer)):
        ends = [bounds(own_access.indices[dim], depth, scope) for _, own_access in uses]
        lows.append(min([low for low, _ in ends]))
        extents.append(min(size, max(1, max([last for _, last in ends]) - lows[-1] + 1)))
    for _, access in uses:
        pairs = zip(access.indices, lows, strict=True)
        access.indices = tuple([moved(index, low, depth, scope) for index, low in pairs])
    program.shapes[buffer] = tuple(extents)
    program.depths[buffer] = depth


def _number(extent: Any, unknown: int) -> int:
    return extent.value if type(extent) is IntImm else unknown


def _add(counts: list[int], sums: tuple[int, int, int], times: int = 1) -> None:
    for slot, count in zip((_ADDSUB, _MUL, _DIVMOD), sums, strict=True):
        counts[INTS + slot] += count * times


def _parents_first(e: Expr) -> list[Expr]:
    """The parts of an expression, each once, before those that it consists of, from left to
    right."""
    exprs: list[Expr] = []
    seen, stack = {e}, [(e, False)]
    while stack:
        expr, is_done = stack.pop()
        if is_done:
            exprs.append(expr)
            continue
        stack.append((expr, True))
        for child in children(expr):
            if isinstance(child, Expr) and child not in seen:
                seen.add(child)
                stack.append((child, False))
    return exprs[::-1]


class _StoreReader:
    """Reads statements in order; `forms` has the values of variables, `known` those of the
    expressions of the value that is being read."""

    def __init__(self) -> None:
        self.stores: list[Store] = []
        self.allocated: list[Buffer] = []
        self.loops: tuple[LoopLevel, ...] = ()
        self.forms: dict[Var, IndexSum] = {}
        self.known: dict[Expr, IndexSum | None] | None = None
        self.views: dict[Buffer, tuple[Buffer, tuple[IndexSum, ...]]] = {}
        self.unroll_step = 0

    def statement(self, node: S.Stmt) -> None:
        """Read a statement."""
        kind = type(node)
        if kind is S.For:
            self._loop(node)
        elif kind is BlockRealize:
            self._block(node)
        elif kind is S.BufferStore:
            self._store(node)
        elif kind is S.AttrStmt:
            self._attribute(node)
        else:
            if kind is S.LetStmt:
                self.forms[node.var] = self._index(node.value)  # type: ignore[attr-defined]
            elif kind is S.BufferRealize:
                self.allocated.append(node.buffer)  # type: ignore[attr-defined]
            for child in children(node):
                if isinstance(child, S.Stmt):
                    self.statement(child)

    def _loop(self, node: Any) -> None:
        extent, around = self._extent(node.extent), (self.loops, self.unroll_step)
        bound = node.thread_binding
        self.unroll_step = self._step(node.annotations)
        if extent == 1 and bound is None:
            self.forms[node.loop_var] = self._index(node.min)
        else:
            tag = "" if bound is None else bound.thread_tag
            self._enter(node.loop_var, node.min, extent, node.kind, tag)
        self.statement(node.body)
        self.loops, self.unroll_step = around

    def _enter(self, var: Var, low: Expr, extent: int, kind: str, tag: str) -> None:
        """Add a loop, unless there is one of its thread axis."""
        loop = next((loop for loop in self.loops if tag and loop.tag == tag), None)
        if loop is None:
            loop = LoopLevel(extent, len(self.loops), kind, tag)
            self.loops = (*self.loops, loop)
        self.forms[var] = plus(self._index(low), variable(loop))

    def _attribute(self, node: Any) -> None:
        around = self.loops, self.unroll_step
        if node.key in ("thread_extent", "virtual_thread"):
            axis, extent = node.node, self._extent(node.value)
            self._enter(axis.var, IntImm(0), extent, "thread_binding", axis.thread_tag)
        self.unroll_step = self._step({node.key: node.value})
        self.statement(node.body)
        self.loops, self.unroll_step = around

    def _step(self, annotations: Any) -> int:
        step = annotations.get(_UNROLL, self.unroll_step)
        return step if isinstance(step, int) else _number(step, 0)

    def _block(self, node: Any) -> None:
        block: Block = node.block
        values = [self._index(value) for value in node.iter_values]
        for axis, value in zip(block.iter_vars, values, strict=True):
            self.forms[axis.var] = value
        self.allocated += block.alloc_buffers
        for view in block.match_buffers:
            lows = tuple([self._index(dim_range.min) for dim_range in view.source.region])
            self.views[view.buffer] = self._seen(view.source.buffer, lows)
        around, self.unroll_step = self.unroll_step, self._step(block.annotations)
        if block.init is not None:
            self.statement(block.init)
        self.statement(block.body)
        self.unroll_step = around

    def _extent(self, extent: Expr) -> int:
        """The iterations of a loop: at most how many if the number depends on other loops."""
        if type(extent) is IntImm:
            return extent.value
        last = bounds(self._index(extent))[1]
        return 1 if last >= UNKNOWN else last

    def _store(self, node: Any) -> None:
        value = node.value
        while type(value) is Cast or type(value) is E.Broadcast:
            value = value.value
        is_constant = type(value) in (IntImm, E.FloatImm)
        store = Store(self.loops, [], [0] * (SELECT + 1), self.unroll_step)
        self._count(node.value, store)
        written = tuple([self._index(index) for index in node.indices])
        store.accesses.append(BufferAccess(*self._seen(node.buffer, written), True))
        if is_constant:
            store.operations = []
        self.stores.append(store)

    def _seen(
        self, buffer: Buffer, indices: tuple[IndexSum, ...]
    ) -> tuple[Buffer, tuple[IndexSum, ...]]:
        """An access of a view as one of the buffer."""
        view = self.views.get(buffer)
        if view is None:
            return buffer, indices
        source, lows = view
        sums = list(lows)
        for dim, index in enumerate(reversed(indices), 1):
            if dim <= len(sums):
                sums[-dim] = plus(sums[-dim], index)
        return source, tuple(sums)

    # -- operations of values ----------------------------------------------------------------------

    def _count(self, value: Expr, store: Store) -> None:
        """Add the operations and loads of a value, as often as they are in its text."""
        order = _parents_first(value)
        times = dict.fromkeys(order, 0)
        times[value] = 1
        self.known = {}
        for e in order:
            if times[e]:
                for part_of_e in self._counted(e, times[e], store):
                    times[part_of_e] += times[e]
        self.known = None

    def _counted(self, e: Any, times: int, store: Store) -> list[Expr]:
        """Add an expression that is there several times, without the parts that are returned."""
        kind = type(e)
        if kind is Var:
            _add(store.operations, operations(self.forms.get(e, constant(0))), times)
            return []
        if kind in _LEAVES:
            return []
        if kind is BufferLoad:
            indices = tuple([self._index(index) for index in e.indices])
            store.accesses.append(BufferAccess(*self._seen(e.buffer, indices), False, times))
            return [index for index in e.indices if self._form(index) is None]
        if kind in _SLOTS:
            is_float = dtypes.is_float(dtypes.element(e.dtype))
            form = None if is_float else self._form(e)
            if form is not None:
                _add(store.operations, operations(form), times)
                return []
            store.operations[(FLOATS if is_float else INTS) + _SLOTS[kind]] += times
        elif kind in _COMPARISONS:
            if self._is_known(e):
                return []
            store.operations[INTS + _CMP] += times
        elif kind in (E.And, E.Or, E.Not):
            store.operations[BOOL] += times
        elif kind is E.Select:
            store.operations[SELECT] += times
        elif kind is Call:
            self._count_call(e, times, store)
        elif kind is E.Let:
            self.forms[e.var] = self._index(e.value)
        return [child for child in children(e) if isinstance(child, Expr)]

    def _count_call(self, e: Call, times: int, store: Store) -> None:
        effect = call_effect(e.op)
        if effect not in (Effect.PURE, Effect.UPDATE_STATE):
            return
        is_float = dtypes.is_float(dtypes.element(e.dtype))
        slot = _MATH if effect == Effect.PURE else _OTHER
        store.operations[(FLOATS if is_float else INTS) + slot] += times

    def _is_known(self, e: Any) -> bool:
        """Whether a comparison of indices has the same result in all iterations."""
        a, b = self._form(e.a), self._form(e.b)
        if a is None or b is None:
            return False
        low, last = bounds(plus(a, b, -1))
        return low > 0 or last < 0 or (type(e) in (E.LT, E.LE, E.GT, E.GE) and low == last)

    # -- indices -----------------------------------------------------------------------------------

    def _index(self, e: Expr) -> IndexSum:
        """The form of an index; its parts with unknown values depend on the loops it has."""
        form = self._form(e)
        if form is None:
            parts = _parents_first(e)
            forms = [self.forms[expr] for expr in parts if type(expr) is Var and expr in self.forms]
            form = part("?", tuple(forms), key=e)
        return form

    def _form(self, e: Any) -> IndexSum | None:
        """The form of an index; None of an expression that is not a function of loops."""
        if self.known is None:
            return self._new_form(e)
        if e not in self.known:
            self.known[e] = self._new_form(e)
        return self.known[e]

    def _new_form(self, e: Any) -> IndexSum | None:
        kind = type(e)
        if kind is Var:
            return self.forms.get(e)
        if kind is IntImm:
            return constant(e.value)
        if kind is Cast:
            return self._form(e.value) if dtypes.is_integral(e.dtype) else None
        if kind is E.Ramp or kind is E.Broadcast:
            return self._form(e.base if kind is E.Ramp else e.value)
        if kind not in _SLOTS:
            return None
        a = self._form(e.a)
        b = None if a is None else self._form(e.b)
        if a is None or b is None:
            return None
        if kind is E.Add or kind is E.Sub:
            return plus(a, b, 1 if kind is E.Add else -1)
        if kind is E.Min or kind is E.Max:
            return part("min" if kind is E.Min else "max", (a, b))
        return self._scaled(kind, a, b)

    def _scaled(self, kind: type, a: IndexSum, b: IndexSum) -> IndexSum:
        """A product, quotient or remainder; one of two variable forms is unknown."""
        if kind is E.Mul and not a.terms:
            a, b = b, a
        if not b.terms and kind is E.Mul:
            return times(a, b.base)
        if not b.terms and b.base > 0:
            is_quotient = kind in (E.FloorDiv, E.Div)
            return floor_divided(a, b.base) if is_quotient else remainder(a, b.base)
        return part("?", (a, b), key=kind)
