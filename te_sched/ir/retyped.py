"""Rebuild programs after variables change their types.

Must not know which variables change, or why.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import ops
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.expr import BinaryOp, Call, CompareOp, Expr
from te_sched.ir.intrinsic_table import BITWISE, FOREIGN
from te_sched.ir.visitor import Mapper, replace


class Retyper(Mapper):
    """Rebuilds expressions with operands of a common type, the wider one."""

    def matched(self, *old: Expr) -> tuple[Expr, Expr]:
        """Two operands of one type."""
        return self.unified(old, *map(self.visit, old))

    def unified(self, old: tuple[Expr, ...], a: Expr, b: Expr) -> tuple[Expr, Expr]:
        """The new operands a and b, of one type; `old` are what they were."""
        return (a, b) if a.dtype == b.dtype else ops.match_types(a, b)

    def visit_operation(self, node: BinaryOp | CompareOp) -> Expr:
        """An operation on two operands."""
        a, b = self.matched(node.a, node.b)
        return node if a is node.a and b is node.b else type(node)(a, b)

    visit_BinaryOp = visit_CompareOp = visit_operation

    def visit_choice(self, node: Expr) -> Expr:
        """Select or if_then_else."""
        old: Any = choice_of(node)
        condition, yes, no = map(self.visit, old)
        return with_choice(node, condition, *ops.match_types(yes, no))

    visit_Select = visit_choice

    def visit_Call(self, node: Call) -> Expr:
        if choice_of(node) is not None:
            return self.visit_choice(node)
        if node.op in BITWISE:
            args: list[Expr] = [*self.matched(*node.args)]
        else:
            args = [self.visit(arg) for arg in node.args]
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            return node
        if node.op in FOREIGN or node.op == "tir.reinterpret":  # whose arguments have their bits
            args = [ops.cast(old.dtype, new) for new, old in zip(args, node.args, strict=True)]
            return replace(node, args=tuple(args))
        same_type = bool(node.args) and node.dtype == node.args[-1].dtype
        return Call(args[-1].dtype if same_type else node.dtype, node.op, tuple(args))
