"""Hoist loop-invariant conditions and lets out of loops, also those inside of expressions.

    for i in range(4):                                  for i in range(4):
        for j in range(4):                                  if i < 2:
            A[i, j] = if_then_else(i < 2, 1, 2)     ->          for j in range(4): A[i, j] = 1
                                                            else:
                                                                for j in range(4): A[i, j] = 2

What is hoisted leaves all loops that it does not depend on, except for those in which it is in a
sequence of statements. Conditions and lets that read memory or may divide by zero stay. The program
is simplified, also under the hoisted conditions. `config.Lowering` chooses what is hoisted
(`hoisted_conditionals`, `hoisted_lets`). (TVM's name: HoistExpression.) Must not know where
conditions come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from te_sched.arith import build
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import expr as E
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.calls import effect_of
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import And, Call, Expr, IntImm, Let, Or, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, LetStmt, PrimFunc, SeqStmt, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Mapper, parts_of, replace, variables_of, walk
from te_sched.lowering.remove_no_op import is_without_effect
from te_sched.lowering.statements import fresh_copy
from te_sched.pass_context import HoistedConditionals, HoistedLetBindings
from te_sched.tir.passes.dataflow.touches import expressions_of
from te_sched.tir.passes.propagate_values import ValuePropagator

_DIVISIONS = frozenset((E.Div, E.Mod, E.FloorDiv, E.FloorMod))
_MOST_CONDITIONS = 6  # out of one loop: each of them may double the code


def hoist_expressions(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with conditions and lets outside of the loops that they do not depend on."""
    return func.with_body(_Hoister(func, settings).visit(func.body))


