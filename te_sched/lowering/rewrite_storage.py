"""Share memory between allocations and move them outwards (TVM's StorageRewrite).

Before::

    for i in range(64):
        allocate B[64]
        for j in range(64): B[j] = A[i * 64 + j]
        allocate C[64]
        for j in range(64): C[j] = B[j] * 2
        ...

After::

    allocate B[64]
    for i in range(64):
        for j in range(64): B[j] = A[i * 64 + j]
        for j in range(64): B[j] = B[j] * 2
        ...

An allocation is live from the first to the last statement that accesses it, among the statements of
its scope. It moves to the top of its region: the launch of threads or the parallel loop around it,
or else the function; an allocation whose size depends on a loop in between is not moved in programs
to run (`to_run`). Two allocations of a region with disjoint lifetimes share memory if their sizes
are similar; a statement that computes every element of one from the same element of another may do
so in place. Memory of a scope with a tag ("local.L0A"), of which a device has one, becomes one
allocation, with the parts one after the other. Finally, memory that is only accessed in whole
vectors gets a vector type (`vectorize_storage`).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from te_sched.arith.aliasing import Apart, Touch
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.forms import Forms
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.expr import Buffer, Expr, Range, Var
from te_sched.ir.kernel import memory_scope
from te_sched.ir.roles import EVERY_ROLE
from te_sched.ir.stmt import Allocate, PrimFunc, Stmt
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import AccessMapper, children, replace, variables_of, walk
from te_sched.lowering.statements import rebuilt
from te_sched.lowering.vectorize_storage import vectorize_storage

# A free slot is reused for sizes that differ from its own by at most this factor.
_SIZE_RANGE = 16
# Up to this size, and always in these scopes, memory is in registers: sharing it has no effect.
_REGISTER_BITS = 32
# Attributes of statements whose accesses are not all seen.
_UNKNOWN_SCOPES = ("extern_scope", "volatile_scope")


def rewrite_storage(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """Share memory between allocations and move them outwards."""
    history = _History(settings)
    history.visit(func.body)
    if not history.allocations:
        return vectorize_storage(func, settings) if history.has_vectors else func
    plan = _SlotPlan(history, _is_typed(func), settings)
    func = func.with_body(_SlotRewriter(plan, settings).region_body(None, func.body))
    return vectorize_storage(func, settings) if history.has_vectors else func


@dataclass(slots=True, eq=False)
class _Event:
    """A leaf statement that accesses memory, or entry to or exit from a compound statement.

    `partner` is the position of the exit for an entry, of the entry for an exit, and None
    otherwise.
    """

    stmt: Stmt
    touched: list[Var] = field(default_factory=list)
    partner: int | None = None


@dataclass(slots=True, eq=False)
class _Allocation:
    """An Allocate and the depth of the scope in which it was made. `widest` is the size of the
    largest element that is accessed, `is_opaque` whether the pointer is used by itself.
    """

    stmt: Allocate
    depth: int
    widest: int = 0
    is_opaque: bool = False


class _History:
    """The events of a program in order, each with the memory that it accesses. An access belongs to
    the statement that is directly in the scope of the allocation.
    `has_vectors`: some access is of a ramp. `has_pointers`: some let is of a pointer.
    """

    def __init__(self, settings: Lowering) -> None:
        self.events: list[_Event] = []
        self.allocations: dict[Var, _Allocation] = {}
        self.open: list[list[Var]] = []
        self.is_in_threads = False
        self.is_in_region = False
        self.has_vectors = False
        self.has_pointers = False
        self.to_run = settings.to_run
        self.inner: set[Var] = set()  # variables of loops inside of the region

    def visit(self, node: Any) -> None:
        """Record a statement or an expression."""
        kind = type(node)
        if kind in _SCOPES or (kind is S.AttrStmt and self._is_scope(node)):
            self._scope(node)
        elif kind in _LEAVES:
            self._leaf(node)
        elif kind is Allocate:
            if not (self.to_run and self._depends_on_loops(node)):
                self.allocations[node.buffer_var] = _Allocation(node, len(self.open))
            self._below(node)
        elif kind is Var:
            self._touch(node)
            if node in self.allocations:
                self.allocations[node].is_opaque = True
        elif kind is E.BufferLoad or kind is S.BufferStore:
            self._below(node)
            self._access(node)
        else:
            self.has_pointers |= kind is S.LetStmt and node.var.pointer is not None
            self._below(node)

    def _depends_on_loops(self, node: Allocate) -> bool:
        """Whether the size is known only inside of loops of the region."""
        return not self.inner.isdisjoint(variables_of(*node.extents))

    def _below(self, node: Any) -> None:
        for child in children(node):
            self.visit(child)

    def _touch(self, var: Var) -> None:
        allocation = self.allocations.get(var)
        if allocation is not None and allocation.depth < len(self.open):
            self.open[allocation.depth].append(var)

    def _access(self, node: Any) -> None:
        buffer = node.buffer
        self._touch(buffer.data)
        allocation = self.allocations.get(buffer.data)
        if allocation is not None:
            allocation.widest = max(allocation.widest, _element_bits(buffer.dtype))
        if node.indices and type(node.indices[-1]) is E.Ramp:
            self.has_vectors = True

    def _is_scope(self, node: S.AttrStmt) -> bool:
        return node.key in ("extern_scope", "virtual_thread") or (
            node.key == "thread_extent" and not self.is_in_threads
        )

    def _leaf(self, node: Stmt) -> None:
        if not (self.allocations or self.has_pointers):
            return
        self.open.append([])
        self._below(node)
        if type(node) is S.BufferStore:
            self._access(node)
        touched = self.open.pop()
        if touched:
            self.events.append(_Event(node, touched))

    def _scope(self, node: Stmt) -> None:
        launches = type(node) is S.AttrStmt and node.key == "thread_extent"
        begin = len(self.events)
        self.events.append(_Event(node))
        self.open.append([])
        self.is_in_threads |= launches
        if _is_region(node) and not self.is_in_region:
            inner, self.inner, self.is_in_region = self.inner, set(), True
            self._below(node)
            self.inner, self.is_in_region = inner, False
        else:
            if type(node) is S.For:
                self.inner.add(node.loop_var)
            self._below(node)
        self.is_in_threads &= not launches
        self.events[begin].partner = len(self.events)
        self.events.append(_Event(node, self.open.pop(), begin))


_SCOPES = {S.For, S.While, S.IfThenElse, S.AssertStmt}
_LEAVES = {S.BufferStore, S.Evaluate}


def _lives(events: list[_Event]) -> tuple[dict[int, list[Var]], dict[int, list[Var]]]:
    """The memory whose lifetime begins and ends at the statement of each event. Both are keyed by
    the position of the statement's first event.
    """
    begins: dict[int, list[Var]] = {}
    ends: dict[int, list[Var]] = {}
    seen: set[Var] = set()
    for position in range(len(events) - 1, -1, -1):
        event = events[position]
        first = position if event.partner is None else min(position, event.partner)
        for var in event.touched:
            if var not in seen:
                seen.add(var)
                ends.setdefault(first, []).append(var)
    seen.clear()
    for position, event in enumerate(events):
        if event.partner is not None and event.partner < position:
            continue
        last = event if event.partner is None else events[event.partner]
        for var in last.touched:
            if var not in seen:
                seen.add(var)
                begins.setdefault(position, []).append(var)
    return begins, ends


@dataclass(slots=True, eq=False)
class _Slot:
    """Memory at the top of a region (None: of the function), shared by allocations. An arena is the
    first of several slots, and has room for all of them.
    """

    region: Stmt | None
    scope: str
    bits: int  # 0: symbolic
    allocations: list[Allocate]
    arena: _Slot | None = None
    begin: int = 0  # bits before the slot in its arena
    room: int = 0  # bits of the arena

    @property
    def var(self) -> Var:
        """The pointer of the first allocation replaces all of them."""
        return self.allocations[0].buffer_var

    @property
    def dtype(self) -> str:
        """The element type of the memory."""
        return self.allocations[0].dtype


class _SlotPlan:
    """The allocations that share a slot. Visits the events with a list of free slots."""

    def __init__(self, history: _History, is_typed: bool, settings: Lowering) -> None:
        self.is_typed, self.settings = is_typed, settings
        self.slots: list[_Slot] = []
        self.slot_of: dict[Var, _Slot] = {}
        self.allocations = history.allocations
        self.region: Stmt | None = None
        self.free: list[tuple[int, _Slot]] = []  # of constant size, sorted by it
        self.free_symbolic: list[_Slot] = []
        self._follow(history.events)
        self._join_tagged()

    def _join_tagged(self) -> None:
        """Put the slots of a region in the same tagged scope into one arena."""
        arenas: dict[tuple[Stmt | None, str], _Slot] = {}
        for slot in self.slots:
            scope = storage_scope(slot.scope)
            if not scope.has_own_memory or not self._may_move(slot):
                continue
            arena = arenas.setdefault((slot.region, slot.scope), slot)
            allocations = [self.allocations[allocate.buffer_var] for allocate in slot.allocations]
            align = math.lcm(
                8 * scope.alignment, *[allocation.widest or 1 for allocation in allocations]
            )
            slot.arena = arena
            slot.begin = math.ceil(arena.room / align) * align
            arena.room = slot.begin + slot.bits

    def _may_move(self, slot: _Slot) -> bool:
        """Whether all accesses to a slot are known, and have a place after its begin."""
        flat = all(len(allocate.extents) == 1 for allocate in slot.allocations)
        opaque = any(
            self.allocations[allocate.buffer_var].is_opaque for allocate in slot.allocations
        )
        return slot.bits > 0 and flat and not opaque

    def _follow(self, events: list[_Event]) -> None:
        begins, ends = _lives(events)
        kept: set[Var] = set()  # their slot was taken by another in place
        for position, event in enumerate(events):
            first = position if event.partner is None else min(position, event.partner)
            dying = ends.get(first, [])
            if first == position:
                self._give_slots(event.stmt, begins.get(position, []), dying, kept)
            if event.partner is not None and _is_region(event.stmt):
                self._cross_region(event.stmt, is_begin=first == position)
            if event.partner is None or first != position:
                for var in dying:
                    if var not in kept:
                        self._release(var)

    def _cross_region(self, stmt: Stmt, is_begin: bool) -> None:
        if self.region is None and is_begin:
            self.region = stmt
        elif self.region is stmt and not is_begin:
            self.region = None
            self.free = [entry for entry in self.free if entry[1].region is not stmt]
            self.free_symbolic = [slot for slot in self.free_symbolic if slot.region is not stmt]

    def _give_slots(self, stmt: Stmt, born: list[Var], dying: list[Var], kept: set[Var]) -> None:
        for var in born:
            allocate = self.allocations[var].stmt
            source = self._in_place_source(stmt, allocate, dying, kept) if len(born) <= 2 else None
            if source is not None:
                kept.add(source)
                slot = self.slot_of[source]
            else:
                slot = self._find_slot(allocate)
            slot.allocations.append(allocate)
            self.slot_of[var] = slot

    def _in_place_source(
        self, stmt: Stmt, allocate: Allocate, dying: list[Var], kept: set[Var]
    ) -> Var | None:
        """Memory whose lifetime ends in this statement and that its result may overwrite."""
        for source in dying:
            slot = self.slot_of.get(source)
            if (
                slot is not None
                and source not in kept
                and slot.scope == memory_scope(allocate.buffer_var)
                and slot.region is self.region
                and slot.dtype == allocate.dtype
                and slot.bits == _constant_bits(allocate)
                and _InPlaceCheck(allocate.buffer_var, source, self.settings).holds(stmt)
            ):
                return source
        return None

    def _find_slot(self, allocate: Allocate) -> _Slot:
        bits = _constant_bits(allocate)
        scope = memory_scope(allocate.buffer_var)
        slot = None
        if not _is_in_registers(scope, allocate.dtype, bits):
            slot = self._find_free(allocate, scope, bits)
        if slot is None:
            slot = _Slot(self.region, scope, bits, [])
            self.slots.append(slot)
        return slot

    def _find_free(self, allocate: Allocate, scope: str, bits: int) -> _Slot | None:
        """A free slot: the smallest that is large enough, else the largest that is not."""
        if not bits:
            for position, slot in enumerate(self.free_symbolic):
                if self._fits(slot, allocate, scope):
                    return self.free_symbolic.pop(position)
            return None
        middle = bisect.bisect_left(self.free, bits, key=_size)
        last = bisect.bisect_right(self.free, bits * _SIZE_RANGE, key=_size)
        first = bisect.bisect_left(self.free, bits // _SIZE_RANGE, key=_size)
        for position in (*range(middle, last), *range(middle - 1, first - 1, -1)):
            candidate: _Slot = self.free[position][1]
            if self._fits(candidate, allocate, scope, is_smaller=position < middle):
                candidate.bits = max(candidate.bits, bits)
                del self.free[position]
                return candidate
        return None

    def _fits(self, slot: _Slot, allocate: Allocate, scope: str, is_smaller: bool = True) -> bool:
        if slot.region is not self.region or slot.scope != scope:
            return False
        if dtypes.lanes(slot.dtype) != dtypes.lanes(allocate.dtype):
            return False
        if self.is_typed and scope == "shared" and slot.dtype != allocate.dtype:
            return False
        return not is_smaller or slot.dtype == allocate.dtype

    def _release(self, var: Var) -> None:
        slot = self.slot_of[var]
        if _is_in_registers(slot.scope, slot.dtype, slot.bits):
            return
        if slot.bits:
            bisect.insort_right(self.free, (slot.bits, slot), key=_size)
        else:
            self.free_symbolic.append(slot)


def _size(entry: tuple[int, _Slot]) -> int:
    return entry[0]


def _is_region(stmt: Stmt) -> bool:
    """Whether memory is private to this statement: each thread has its own."""
    if type(stmt) is S.For:
        return stmt.kind == "parallel"
    return type(stmt) is S.AttrStmt and stmt.key in S.THREAD_KEYS


def _constant_bits(allocate: Allocate) -> int:
    """The size in bits; 0 when it is not constant."""
    return _constant_count(allocate) * _element_bits(allocate.dtype)


def _constant_count(allocate: Allocate) -> int:
    if all(type(extent) is E.IntImm for extent in allocate.extents):
        return math.prod(extent.value for extent in allocate.extents)  # type: ignore[attr-defined]
    return 0


def _element_bits(dtype: str) -> int:
    return dtypes.bits(dtype) * dtypes.lanes(dtype)


def _is_in_registers(scope: str, dtype: str, bits: int) -> bool:
    storage = storage_scope(scope)
    if storage.has_own_memory or (storage.tag and not storage.is_register):
        return False
    if storage.is_register or dtypes.parse(dtype).code == "handle":
        return True
    return 0 < bits <= _REGISTER_BITS


def _is_typed(func: PrimFunc) -> bool:
    """Whether shared memory has one type, as in Vulkan."""
    return getattr(func.attrs.get("target"), "kind", None) == "vulkan"


class _InPlaceCheck:
    """Whether a statement may write `target` over `source`: it reads `source` only to write the
    same element of `target`, once or unchanged, and never reads `target`.
    """

    def __init__(self, target: Var, source: Var, settings: Lowering) -> None:
        self.target = target
        self.source = source
        self.settings = settings
        self.store: S.BufferStore | None = None
        self.nesting = 0
        self.loops: dict[Var, Range] = {}  # around what is visited
        self.lets: dict[Var, Expr] = {}
        self.conditions: list[Expr] = []
        self.stores: list[tuple[Touch, dict[Var, Range]]] = []  # to `target`, with their loops

    def holds(self, node: Any) -> bool:
        """Whether the condition holds for everything in a statement or an expression."""
        kind = type(node)
        if kind is Var:
            return node is not self.target and node is not self.source
        if kind is S.BufferStore:
            return self._store_holds(node)
        if kind is E.BufferLoad:
            return self._load_holds(node)
        if kind is S.While or (kind is S.AttrStmt and node.key in _UNKNOWN_SCOPES):
            return False
        if kind is S.For:
            return self._loop_holds(node, node.loop_var, Range(node.min, node.extent))
        if kind is S.AttrStmt and node.key in S.THREAD_KEYS:
            var = node.node.var
            return self._loop_holds(node, var, Range(ops.const(0, var.dtype), node.value))
        if kind is S.LetStmt:
            self.lets[node.var] = node.value
        if kind is S.IfThenElse and node.else_case is None:
            return self.holds(node.condition) and self._body_holds(node)
        return all(self.holds(child) for child in children(node))

    def _body_holds(self, node: S.IfThenElse) -> bool:
        self.conditions.append(node.condition)
        holds = self.holds(node.then_case)
        self.conditions.pop()
        return holds

    def _loop_holds(self, node: Any, var: Var, values: Range) -> bool:
        self.loops[var] = values
        holds = all(self.holds(child) for child in children(node))
        del self.loops[var]
        return holds

    def _store_holds(self, node: S.BufferStore) -> bool:
        self.nesting += 1
        indices_hold = all(self.holds(index) for index in node.indices)
        self.nesting -= 1
        if not indices_hold:
            return False
        if node.buffer.data is not self.target:
            return self.holds(node.value)
        self.store = node
        value_holds = self.holds(node.value)
        self.store = None
        return value_holds and self._is_once(node)

    def _is_once(self, node: S.BufferStore) -> bool:
        """Whether it is known that no element is written before, in another iteration or store; a
        copy may be repeated.
        """
        index: list[Expr] = []
        loops = dict(self.loops)
        for e in node.indices:
            if type(e) is E.Ramp and type(e.lanes) is int:
                lane = Var("lane", e.base.dtype)
                loops[lane] = Range(ops.const(0, lane.dtype), ops.const(e.lanes, lane.dtype))
                e = ops.add(e.base, ops.mul(e.stride, lane))
            if dtypes.lanes(e.dtype) != 1 or any(type(part) is E.BufferLoad for part in walk(e)):
                return False
            index.append(e)
        ones = tuple([ops.const(1, e.dtype) for e in index])
        own = Touch(tuple(index), ones, tuple(self.conditions))
        repeated = [var for var, domain in loops.items() if not ops.is_const(domain.extent, 1)]
        value = node.value
        is_copy = type(value) is E.BufferLoad and value.buffer.data is self.source
        is_once = (is_copy or self._are_apart(own, own, loops, repeated)) and all(
            self._are_apart(own, other, loops | others, [self.target])  # in no iteration
            for other, others in self.stores
        )
        self.stores.append((own, loops))
        return is_once

    def _are_apart(
        self, a: Touch, b: Touch, loops: dict[Var, Range], wanted: Iterable[Var]
    ) -> bool:
        extents = [domain.extent for domain in loops.values()]
        symbols = [(var, e) for e in extents for var in variables_of(e) - loops.keys()]
        sizes = [var for var, extent in symbols if self._is_size(var, extent)]
        forms = Forms(dict.fromkeys(sizes, 1), self.lets)
        for var, values in loops.items():
            forms.bind(var, values.min, values.extent)
        return Apart(forms, wanted, (), ()).is_proved(a, b)

    def _is_size(self, var: Var, extent: Expr) -> bool:
        """Whether a variable is at least 1 if a loop of this extent has iterations."""
        analyzer = Analyzer(self.settings)
        with analyzer.constraint(var < 1):
            return analyzer.can_prove(extent < 1)

    def _load_holds(self, node: E.BufferLoad) -> bool:
        data = node.buffer.data
        if data is self.target or self.nesting:
            return False
        if data is self.source and not self._is_same_element(node):
            return False
        self.nesting += 1
        holds = all(self.holds(index) for index in node.indices)
        self.nesting -= 1
        return holds

    def _is_same_element(self, node: E.BufferLoad) -> bool:
        store = self.store
        if store is None or store.value.dtype != node.dtype:
            return False
        return _keys(store.indices) == _keys(node.indices)


def _keys(exprs: Iterable[Expr]) -> list[Any]:
    return [term_key(expr) for expr in exprs]


class _SlotRewriter(AccessMapper):
    """Puts the slots in place of the allocations."""

    reached = EVERY_ROLE

    def __init__(self, plan: _SlotPlan, settings: Lowering) -> None:
        self.settings = settings
        whole = {var: slot.arena or slot for var, slot in plan.slot_of.items()}
        self.replaced = {var: slot.var for var, slot in whole.items() if slot.var is not var}
        self.used = whole.keys()
        self.begins = {var: slot.begin for var, slot in plan.slot_of.items() if slot.begin}
        self.moved_away = plan.allocations
        self.slots_of_region: dict[int, list[_Slot]] = {}
        for slot in plan.slots:
            if slot.arena is None or slot.arena is slot:
                self.slots_of_region.setdefault(id(slot.region), []).append(slot)

    def region_body(self, region: Stmt | None, body: Stmt) -> Stmt:
        """The body of a region below its slots; the function's is that of None."""
        slots = self.slots_of_region.get(id(region), [])
        old = body
        top: list[Any] = []
        while type(old) is Allocate:
            top.append(old)
            old = old.body
        new = self.visit(old)
        if new is old and [[stmt] for stmt in top] == [slot.allocations for slot in slots]:
            return body
        for slot in reversed(slots):
            new = _allocation(slot, new, self.settings)
        return new

    def visit_Allocate(self, node: Allocate) -> Any:
        body = self.visit(node.body)
        if node.buffer_var in self.moved_away:
            return body
        return replace(node, body=body)

    def visit_DeclBuffer(self, node: DeclBuffer) -> Any:
        """A declaration of memory that nothing uses goes with its allocation."""
        data = node.buffer.data
        is_unused = data in self.moved_away and data not in self.used
        return self.visit(node.body) if is_unused else self.generic(node)

    def visit_region(self, node: S.For | S.AttrStmt) -> Any:
        """A statement that has slots at the top of its body, or any other."""
        if id(node) not in self.slots_of_region:
            return self.generic(node)
        return rebuilt(node, self.visit, lambda body: self.region_body(node, body))

    visit_For = visit_AttrStmt = visit_region

    def visit_Evaluate(self, node: S.Evaluate) -> Any:
        return self.generic(node) if self.replaced else node

    def visit_BufferStore(self, node: S.BufferStore) -> Any:
        return self.visit_access(node) if self.replaced else node

    def visit_Var(self, node: Var) -> Var:
        return self.replaced.get(node, node)

    def renewed(self, node: Any) -> Any:
        """A buffer is renamed to its slot."""
        new = self.generic(node)
        is_moved = type(node) is Buffer and new.data is not node.data
        return replace(new, name=new.data.name) if is_moved else new

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """An index after the begin of the buffer's slot in its arena."""
        begin = self.begins.get(buffer.data, 0) // _element_bits(buffer.dtype)
        if not begin:
            return indices
        index = indices[-1]
        shift: Expr = E.IntImm(begin, dtypes.element(index.dtype))
        if (lanes := dtypes.lanes(index.dtype)) > 1:
            shift = E.Broadcast(shift, lanes)
        return (*indices[:-1], ops.add(index, shift))


