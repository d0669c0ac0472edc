"""Programs whose variables change their types: what is computed with them follows.

Must not know which variables change, or why.
"""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.expr import BinaryOp, Call, CompareOp, Expr, Select
from te_sched.ir.intrinsic_table import BITWISE
from te_sched.ir.visitor import Mapper

# Functions from elsewhere depend on the types of their arguments.
_FOREIGN = ("extern", "packed", "llvm")


class Retyper(Mapper):
    """Rebuilds expressions with operands of one type, the wider one where they differ now."""

    def matched(self, *old: Expr) -> tuple[Expr, Expr]:
        """Two operands of one type."""
        a, b = map(self.visit, old)
        return (a, b) if a.dtype == b.dtype else ops.match_types(a, b)

    def visit_operation(self, node: BinaryOp | CompareOp) -> Expr:
        """An operation on two operands."""
        a, b = self.matched(node.a, node.b)
        return node if a is node.a and b is node.b else type(node)(a, b)

    visit_BinaryOp = visit_CompareOp = visit_operation

    def visit_Select(self, node: Select) -> Expr:
        condition = self.visit(node.condition)
        yes, no = self.visit(node.true_value), self.visit(node.false_value)
        if condition is node.condition and yes is node.true_value and no is node.false_value:
            return node
        return Select(condition, *ops.match_types(yes, no))

    def visit_Call(self, node: Call) -> Expr:
        if node.op in BITWISE:
            args: list[Expr] = [*self.matched(*node.args)]
        else:
            args = [self.visit(arg) for arg in node.args]
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            return node
        if any(word in node.op for word in _FOREIGN):
            args = [
                ops.cast(old.dtype, new) if new.dtype != old.dtype else new
                for new, old in zip(args, node.args, strict=True)
            ]
            return Call(node.dtype, node.op, tuple(args))
        if node.op == "tir.if_then_else":
            args[1:] = ops.match_types(args[1], args[2])
        same_type = bool(node.args) and node.dtype == node.args[-1].dtype
        return Call(args[-1].dtype if same_type else node.dtype, node.op, tuple(args))