class _Hoister(ValuePropagator):
    """Simplifies a program from the outside in; what can leave a loop is moved before it."""

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        super().__init__(func, settings)
        self.flags = HoistedConditionals(settings.hoisted_conditionals)
        self.let_flags = HoistedLetBindings(settings.hoisted_lets)
        self.threads: set[Var] = set()
        self.hoisted: list[Expr] = []  # the conditions around the current loop that left it

    def visit_For(self, node: For) -> Stmt:
        return self.around(node, super().visit_For)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        loop = loop_of(node)
        if loop is None:
            return super().visit_AttrStmt(node)
        self.threads.add(loop.var)
        if not self.flags & HoistedConditionals.UsingBlockVar:
            return super().visit_AttrStmt(node)
        return self.around(node, super().visit_AttrStmt)

    def around(self, loop: Any, simplified: Callable[[Any], Stmt]) -> Stmt:
        """The loop below what can leave it."""
        for candidate in self.leaving(loop):
            if isinstance(candidate, LetStmt | Let):
                return self.below_let(loop, candidate)
            is_new = not any(same(candidate, other) for other in self.hoisted)
            if is_new and type(self.condition(candidate)) is not IntImm:
                return self.below(loop, candidate)
        outside, self.hoisted = self.hoisted, []
        new = simplified(loop)
        self.hoisted = outside
        return new

    def below(self, loop: Stmt, condition: Expr) -> Stmt:
        """The loop where a condition holds, and a copy where it does not if that does anything."""
        self.hoisted.append(condition)
        holds, fails = (_Decided(condition, truth).visit(loop) for truth in (True, False))
        new = super().visit_IfThenElse(IfThenElse(condition, holds, fresh_copy(fails, {})))
        self.hoisted.pop()
        if not isinstance(new, IfThenElse) or new.else_case is None:
            return new
        has_effect = not is_without_effect(new.else_case, self.settings)
        return new if has_effect else replace(new, else_case=None)

    def below_let(self, loop: Stmt, let: LetStmt | Let) -> Stmt:
        """The loop without a let inside of it, where its variable is defined before the loop."""
        return self.visit(LetStmt(let.var, let.value, _WithoutLet(let).visit(loop)))

    # -- candidates --------------------------------------------------------------

    def leaving(self, loop: Any) -> Iterator[Expr | LetStmt]:
        """The conditions and lets in a loop that do not depend on it, in program order."""
        own_loop = loop_of(loop)
        if own_loop is None or len(self.hoisted) >= _MOST_CONDITIONS:
            return
        inside = {own_loop.var}
        for candidate in self.candidates(loop.body, inside):
            e = candidate.value if isinstance(candidate, LetStmt | Let) else candidate
            is_fixed = _may_move(e) and inside.isdisjoint(variables_of(e))
            if isinstance(candidate, LetStmt | Let):
                if is_fixed and self.moves(candidate, loop.body):
                    yield candidate
                inside.add(candidate.var)
            elif is_fixed and self.moves_condition(e):
                yield candidate

    def candidates(self, node: Any, inside: set[Var]) -> Iterator[Expr | LetStmt]:
        """Conditions and lets outside of sequences; `inside` gets the variables of loops."""
        loop = loop_of(node)
        if loop is not None:
            inside.add(loop.var)
            if isinstance(node, AttrStmt) and not self.flags & HoistedConditionals.UsingBlockVar:
                return
        if isinstance(node, SeqStmt | BlockRealize):
            return
        if isinstance(node, LetStmt):
            yield node
        if isinstance(node, IfThenElse) and self.flags & HoistedConditionals.IfElseStmt:
            yield from self.split(node.condition)
        for e in expressions_of(node):
            for part in walk(e):
                yield from self.inside_expression(part)
        for part in parts_of(node):
            yield from self.candidates(part, inside)

    def inside_expression(self, e: Any) -> Iterator[Expr]:
        """The conditions that an expression evaluates itself, and lets."""
        if type(e) is Let:
            yield e
        elif type(e) is Call and choice_of(e) is not None:
            if self.flags & HoistedConditionals.IfElseExpr:
                yield from self.split(e.args[0])
        elif type(e) in (And, Or) and self.flags & HoistedConditionals.BooleanExpression:
            yield from (e.a, e.b)

    def split(self, condition: Any) -> Iterator[Expr]:
        """A condition, and its operands if boolean expressions are hoisted."""
        yield condition
        if type(condition) in (And, Or) and self.flags & HoistedConditionals.BooleanExpression:
            yield from self.split(condition.a)
            yield from self.split(condition.b)

    def moves_condition(self, e: Expr) -> bool:
        """Whether conditions on these variables are hoisted."""
        uses_thread = not self.threads.isdisjoint(variables_of(e))
        return not uses_thread or bool(self.flags & HoistedConditionals.UsingBlockVar)

    def moves(self, let: Any, body: Stmt) -> bool:
        """Whether a let is hoisted."""
        kind = HoistedLetBindings.LetExpr if type(let) is Let else HoistedLetBindings.LetStmt
        if self.let_flags & kind:
            return True
        if not self.let_flags & HoistedLetBindings.RequiredByConditional:
            return False
        conditions = self.candidates(body, set())
        return any(
            let.var in variables_of(condition)
            for condition in conditions
            if not isinstance(condition, LetStmt | Let)
        )


class _Decided(Mapper):
    """Replaces a condition by its value."""

    def __init__(self, condition: Expr, truth: bool) -> None:
        self.condition, self.truth = condition, build.truth(truth, condition.dtype)

    def visit_Expr(self, node: Expr) -> Expr:
        return self.truth if same(node, self.condition) else self.generic(node)


class _WithoutLet(Mapper):
    """Replaces a let by its body."""

    def __init__(self, let: LetStmt | Let) -> None:
        self.let = let

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        return node.body if node is self.let else self.generic(node)

    def visit_Let(self, node: Let) -> Expr:
        return node.body if node is self.let else self.generic(node)


def _may_move(e: Expr) -> bool:
    """Whether an expression has the same value at any time, and can be computed anywhere."""
    return effect_of(e) <= Effect.PURE and not any(
        type(part) in _DIVISIONS and not (type(part.b) is IntImm and part.b.value)
        for part in walk(e)
    )
