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

Where what it reads is written in that loop, it stays, and a vectorized loop becomes serial. Within
the threads of a kernel a check notes nothing: it is the search alone. Must not know how accesses
are judged (`bounds`), nor how a check looks (`making`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from te_sched.analysis.checks.bounds import Bounds
from te_sched.analysis.checks.making import Check, check_of, check_over, unless_empty
from te_sched.analysis.findings import BY_NAME, Findings
from te_sched.analysis.programs.accesses import Loop
from te_sched.analysis.schedules.sizes import Size
from te_sched.errors import Subject
from te_sched.ir.expr import Expr, IntImm, Not, Var
from te_sched.ir.occurrences import data_read_by, occurrences_of
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
from te_sched.ir.visitor import replace
from te_sched.lower.statements import sequence, statements


@dataclass(frozen=True, slots=True)
class Guarded:
    """A function with checks, what its calls must fulfil, and what was found."""

    func: PrimFunc
    sizes: tuple[Size, ...]
    findings: Findings
    proved: int
    checked: int


def guard_accesses(
    func: PrimFunc,
    named: Callable[[str], Subject] = BY_NAME,
    insert: bool = True,
    notes: bool = True,
) -> Guarded:
    """The function with checks of what is not proved to be within bounds.

    Parameters
    ----------
    func : a program at any level before threads become loops.
    named : the stage of a name, as messages have it.
    insert : False judges alone.
    notes : False makes no loops of vectors, which are for programs that are lowered afterwards.
    """
    walker = _Walker(func, named, insert, notes)
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

    def __init__(
        self, func: PrimFunc, named: Callable[[str], Subject], insert: bool, notes: bool
    ) -> None:
        self.bounds = Bounds(func)
        self.named, self.insert, self.notes = named, insert, notes
        self.scope: tuple[Var, ...] = ()  # variables of loops and thread axes
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
            for need in needs if self.insert else ():
                told = {"index": str(need.at), "dimension": need.number}
                site = self.bounds.site("bounds", occurrence, self.named, **told)
                found.append(check_of(site, occurrence, need))
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
                outside.append(check_over(node, check, self.notes))
            else:
                outside.append(unless_empty(node, check))
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
            return self.threads(node), []
        if node.key == "buffer_bind_scope":
            return self.inside(node, [], bounds.add_view(node))
        bounds.enter_attribute(node)
        body, checks = self.statement(node.body)
        bounds.leave_attribute(node)
        return _with(node, node.body, body), checks

    def threads(self, node: AttrStmt) -> Stmt:
        """An axis of threads, out of which no check moves."""
        axis, scope, notes = node.node, self.scope, self.notes
        if node.key == "thread_extent":
            self.scope, self.notes = (*scope, axis.var), False
        self.bounds.enter(Loop(axis.var, IntImm(0), node.value, "thread", axis.thread_tag))
        body = self.flushed(node.body)
        self.bounds.leave()
        self.scope, self.notes = scope, notes
        return _with(node, node.body, body)

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


def _with(node: Stmt, old: Stmt, new: Stmt) -> Stmt:
    return node if new is old else replace(node, body=new)


def _as_loop(node: For) -> Loop:
    tag = node.thread_binding.thread_tag if node.thread_binding is not None else ""
    return Loop(node.loop_var, node.min, node.extent, node.kind, tag)


def _is_innermost(loop: For) -> bool:
    """Whether there are no loops in a loop but vectorized ones."""
    return not any(
        type(node) is While or (type(node) is For and node.kind != "vectorized")
        for node in statements(loop.body)
    )


def _is_lasting(condition: Expr, body: Stmt) -> bool:
    """Whether a condition that held before a statement holds all through it."""
    read = set(data_read_by(condition))
    return not read or read.isdisjoint(_written(body))


def _written(body: Stmt) -> set[Var]:
    """The memory that a statement may write."""
    return {one.data for node in statements(body) for one in occurrences_of(node) if one.writes}
