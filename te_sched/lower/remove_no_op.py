"""Remove statements without effect: empty loops and branches, unused values.

    for i in range(n):             A[0] = 1
        evaluate(A[i])       ->    evaluate(call_extern("f"))
    A[0] = 1
    if call_extern("f"):
        evaluate(0)

Expressions that are evaluated for an effect (calls of unknown functions) stay. (TVM's name:
RemoveNoOp.) Must not know other passes.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import Expr, IntImm
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


def remove_no_op(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without statements that have no effect."""
    return func.with_body(_Remover(settings).visit(func.body))


class _Remover(StatementMapper):
    """Rebuilds statements from the inside out; expressions are left alone."""

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings

    def visit_For(self, node: For) -> Stmt:
        if _is_empty(node.extent, self.settings):
            return NOTHING
        return self.around(node, self.visit(node.body), node.min, node.extent)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        body = self.visit(node.body)
        is_needed = is_nothing(body) or effect_of(node.value) > Effect.READ_STATE
        if not is_needed and not any(part is node.var for part in walk(body)):
            return body
        return self.around(node, body, node.value)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key == "pragma_debug_skip_region":
            return NOTHING
        return self.around(node, self.visit(node.body), node.value)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        return self.around(node, self.visit(node.body), *node.extents)

    def around(self, node: For | LetStmt | AttrStmt | Allocate, body: Stmt, *values: Expr) -> Stmt:
        """The statement with another body; if that has no effect, only the evaluation of its
        values."""
        if is_nothing(body):
            return _evaluations(*values)
        return node if body is node.body else replace(node, body=body)

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        then_case: Stmt = self.visit(node.then_case)
        else_case: Stmt | None = None if node.else_case is None else self.visit(node.else_case)
        if else_case is not None and is_nothing(else_case):
            else_case = None
        if is_nothing(then_case):
            if else_case is None:
                return _evaluations(node.condition)
            return IfThenElse(ops.logical_not(node.condition), else_case)
        return replace(node, then_case=then_case, else_case=else_case)

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        new = self.generic(node)
        kept = [part for part in new.seq if not is_nothing(part)]
        return new if len(kept) == len(new.seq) else sequence(kept)

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        if type(node.value) is IntImm:
            return node
        return NOTHING if effect_of(node.value) <= Effect.READ_STATE else node

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return NOTHING if keeps_memory(node) else node


def _is_empty(extent: Expr, settings: Lowering) -> bool:
    """Whether a loop of this extent is known to do nothing."""
    if type(extent) is IntImm:
        return extent.value <= 0
    high = Analyzer(settings).const_bounds(extent)[1]
    return high is not None and high <= 0


def _evaluations(*values: Expr) -> Stmt:
    """Those of the values that have effects."""
    parts: list[Stmt] = [
        Evaluate(value) for value in values if effect_of(value) > Effect.READ_STATE
    ]
    return sequence(parts)
