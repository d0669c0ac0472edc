"""Test a condition before the loops that it does not depend on (TVM's HoistIfThenElse).

Before::

    for i in range(m):
        for j in range(n):
            if i < 10: A[i, j] = 0

After::

    for i in range(m):
        if i < 10:
            for j in range(n): A[i, j] = 0

A condition moves out of a loop only if the loop does nothing else: no other statement may stand
beside it on the way. Conditions on threads, on variables of lets and on memory stay where they are.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import stmt as S
from te_sched.ir.calls import Effect
from te_sched.ir.expr import IterVar, Var
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.ir.visitor import Mapper, replace, walk
from te_sched.lower.statements import effect_of, sequence, statements


def hoist_conditions(func: PrimFunc) -> PrimFunc:
    """Test a condition before the loops that it does not depend on."""
    if not any(type(stmt) is S.IfThenElse for stmt in statements(func.body)):
        return func
    search = _Search()
    search.visit(func.body, [])
    if not search.moves:
        return func
    return replace(func, body=_Mover(search.moves).visit(func.body))  # type: ignore[no-any-return]


class _Search:
    """Finds for each condition the outermost loop that it can move out of.

    `moves` maps the id of a loop to the conditions that go round it, the outermost first.
    """

    def __init__(self) -> None:
        self.moves: dict[int, list[S.IfThenElse]] = {}
        self.fixed: set[Var] = set()

    def visit(self, stmt: Any, loops: list[S.For]) -> None:
        """Search a statement; `loops` are those around it that do nothing else, innermost last."""
        kind = type(stmt)
        if kind is S.For:
            self.visit(stmt.body, [*loops, stmt])
        elif kind is S.SeqStmt:
            for part in stmt.seq:
                self.visit(part, [])
        elif kind is S.IfThenElse:
            self._move(stmt, loops)
            self.visit(stmt.then_case, loops if stmt.else_case is None else [])
            if stmt.else_case is not None:
                self.visit(stmt.else_case, [])
        elif kind is S.While or kind is S.AssertStmt:
            self.visit(stmt.body, [])
        elif hasattr(stmt, "body"):
            self._fix(stmt)
            self.visit(stmt.body, loops)

    def _fix(self, stmt: Any) -> None:
        """Conditions on the variables of threads and lets do not move."""
        if type(stmt) is S.LetStmt:
            self.fixed.add(stmt.var)
        elif type(stmt) is S.AttrStmt and isinstance(stmt.node, IterVar):
            self.fixed.add(stmt.node.var)

    def _move(self, stmt: S.IfThenElse, loops: list[S.For]) -> None:
        if not loops:
            return
        used = {node for node in walk(stmt.condition) if type(node) is Var}
        if not used.isdisjoint(self.fixed) or effect_of(stmt.condition) > Effect.PURE:
            return
        target = None
        for loop in reversed(loops):
            if loop.loop_var in used:
                break
            target = loop
        if target is not None:
            self.moves.setdefault(id(target), []).append(stmt)


class _Mover(Mapper):
    """Moves conditions; `holds` tells in which case of a moved condition it stands."""

    def __init__(self, moves: dict[int, list[S.IfThenElse]]) -> None:
        self.moves = moves
        self.holds: dict[int, bool] = {}

    def visit_For(self, node: S.For) -> Any:
        return self._guarded(node, self.moves.get(id(node), []))

    def _guarded(self, loop: S.For, conditions: list[S.IfThenElse]) -> Stmt:
        """The loop with conditions round it; one with an else doubles it."""
        if not conditions:
            return self.generic(loop)  # type: ignore[no-any-return]
        first, rest = conditions[0], conditions[1:]
        self.holds[id(first)] = True
        then_case = self._guarded(loop, rest)
        else_case = None
        if first.else_case is not None:
            self.holds[id(first)] = False
            else_case = self._guarded(loop, rest)
        del self.holds[id(first)]
        return S.IfThenElse(first.condition, then_case, else_case, first.owner_guard)

    def visit_IfThenElse(self, node: S.IfThenElse) -> Any:
        holds = self.holds.get(id(node))
        if holds is None:
            return self.generic(node)
        return self.visit(node.then_case if holds else node.else_case)

    def visit_SeqStmt(self, node: S.SeqStmt) -> Any:
        new = self.generic(node)
        return new if new is node else sequence(list(new.seq))

    def visit_BufferStore(self, node: S.BufferStore) -> Any:
        return node

    def visit_Evaluate(self, node: S.Evaluate) -> Any:
        return node
