"""Remove what a program states for the compiler only: assumptions, and stores of undefined values.

    evaluate(assume(A[0] == 5))
    A[1] = undef() + 1             ->    A[2] = 10
    A[2] = 10

Statements without effect are removed with them. (TVM's names: RemoveAssume, RemoveStoreUndef.)
Must not know the origin of the statements.
"""

from __future__ import annotations

from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir.expr import BufferLoad, Call, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.stmt import BufferStore, Evaluate, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, replace, walk
from te_sched.lowering.remove_no_op import remove_no_op
from te_sched.lowering.statements import NOTHING
from te_sched.tir.passes.remove_by_dataflow import remove_by_dataflow

_ASSUME, _UNDEFINED = "tir.assume", "tir.undef"


def remove_assumptions(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without evaluations of `assume`."""
    return _without_effects(func.with_body(_Assumptions().visit(func.body)), settings)


def remove_undefined_stores(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without stores of values that contain `undef`.

    Raises LoweringError if an index contains `undef`.
    """
    return _without_effects(func.with_body(_Undefined().visit(func.body)), settings)


def _without_effects(func: PrimFunc, settings: Lowering) -> PrimFunc:
    by_dataflow = settings.remove_by_dataflow and not settings.to_run
    return (remove_by_dataflow if by_dataflow else remove_no_op)(func, settings)


class _Assumptions(StatementMapper):
    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        return NOTHING if _is_call(node.value, _ASSUME) else node


class _Undefined(StatementMapper):
    """Removes stores; `variables` have undefined values."""

    def __init__(self) -> None:
        self.variables: set[Var] = set()

    def is_undefined(self, value: Any) -> bool:
        """Whether an expression contains an undefined value."""
        return any(part in self.variables or _is_call(part, _UNDEFINED) for part in walk(value))

    def check_indices(self, node: Any) -> None:
        """Raise an error if an index in a node contains an undefined value."""
        for part in walk(node):
            if isinstance(part, BufferLoad | BufferStore):
                for index in part.indices:
                    if self.is_undefined(index):
                        raise LoweringError(
                            f"an index of buffer {part.buffer.name} is undefined: {spelled(index)}",
                            "undef() has no value, so the element is unknown",
                            "use undef() only as a value that is stored",
                        )

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        self.check_indices(node)
        return NOTHING if self.is_undefined(node.value) else node

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        self.check_indices(node)
        return node

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        self.check_indices(node.value)
        if not self.is_undefined(node.value):
            return self.generic(node)
        self.variables.add(node.var)
        body = self.visit(node.body)
        is_used = any(part is node.var for part in walk(body))
        return replace(node, body=body) if is_used else body


def _is_call(value: Any, op: str) -> bool:
    return isinstance(value, Call) and value.op == op
