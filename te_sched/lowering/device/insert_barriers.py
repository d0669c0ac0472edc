"""Barriers between writes to shared memory and conflicting accesses of other threads.

Two accesses to the same memory, one of them a write, need a barrier between them unless it can be
proved that they never meet, or only within one thread. The kernel is visited in program order, with
the accesses since the last barrier; at the end of a loop, they are compared with those at the
beginning of its body. A barrier is placed where all threads of a block execute it: outside of
conditions and loops that depend on the thread.

    for k in range(8):                            for k in range(8):
        A_shared[tx] = A[k * 16 + tx]                 tvm_storage_sync("shared")
        C[tx] = C[tx] + A_shared[15 - tx]   ->        A_shared[tx] = A[k * 16 + tx]
                                                      tvm_storage_sync("shared")
                                                      C[tx] = C[tx] + A_shared[15 - tx]

The planner tracks conditions and ranges itself instead of using `ir.scopes`: only conditions that
are uniform across threads count, and a body is planned again after a barrier is
inserted. (TVM's name: ThreadSync.) Must not know what kernels compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from typing import Any

from te_sched.arith.aliasing import Apart, Touch
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import plain
from te_sched.arith.forms import Forms
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, Ramp, Range, StringImm, Var
from te_sched.ir.kernel import (
    BARRIER,
    LaunchAxis,
    allocations,
    barrier,
    memory_scope,
    thread_axes,
    with_work,
)
from te_sched.ir.message_text import spelled
from te_sched.ir.occurrences import Occurrence, occurrences_of
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    While,
)
from te_sched.ir.storage_scopes import BLOCK_SCOPES, barrier_of
from te_sched.ir.visitor import replace, statements, substitute, walk
from te_sched.lowering.device.packed_indices import Packed, packed
from te_sched.lowering.statements import sequence
from te_sched.wording import wording


def insert_barriers(kernel: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The kernel with the barriers that its accesses to shared memory require."""
    shared = [node.buffer_var for node in allocations(kernel.body, *BLOCK_SCOPES)]
    axes, body = thread_axes(kernel)
    new = with_barriers(kernel, body, axes, shared, settings)
    return kernel if new is body else with_work(kernel, new)


def with_barriers(
    func: PrimFunc,
    body: Stmt,
    axes: Sequence[LaunchAxis],
    shared: Sequence[Var],
    settings: Lowering,
    scope: str = "shared",
) -> Stmt:
    """A statement of a function with the barriers that accesses to `shared` memory of a scope
    require; the statement itself if no two threads access it.
    """
    threads = [axis for axis in axes if not axis.is_block]
    if not shared or all(ops.is_const(axis.extent, 1) for axis in threads):
        return body
    name = func.attrs.get("global_symbol", "main")
    planner = _Planner(name, threads, frozenset(shared), settings, scope)
    for axis in axes:
        planner.bind(axis.var, Range(IntImm(0, axis.var.dtype), axis.extent))
    return planner.plan(body).body


@dataclass(frozen=True, slots=True)
class _Access:
    """One access to shared memory. `index` is None if it is not known; `ranges` are those of the
    loops around it that were left, `where` its conditions. For an access in a later iteration,
    `moved_from` is the access in any iteration, and the values of its variables in the later one.
    """

    data: Var
    writes: bool
    index: Expr | None
    lanes: int
    ranges: tuple[tuple[Var, Range], ...] = ()
    where: tuple[Expr, ...] = ()
    moved_from: tuple[_Access, dict[Var, Expr]] | None = None

    @property
    def touch(self) -> Touch:
        """The elements, in the form that proofs use."""
        assert self.index is not None
        return Touch((self.index,), (IntImm(self.lanes),), self.where)


@dataclass(slots=True)
class _BarrierPlan:
    """A statement with its barriers, and its accesses before the first and after the last of them.
    `meets` is whether every thread is certain to execute a barrier in it.
    """

    body: Stmt
    head: list[_Access] = field(default_factory=list)
    tail: list[_Access] = field(default_factory=list)
    meets: bool = False

    def closed(self) -> _BarrierPlan:
        """The plan of a statement that may be skipped: accesses before it may reach past it."""
        return (
            _BarrierPlan(self.body, self.head, [*self.head, *self.tail], False)
            if self.meets
            else self
        )


