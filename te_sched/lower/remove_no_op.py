"""Statements that do nothing go: empty loops and branches, values without use.

    for i in range(n):             A[0] = 1
        evaluate(A[i])       ->    evaluate(call_extern("f"))
    A[0] = 1
    if call_extern("f"):
        evaluate(0)

What is evaluated for an effect (a call of the unknown) stays, wherever it stood. (TVM's name:
RemoveNoOp.) Must not know which pass left the remains behind.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import StatementMapper, replace, walk
from te_sched.lower.statements import NOTHING, is_nothing, keeps_memory, sequence


def remove_no_op(func: PrimFunc) -> PrimFunc:
    """The function without statements that do nothing."""
    body = _Remover().visit(func.body)
    return func if body is func.body else replace(func, body=body)


class _Remover(StatementMapper):
    """Rebuilds statements from the inside out; expressions are left alone."""

    def visit_For(self, node: For) -> Stmt:
        if _is_empty(node.extent):
            return NOTHING
        new = self.generic(node)
        return _evaluations(node.min, node.extent) if is_nothing(new.body) else new

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        new = self.generic(node)
        if is_nothing(new.body):
            return _evaluations(node.value)
        is_unused = not _uses(new.body, node.var)
        return new.body if is_unused and effect_of(node.value) <= Effect.READ_STATE else new

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key == "pragma_debug_skip_region":
            return NOTHING
        new = self.generic(node)
        return _evaluations(node.value) if is_nothing(new.body) else new

    def visit_Allocate(self, node: Allocate) -> Stmt:
        new = self.generic(node)
        return _evaluations(*node.extents) if is_nothing(new.body) else new

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        new = self.generic(node)
        if new.else_case is not None and is_nothing(new.else_case):
            new = replace(new, else_case=None)
        if not is_nothing(new.then_case):
            return new
        if new.else_case is None:
            return _evaluations(node.condition)
        return IfThenElse(ops.logical_not(node.condition), new.else_case)

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        parts: list[Stmt] = [self.visit(part) for part in node.seq]
        kept = [part for part in parts if not is_nothing(part)]
        if len(kept) == len(node.seq) and all(
            part is old and type(part) is not SeqStmt
            for part, old in zip(kept, node.seq, strict=True)
        ):
            return node
        return sequence(kept)

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        if type(node.value) is IntImm:
            return node
        return NOTHING if effect_of(node.value) <= Effect.READ_STATE else node

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return NOTHING if keeps_memory(node) else node


def _is_empty(extent: Expr) -> bool:
    """Whether a loop of this extent is known to do nothing."""
    if type(extent) is IntImm:
        return extent.value <= 0
    high = Analyzer().const_bounds(extent)[1]
    return high is not None and high <= 0


def _uses(body: Stmt, var: Var) -> bool:
    return any(node is var for node in walk(body))


def _evaluations(*values: Expr) -> Stmt:
    """Those of the values that have effects."""
    parts: list[Stmt] = [
        Evaluate(value) for value in values if effect_of(value) > Effect.READ_STATE
    ]
    return sequence(parts)
