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
are judged (`bounds`), nor how a check looks (`check_builder`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from te_sched.analysis.checks.bounds import Bounds
from te_sched.analysis.checks.check_builder import Check, check_of, check_over, unless_empty
from te_sched.analysis.findings import BY_NAME, Findings
from te_sched.analysis.schedules.sizes import Size
from te_sched.errors import Subject
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.occurrences import data_read_by, occurrences_of
from te_sched.ir.stmt import (
    THREAD_KEYS,
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
from te_sched.ir.visitor import replace, variables_of
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

    @property
    def scope(self) -> tuple[Var, ...]:
        """The variables of loops and thread axes."""
        return tuple([one.var for one in self.bounds.scope.loops if one.kind != "virtual"])

    def flushed(self, node: Stmt) -> Stmt:
        """A statement with its checks before it."""
        new, checks = self.statement(node)
        return self.before(checks, new)

    def before(self, checks: Sequence[Check], node: Stmt) -> Stmt:
        """Put checks before a statement."""
        return sequence([*self.made(checks), node]) if checks else node

    def made(self, checks: Sequence[Check]) -> list[Stmt]:
        """Checks as the statements that they are here."""
        return [check.make(self.scope) for check in checks]

    def statement(self, node: Any) -> tuple[Stmt, list[Check]]:
        """The statement, and the checks that have to be made before it."""
        method = _METHODS.get(type(node))
        return (node, self.checks_of(node)) if method is None else method(self, node)

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
        with self.bounds.inside(node):
            body, checks = self.statement(node.body)
            if not checks:
                return _with(node, node.body, body), outside
            written = _written(node.body)
            is_innermost = node.kind == "serial" and _is_innermost(node)
            lifts = self.in_vector or is_innermost
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
            body = self.before(stay, body)
        kind = "serial" if stay and node.kind == "vectorized" else node.kind
        return replace(node, body=body, kind=kind), outside

    @property
    def in_vector(self) -> bool:
        """Whether a loop round this place is vectorized."""
        return any(loop.kind == "vectorized" for loop in self.bounds.scope.loops)

    def branch(self, node: IfThenElse) -> tuple[Stmt, list[Check]]:
        outside = self.checks_of(node)
        then, checks = self.case(node, "then_case")
        other = node.else_case
        if other is not None:
            other, others = self.case(node, "else_case")
            checks += others
        if then is not node.then_case or other is not node.else_case:
            node = replace(node, then_case=then, else_case=other)
        return node, outside + checks

    def case(self, node: IfThenElse, part: str) -> tuple[Stmt, list[Check]]:
        """One side of a branch; its checks may move before the branch."""
        body: Stmt = getattr(node, part)
        with self.bounds.inside(node, part):
            condition = self.bounds.scope.conditions[-1]
            with self.assuming(condition, body):
                new, checks = self.statement(body)
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

    def binding(
        self, node: LetStmt | Allocate | BufferRealize | AttrStmt, bound: Collection[Var]
    ) -> tuple[Stmt, list[Check]]:
        """A statement that gives variables a meaning for its body."""
        outside = self.checks_of(node)
        with self.bounds.inside(node):
            new, checks = self.statement(node.body)
            stay: list[Check] = []
            for check in checks:
                moves = check.variables.isdisjoint(bound) and check.reads.isdisjoint(bound)
                (outside if moves and not any(map(check.needs, stay)) else stay).append(check)
            return _with(node, node.body, self.before(stay, new)), outside

    def attribute(self, node: AttrStmt) -> tuple[Stmt, list[Check]]:
        if node.key in THREAD_KEYS:
            return self.threads(node), []
        if node.key == "buffer_bind_scope":
            view = node.node[0]
            named = variables_of(view.elem_offset, *view.shape, *view.strides)
            return self.binding(node, {view.data} | named)
        with self.bounds.inside(node):
            body, checks = self.statement(node.body)
        return _with(node, node.body, body), checks

    def threads(self, node: AttrStmt) -> Stmt:
        """An axis of threads, out of which no check moves."""
        notes = self.notes
        self.notes = notes and node.key != "thread_extent"
        with self.bounds.inside(node):
            body = self.flushed(node.body)
        self.notes = notes
        return _with(node, node.body, body)

    def assuming(self, condition: Expr, body: Stmt) -> AbstractContextManager[None]:
        """A scope in which a condition holds, where it does so all through a statement."""
        read = set(data_read_by(condition))
        is_lasting = not read or read.isdisjoint(_written(body))
        return self.bounds.assuming(condition) if is_lasting else nullcontext()

    def repeat(self, node: While) -> tuple[Stmt, list[Check]]:
        with self.bounds.inside(node):
            checks = self.checks_of(node)
            with self.assuming(node.condition, node.body):
                body = self.flushed(node.body)
        if checks:  # the condition is asked again after each iteration
            body = sequence([body, *self.made(checks)])
        return _with(node, node.body, body), checks

    def asserted(self, node: AssertStmt) -> tuple[Stmt, list[Check]]:
        checks = self.checks_of(node)
        with self.bounds.inside(node), self.assuming(node.condition, node.body):
            body = self.flushed(node.body)
        return _with(node, node.body, body), checks


_METHODS: dict[type, Callable[[_Walker, Any], tuple[Stmt, list[Check]]]] = {
    BufferStore: _Walker.store,
    For: _Walker.loop,
    IfThenElse: _Walker.branch,
    SeqStmt: _Walker.parts,
    LetStmt: lambda walker, node: walker.binding(node, {node.var}),
    AttrStmt: _Walker.attribute,
    BufferRealize: lambda walker, node: walker.binding(node, {node.buffer.data}),
    Allocate: lambda walker, node: walker.binding(node, {node.buffer_var}),
    While: _Walker.repeat,
    AssertStmt: _Walker.asserted,
}


def _with(node: Stmt, old: Stmt, new: Stmt) -> Stmt:
    return node if new is old else replace(node, body=new)


def _is_innermost(loop: For) -> bool:
    """Whether there are no loops in a loop but vectorized ones."""
    return not any(
        type(node) is While or (type(node) is For and node.kind != "vectorized")
        for node in statements(loop.body)
    )


def _written(body: Stmt) -> set[Var]:
    """The memory that a statement may write."""
    return {one.data for node in statements(body) for one in occurrences_of(node) if one.writes}
