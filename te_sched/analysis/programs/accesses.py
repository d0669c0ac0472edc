"""Who touches which elements of which memory, and when: the accesses of a program.

Reads programs of any level, from what `schedule_ops` leaves to what is compiled. Views that extern
operations and tensor intrinsics declare are resolved to the buffers they are views of; a function
from outside that gets a view touches all of it, as declared. Must not know what is judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Add, Expr, IntImm, Not, Ramp, Var
from te_sched.ir.occurrences import Occurrence, occurrences_of
from te_sched.ir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    While,
)
from te_sched.ir.views import Views
from te_sched.ir.visitor import substitute
from te_sched.lower.device.kernel import launched
from te_sched.lower.flatten_storage import default_scope

AT_ONCE = frozenset(("parallel", "vectorized", "block", "thread", "virtual"))
OF_BLOCK = ("shared", "warp", "wmma")  # scopes of memory that threads have in common
_ONE = IntImm(1)
Region = tuple[tuple[Expr, Expr], ...]  # begin and extent by dimension


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop, or an axis of threads. `kind` is one of For's, "block", "thread" or "virtual"."""

    var: Var
    min: Expr
    extent: Expr
    kind: str
    tag: str = ""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.tag or self.var.name


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What a pointer points to. Each iteration of `loops` has its own; `region` is what there is of
    it, as begin and extent by dimension; `shape` what it is declared to be.
    """

    name: str
    region: Region
    shape: tuple[Expr, ...]
    loops: tuple[Loop, ...] = ()
    scope: str = "global"
    is_argument: bool = False
    is_in_kernel: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One read or write. `index` and `sizes` say which elements, None where nobody knows.

    `order` tells where in the program it stands: numbers of statements, and loops. `conditions`
    hold when it happens; `is_sure` says whether they are all that it needs. `by_call` marks what a
    function from outside does with a region that it gets, `by_user` what stands in a body that a
    user wrote.
    """

    data: Var
    writes: bool
    index: tuple[Expr, ...] | None
    sizes: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]
    order: tuple[Any, ...]
    is_sure: bool = True
    store: BufferStore | None = None
    by_call: bool = False
    by_user: bool = False


@dataclass(slots=True)
class Program:
    """The accesses of a function, its memory, and what lets stand for."""

    func: PrimFunc
    accesses: list[Access] = field(default_factory=list)
    memory: dict[Var, Memory] = field(default_factory=dict)
    values: dict[Var, Expr] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)


def accesses_of(func: PrimFunc) -> Program:
    """All accesses of a function."""
    collector = _Collector(func)
    collector.statement(func.body)
    return collector.program


