"""Who touches which elements of which memory, and when: the accesses of a program.

Reads programs of any level, from what `schedule_ops` leaves to what is compiled. Views that extern
operations and tensor intrinsics declare are resolved to the buffers they are views of; a function
from outside that gets a view touches all of it, as declared. Must not know what is judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    Add,
    And,
    Buffer,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    Let,
    Not,
    Or,
    Ramp,
    Select,
    Var,
)
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
from te_sched.ir.visitor import children, substitute

AT_ONCE = frozenset(("parallel", "vectorized", "block", "thread", "virtual"))
OF_BLOCK = ("shared", "warp", "wmma")  # scopes of memory that threads have in common
_ONE = IntImm(1)


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
    region: tuple[tuple[Expr, Expr], ...]
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


@dataclass(frozen=True, slots=True)
class _View:
    """Where a view begins in what it is a view of; dimensions it leaves out come first."""

    data: Var
    begins: tuple[Expr, ...]
    extents: tuple[Expr, ...]


def accesses_of(func: PrimFunc) -> Program:
    """All accesses of a function."""
    collector = _Collector(func)
    collector.statement(func.body)
    return collector.program


class _Collector:
    """Walks a function in the order in which it runs."""

    def __init__(self, func: PrimFunc) -> None:
        self.program = Program(func)
        self.views: dict[Var, _View] = {}
        self.tags: dict[str, Var] = {}  # of a kernel: the first variable of each axis
        self.open_tags: set[str] = set()
        self.renames: dict[Var, Expr] = {}
        self.renamed: dict[tuple[Expr, ...], tuple[Expr, ...]] = {}
        self.loops: tuple[Loop, ...] = ()
        self.conditions: tuple[Expr, ...] = ()
        self.order: tuple[Any, ...] = ()
        self.is_sure = True
        self.by_user = "from_legacy_te_schedule" not in func.attrs
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
        elif kind is For:
            self.expression(node.min)
            self.expression(node.extent)
            tag = node.thread_binding.thread_tag if node.thread_binding is not None else ""
            how = _thread_kind(tag) if tag else node.kind
            low, extent = self.rename((node.min, node.extent))
            self.inside(Loop(node.loop_var, low, extent, how, tag), node.body)
        elif kind is IfThenElse:
            self.expression(node.condition)
            self.under((node.condition,), node.then_case)
            if node.else_case is not None:
                self.order, outside = (*self.order, 1), self.order
                self.under((Not(node.condition),), node.else_case)
                self.order = outside
        elif kind is AttrStmt:
            self.attribute(node)
        elif kind is LetStmt:
            self.expression(node.value)
            self.program.values[node.var] = self.rename((node.value,))[0]
            self.statement(node.body)
        elif kind is BufferRealize:
            self.realize(node)
        elif kind is Allocate:
            region = tuple((IntImm(0), extent) for extent in node.extents)
            pointer = node.buffer_var.pointer
            scope = (pointer.scope if pointer is not None else "") or "global"
            self.program.memory[node.buffer_var] = Memory(
                node.buffer_var.name,
                region,
                tuple(node.extents),
                self.owners(scope),
                scope,
                is_in_kernel=self.is_in_kernel(),
            )
            self.statement(node.body)
        elif kind is While:
            self.expression(node.condition)
            self.unsure(node.body)
        elif kind is AssertStmt:
            self.under((node.condition,), node.body)
        else:
            for below in children(node):
                if isinstance(below, Stmt):
                    self.statement(below)
                elif isinstance(below, Expr):
                    self.expression(below)

    def inside(self, loop: Loop, body: Stmt) -> None:
        """Collect what a loop does."""
        loops, order = self.loops, self.order
        self.program.loops.append(loop)
        self.loops, self.order = (*loops, loop), (*order, loop)
        self.statement(body)
        self.loops, self.order = loops, order

    def under(self, conditions: Iterable[Expr], body: Any) -> None:
        """Collect what happens where conditions hold."""
        outside = self.conditions
        self.conditions = (*outside, *self.rename(tuple(conditions)))
        if isinstance(body, Stmt):
            self.statement(body)
        else:
            self.expression(body)
        self.conditions = outside

    def unsure(self, body: Stmt) -> None:
        """Collect what may happen, nobody knows when."""
        outside, self.is_sure = self.is_sure, False
        self.statement(body)
        self.is_sure = outside

    def realize(self, node: BufferRealize) -> None:
        """Note a temporary; arguments are there anyway."""
        buffer, scope = node.buffer, node.buffer.scope()
        if buffer.data not in self.program.memory:
            region = tuple((bound.min, bound.extent) for bound in node.bounds)
            self.program.memory[buffer.data] = Memory(
                buffer.name,
                region,
                buffer.shape,
                self.owners(scope),
                scope,
                is_in_kernel=self.is_in_kernel(),
            )
        self.statement(node.body)

    def is_in_kernel(self) -> bool:
        """Whether blocks or threads execute what is collected."""
        return any(loop.kind in ("block", "thread") for loop in self.loops)

    def owners(self, scope: str) -> tuple[Loop, ...]:
        """The loops of which each iteration has memory of its own: threads may share theirs."""
        if not scope.startswith(OF_BLOCK):
            return self.loops
        return tuple(loop for loop in self.loops if loop.kind != "thread")

    def attribute(self, node: AttrStmt) -> None:
        """Threads and views; other attributes say nothing here."""
        if node.key in ("thread_extent", "virtual_thread"):
            axis = node.node
            tag = axis.thread_tag
            if node.key == "virtual_thread":
                self.inside(Loop(axis.var, IntImm(0), node.value, "virtual", tag), node.body)
                return
            self.threads(node, axis.var, tag)
            return
        elif node.key == "buffer_bind_scope":
            self.bind_view(node)
        outside, self.by_user = self.by_user, self.by_user or node.key == "extern_scope"
        self.statement(node.body)
        self.by_user = outside

    def threads(self, node: AttrStmt, var: Var, tag: str) -> None:
        """An axis of threads; all variables of one axis have the same value in a kernel."""
        is_outermost = not self.open_tags
        if is_outermost:
            self.tags, self.renamed = {}, {}
        known = self.tags.setdefault(tag, var)
        if known is not var:
            self.renames[var] = known
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

    def bind_view(self, node: AttrStmt) -> None:
        """Note which region of a buffer a view is."""
        view, buffer = node.node
        numbers = node.value.args if isinstance(node.value, Call) else ()
        begins, extents = tuple(numbers[::2]), tuple(numbers[1::2])
        outer = self.views.get(buffer.data)
        data = buffer.data
        if outer is not None:
            data = outer.data
            begins = _inside(outer.begins, begins)
            extents = (*[_ONE] * (len(begins) - len(extents)), *extents)
        self.views[view.data] = _View(data, begins, extents)

    def store(self, node: BufferStore) -> None:
        """A store reads first, then writes."""
        outside = self.order
        self.order = (*outside, 0)
        for index in node.indices:
            self.expression(index)
        self.expression(node.value, node)
        self.order = (*outside, 1)
        self.touch(node.buffer, True, node.indices, node)
        self.order = outside

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, e: Any, store: BufferStore | None = None) -> None:
        """Collect what evaluating an expression reads."""
        kind = type(e)
        if kind is BufferLoad:
            for index in e.indices:
                self.expression(index, store)
            self.touch(e.buffer, False, e.indices, store)
        elif kind is Select:
            self.expression(e.condition, store)
            self.choice(e.condition, e.true_value, e.false_value, store)
        elif kind is Call:
            self.call(e, store)
        elif kind is And or kind is Or:
            self.expression(e.a, store)
            outside = self.conditions
            self.conditions = (*outside, *self.rename((e.a if kind is And else Not(e.a),)))
            self.expression(e.b, store)
            self.conditions = outside
        elif kind is Let:
            self.expression(e.value, store)
            self.program.values[e.var] = self.rename((e.value,))[0]
            self.expression(e.body, store)
        else:
            for below in children(e):
                self.expression(below, store)

    def choice(self, condition: Expr, first: Expr, second: Expr, store: BufferStore | None) -> None:
        """Collect what the two values of a choice read."""
        outside = self.conditions
        self.conditions = (*outside, *self.rename((condition,)))
        self.expression(first, store)
        self.conditions = (*outside, *self.rename((Not(condition),)))
        self.expression(second, store)
        self.conditions = outside

    def call(self, e: Call, store: BufferStore | None) -> None:
        """Collect what a call touches."""
        if e.op == "tir.if_then_else":
            self.expression(e.args[0], store)
            self.choice(e.args[0], e.args[1], e.args[2], store)
        elif e.op.startswith("tir.atomic_"):
            for arg in e.args[1:]:  # an atomic access races with no other one
                self.expression(arg, store)
        elif e.op == "tir.tvm_thread_allreduce":
            self.all_reduce(e)
        elif e.op == "tir.tvm_access_ptr":
            self.pointer(e)
        elif e.op == "tir.address_of" and type(e.args[0]) is BufferLoad:
            self.unknown(e.args[0].buffer.data)
        else:
            for arg in e.args:
                if type(arg) is Var and (arg in self.program.memory or arg in self.views):
                    self.unknown(arg)
                else:
                    self.expression(arg, store)

    def all_reduce(self, e: Call) -> None:
        """Threads combine values; each gets the results in registers of its own."""
        count = e.args[0].value if isinstance(e.args[0], IntImm) else 0
        condition = e.args[1 + count]
        for value in e.args[1 : 1 + count]:
            self.under((condition,), value)
        for result in e.args[2 + count : 2 + 2 * count]:
            if type(result) is BufferLoad:
                self.touch(result.buffer, True, result.indices, None)

    def pointer(self, e: Call) -> None:
        """A function from outside gets a pointer, and touches what it was declared to."""
        data, offset, extent, mask = e.args[1:5]
        if type(data) is not Var:
            return
        self.expression(offset)
        how = mask.value if isinstance(mask, IntImm) else 3
        view = self.views.get(data)
        index: tuple[Expr, ...] | None = (offset,)
        sizes: tuple[Expr, ...] = (extent,)
        if view is not None:
            data, index, sizes = view.data, view.begins, view.extents
        elif (memory := self.program.memory.get(data)) is None or len(memory.region) != 1:
            index = None
        if how == 3:  # it may do either
            self.add(data, True, index, sizes, None, by_call=True)
        else:
            self.add(data, how == 2, index, sizes, None, self.is_sure and index is not None, True)

    def unknown(self, data: Var) -> None:
        """Somebody gets a pointer and may do anything with it."""
        view = self.views.get(data)
        if view is None:
            self.add(data, True, None, (), None, by_call=True)
        else:
            self.add(view.data, True, view.begins, view.extents, None, by_call=True)

    def touch(
        self, buffer: Buffer, writes: bool, indices: tuple[Expr, ...], store: BufferStore | None
    ) -> None:
        """One element, or the lanes of a vector."""
        data, sizes = buffer.data, [_ONE] * len(indices)
        index: list[Expr] | None = list(indices)
        for place, one in enumerate(indices):
            if type(one) is Ramp:
                stride = one.stride.value if isinstance(one.stride, IntImm) else 0
                if stride != 1:
                    return self.lanes(buffer, writes, indices, place, store)
                assert index is not None
                index[place], sizes[place] = one.base, IntImm(one.lanes)
            elif dtypes.lanes(one.dtype) > 1:
                index = None
                break
        view = self.views.get(data)
        if view is not None:
            data = view.data
            if index is not None and len(index) <= len(view.begins):
                dropped = len(view.begins) - len(index)
                index = list(_inside(view.begins, index))
                sizes = [_ONE] * dropped + sizes
            else:
                index = None
        memory = self.program.memory.get(data)
        if index is not None and memory is not None and len(index) != len(memory.region):
            if len(memory.region) > 1 and len(index) == 1 and memory.is_argument:
                self.add(data, writes, tuple(index), tuple(sizes), store, self.is_sure)
                return
            index = None
        if index is None:
            self.add(data, writes, None, (), store)
        else:
            self.add(data, writes, tuple(index), tuple(sizes), store, self.is_sure)

    def lanes(
        self,
        buffer: Buffer,
        writes: bool,
        indices: tuple[Expr, ...],
        place: int,
        store: BufferStore | None,
    ) -> None:
        """The lanes of a vector that are not side by side, as a loop over them."""
        ramp = indices[place]
        assert type(ramp) is Ramp
        lane = Var("lane", ramp.base.dtype)
        loop = Loop(lane, IntImm(0), IntImm(ramp.lanes), "serial")
        outside, order = self.loops, self.order
        self.loops, self.order = (*outside, loop), (*order, loop)
        one = Add(ramp.base, ops.mul(lane, ramp.stride))
        self.touch(buffer, writes, (*indices[:place], one, *indices[place + 1 :]), store)
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


def _whole(shape: Iterable[Expr]) -> tuple[tuple[Expr, Expr], ...]:
    return tuple((IntImm(0), extent) for extent in shape)


def _inside(begins: tuple[Expr, ...], indices: Iterable[Expr]) -> tuple[Expr, ...]:
    """Indices of a view as indices of what it is a view of."""
    inner = list(indices)
    dropped = len(begins) - len(inner)
    moved = [ops.add(begin, one) for begin, one in zip(begins[dropped:], inner, strict=True)]
    return (*begins[:dropped], *moved)


def _thread_kind(tag: str) -> str:
    if tag.startswith("blockIdx"):
        return "block"
    return "virtual" if tag.startswith("vthread") or tag.startswith("cthread") else "thread"
