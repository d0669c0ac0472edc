"""Run-time checks for accesses that are not proved to be within bounds.

    for i in range(8):                      for i in range(8):
        B[i] = A[I[i]]             ->           if I[i] < 0 or 64 <= I[i]: fail(...)
                                                B[i] = A[I[i]]

A check is hoisted out of the loops that it does not depend on. It is always hoisted out of a
vectorized loop and out of the innermost other loop, as a separate loop that only records whether an
index is out of bounds, which can be vectorized:

    outside = 0
    for i in range(8): outside |= I[i] < 0 or 64 <= I[i]
    if outside: for i in range(8): if I[i] < 0 or 64 <= I[i]: fail(...)
    for i in range(8): B[i] = A[I[i]]

If the loop writes what the check reads, it stays, and a vectorized loop becomes serial. In kernels
a check has no flags: it is the search only. Must not know how accesses
are proved (`bounds`), nor how checks are made (`check_builder`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from te_sched.analysis.checks.bounds import Bounds
from te_sched.analysis.checks.check_builder import Check, check_of, check_over, unless_empty
from te_sched.analysis.findings import Findings
from te_sched.errors import Subject
from te_sched.ir.argument_sizes import Size
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.message_text import spelled
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
from te_sched.ir.visitor import StatementMapper, replace, statements, variables_of
from te_sched.lowering.statements import sequence
from te_sched.wording import by_name


@dataclass(frozen=True, slots=True)
class Guarded:
    """A function with checks, the conditions on its calls, and the findings."""

    func: PrimFunc
    sizes: tuple[Size, ...]
    findings: Findings
    checked: int


def guard_accesses(
    func: PrimFunc,
    named: Callable[[str], Subject] = by_name,
    insert: bool = True,
    notes: bool = True,
) -> Guarded:
    """The function with checks of accesses that are not proved to be within bounds.

    Parameters
    ----------
    func : a program at any level before threads become loops.
    named : maps a name to the stage for messages.
    insert : False only analyses.
    notes : False makes no vectorized loops, which require that lowering follows.
    """
    walker = _Walker(func, named, insert, notes)
    body = walker.flushed(func.body)
    bounds = walker.bounds
    return Guarded(
        func.with_body(body),
        tuple(bounds.sizes),
        Findings(bounds.summary()),
        bounds.unproved,
    )


class _Walker(StatementMapper):
    """Inserts checks into a program. `pending` are those to insert before the visited statement,
    starting with its own.
    """

    def __init__(
        self, func: PrimFunc, named: Callable[[str], Subject], insert: bool, notes: bool
    ) -> None:
        self.bounds = Bounds(func)
        self.named, self.insert, self.notes = named, insert, notes
        self.pending: list[Check] = []

    def parted(self, node: Stmt) -> tuple[Stmt, list[Check]]:
        """The statement, and its pending checks."""
        outside, self.pending = self.pending, []
        new = self.visit(node)
        checks, self.pending = self.pending, outside
        return new, checks

    def flushed(self, node: Stmt) -> Stmt:
        """A statement with its checks before it."""
        new, checks = self.parted(node)
        return self.before(checks, new)

    def before(self, checks: Sequence[Check], node: Stmt) -> Stmt:
        """Put checks before a statement."""
        return sequence([*self.made(checks), node]) if checks else node

    def made(self, checks: Sequence[Check]) -> list[Stmt]:
        """The statements of some checks at this place."""
        loops = tuple([loop.var for loop in self.bounds.scope.loops if loop.kind != "virtual"])
        return [check.make(loops) for check in checks]

    def checks_of(self, node: Stmt) -> list[Check]:
        """The checks of the accesses of a statement itself."""
        checks: list[Check] = []
        for occurrence in occurrences_of(node):
            needs = self.bounds.judge(occurrence)
            for need in needs if self.insert else ():
                details = {"index": spelled(need.at), "dimension": need.number}
                site = self.bounds.site("bounds", occurrence, self.named, **details)
                checks.append(check_of(site, occurrence, need))
        return checks

    # -- statements --------------------------------------------------------------------------------

    def visit_Stmt(self, node: Stmt) -> Stmt:
        self.pending += self.checks_of(node)
        return node

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        self.bounds.stage = node.buffer.name
        return self.visit_Stmt(node)

    def visit_For(self, node: For) -> Stmt:
        if isinstance(node.extent, IntImm) and node.extent.value <= 0:
            return node
        self.pending += self.checks_of(node)
        with self.bounds.inside(node):
            body, checks = self.parted(node.body)
            if not checks:
                return replace(node, body=body)
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
                    self.pending.append(check_over(node, check, self.notes))
                else:
                    self.pending.append(unless_empty(node, check))
            body = self.before(stay, body)
        kind = "serial" if stay and node.kind == "vectorized" else node.kind
        return replace(node, body=body, kind=kind)

    @property
    def in_vector(self) -> bool:
        """Whether a loop around this place is vectorized."""
        return any(loop.kind == "vectorized" for loop in self.bounds.scope.loops)

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        self.pending += self.checks_of(node)
        then = self.case(node, "then_case")
        other = None if node.else_case is None else self.case(node, "else_case")
        return replace(node, then_case=then, else_case=other)

    def case(self, node: IfThenElse, part: str) -> Stmt:
        """A branch of a condition; its checks may move before the condition."""
        body: Stmt = getattr(node, part)
        with self.bounds.inside(node, part):
            condition = self.bounds.scope.conditions[-1]
            with self.assuming(condition, body):
                new, checks = self.parted(body)
        if not self.in_vector:
            return self.before(checks, new)
        self.pending += [
            check.within(lambda inner: IfThenElse(condition, inner), condition) for check in checks
        ]
        return new

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        written: set[Var] | None = None
        done: list[Stmt] = []
        for part in node.seq:
            new, checks = self.parted(part)
            stay: list[Check] = []
            for check in checks:
                if written is None:
                    written = _written(node)
                is_free = written.isdisjoint(check.reads) and not any(map(check.needs, stay))
                (self.pending if is_free else stay).append(check)
            done.append(self.before(stay, new))
        is_same = all(a is b for a, b in zip(done, node.seq, strict=True))
        return node if is_same else sequence(done)

    def binding(
        self, node: LetStmt | Allocate | BufferRealize | AttrStmt, bound: Collection[Var]
    ) -> Stmt:
        """A statement that defines variables for its body."""
        self.pending += self.checks_of(node)
        with self.bounds.inside(node):
            new, checks = self.parted(node.body)
            stay: list[Check] = []
            for check in checks:
                moves = check.variables.isdisjoint(bound) and check.reads.isdisjoint(bound)
                is_free = moves and not any(map(check.needs, stay))
                (self.pending if is_free else stay).append(check)
            return replace(node, body=self.before(stay, new))

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        return self.binding(node, {node.var})

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        return self.binding(node, {node.buffer.data})

    def visit_Allocate(self, node: Allocate) -> Stmt:
        return self.binding(node, {node.buffer_var})

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key in THREAD_KEYS:
            return self.threads(node)
        if node.key == "buffer_bind_scope":
            view = node.node[0]
            named = variables_of(view.elem_offset, *view.shape, *view.strides)
            return self.binding(node, {view.data} | named)
        with self.bounds.inside(node):
            return self.generic(node)

    def threads(self, node: AttrStmt) -> Stmt:
        """A thread axis; checks do not move out of it."""
        notes = self.notes
        self.notes = notes and node.key != "thread_extent"
        with self.bounds.inside(node):
            body = self.flushed(node.body)
        self.notes = notes
        return replace(node, body=body)

    def assuming(self, condition: Expr, body: Stmt) -> AbstractContextManager[None]:
        """A scope in which a condition holds, if the statement cannot change it."""
        read = set(data_read_by(condition))
        is_lasting = not read or read.isdisjoint(_written(body))
        return self.bounds.assuming(condition) if is_lasting else nullcontext()

    def visit_While(self, node: While) -> Stmt:
        with self.bounds.inside(node):
            checks = self.checks_of(node)
            with self.assuming(node.condition, node.body):
                body = self.flushed(node.body)
        if checks:  # the condition is evaluated after each iteration
            body = sequence([body, *self.made(checks)])
        self.pending += checks
        return replace(node, body=body)

    def visit_AssertStmt(self, node: AssertStmt) -> Stmt:
        self.pending += self.checks_of(node)
        with self.bounds.inside(node), self.assuming(node.condition, node.body):
            return replace(node, body=self.flushed(node.body))


def _is_innermost(loop: For) -> bool:
    """Whether a loop contains only vectorized loops."""
    return not any(
        type(node) is While or (type(node) is For and node.kind != "vectorized")
        for node in statements(loop.body)
    )


def _written(body: Stmt) -> set[Var]:
    """The memory that a statement may write."""
    return {
        occurrence.data
        for node in statements(body)
        for occurrence in occurrences_of(node)
        if occurrence.writes
    }