class _Collector:
    """Walks a function in the order in which it runs."""

    def __init__(self, func: PrimFunc) -> None:
        self.program = Program(func)
        self.views = Views()
        self.tags: dict[str, Var] = {}  # of a kernel: the first variable of each axis
        self.open_tags: set[str] = set()
        self.renames: dict[Var, Expr] = {}
        self.renamed: dict[tuple[Expr, ...], tuple[Expr, ...]] = {}
        self.loops: tuple[Loop, ...] = ()
        self.conditions: tuple[Expr, ...] = ()
        self.order: tuple[Any, ...] = ()
        self.is_sure = True
        self.by_user = func.origin != "schedule"
        for buffer in func.buffer_map.values():
            self.program.memory[buffer.data] = Memory(
                buffer.name, _whole(buffer.shape), buffer.shape, is_argument=True
            )

    # -- statements --------------------------------------------------------------------------------

    def statement(self, node: Any) -> None:
        """Collect what a statement does."""
        kind = type(node)
        if kind is SeqStmt:
            outside = self.order
            for number, part in enumerate(node.seq):
                self.order = (*outside, number)
                self.statement(part)
            self.order = outside
        elif kind is BufferStore:
            self.store(node)
        elif kind is AttrStmt:
            self.attribute(node)
        elif kind is BufferRealize:
            self.realize(node)
        else:
            for one in occurrences_of(node):
                self.touched(one)
            self.below(node, kind)

    def below(self, node: Any, kind: type) -> None:
        """Collect what the statements below a statement do."""
        if kind is For:
            tag = node.thread_binding.thread_tag if node.thread_binding is not None else ""
            how = _thread_kind(tag) if tag else node.kind
            low, extent = self.rename((node.min, node.extent))
            self.inside(Loop(node.loop_var, low, extent, how, tag), node.body)
        elif kind is IfThenElse:
            self.under(node.condition, node.then_case)
            if node.else_case is not None:
                self.order, outside = (*self.order, 1), self.order
                self.under(Not(node.condition), node.else_case)
                self.order = outside
        elif kind is LetStmt:
            self.program.values[node.var] = self.rename((node.value,))[0]
            self.statement(node.body)
        elif kind is Allocate:
            data, shape = node.buffer_var, tuple(node.extents)
            self.add_memory(data, data.name, _whole(shape), shape, data.scope or "global")
            self.statement(node.body)
        elif kind is While:
            was_sure, self.is_sure = self.is_sure, False
            self.statement(node.body)
            self.is_sure = was_sure
        elif kind is AssertStmt:
            self.under(node.condition, node.body)

    def inside(self, loop: Loop, body: Stmt) -> None:
        """Collect what a loop does."""
        loops, order = self.loops, self.order
        self.program.loops.append(loop)
        self.loops, self.order = (*loops, loop), (*order, loop)
        self.statement(body)
        self.loops, self.order = loops, order

    def under(self, condition: Expr, body: Stmt) -> None:
        """Collect what happens where a condition holds."""
        outside = self.conditions
        self.conditions = (*outside, *self.rename((condition,)))
        self.statement(body)
        self.conditions = outside

    def realize(self, node: BufferRealize) -> None:
        """Note a temporary; arguments are there anyway."""
        buffer = node.buffer
        if buffer.data not in self.program.memory:
            lows = self.rename(tuple(bound.min for bound in node.bounds))
            extents = self.rename(tuple(bound.extent for bound in node.bounds))
            region = tuple(zip(lows, extents, strict=True))
            scope = buffer.data.scope or self.default_scope()
            self.add_memory(buffer.data, buffer.name, region, buffer.shape, scope)
        self.statement(node.body)

    def default_scope(self) -> str:
        """Where a temporary lives that is given no scope."""
        tags = [loop.tag for loop in self.loops if loop.kind in ("block", "thread")]
        return default_scope(tags[-1] if tags else "")

    def add_memory(
        self, data: Var, name: str, region: Region, shape: tuple[Expr, ...], scope: str
    ) -> None:
        """Note memory that is allocated here."""
        in_kernel = any(loop.kind in ("block", "thread") for loop in self.loops)
        memory = Memory(name, region, shape, self.owners(scope), scope, is_in_kernel=in_kernel)
        self.program.memory[data] = memory

    def owners(self, scope: str) -> tuple[Loop, ...]:
        """The loops of which each iteration has memory of its own: threads may share theirs."""
        if not scope.startswith(OF_BLOCK):
            return self.loops
        return tuple(loop for loop in self.loops if loop.kind != "thread")

    def attribute(self, node: AttrStmt) -> None:
        """Threads and views; other attributes say nothing here."""
        if node.key == "virtual_thread":
            axis = node.node
            tag = axis.thread_tag
            return self.inside(Loop(axis.var, IntImm(0), node.value, "virtual", tag), node.body)
        if node.key == "thread_extent":
            return self.threads(node, node.node.var, node.node.thread_tag)
        if node.key == "buffer_bind_scope":
            self.views.bind(node)
        outside, self.by_user = self.by_user, self.by_user or node.key == "extern_scope"
        self.statement(node.body)
        self.by_user = outside

    def threads(self, node: AttrStmt, var: Var, tag: str) -> None:
        """An axis of threads; all variables of one axis have the same value in a kernel."""
        is_outermost = not self.open_tags
        if is_outermost:
            self.tags, self.renames, self.renamed = {}, {}, {}
            # a stage may name threads that are launched later on
            for other, tag_of_other in launched(node).items():
                known = self.tags.setdefault(tag_of_other, other)
                if known is not other:
                    self.renames[other] = known
        known = self.tags[tag]
        if tag in self.open_tags:
            self.statement(node.body)
        else:
            self.open_tags.add(tag)
            extent = self.rename((node.value,))[0]
            self.inside(Loop(known, IntImm(0), extent, _thread_kind(tag), tag), node.body)
            self.open_tags.remove(tag)
        if is_outermost:
            self.renames = {}

    def rename(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Expressions with one variable for each axis of threads."""
        if not self.renames:
            return exprs
        found = self.renamed.get(exprs)
        if found is None:
            found = self.renamed[exprs] = tuple([substitute(e, self.renames) for e in exprs])
        return found

    def store(self, node: BufferStore) -> None:
        """A store reads first, then writes."""
        outside = self.order
        *reads, write = occurrences_of(node)
        self.order = (*outside, 0)
        for one in reads:
            self.touched(one, node)
        self.order = (*outside, 1)
        self.touched(write, node)
        self.order = outside

    # -- accesses ----------------------------------------------------------------------------------

    def touched(self, one: Occurrence, store: BufferStore | None = None) -> None:
        """Collect one access of a statement."""
        if one.is_atomic:
            return  # races with no other one
        outside = self.conditions
        for guard in one.guards:
            if isinstance(guard, tuple):
                self.program.values[guard[0]] = self.rename((guard[1],))[0]
            else:
                self.conditions = (*self.conditions, *self.rename((guard,)))
        if one.buffer is not None:
            self.touch(one, store)
        else:
            self.given(one)
        self.conditions = outside

    def given(self, one: Occurrence) -> None:
        """A function from outside gets a pointer, and touches what it was declared to."""
        data, view, memory = one.data, self.views.get(one.data), self.program.memory.get(one.data)
        index: tuple[Expr, ...] | None = None
        sizes: tuple[Expr, ...] = () if one.extent is None else (one.extent,)
        if view is not None:
            data, index, sizes = view.data, view.begins, view.extents
        elif one.extent is not None and memory is not None and len(memory.region) == 1:
            index = one.indices
        # what is declared for reading and writing may be either
        is_sure = self.is_sure and index is not None and not (one.reads and one.writes)
        self.add(data, one.writes, index, sizes, None, is_sure, True)

    def touch(self, one: Occurrence, store: BufferStore | None) -> None:
        """One element, or the lanes of a vector."""
        data, sizes = one.data, [_ONE] * len(one.indices)
        index: list[Expr] | None = list(one.indices)
        for place, part in enumerate(one.indices):
            if type(part) is Ramp:
                if not ops.is_const(part.stride, 1):
                    return self.lanes(one, place, part, store)
                assert index is not None
                index[place], sizes[place] = part.base, IntImm(part.lanes)
            elif dtypes.lanes(part.dtype) > 1:
                index = None
                break
        view = self.views.get(data)
        if view is not None:
            data = view.data
            if index is not None and len(index) <= len(view.begins):
                sizes = [_ONE] * (len(view.begins) - len(index)) + sizes
                index = list(view.outside(index))
            else:
                index = None
        memory = self.program.memory.get(data)
        if index is not None and memory is not None and len(index) != len(memory.region):
            is_flat = len(memory.region) > 1 and len(index) == 1 and memory.is_argument
            index = index if is_flat else None
        if index is None:
            self.add(data, one.writes, None, (), store)
        else:
            self.add(data, one.writes, tuple(index), tuple(sizes), store, self.is_sure)

    def lanes(self, one: Occurrence, place: int, ramp: Ramp, store: BufferStore | None) -> None:
        """The lanes of a vector that are not side by side, as a loop over them."""
        lane = Var("lane", ramp.base.dtype)
        loop = Loop(lane, IntImm(0), IntImm(ramp.lanes), "serial")
        outside, order = self.loops, self.order
        self.loops, self.order = (*outside, loop), (*order, loop)
        part = Add(ramp.base, ops.mul(lane, ramp.stride))
        indices = (*one.indices[:place], part, *one.indices[place + 1 :])
        self.touch(replace(one, indices=indices), store)
        self.loops, self.order = outside, order

    def add(
        self,
        data: Var,
        writes: bool,
        index: tuple[Expr, ...] | None,
        sizes: tuple[Expr, ...],
        store: BufferStore | None,
        is_sure: bool = False,
        by_call: bool = False,
    ) -> None:
        """Note an access."""
        self.program.accesses.append(
            Access(
                data,
                writes,
                None if index is None else self.rename(index),
                sizes,
                self.loops,
                self.conditions,
                self.order,
                is_sure,
                store,
                by_call,
                self.by_user,
            )
        )


def _whole(shape: Iterable[Expr]) -> Region:
    return tuple((IntImm(0), extent) for extent in shape)


def _thread_kind(tag: str) -> str:
    if tag.startswith("blockIdx"):
        return "block"
    return "virtual" if tag.startswith("vthread") or tag.startswith("cthread") else "thread"
