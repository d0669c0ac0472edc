"""Run-time checks for accesses that are not proved to be within bounds.

    for i in range(8):                      for i in range(8):
        B[i] = A[I[i]]             ->           if I[i] < 0 or 64 <= I[i]: fail(...)
                                                B[i] = A[I[i]]

A check moves out of the loops that it does not depend on. Out of a vectorized loop and out of the
innermost other one it moves always, as a loop of its own that only notes whether an index is
outside, which many lanes do at once:

    outside = 0
    for i in range(8): outside |= I[i] < 0 or 64 <= I[i]
    if outside: for i in range(8): if I[i] < 0 or 64 <= I[i]: fail(...)
    for i in range(8): B[i] = A[I[i]]

Where what it reads is written in that loop, it stays, and a vectorized loop becomes serial. Must
not know how accesses are judged (`bounds`), nor what a failed check does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from te_sched.analysis.accesses import Loop
from te_sched.analysis.bounds import Bounds, Need
from te_sched.analysis.findings import Findings
from te_sched.analysis.sizes import Size
from te_sched.arith.conditions import plain
from te_sched.ir import dtypes, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import (
    Add,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    PointerType,
    Select,
    StringImm,
    Sub,
    Var,
)
from te_sched.ir.occurrences import (
    Guard,
    Occurrence,
    data_read_by,
    lane_of,
    occurrences_of,
)
from te_sched.ir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    While,
)
from te_sched.ir.visitor import replace, substitute, variables_of
from te_sched.lower.statements import sequence, statements

REPORT = "te_sched.report_access"  # the registered function that a failed check calls
_WIDENED = frozenset((Add, Sub, Mul, FloorDiv, FloorMod, Min, Max))

# Makes a check that knows the loops round it; or what notes in an element of flags that it fails.
Maker = Callable[[tuple[Var, ...]], Stmt]
Noter = Callable[[Buffer, Expr], Stmt]


@dataclass(frozen=True, slots=True)
class Check:
    """A check that has not found its place yet: what it reads and depends on, of what.

    It takes `width` flags to note whether it fails: one, or one for each lane of a vector.
    """

    make: Maker
    note: Noter
    reads: frozenset[Var]
    variables: frozenset[Var]
    of: Var
    width: int = 1

    def needs(self, other: Check) -> bool:
        """Whether the other one must have been done before."""
        return other.of in self.reads

    def within(self, wrap: Callable[[Stmt], Stmt], *parts: Expr) -> Check:
        """The check inside of another statement, which speaks of some expressions."""
        return Check(
            lambda loops: wrap(self.make(loops)),
            lambda flags, place: wrap(self.note(flags, place)),
            self.reads.union(*map(data_read_by, parts)),
            self.variables | variables_of(*parts),
            self.of,
            self.width,
        )


@dataclass(frozen=True, slots=True)
class Guarded:
    """A function with checks, what its calls must fulfil, and what was found."""

    func: PrimFunc
    sizes: tuple[Size, ...]
    findings: Findings
    proved: int
    checked: int


def guard_accesses(
    func: PrimFunc, places: Callable[[str], str] = "stage {}".format, insert: bool = True
) -> Guarded:
    """The function with checks of what is not proved to be within bounds.

    Parameters
    ----------
    func : a program at any level before threads become loops.
    places : what to call a stage in messages.
    insert : False judges alone.
    """
    walker = _Walker(func, places, insert)
    body = walker.flushed(func.body)
    bounds = walker.bounds
    return Guarded(
        func if body is func.body else replace(func, body=body),
        tuple(bounds.sizes),
        Findings(bounds.summary()),
        bounds.proved,
        bounds.unproved,
    )


class _Walker:
    """Rebuilds a program where it needs checks."""

    def __init__(self, func: PrimFunc, places: Callable[[str], str], insert: bool) -> None:
        self.bounds = Bounds(func)
        self.places, self.insert = places, insert
        self.scope: tuple[Var, ...] = ()  # variables of loops
        self.in_vector = 0

    def flushed(self, node: Stmt) -> Stmt:
        """A statement with its checks before it."""
        new, checks = self.statement(node)
        return self.before(checks, new)

    def before(self, checks: Sequence[Check], node: Stmt) -> Stmt:
        """Put checks before a statement."""
        return sequence([*[check.make(self.scope) for check in checks], node]) if checks else node

    def statement(self, node: Any) -> tuple[Stmt, list[Check]]:
        """The statement, and the checks that have to be made before it."""
        method = _METHODS.get(type(node))
        if method is not None:
            return method(self, node)
        checks = self.checks_of(node)
        body = getattr(node, "body", None)
        if not isinstance(body, Stmt):
            return node, checks
        new, below = self.statement(body)
        return _with(node, body, new), checks + below

    def checks_of(self, node: Stmt) -> list[Check]:
        """The checks that a statement needs by itself."""
        found: list[Check] = []
        for occurrence in occurrences_of(node):
            needs = self.bounds.judge(occurrence)
            if needs and self.insert:
                found += [self.check(occurrence, need) for need in needs]
        return found

    # -- statements --------------------------------------------------------------------------------

    def store(self, node: BufferStore) -> tuple[Stmt, list[Check]]:
        self.bounds.stage = node.buffer.name
        return node, self.checks_of(node)

    def loop(self, node: For) -> tuple[Stmt, list[Check]]:
        if isinstance(node.extent, IntImm) and node.extent.value <= 0:
            return node, []
        outside = self.checks_of(node)
        scope = self.scope
        self.scope = (*scope, node.loop_var)
        is_vector = node.kind == "vectorized"
        self.in_vector += is_vector
        self.bounds.enter(_as_loop(node))
        body, checks = self.statement(node.body)
        self.bounds.leave()
        self.in_vector -= is_vector
        if not checks:
            self.scope = scope
            return _with(node, node.body, body), outside
        written = _written(node.body)
        lifts = is_vector or self.in_vector or (node.kind == "serial" and _is_innermost(node))
        stay: list[Check] = []
        for check in checks:
            depends = node.loop_var in check.variables
            is_blocked = not written.isdisjoint(check.reads) or any(map(check.needs, stay))
            if is_blocked or (depends and not lifts):
                stay.append(check)
            elif depends:
                outside.append(_over(node, check))
            else:
                outside.append(_unless_empty(node, check))
        kind = "serial" if stay and is_vector else node.kind
        body = self.before(stay, body)
        self.scope = scope
        return replace(node, body=body, kind=kind), outside

    def branch(self, node: IfThenElse) -> tuple[Stmt, list[Check]]:
        outside = self.checks_of(node)
        then, checks = self.case(node.condition, node.then_case)
        new_else = node.else_case
        if node.else_case is not None:
            negated = Not(node.condition)
            new_else, others = self.case(negated, node.else_case)
            checks += others
        if then is not node.then_case or new_else is not node.else_case:
            node = replace(node, then_case=then, else_case=new_else)
        return node, outside + checks

    def case(self, condition: Expr, body: Stmt) -> tuple[Stmt, list[Check]]:
        """One side of a branch; its checks may move before the branch."""
        bounds = self.bounds
        bounds.conditions.append(condition)
        with bounds.assuming(condition) if _is_lasting(condition, body) else nullcontext():
            new, checks = self.statement(body)
        bounds.conditions.pop()
        if not self.in_vector:
            return self.before(checks, new), []
        return new, [
            check.within(lambda inner: IfThenElse(condition, inner), condition) for check in checks
        ]

    def parts(self, node: SeqStmt) -> tuple[Stmt, list[Check]]:
        written: set[Var] | None = None
        outside: list[Check] = []
        done: list[Stmt] = []
        for part in node.seq:
            new, checks = self.statement(part)
            stay: list[Check] = []
            for check in checks:
                if written is None:
                    written = _written(node)
                if written.isdisjoint(check.reads) and not any(map(check.needs, stay)):
                    outside.append(check)
                else:
                    stay.append(check)
            done.append(self.before(stay, new))
        if all(a is b for a, b in zip(done, node.seq, strict=True)):
            return node, outside
        return sequence(done), outside

    def let(self, node: LetStmt) -> tuple[Stmt, list[Check]]:
        outside = self.checks_of(node)
        self.bounds.values[node.var] = node.value
        if node.var.dtype.startswith(("int", "uint")):
            self.bounds.bind(node.var, node.value)
        return self.inside(node, outside, {node.var})

    def inside(
        self, node: Any, outside: list[Check], bound: Iterable[Var]
    ) -> tuple[Stmt, list[Check]]:
        """A statement that gives variables a meaning for its body."""
        new, checks = self.statement(node.body)
        names = frozenset(bound)
        stay: list[Check] = []
        for check in checks:
            moves = names.isdisjoint(check.variables) and names.isdisjoint(check.reads)
            (outside if moves and not any(map(check.needs, stay)) else stay).append(check)
        return _with(node, node.body, self.before(stay, new)), outside

    def attribute(self, node: AttrStmt) -> tuple[Stmt, list[Check]]:
        bounds = self.bounds
        if node.key in ("thread_extent", "virtual_thread"):
            axis = node.node
            bounds.enter(Loop(axis.var, IntImm(0), node.value, "thread", axis.thread_tag))
            body = self.flushed(node.body)
            bounds.leave()
            return _with(node, node.body, body), []
        if node.key == "buffer_bind_scope":
            return self.inside(node, [], bounds.add_view(node))
        bounds.enter_attribute(node)
        body, checks = self.statement(node.body)
        bounds.leave_attribute(node)
        return _with(node, node.body, body), checks

    def realize(self, node: BufferRealize) -> tuple[Stmt, list[Check]]:
        self.bounds.add_realized(node)
        return self.inside(node, [], {node.buffer.data})

    def allocate(self, node: Allocate) -> tuple[Stmt, list[Check]]:
        outside = self.checks_of(node)
        self.bounds.add_allocated(node)
        return self.inside(node, outside, {node.buffer_var})

    def assuming(self, node: While | AssertStmt) -> AbstractContextManager[None]:
        """A scope in which the condition of a statement holds."""
        is_lasting = _is_lasting(node.condition, node.body)
        return self.bounds.assuming(node.condition) if is_lasting else nullcontext()

    def repeat(self, node: While) -> tuple[Stmt, list[Check]]:
        was_sure, self.bounds.is_sure = self.bounds.is_sure, False
        checks = self.checks_of(node)
        with self.assuming(node):
            body = self.flushed(node.body)
        self.bounds.is_sure = was_sure
        if checks:  # the condition is asked again after each iteration
            body = sequence([body, *[check.make(self.scope) for check in checks]])
        return _with(node, node.body, body), checks

    def asserted(self, node: AssertStmt) -> tuple[Stmt, list[Check]]:
        checks = self.checks_of(node)
        self.bounds.conditions.append(node.condition)
        with self.assuming(node):
            body = self.flushed(node.body)
        self.bounds.conditions.pop()
        return _with(node, node.body, body), checks

    # -- checks ------------------------------------------------------------------------------------

    def check(self, occurrence: Occurrence, need: Need) -> Check:
        """The check of one index."""
        index, guards = need.at, occurrence.guards
        lanes = dtypes.lanes(index.dtype)
        if lanes == 1:
            return _check_of(self.site(occurrence, need), need, index, guards, occurrence.data)
        lane = Var("lane")
        try:
            one = lane_of(index, lane)
            own = tuple(_lane_of_guard(guard, lane) for guard in guards)
        except ValueError:
            site = self.site(occurrence, need)
            return _check_of(site, need, IntImm(-1), (), occurrence.data)
        inner = _check_of(self.site(occurrence, need), need, one, own, occurrence.data)

        def make(loops: tuple[Var, ...]) -> Stmt:
            body = inner.make((*loops, lane))
            return For(lane, IntImm(0), IntImm(lanes), "serial", body)

        def note(flags: Buffer, place: Expr) -> Stmt:
            return For(lane, IntImm(0), IntImm(lanes), "serial", inner.note(flags, place))

        return Check(make, note, inner.reads, inner.variables - {lane}, inner.of)

    def site(self, occurrence: Occurrence, need: Need) -> dict[str, Any]:
        """What a report says of an access that is known now."""
        stage = self.bounds.place_name()
        return {
            "kind": "bounds",
            "buffer": self.bounds.name_of(occurrence),
            "index": str(need.at),
            "dimension": need.number,
            "does": "read" if occurrence.reads else "write",
            "where": self.places(stage) if stage else "",
        }


_METHODS: dict[type, Callable[[_Walker, Any], tuple[Stmt, list[Check]]]] = {
    BufferStore: _Walker.store,
    For: _Walker.loop,
    IfThenElse: _Walker.branch,
    SeqStmt: _Walker.parts,
    LetStmt: _Walker.let,
    AttrStmt: _Walker.attribute,
    BufferRealize: _Walker.realize,
    Allocate: _Walker.allocate,
    While: _Walker.repeat,
    AssertStmt: _Walker.asserted,
}


def _with(node: Any, old: Stmt, new: Stmt) -> Stmt:
    return node if new is old else replace(node, body=new)  # type: ignore[no-any-return]


def _as_loop(node: For) -> Loop:
    tag = node.thread_binding.thread_tag if node.thread_binding is not None else ""
    return Loop(node.loop_var, node.min, node.extent, node.kind, tag)


def _check_of(
    site: dict[str, Any], need: Need, index: Expr, guards: tuple[Guard, ...], data: Var
) -> Check:
    low, end = widen(need.low), widen(ops.add(need.low, need.extent))
    wide = widen(index)
    is_outside = ops.logical_or(ops.less(wide, low), ops.less_equal(end, wide))
    quick = _as_unsigned(need, index)

    def make(loops: tuple[Var, ...]) -> Stmt:
        fail = report(site, (wide, low, end), loops)
        return under(guards, IfThenElse(quick if quick is not None else is_outside, fail))

    def note(flags: Buffer, place: Expr) -> Stmt:
        found = Cast("int32", quick if quick is not None else is_outside)
        noted = ops.bitwise_or(BufferLoad(flags, (place,)), found)
        return under(guards, BufferStore(flags, noted, (place,)))

    parts = (index, need.low, need.extent, *_expressions(guards))
    own = {guard[0] for guard in guards if isinstance(guard, tuple)}
    reads = frozenset(data for part in parts for data in data_read_by(part))
    variables = frozenset(variables_of(*parts) - own)
    return Check(make, note, reads, variables, data)


def _as_unsigned(need: Need, index: Expr) -> Expr | None:
    """The comparison of what is loaded with a constant extent: below 0 is very large then."""
    extent = need.extent
    if type(index) is not BufferLoad or type(extent) is not IntImm or not ops.is_const(need.low, 0):
        return None
    dtype = index.dtype
    if dtype not in ("int32", "int64") or not 0 <= extent.value <= ops.int_limits(dtype)[1]:
        return None
    unsigned = f"u{dtype}"
    return ops.less_equal(IntImm(extent.value, unsigned), Cast(unsigned, index))


def report(site: dict[str, Any], numbers: Iterable[Expr], loops: Iterable[Var]) -> Stmt:
    """The call that ends a program where a check has failed."""
    named = [*loops]
    text = json.dumps({**site, "loops": [var.name for var in named]})
    values = [*numbers, *[widen(var) for var in named]]
    call = Call("int32", "tir.tvm_call_packed", (StringImm(REPORT), StringImm(text), *values))
    return Evaluate(call)


def under(guards: tuple[Guard, ...], body: Stmt) -> Stmt:
    """A statement below the conditions and lets that lead to an access."""
    for guard in reversed(guards):
        if isinstance(guard, tuple):
            var, value = guard
            own = Var(var.name, var.dtype)
            body = LetStmt(own, value, substitute(body, {var: own}))
        else:
            body = IfThenElse(plain(guard), body)
    return body


def widen(e: Any) -> Expr:
    """An integer as int64, its sums and products too, so that they do not overflow."""
    kind = type(e)
    if e.dtype == "int64" and kind not in _WIDENED:
        return e  # type: ignore[no-any-return]
    if kind is IntImm:
        return IntImm(e.value, "int64")
    if kind in _WIDENED:
        return kind(widen(e.a), widen(e.b))  # type: ignore[no-any-return]
    if kind is Select:
        return Select(e.condition, widen(e.true_value), widen(e.false_value))
    if kind is Call and e.op == "tir.if_then_else":
        return Call("int64", e.op, (e.args[0], widen(e.args[1]), widen(e.args[2])))
    return Cast("int64", e)


def _over(loop: For, check: Check) -> Check:
    """The check in a loop of its own: whether all is well, and if not, a search for what is not."""
    old = loop.loop_var
    is_vector = loop.kind == "vectorized" and type(loop.extent) is IntImm and check.width == 1
    width = loop.extent.value if is_vector and type(loop.extent) is IntImm else check.width

    def over(body: Stmt, kind: str = "serial") -> Stmt:
        var = Var(old.name, old.dtype)
        return For(var, loop.min, loop.extent, kind, substitute(body, {old: var}))

    def note(flags: Buffer, place: Expr) -> Stmt:
        if is_vector:
            return over(check.note(flags, ops.sub(old, loop.min)), "vectorized")
        return over(check.note(flags, place))

    def make(loops: tuple[Var, ...]) -> Stmt:
        flags, lane, other = _flags(width), Var("lane"), Var("lane")
        start: Stmt = BufferStore(flags, IntImm(0), (lane,))
        start = For(lane, IntImm(0), IntImm(width), "vectorized", start)
        search = over(check.make((*loops, old)))
        is_wrong = ops.not_equal(BufferLoad(flags, (other,)), IntImm(0))
        end = For(other, IntImm(0), IntImm(width), "serial", IfThenElse(is_wrong, search))
        body = sequence([start, note(flags, IntImm(0)), end])
        return Allocate(flags.data, "int32", flags.shape, IntImm(1, "bool"), body)

    variables = (check.variables - {old}) | variables_of(loop.min, loop.extent)
    reads = check.reads.union(data_read_by(loop.min), data_read_by(loop.extent))
    return Check(make, note, reads, variables, check.of, width)


def _flags(count: int) -> Buffer:
    data = Var("outside", "handle", PointerType("int32", "global"))
    return decl_buffer((count,), "int32", "outside", data=data)


def _is_innermost(loop: For) -> bool:
    """Whether there are no loops in a loop but vectorized ones."""
    return not any(
        type(node) is While or (type(node) is For and node.kind != "vectorized")
        for node in statements(loop.body)
    )


def _unless_empty(loop: For, check: Check) -> Check:
    """The check before a loop that it does not depend on."""
    if isinstance(loop.extent, IntImm):
        return check
    runs = ops.less(IntImm(0, loop.extent.dtype), loop.extent)
    return check.within(lambda inner: IfThenElse(runs, inner), loop.extent)


def _lane_of_guard(guard: Guard, lane: Expr) -> Guard:
    if isinstance(guard, tuple):
        if dtypes.lanes(guard[0].dtype) > 1:
            raise ValueError("a vector has a name")
        return guard
    return lane_of(guard, lane)


def _expressions(guards: Iterable[Guard]) -> Iterator[Expr]:
    for guard in guards:
        yield guard[1] if isinstance(guard, tuple) else guard


def _is_lasting(condition: Expr, body: Stmt) -> bool:
    """Whether a condition that held before a statement holds all through it."""
    read = set(data_read_by(condition))
    return not read or read.isdisjoint(_written(body))


def _written(body: Stmt) -> set[Var]:
    """The memory that a statement may write."""
    return {one.data for node in statements(body) for one in occurrences_of(node) if one.writes}
