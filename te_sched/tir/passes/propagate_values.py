"""Simplify a program, given the values that its stores leave in elements of buffers.

    A[0] = 1                       A[0] = 1
    if A[0] < 2:           ->      B[0] = 1
        B[0] = A[0]

The values decide conditions (`propagate_to_conditions`) and replace elements
(`propagate_to_values`), and assumptions hold in the statements after them; not in programs to run.
(TVM's name: Simplify with `propagate_knowns_to_...`.) Must not know how values are found.
"""

from __future__ import annotations

from contextlib import ExitStack
from operator import is_

from te_sched.config import AS_TVM, Lowering
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import Call, Expr
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import Evaluate, IfThenElse, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import replace
from te_sched.lowering.simplify import StatementSimplifier, mark_sizes
from te_sched.tir.passes.dataflow.known_values import KnownValues


def propagate_values(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function simplified as by `lowering.simplify`, and by the values of elements."""
    simplifier = ValuePropagator(func, settings)
    mark_sizes(simplifier.analyzer, func)
    return replace(func, body=simplifier.visit(func.body))


class ValuePropagator(StatementSimplifier):
    """Simplifies statements; `values` are those of elements, if the settings ask for them."""

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        super().__init__(func, settings)
        is_used = settings.propagate_to_conditions or settings.propagate_to_values
        self.values = KnownValues(func, settings) if is_used and not self.is_exact else None

    def propagated(self, e: Expr, statement: Stmt) -> Expr:
        if self.values is None or not self.settings.propagate_to_values:
            return e
        return self.values.known(e, statement)

    def decided_by_values(self, condition: Expr, node: IfThenElse) -> bool | None:
        if self.values is None or not self.settings.propagate_to_conditions:
            return None
        return self.values.decided(condition, node)

    def sequence(self, node: SeqStmt) -> SeqStmt:
        """The statements of a sequence, each under the assumptions before it."""
        if self.values is None:
            return super().sequence(node)
        with ExitStack() as assumptions:
            parts = []
            for part in node.seq:
                parts.append(self.visit(part))
                condition = _assumption(part)
                if condition is not None and effect_of(condition) <= Effect.PURE:
                    assumptions.enter_context(self.assuming(condition))
        return node if all(map(is_, parts, node.seq)) else SeqStmt(tuple(parts))


def _assumption(statement: Stmt) -> Expr | None:
    """The condition that a statement assumes to hold."""
    value = statement.value if isinstance(statement, Evaluate) else None
    return value.args[0] if isinstance(value, Call) and value.op == "tir.assume" else None
