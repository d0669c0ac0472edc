"""A mapper whose analyzer knows the facts in force around the node that it maps: ranges of loops,
threads and iterators of blocks, and conditions.

Subclasses say which facts they trust (`assuming`), and of what form (`fact_of`). Must not know what
a pass does with facts.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.build import negate
from te_sched.ir.blocks import Block
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.expr import Expr, Range
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, Stmt
from te_sched.ir.visitor import Mapper, replace


def note_range(node: Any, analyzer: Analyzer) -> None:
    """Bind the variable of a loop or of a thread axis in an analyzer."""
    loop = loop_of(node)
    if loop is not None:
        analyzer.bind(loop.var, loop.range)


class FactsMapper(Mapper):
    """Rebuilds a program; `analyzer` knows what holds around each node."""

    analyzer: Analyzer

    def assuming(self, condition: Expr, holds: bool = True) -> AbstractContextManager[None]:
        """A scope in which a condition holds, or does not."""
        if not holds:
            condition = self.analyzer.rewrite_simplify(negate(condition))
        return self.analyzer.constraint(condition)

    def fact_of(self, condition: Expr, mapped: Expr) -> Expr:
        """What is assumed of a condition: by default the mapped one."""
        return mapped

    def visit_For(self, node: For) -> Stmt:
        note_range(node, self.analyzer)
        return self.generic(node)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        note_range(node, self.analyzer)
        return self.generic(node)

    def visit_Block(self, node: Block) -> Stmt:
        axes = []
        for axis in node.iter_vars:
            assert axis.dom is not None
            domain: Range = self.visit(axis.dom)
            axes.append(replace(axis, dom=domain))
            self.analyzer.bind(axis.var, domain)
        return self.generic(replace(node, iter_vars=tuple(axes)))

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        condition = self.visit(node.condition)
        then_case, else_case = self.cases(node, self.fact_of(node.condition, condition))
        return replace(node, condition=condition, then_case=then_case, else_case=else_case)

    def cases(self, node: IfThenElse, fact: Expr) -> tuple[Stmt, Stmt | None]:
        """The branches, where a fact holds and where it does not."""
        with self.assuming(fact):
            then_case = self.visit(node.then_case)
        if node.else_case is None:
            return then_case, None
        with self.assuming(fact, holds=False):
            return then_case, self.visit(node.else_case)

    def choice(self, node: Expr) -> Expr:
        """A select or if_then_else, with each value mapped where it is chosen."""
        old_condition, yes, no = choice_of(node)  # type: ignore[misc]
        condition = self.visit(old_condition)
        fact = self.fact_of(old_condition, condition)
        with self.assuming(fact):
            yes = self.visit(yes)
        with self.assuming(fact, holds=False):
            no = self.visit(no)
        return with_choice(node, condition, yes, no)