class _Planner:
    """Plans the statements of one kernel."""

    def __init__(
        self,
        kernel: str,
        threads: Sequence[LaunchAxis],
        shared: frozenset[Var],
        settings: Lowering,
        scope: str,
    ) -> None:
        self.kernel, self.threads, self.shared = kernel, threads, shared
        self.scope = scope  # of the barriers
        self.analyzer, self.forms = Analyzer(settings), Forms({}, {})
        self.numbers = frozenset([axis.var for axis in threads if not ops.is_const(axis.extent, 1)])
        self.differing: set[Var] = {axis.var for axis in threads}  # between threads of a block
        self.values: dict[Var, Expr] = {}  # of lets
        self.conditions: tuple[Expr, ...] = ()  # around the statement that is planned
        self.diverges = False  # whether only some threads execute it, or not equally often

    def bind(self, var: Var, domain: Range) -> None:
        """Note the values of a variable."""
        self.analyzer.bind(var, domain)
        low, extent = (substitute(e, self.values) for e in (domain.min, domain.extent))
        self.forms.bind(var, low, extent)

    def plan(self, node: Stmt) -> _BarrierPlan:
        """The plan of a statement."""
        return _PLANS.get(type(node), _Planner.plan_leaf)(self, node)

    # -- statements --------------------------------------------------------------------------------

    def plan_leaf(self, node: Stmt) -> _BarrierPlan:
        if _is_barrier(node):
            return _BarrierPlan(node, meets=True)
        accesses = self.accesses_of(node)
        return _BarrierPlan(node, accesses, accesses)

    def plan_seq(self, node: SeqStmt) -> _BarrierPlan:
        return self.join([self.plan(part) for part in node.seq], node)

    def join(self, parts: Sequence[_BarrierPlan], node: Stmt | None = None) -> _BarrierPlan:
        """One plan after the other, with a barrier where two of them conflict."""
        head: list[_Access] = []
        pending: list[_Access] = []
        met = False
        bodies: list[Stmt] = []
        for part in parts:
            if self.conflict(pending, part.head):
                bodies.append(Evaluate(barrier(self.scope)))
                met, pending = True, []
            if not met:
                head = [*head, *part.head]
            pending = part.tail if part.meets else [*pending, *part.tail]
            met = met or part.meets
            bodies.append(part.body)
        unchanged = (
            isinstance(node, SeqStmt)
            and len(bodies) == len(node.seq)
            and all(a is b for a, b in zip(bodies, node.seq, strict=True))
        )
        return _BarrierPlan(node if unchanged and node else sequence(bodies), head, pending, met)

    def plan_for(self, node: For) -> _BarrierPlan:
        domain = Range(node.min, node.extent)
        uniform = self.is_uniform(node.min) and self.is_uniform(node.extent)
        self.bind(node.loop_var, domain)
        if not uniform:
            self.differing.add(node.loop_var)
            return self.plan_divergent(node, f"the number of iterations of {node.loop_var.name}")
        plan = self.plan(node.body)
        if self.conflict(plan.tail, self.in_later(plan.head, node)):
            plan = self.with_barrier_in(plan, node)
        body = node if plan.body is node.body else replace(node, body=plan.body)
        runs = self.analyzer.can_prove_greater_equal(node.extent, 1)
        loop_plan = _BarrierPlan(
            body, _seen_from(plan.head, node), _seen_from(plan.tail, node), plan.meets
        )
        return loop_plan if runs else loop_plan.closed()

    def in_later(self, accesses: Iterable[_Access], loop: For) -> list[_Access]:
        """Accesses of a loop's body in any later iteration than that of its variable."""
        extent = loop.extent
        if isinstance(extent, IntImm):
            if extent.value <= 1:
                return []
            extent = IntImm(extent.value - 1, extent.dtype)
        distance = Var(f"{loop.loop_var.name}_later", loop.loop_var.dtype)
        self.bind(distance, Range(IntImm(0, distance.dtype), extent))
        later = {loop.loop_var: ops.add(ops.add(loop.loop_var, 1), distance)}
        return [self.moved(access, later) for access in accesses]

    def moved(self, access: _Access, values: dict[Var, Expr]) -> _Access:
        """An access with expressions in the place of variables."""
        values, ranges = dict(values), []
        for var, domain in access.ranges:
            own = Range(substitute(domain.min, values), substitute(domain.extent, values))
            if own.min is not domain.min or own.extent is not domain.extent:
                values[var] = copy = Var(var.name, var.dtype)
                self.bind(copy, own)
                var = copy
            ranges.append((var, own))
        index = None if access.index is None else substitute(access.index, values)
        where = tuple(substitute(condition, values) for condition in access.where)
        moved_from = access, values
        return with_fields(
            access, index=index, ranges=tuple(ranges), where=where, moved_from=moved_from
        )

    def with_barrier_in(self, plan: _BarrierPlan, node: For) -> _BarrierPlan:
        """The body of a loop with a barrier between iterations, where consecutive ones conflict."""
        outer = plan.body
        if type(outer) is AttrStmt and outer.key == "thread_extent":
            inner = self.with_barrier_in(with_fields(plan, body=outer.body), node)
            return with_fields(inner, body=replace(outer, body=inner.body))
        parts = list(plan.body.seq) if isinstance(plan.body, SeqStmt) else [plan.body]
        plans = [self.plan(part) for part in parts]
        for position, part in enumerate(plans):
            if self.conflict(plan.tail, self.in_later(part.head, node)):
                wait = _BarrierPlan(Evaluate(barrier(self.scope)), meets=True)
                return self.join([*plans[:position], wait, *plans[position:]])
            if part.meets:
                break
        wait = _BarrierPlan(Evaluate(barrier(self.scope)), meets=True)
        return self.join([wait, *plans])

    def plan_if(self, node: IfThenElse) -> _BarrierPlan:
        if not self.is_uniform(node.condition):
            return self.plan_divergent(node, f"the condition {spelled(node.condition)}")
        condition = self.accesses_of(Evaluate(node.condition))
        outside = self.conditions
        self.conditions = (*outside, substitute(plain(node.condition), self.values))
        first = self.plan(node.then_case)
        self.conditions = outside
        second = _BarrierPlan(sequence([])) if node.else_case is None else self.plan(node.else_case)
        if self.conflict(condition, first.head) or self.conflict(condition, second.head):
            raise self.error("a condition reads shared memory that its branches write")
        same = first.body is node.then_case
        other = None if node.else_case is None else second.body
        body = node
        if not same or other is not node.else_case:
            body = replace(node, then_case=first.body, else_case=other)
        head = [*condition, *first.head, *second.head]
        tail = [*condition, *first.tail, *second.tail]
        return _BarrierPlan(body, head, [*head, *tail])

    def plan_while(self, node: While) -> _BarrierPlan:
        if not self.is_uniform(node.condition):
            return self.plan_divergent(node, f"the condition {spelled(node.condition)}")
        plan = self.plan(node.body)
        if self.conflict(plan.tail, plan.head):
            plan = self.join([_BarrierPlan(Evaluate(barrier(self.scope)), meets=True), plan])
        condition = self.accesses_of(Evaluate(node.condition))
        body = node if plan.body is node.body else replace(node, body=plan.body)
        accesses = [*condition, *plan.head, *plan.tail]
        return _BarrierPlan(body, accesses, accesses)

    def plan_divergent(self, node: Stmt, why: str) -> _BarrierPlan:
        """A statement that only some threads execute, or not equally often: it must not contain
        barriers."""
        if any(map(_is_barrier, statements(node))):
            raise self.error(f"a barrier is inside of {why}, which differs between threads")
        self.diverges = True
        plan = self.plan(node)
        self.diverges = False
        if plan.body is not node:
            raise self.error(
                f"threads exchange values in shared memory inside of {why}, which differs "
                "between threads"
            )
        return plan

    def plan_let(self, node: LetStmt) -> _BarrierPlan:
        if not self.is_uniform(node.value):
            self.differing.add(node.var)
        self.values[node.var] = substitute(node.value, self.values)
        value = self.accesses_of(Evaluate(node.value))
        plan = self.plan(node.body)
        if self.conflict(value, plan.head):
            plan = self.join([_BarrierPlan(Evaluate(barrier(self.scope)), meets=True), plan])
        body = node if plan.body is node.body else replace(node, body=plan.body)
        tail = plan.tail if plan.meets else [*value, *plan.tail]
        return _BarrierPlan(body, [*value, *plan.head], tail, plan.meets)

    def plan_inner(self, node: AttrStmt | Allocate | DeclBuffer) -> _BarrierPlan:
        plan = self.plan(node.body)
        body = node if plan.body is node.body else replace(node, body=plan.body)
        return with_fields(plan, body=body)

    # -- accesses ----------------------------------------------------------------------------------

    def accesses_of(self, node: Stmt) -> list[_Access]:
        """The accesses of a statement itself, not of the statements in it."""
        return [
            self.access(occurrence)
            for occurrence in occurrences_of(node)
            if occurrence.data in self.shared
        ]

    def access(self, occurrence: Occurrence) -> _Access:
        data, writes, indices = occurrence.data, occurrence.writes, occurrence.indices
        if occurrence.buffer is None or occurrence.is_atomic or len(indices) != 1:
            return _Access(data, writes, None, 1)
        where = self.conditions
        index = substitute(indices[0], self.values)
        lanes = dtypes.lanes(index.dtype)
        if any(type(part) is BufferLoad for part in walk(index)):  # its loads are unknown
            return _Access(data, writes, None, 1)
        if isinstance(index, Ramp):
            stride = index.stride
            if not isinstance(stride, IntImm):
                return _Access(data, writes, None, 1)
            lanes = (lanes - 1) * abs(stride.value) + 1
            index = index.base if stride.value >= 0 else ops.add(index.base, 1 - lanes)
        elif lanes > 1:
            return _Access(data, writes, None, 1)
        return _Access(data, writes, index, lanes, where=where)

    # -- proofs ------------------------------------------------------------------------------------

    def is_uniform(self, e: Expr) -> bool:
        """Whether an expression has the same value in all threads of a block.

        Not used where threads have diverged.
        """
        if self.diverges:
            return True
        for node in walk(e):
            if isinstance(node, Var) and node in self.differing:
                return False
            if isinstance(node, BufferLoad) and memory_scope(node.buffer.data) != "global":
                return False
            if isinstance(node, Call) and node.op.startswith(("tir.call_extern", "tir.tvm_warp")):
                return False
        return True

    def conflict(self, before: Iterable[_Access], after: Iterable[_Access]) -> bool:
        """Whether some access before and one after need a barrier between them."""
        later = list(after)
        return any(
            (a.writes or b.writes) and self.may_share(a.data, b.data) and self.meet(a, b)
            for a in before
            for b in later
        )

    def may_share(self, data: Var, other: Var) -> bool:
        """Whether two allocations may be in the same memory."""
        return data is other or self.scope == "shared.dyn"

    def meet(self, a: _Access, b: _Access) -> bool:
        """Whether different threads may touch the same element."""
        if a.data is not b.data or a.index is None or b.index is None:
            return True
        return not (self.are_apart(a, b) or self.are_packed_apart(a, b))

    def are_apart(self, a: _Access, b: _Access) -> bool:
        """Whether each element that both touch is touched by a single thread."""
        own = {var for access in (a, b) for var, _ in access.ranges}
        fixed = self.forms.ranges.keys() - own - self.numbers
        return Apart(self.forms, self.numbers, fixed, ()).is_proved(a.touch, b.touch)

    def are_packed_apart(self, a: _Access, b: _Access) -> bool:
        """Whether the numbers whose digits form both indices belong to one thread, or the indices
        differ."""
        form, other = self.unpacked(a), self.unpacked(b)
        if form is None or other is None or form.digits != other.digits:
            return False
        low, high = self.analyzer.const_bounds(
            self.analyzer.simplify(ops.sub(form.rest, other.rest))
        )
        if low is None or high is None:
            return False
        lanes = a.lanes, b.lanes
        if max(high + a.lanes - 1, b.lanes - 1 - low) < form.gap:
            lanes = 1, 1
        elif low or high or not self.are_in_runs(a, form) or not self.are_in_runs(b, other):
            return False
        a = with_fields(a, index=form.number, lanes=lanes[0])
        b = with_fields(b, index=other.number, lanes=lanes[1])
        return self.are_apart(a, b)

    def are_in_runs(self, access: _Access, index: Packed) -> bool:
        """Whether all lanes of an access are formed of digits of consecutive numbers."""
        factor, base = self.analyzer.modular_set(index.number)
        return not (index.run % access.lanes or factor % access.lanes or base % access.lanes)

    def unpacked(self, access: _Access) -> Packed | None:
        """The number whose digits form the index of an access; the rest is the same in all
        threads."""
        form = self.packed(access)
        own = self.numbers.union(var for var, _ in access.ranges)
        return None if form is None or own.intersection(walk(form.rest)) else form

    def packed(self, access: _Access) -> Packed | None:
        """The number whose digits form the index, found under the ranges of its loops."""
        if access.moved_from is not None:
            usual, values = access.moved_from
            form = self.packed(usual)
            return None if form is None else form.moved(values)
        assert access.index is not None
        with ExitStack() as facts:
            for condition in access.where:
                facts.enter_context(self.analyzer.constraint(condition))
            return packed(access.index, self.analyzer)

    def error(self, problem: str) -> BuildError:
        """A kernel that would need a barrier in divergent code."""
        return BuildError(
            f"cannot synchronize the threads of kernel {self.kernel!r}: {problem}",
            "all threads of a block must reach each barrier",
            "compute the shared memory outside of that condition or loop, or let the "
            f"{wording().loop} divide evenly",
        )


def _seen_from(accesses: Iterable[_Access], loop: For) -> list[_Access]:
    """The accesses of a loop: those of its body, in any iteration."""
    domain = (loop.loop_var, Range(loop.min, loop.extent))
    return [with_fields(access, ranges=(domain, *access.ranges)) for access in accesses]


def _is_barrier(node: Stmt) -> bool:
    if type(node) is not Evaluate or not isinstance(node.value, Call):
        return False
    scope = node.value.args[0] if node.value.op == BARRIER else None
    return isinstance(scope, StringImm) and barrier_of(scope.value) != "warp"


_PLANS: dict[type, Callable[[_Planner, Any], _BarrierPlan]] = {
    SeqStmt: _Planner.plan_seq,
    For: _Planner.plan_for,
    IfThenElse: _Planner.plan_if,
    While: _Planner.plan_while,
    LetStmt: _Planner.plan_let,
    AttrStmt: _Planner.plan_inner,
    Allocate: _Planner.plan_inner,
    DeclBuffer: _Planner.plan_inner,
}