def _allocation(slot: _Slot, body: Stmt, settings: Lowering) -> Stmt:
    """A slot as an Allocate that is large enough for each of its allocations."""
    first = slot.allocations[0]
    if slot.room > slot.bits:
        align = 8 * storage_scope(slot.scope).alignment
        room = math.ceil(slot.room / align) * align
        elements = math.ceil(room / _element_bits(first.dtype))
        extents = (E.IntImm(elements, first.extents[0].dtype),)
        return S.Allocate(first.buffer_var, first.dtype, extents, ops.TRUE, body)
    if len({(other.dtype, *_keys(other.extents)) for other in slot.allocations}) == 1:
        return S.Allocate(
            first.buffer_var, first.dtype, first.extents, first.condition, body, first.annotations
        )
    bits: Expr | None = None
    for allocate in slot.allocations:
        size: Expr = ops.const(_element_bits(allocate.dtype))
        for extent in reversed(allocate.extents):
            size = ops.mul(extent, size)
        bits = size if bits is None else ops.maximum(bits, size)
    assert bits is not None
    analyzer = Analyzer(settings)
    element_bits = ops.const(_element_bits(first.dtype))
    is_divisible = analyzer.can_prove(ops.equal(ops.floormod(bits, element_bits), 0))
    count = ops.floordiv(bits, element_bits)
    if not is_divisible:
        count = ops.add(count, 1)
    extent = analyzer.simplify(count)
    return S.Allocate(first.buffer_var, first.dtype, (extent,), ops.TRUE, body)
