"""Hoist loop-invariant conditions out of loops.

    for j in range(32):                     if likely(i < 20):
        if likely(i < 20):          ->          for j in range(32):
            A[i, j] = B[j]                          A[i, j] = B[j]

A condition is moved out of the loops that its value does not depend on and that contain nothing
else: it is not moved out of a sequence of statements, a thread axis or a pragma. Conditions that
read memory, name threads or have a side effect are not moved (those that name threads are moved if
`hoist_thread_conditions` is set). (TVM's name: HoistIfThenElse.) Must not know where guards come
from.
"""

from __future__ import annotations

from te_sched.config import AS_TVM, Lowering
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, LetStmt, PrimFunc, SeqStmt, Stmt, While
from te_sched.ir.visitor import StatementMapper, replace, statements, variables_of
from te_sched.lowering.statements import fresh_copy


def hoist_conditions(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with conditions outside of the loops that they do not depend on."""
    if not any(type(node) is IfThenElse for node in statements(func.body)):
        return func
    finder = _Finder(settings.hoist_thread_conditions)
    finder.visit(func.body, [])
    if not finder.hoisted:
        return func
    return replace(func, body=_Hoister(finder.hoisted).visit(func.body))


class _Finder:
    """Finds which conditions leave which loops; `fixed` variables belong to threads, lets and
    loops with pragmas."""

    def __init__(self, moves_threads: bool) -> None:
        self.hoisted: dict[For, list[IfThenElse]] = {}
        self.fixed: set[Var] = set()
        self.moves_threads = moves_threads  # conditions on thread axes may move
        self.launched_in: dict[Var, For] = {}  # the innermost loop around a thread axis

    def visit(self, node: Stmt, loops: list[For]) -> None:
        """`loops`: those with nothing but this statement inside, the outermost first."""
        kind = type(node)
        if isinstance(node, For):
            self.visit(node.body, [*loops, node])
        elif isinstance(node, IfThenElse):
            self.condition(node, loops)
        elif isinstance(node, SeqStmt):
            for part in node.seq:
                self.visit(part, [])
        elif isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
            self.axis(node, node.node.var, loops)
        elif isinstance(node, AttrStmt) and isinstance(node.node, Var) and not self.moves_threads:
            self.axis(node, node.node, loops)  # the loop of a pragma
        elif kind is While:
            self.visit(node.body, [])  # type: ignore[attr-defined]
        elif hasattr(node, "body"):
            if isinstance(node, LetStmt):
                self.fixed.add(node.var)
            self.visit(node.body, loops)

    def axis(self, node: AttrStmt, var: Var, loops: list[For]) -> None:
        """Visit the body of a thread axis or of a pragma."""
        if not self.moves_threads:
            self.fixed.add(var)
            self.visit(node.body, [])
            return
        if loops:
            self.launched_in[var] = loops[-1]
        self.visit(node.body, loops)

    def condition(self, node: IfThenElse, loops: list[For]) -> None:
        """Decide for one condition, then visit its branches."""
        outermost = self.outermost(node.condition, loops)
        if outermost is not None:
            self.hoisted.setdefault(outermost, []).append(node)
        if node.else_case is None:
            self.visit(node.then_case, loops)
            return
        # A condition of one branch implies nothing about the other.
        self.visit(node.then_case, [])
        self.visit(node.else_case, [])

    def outermost(self, condition: Expr, loops: list[For]) -> For | None:
        """The outermost loop that the condition can leave."""
        if not loops:
            return None
        used = variables_of(condition)
        outermost: For | None = None
        launched_in = {self.launched_in.get(var) for var in used}
        for loop in reversed(loops):
            if loop.loop_var in used or loop in launched_in:
                break
            outermost = loop
        if outermost is None or used & self.fixed or effect_of(condition) > Effect.PURE:
            return None
        return outermost


class _Hoister(StatementMapper):
    """Places the conditions."""

    def __init__(self, hoisted: dict[For, list[IfThenElse]]) -> None:
        self.hoisted = hoisted
        self.chosen: dict[IfThenElse, Stmt] = {}  # the branch that replaces a condition

    def visit_For(self, node: For) -> Stmt:
        return self.below(self.hoisted.get(node, []), node)

    def below(self, branches: list[IfThenElse], loop: For) -> Stmt:
        """A loop below the conditions of these branches, the outermost first."""
        if not branches:
            return self.generic(loop)
        first, rest = branches[0], branches[1:]
        self.chosen[first] = first.then_case
        then_case, else_case = self.below(rest, loop), None
        if first.else_case is not None:
            self.chosen[first] = first.else_case
            else_case = fresh_copy(self.below(rest, loop), {})
        return IfThenElse(first.condition, then_case, else_case, first.owner_guard)

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        chosen = self.chosen.get(node)
        return self.generic(node) if chosen is None else self.visit(chosen)
