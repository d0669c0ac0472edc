"""Barriers between what threads of a block write into shared memory and what others do there.

Two accesses to the same memory, one of them a write, need a barrier between them unless it can be
proved that they never meet, or only within one thread. The kernel is read in program order with the
accesses since the last barrier in hand; loops are closed by looking from the end of their body to
its beginning. A barrier stands where all threads of a block come by: outside of conditions and
loops that depend on the thread.

    for k in range(8):                            for k in range(8):
        A_shared[tx] = A[k * 16 + tx]                 tvm_storage_sync("shared")
        C[tx] = C[tx] + A_shared[15 - tx]   ->        A_shared[tx] = A[k * 16 + tx]
                                                      tvm_storage_sync("shared")
                                                      C[tx] = C[tx] + A_shared[15 - tx]

(TVM's name: ThreadSync.) Must not know what kernels compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.detect import detect_linear_equation
from te_sched.arith.same import same
from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    EQ,
    LT,
    Add,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    Ramp,
    Range,
    StringImm,
    Var,
)
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
from te_sched.ir.visitor import replace, substitute, walk
from te_sched.lower.device.kernel import BARRIER, ThreadAxis, barrier, scope_of, thread_axes
from te_sched.lower.device.packed_indices import Packed, packed
from te_sched.lower.statements import sequence, statements

_SHARED = ("shared", "shared.dyn")
_FAR = 1 << 62


def insert_barriers(kernel: PrimFunc) -> PrimFunc:
    """The kernel with the barriers that its use of shared memory needs."""
    shared = [
        node.buffer_var
        for node in statements(kernel.body)
        if type(node) is Allocate and scope_of(node.buffer_var) in _SHARED
    ]
    axes, body = thread_axes(kernel)
    threads = [axis for axis in axes if not axis.is_block]
    if not shared or all(_is_one(axis.extent) for axis in threads):
        return kernel
    planner = _Planner(kernel.attrs.get("global_symbol", "main"), threads, frozenset(shared))
    for axis in axes:
        planner.analyzer.bind(axis.var, Range(IntImm(0, axis.var.dtype), axis.extent))
    new = planner.plan(body).body
    return kernel if new is body else kernel.with_body(_under(kernel.body, new))


def _under(launches: Stmt, body: Stmt) -> Stmt:
    if isinstance(launches, AttrStmt) and launches.key == "thread_extent":
        inner = _under(launches.body, body)
        return AttrStmt(launches.node, launches.key, launches.value, inner)
    return body


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


@dataclass(frozen=True, slots=True)
class _Access:
    """One access to shared memory. `index` is None when nobody knows where; `ranges` are those of
    the loops in which it stands, as far as one looks from outside of them, `where` conditions
    under which it happens. `usual` is the access in any iteration, of one in a later iteration.
    """

    data: Var
    writes: bool
    index: Expr | None
    lanes: int
    ranges: tuple[tuple[Var, Range], ...] = ()
    where: tuple[Expr, ...] = ()
    usual: _Access | None = None


@dataclass(slots=True)
class _Plan:
    """A statement with its barriers; what it does before the first and after the last of them.

    `meets` is whether every thread surely comes by a barrier in it.
    """

    body: Stmt
    head: list[_Access] = field(default_factory=list)
    tail: list[_Access] = field(default_factory=list)
    meets: bool = False

    def closed(self) -> _Plan:
        """The plan of a statement that may not be executed: what is before may be after it."""
        return _Plan(self.body, self.head, [*self.head, *self.tail], False) if self.meets else self


class _Planner:
    """Plans the statements of one kernel."""

    def __init__(self, kernel: str, threads: Sequence[ThreadAxis], shared: frozenset[Var]) -> None:
        self.kernel, self.threads, self.shared = kernel, threads, shared
        self.analyzer = Analyzer()
        self.numbers = frozenset([axis.var for axis in threads])
        self.differing: set[Var] = {axis.var for axis in threads}  # between threads of a block
        self.values: dict[Var, Expr] = {}  # of lets
        self.conditions: tuple[Expr, ...] = ()  # round the statement that is planned
        self.diverges = False  # whether only some threads come by it, or not equally often

    def plan(self, node: Stmt) -> _Plan:
        """The plan of a statement."""
        return _PLANS.get(type(node), _Planner.plan_leaf)(self, node)

    # -- statements --------------------------------------------------------------------------------

    def plan_leaf(self, node: Stmt) -> _Plan:
        if _is_barrier(node):
            return _Plan(node, meets=True)
        accesses = self.accesses_of(node)
        return _Plan(node, accesses, accesses)

    def plan_seq(self, node: SeqStmt) -> _Plan:
        return self.join([self.plan(part) for part in node.seq], node)

    def join(self, parts: Sequence[_Plan], node: Stmt | None = None) -> _Plan:
        """One plan after the other, with a barrier where two of them conflict."""
        head: list[_Access] = []
        pending: list[_Access] = []
        met = False
        bodies: list[Stmt] = []
        for part in parts:
            if self.conflict(pending, part.head):
                bodies.append(Evaluate(barrier()))
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
        return _Plan(node if unchanged and node else sequence(bodies), head, pending, met)

    def plan_for(self, node: For) -> _Plan:
        domain = Range(node.min, node.extent)
        uniform = self.is_uniform(node.min) and self.is_uniform(node.extent)
        self.analyzer.bind(node.loop_var, domain)
        if not uniform:
            self.differing.add(node.loop_var)
            return self.plan_divergent(node, f"the number of iterations of {node.loop_var.name}")
        plan = self.plan(node.body)
        if self.conflict(plan.tail, self.in_later(plan.head, node)):
            plan = self.with_barrier_in(plan, node)
        body = node if plan.body is node.body else replace(node, body=plan.body)
        runs = self.analyzer.can_prove_greater_equal(node.extent, 1)
        found = _Plan(body, _seen_from(plan.head, node), _seen_from(plan.tail, node), plan.meets)
        return found if runs else found.closed()

    def in_later(self, accesses: Iterable[_Access], loop: For) -> list[_Access]:
        """Accesses of a loop's body in any later iteration than that of its variable."""
        extent = loop.extent
        if isinstance(extent, IntImm):
            if extent.value <= 1:
                return []
            extent = IntImm(extent.value - 1, extent.dtype)
        distance = Var(f"{loop.loop_var.name}_later", loop.loop_var.dtype)
        self.analyzer.bind(distance, Range(IntImm(0, distance.dtype), extent))
        later = {loop.loop_var: ops.add(ops.add(loop.loop_var, 1), distance)}
        return [_with_values(access, later) for access in accesses]

    def with_barrier_in(self, plan: _Plan, node: For) -> _Plan:
        """The body of a loop with a barrier where its last iteration meets the next one."""
        parts = list(plan.body.seq) if isinstance(plan.body, SeqStmt) else [plan.body]
        plans = [self.plan(part) for part in parts]
        for position, part in enumerate(plans):
            if self.conflict(plan.tail, self.in_later(part.head, node)):
                wait = _Plan(Evaluate(barrier()), meets=True)
                return self.join([*plans[:position], wait, *plans[position:]])
            if part.meets:
                break
        wait = _Plan(Evaluate(barrier()), meets=True)
        return self.join([wait, *plans])

    def plan_if(self, node: IfThenElse) -> _Plan:
        if not self.is_uniform(node.condition):
            return self.plan_divergent(node, f"the condition {node.condition}")
        condition = self.accesses_of(Evaluate(node.condition))
        outside = self.conditions
        self.conditions = (*outside, substitute(_unlikely(node.condition), self.values))
        first = self.plan(node.then_case)
        self.conditions = outside
        second = _Plan(sequence([])) if node.else_case is None else self.plan(node.else_case)
        if self.conflict(condition, first.head) or self.conflict(condition, second.head):
            raise self.error("a condition reads shared memory that its branches write")
        same = first.body is node.then_case
        other = None if node.else_case is None else second.body
        body = node
        if not same or other is not node.else_case:
            body = replace(node, then_case=first.body, else_case=other)
        head = [*condition, *first.head, *second.head]
        tail = [*condition, *first.tail, *second.tail]
        return _Plan(body, head, [*head, *tail])

    def plan_while(self, node: While) -> _Plan:
        if not self.is_uniform(node.condition):
            return self.plan_divergent(node, f"the condition {node.condition}")
        plan = self.plan(node.body)
        if self.conflict(plan.tail, plan.head):
            plan = self.join([_Plan(Evaluate(barrier()), meets=True), plan])
        condition = self.accesses_of(Evaluate(node.condition))
        body = node if plan.body is node.body else replace(node, body=plan.body)
        accesses = [*condition, *plan.head, *plan.tail]
        return _Plan(body, accesses, accesses)

    def plan_divergent(self, node: Stmt, why: str) -> _Plan:
        """What only some threads do, or not equally often: no barrier may stand in it."""
        if any(map(_is_barrier, statements(node))):
            raise self.error(f"a barrier stands where {why} differs between threads")
        self.diverges = True
        plan = self.plan(node)
        self.diverges = False
        if plan.body is not node:
            raise self.error(
                f"threads need each other's values in shared memory where {why} differs between "
                "them, and cannot wait for each other there"
            )
        return plan

    def plan_let(self, node: LetStmt) -> _Plan:
        if not self.is_uniform(node.value):
            self.differing.add(node.var)
        self.values[node.var] = substitute(node.value, self.values)
        value = self.accesses_of(Evaluate(node.value))
        plan = self.plan(node.body)
        if self.conflict(value, plan.head):
            plan = self.join([_Plan(Evaluate(barrier()), meets=True), plan])
        body = node if plan.body is node.body else replace(node, body=plan.body)
        tail = plan.tail if plan.meets else [*value, *plan.tail]
        return _Plan(body, [*value, *plan.head], tail, plan.meets)

    def plan_attr(self, node: AttrStmt) -> _Plan:
        plan = self.plan(node.body)
        body = node if plan.body is node.body else replace(node, body=plan.body)
        return with_fields(plan, body=body)

    def plan_allocate(self, node: Allocate) -> _Plan:
        plan = self.plan(node.body)
        body = node if plan.body is node.body else replace(node, body=plan.body)
        return with_fields(plan, body=body)

    # -- accesses ----------------------------------------------------------------------------------

    def accesses_of(self, node: Stmt) -> list[_Access]:
        """The accesses of a statement itself, not of the statements in it."""
        return [self.access(one) for one in occurrences_of(node) if one.data in self.shared]

    def access(self, one: Occurrence) -> _Access:
        data, writes, indices = one.data, one.writes, one.indices
        if one.buffer is None or one.is_atomic or len(indices) != 1:
            return _Access(data, writes, None, 1)
        where = self.conditions
        index = substitute(indices[0], self.values)
        lanes = dtypes.lanes(index.dtype)
        if any(type(part) is BufferLoad for part in walk(index)):  # nobody knows what it loads
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

        Where threads have parted, nobody asks any more.
        """
        if self.diverges:
            return True
        for node in walk(e):
            if isinstance(node, Var) and node in self.differing:
                return False
            if isinstance(node, BufferLoad) and scope_of(node.buffer.data) != "global":
                return False
            if isinstance(node, Call) and node.op.startswith(("tir.call_extern", "tir.tvm_warp")):
                return False
        return True

    def conflict(self, before: Iterable[_Access], after: Iterable[_Access]) -> bool:
        """Whether some access before and one after need a barrier between them."""
        later = list(after)
        return any(
            (a.writes or b.writes) and a.data is b.data and self.meet(a, b)
            for a in before
            for b in later
        )

    def meet(self, a: _Access, b: _Access) -> bool:
        """Whether different threads may touch the same element."""
        if a.index is None or b.index is None:
            return True
        index_a, index_b = self.apart(a), self.apart(b)
        return not (
            self.only_within_threads(a, b, index_a, index_b)
            or self.never(a, b)
            or self.are_packed_apart(a, b)
        )

    def apart(self, access: _Access) -> Expr:
        """The index with variables of its own for the loops round the access."""
        assert access.index is not None
        return substitute(access.index, self.fresh(access.ranges))  # type: ignore[no-any-return]

    def fresh(self, ranges: Iterable[tuple[Var, Range]]) -> dict[Var, Expr]:
        """New variables in the place of some, within the same ranges."""
        fresh: dict[Var, Expr] = {}
        for var, domain in ranges:
            copy = Var(var.name, var.dtype)
            low, extent = substitute(domain.min, fresh), substitute(domain.extent, fresh)
            self.analyzer.bind(copy, Range(low, extent))
            fresh[var] = copy
        return fresh

    def never(self, a: _Access, b: _Access) -> bool:
        """Whether two accesses never meet, in whichever threads."""
        threads = [(axis.var, Range(IntImm(0), axis.extent)) for axis in self.threads]
        places: list[Expr] = []
        with ExitStack() as facts:
            for access in (a, b):
                fresh = self.fresh([*threads, *access.ranges])
                for condition in access.where:
                    facts.enter_context(self.analyzer.constraint(substitute(condition, fresh)))
                assert access.index is not None
                places.append(substitute(access.index, fresh))
            difference = self.analyzer.simplify(ops.sub(*places))
            low, high = self.analyzer.const_bounds(difference)
        return (low is not None and low >= b.lanes) or (high is not None and high <= -a.lanes)

    def only_within_threads(self, a: _Access, b: _Access, index_a: Expr, index_b: Expr) -> bool:
        """Whether an element that both touch is touched by one thread alone.

        Both indices must be sums c1 * t1 + c2 * t2 + ... + rest over the thread axes, with the same
        c; then threads are apart when every c is larger than all that the smaller ones and the
        rests can add up to. Axes of which conditions leave one value to both are none.
        """
        single_a, single_b = _only_values(a.where), _only_values(b.where)
        single: dict[Var, Expr] = {
            var: IntImm(value, var.dtype)
            for var, value in single_a.items()
            if var in self.numbers and single_b.get(var) == value
        }
        if single:
            index_a, index_b = substitute(index_a, single), substitute(index_b, single)
        axes = [
            axis for axis in self.threads if not _is_one(axis.extent) and axis.var not in single
        ]
        variables = [axis.var for axis in axes]
        terms_a = detect_linear_equation(self.analyzer.simplify(index_a), variables)
        terms_b = detect_linear_equation(self.analyzer.simplify(index_b), variables)
        if terms_a is None or terms_b is None:
            return False
        factors: list[tuple[int, int]] = []
        for axis, one, other in zip(axes, terms_a, terms_b, strict=False):
            if not isinstance(one, IntImm) or not isinstance(other, IntImm):
                return False
            if one.value != other.value or not isinstance(axis.extent, IntImm):
                return False
            factors.append((abs(one.value), axis.extent.value))
        rest = self.analyzer.simplify(ops.sub(terms_a[-1], terms_b[-1]))
        low, high = self.analyzer.const_bounds(rest)
        if low is None or high is None:
            return False
        reach = max(high + a.lanes - 1, b.lanes - 1 - low, 0)
        above = variables
        for factor, extent, var in sorted(
            [(*one, var) for one, var in zip(factors, variables, strict=True)],
            key=lambda one: one[0],
        ):
            if factor <= reach:
                reach = min(reach, self.reach_where(a, b, above, single))
            if factor <= reach:
                return self.are_digits(factors, rest, max(a.lanes, b.lanes) - 1)
            reach += factor * (extent - 1)
            above = [one for one in above if one is not var]
        return True

    def are_packed_apart(self, a: _Access, b: _Access) -> bool:
        """Whether one thread has the numbers of whose digits both indices are, or they differ."""
        one, other = self.unpacked(a), self.unpacked(b)
        if one is None or other is None or one.digits != other.digits:
            return False
        low, high = self.analyzer.const_bounds(
            self.analyzer.simplify(ops.sub(one.rest, other.rest))
        )
        if low is None or high is None:
            return False
        lanes = a.lanes, b.lanes
        if max(high + a.lanes - 1, b.lanes - 1 - low) < one.gap:
            lanes = 1, 1
        elif low or high or not self.are_in_runs(a, one) or not self.are_in_runs(b, other):
            return False
        a = with_fields(a, index=one.number, lanes=lanes[0], usual=None)
        b = with_fields(b, index=other.number, lanes=lanes[1], usual=None)
        return self.only_within_threads(a, b, self.apart(a), self.apart(b)) or self.never(a, b)

    def are_in_runs(self, access: _Access, index: Packed) -> bool:
        """Whether all lanes of an access are digits of neighbouring numbers."""
        factor, base = self.analyzer.modular_set(index.number)
        return not (index.run % access.lanes or factor % access.lanes or base % access.lanes)

    def unpacked(self, access: _Access) -> Packed | None:
        """The number of whose digits the index of an access is made, the rest alike in threads."""
        assert access.index is not None
        with ExitStack() as facts:
            for condition in access.where:
                facts.enter_context(self.analyzer.constraint(condition))
            found = packed(access.index, self.analyzer)
        own = self.numbers.union(var for var, _ in access.ranges)
        return None if found is None or own.intersection(walk(found.rest)) else found

    def reach_where(
        self, a: _Access, b: _Access, above: Sequence[Var], single: dict[Var, Expr]
    ) -> int:
        """How far apart two accesses can be without the axes `above`, by their conditions.

        What both have in common, as the half of a double buffer, does not count.
        """
        without: dict[Var, Expr] = {**single, **{var: IntImm(0, var.dtype) for var in above}}
        sums = [
            _addends(self.analyzer.simplify(substitute(one.index, without)))
            for one in (a, b, a.usual or a, b.usual or b)
        ]
        own = {*self.numbers, *(var for one in (a, b) for var, _ in one.ranges)}
        common = [
            part
            for part in sums[0]
            if all(any(same(part, other) for other in one) for one in sums[1:])
            and not own.intersection(walk(part))
        ]
        wholes = [(a.usual or a, sums[2]), (b.usual or b, sums[3])]
        return min(self.reach_without(wholes, []), self.reach_without(wholes, common))

    def reach_without(
        self, accesses: Iterable[tuple[_Access, Sequence[Expr]]], common: Sequence[Expr]
    ) -> int:
        """How far apart the sums are in which two accesses touch memory, less what is common."""
        spans: list[tuple[int, int]] = []
        for access, parts in accesses:
            index: Expr = IntImm(0)
            for part in parts:
                if not any(same(part, one) for one in common):
                    index = ops.add(index, part)
            low, high = self.analyzer.const_bounds(index)
            for condition in access.where:
                high = self.limited(index, condition, high)
            if low is None or high is None:
                return _FAR
            spans.append((low, high + access.lanes - 1))
        (low_a, high_a), (low_b, high_b) = spans
        return max(high_a - low_b, high_b - low_a, 0)

    def limited(self, index: Expr, condition: Expr, high: int | None) -> int | None:
        """The most that an index can be, where some times a sum in it is below a number."""
        if not isinstance(condition, LT) or not isinstance(condition.b, IntImm):
            return high
        variables = list(dict.fromkeys(part for part in walk(condition.a) if type(part) is Var))
        terms, base = _scales(condition.a, variables)
        parts, rest = _scales(index, variables)
        if not terms or not parts or min(terms) < 1 or not isinstance(base, IntImm):
            return high
        times = min(part // scale for part, scale in zip(parts, terms, strict=True))
        if times < 1:
            return high
        for var, part, scale in zip(variables, parts, terms, strict=True):
            rest = ops.add(rest, ops.mul(var, part - times * scale))
        most = self.analyzer.const_bounds(self.analyzer.simplify(rest))[1]
        if most is None:
            return high
        most += times * (condition.b.value - 1 - base.value)
        return most if high is None else min(high, most)

    def are_digits(self, factors: Sequence[tuple[int, int]], rest: Expr, slack: int) -> bool:
        """Whether threads are apart since they and the loops are digits of the index.

        The rest is a sum over loop variables, as in 16 * (k1 - k2). A digit of the difference is
        zero when its factor is larger than all that the digits below can add up to, and those above
        are zero.
        """
        variables = list(dict.fromkeys(part for part in walk(rest) if isinstance(part, Var)))
        terms = detect_linear_equation(rest, variables)
        if terms is None or not isinstance(terms[-1], IntImm):
            return False
        spans: dict[int, tuple[int, int]] = {}
        for var, term in zip(variables, terms, strict=False):
            low, high = self.analyzer.const_bounds(var)
            if low is None or high is None or not isinstance(term, IntImm):
                return False
            if term.value < 0:
                low, high = -high, -low
            least, most = spans.get(abs(term.value), (0, 0))
            spans[abs(term.value)] = least + low, most + high
        digits = [(factor, extent - 1, True) for factor, extent in factors]
        digits += [(factor, max(-low, high), False) for factor, (low, high) in spans.items()]
        reach, threads_below = slack + abs(terms[-1].value), False
        for factor, most, is_thread in sorted(digits):
            if factor <= reach and (is_thread or threads_below):
                return False
            threads_below = threads_below or is_thread
            reach += factor * most
        return True

    def error(self, why: str) -> BuildError:
        """A kernel in which barriers cannot be put."""
        return BuildError(
            f"put barriers into kernel {self.kernel!r}",
            why,
            "compute the stage in shared memory outside of that condition or loop, or let the axis "
            "divide evenly",
        )


def _seen_from(accesses: Iterable[_Access], loop: For) -> list[_Access]:
    """Accesses of a loop's body as the loop's: for any of its iterations."""
    domain = (loop.loop_var, Range(loop.min, loop.extent))
    return [with_fields(access, ranges=(domain, *access.ranges)) for access in accesses]


def _with_values(access: _Access, values: dict[Var, Expr]) -> _Access:
    """An access with expressions in the place of variables."""
    return with_fields(
        access,
        index=None if access.index is None else substitute(access.index, values),
        ranges=tuple(
            (var, Range(substitute(domain.min, values), substitute(domain.extent, values)))
            for var, domain in access.ranges
        ),
        where=tuple(substitute(condition, values) for condition in access.where),
        usual=access,
    )


def _scales(e: Expr, variables: Sequence[Var]) -> tuple[list[int], Expr]:
    """By what variables are multiplied in a sum, and its rest; nothing of what is no such sum."""
    terms = detect_linear_equation(e, variables)
    scales = [term.value for term in terms[:-1] if isinstance(term, IntImm)] if terms else []
    if terms is None or len(scales) < len(variables):
        return [], e
    return scales, terms[-1]


def _addends(e: Expr) -> list[Expr]:
    """The terms of a sum."""
    return [*_addends(e.a), *_addends(e.b)] if isinstance(e, Add) else [e]


def _only_values(conditions: Iterable[Expr]) -> dict[Var, int]:
    """Variables that have one value under the conditions: of a == 3, and of a thread's a < 1."""
    found: dict[Var, int] = {}
    for condition in conditions:
        if not isinstance(condition, EQ | LT) or not isinstance(condition.b, IntImm):
            continue
        var, value = condition.a, condition.b.value
        if isinstance(var, Var) and isinstance(condition, EQ):
            found[var] = value
        elif isinstance(var, Var) and value == 1:
            found[var] = 0
    return found


def _unlikely(condition: Expr) -> Expr:
    """A condition without the mark that it is likely."""
    if isinstance(condition, Call) and condition.op == "tir.likely":
        return condition.args[0]
    return condition


def _is_barrier(node: Stmt) -> bool:
    if type(node) is not Evaluate or not isinstance(node.value, Call):
        return False
    scope = node.value.args[0] if node.value.op == BARRIER else None
    return isinstance(scope, StringImm) and scope.value != "warp"


_PLANS: dict[type, Callable[[_Planner, Any], _Plan]] = {
    SeqStmt: _Planner.plan_seq,
    For: _Planner.plan_for,
    IfThenElse: _Planner.plan_if,
    While: _Planner.plan_while,
    LetStmt: _Planner.plan_let,
    AttrStmt: _Planner.plan_attr,
    Allocate: _Planner.plan_allocate,
}
