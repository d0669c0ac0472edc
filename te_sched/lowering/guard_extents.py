"""Guard the reads of loop extents and conditions by the conditions of their bodies.

    for k in range(M[i]):            if likely(i < 7):
        if likely(i < 7):      ->        for k in range(M[i]):
            Y[i] = ...                       if likely(i < 7):
                                                 Y[i] = ...

The last of uneven tiles would read M beyond its end, for a loop that does nothing. Only `build`
applies this pass: the texts of TVM have the guard inside until a later pass, and sometimes to the
end. Must not know where guards come from.
"""

from __future__ import annotations

from collections.abc import Iterable

from te_sched.ir.calls import effect_of
from te_sched.ir.expr import And, Call, Expr, IterVar, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, LetStmt, PrimFunc, SeqStmt, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import StatementMapper, reads_data, replace, statements, variables_of


def guard_extents(func: PrimFunc) -> PrimFunc:
    """The function with extents and conditions that read memory inside of the guards of their
    bodies.

    `func` is a program as `schedule_ops` leaves it.
    """
    if not any(_reads(node) for node in statements(func.body)):
        return func
    return replace(func, body=_Guard().visit(func.body))


def _reads(node: Stmt) -> bool:
    """Whether the number of executions of the body of a statement depends on memory."""
    if type(node) is For:
        return reads_data(node.extent)
    return type(node) is IfThenElse and node.else_case is None and reads_data(node.condition)


class _Guard(StatementMapper):
    def visit_For(self, node: For) -> Stmt:
        return _guarded(self.generic(node), node.extent, node.body, {node.loop_var})

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        new: Stmt = self.generic(node)
        if node.else_case is not None:
            return new
        return _guarded(new, node.condition, node.then_case, set())


def _guarded(node: Stmt, value: Expr, below: Stmt, inner: set[Var]) -> Stmt:
    """The statement, guarded by conditions of its body on variables that `value` reads."""
    if not reads_data(value):
        return node
    read_by = variables_of(value)
    for guard in reversed(_guards(below, inner)):
        if not read_by.isdisjoint(variables_of(guard)):
            node = IfThenElse(guard, node)
    return node


def _guards(node: Stmt, inner: set[Var]) -> list[Expr]:
    """Conditions under which alone a statement has an effect, that can be evaluated outside of
    it."""
    if isinstance(node, For):
        return _guards(node.body, inner | {node.loop_var})
    if isinstance(node, IfThenElse) and node.else_case is None:
        own = [condition for condition in _parts(node.condition) if _is_known(condition, inner)]
        return own + _guards(node.then_case, inner)
    if isinstance(node, SeqStmt):
        first, *others = [_guards(part, inner) for part in node.seq]
        return [
            condition for condition in first if all(contains(other, condition) for other in others)
        ]
    if isinstance(node, LetStmt):
        return _guards(node.body, inner | {node.var})
    if isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
        return _guards(node.body, inner | {node.node.var})
    body = getattr(node, "body", None)
    return _guards(body, inner) if isinstance(body, Stmt) else []


def _parts(condition: Expr) -> list[Expr]:
    if type(condition) is And:
        return _parts(condition.a) + _parts(condition.b)
    if type(condition) is Call and condition.op == "tir.likely":
        inside = condition.args[0]
        if type(inside) is And:
            return _parts(inside)
    return [condition]


def _is_known(condition: Expr, inner: set[Var]) -> bool:
    return effect_of(condition) <= Effect.PURE and inner.isdisjoint(variables_of(condition))


def contains(conditions: Iterable[Expr], wanted: Expr) -> bool:
    """Whether a condition is structurally equal to one of some conditions."""
    return any(structural_equal(condition, wanted) for condition in conditions)
