"""Simplify every expression of a program under the facts at its position.

Owns the facts that statements give: ranges of loops and threads, conditions in their branches.
Unreachable branches are removed. (TVM's name: Simplify.) Must not know how
expressions are simplified.

    for i in range(8):                      for i in range(8):
        if likely(i + j * 8 < 64):    ->        if likely(j < 8):
            A[i + j * 8] = 0                        A[j * 8 + i] = 0

It assumes that integers do not overflow, as TVM does, and as holds for indices. Loaded values and
results of calls may be any integers: in programs to run (`to_run`) only the operands of arithmetic
with such integers are simplified, since `B[i] - 2 > A[i]` differs from `B[i] > A[i] + 2` if that
wraps around; the same holds for stored values. In these programs, floats are not real numbers
either (`arith.facts`). `simplify_branches` also simplifies the operands of conjunctions and
disjunctions where the other operand does not decide them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import islice
from typing import Any

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.clauses import Clauses
from te_sched.arith.conditions import plain
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.calls import changes_memory, effect_of
from te_sched.ir.choices import choice_of, chosen_in, with_choice
from te_sched.ir.data import numbers_of_calls
from te_sched.ir.expr import (
    Add,
    And,
    BufferLoad,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Max,
    Mul,
    Not,
    Or,
    Range,
    Sub,
    Var,
)
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import (
    AssertStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    While,
)
from te_sched.ir.visitor import Mapper, children, replace, substitute, variables_of, walk
from te_sched.lowering.facts_mapper import FactsMapper
from te_sched.lowering.statements import NOTHING, is_nothing, keeps_memory, sequence


def simplify(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with its expressions simplified and its unreachable branches removed."""
    simplifier = StatementSimplifier(func, settings)
    mark_sizes(simplifier.analyzer, func)
    return replace(func, body=simplifier.visit(func.body))


def mark_sizes(analyzer: Analyzer, func: PrimFunc) -> None:
    """Assume that the sizes of arguments are at least 0."""
    for buffer in func.buffer_map.values():
        for extent in buffer.shape:
            if type(extent) is not IntImm:
                analyzer.mark_nonnegative(extent)


_LARGEST_LET = 200  # nodes of a value that replaces its variable
_ON_BUFFERS = BufferStore | BufferRealize | DeclBuffer


class StatementSimplifier(FactsMapper):
    """Simplifies statements from the outside in, so that facts are known before they are used."""

    def __init__(self, func: PrimFunc, settings: Lowering) -> None:
        self.analyzer = Analyzer(settings)
        self.data = self.analyzer.data
        self.is_exact = self.analyzer.is_exact
        self.value = self.condition = self.index = self.analyzer.simplify
        if self.is_exact:
            self.data.add(*numbers_of_calls(func))
            exact = Exact(self.analyzer)
            self.value, self.condition, self.index = exact.visit_Expr, exact.condition, exact.index
        self.func, self.settings = func, settings
        self.lets: dict[Var, Expr] = {}  # the values of variables that stay
        if settings.conditions_as_clauses:
            self.value = Clauses(self.analyzer, self.value).value
            self.condition = Clauses(self.analyzer, self.condition).value
        if settings.simplify_branches:
            self.value = _Operands(self.value, self).value
            self.condition = _Operands(self.condition, self).value

    def assuming(self, condition: Expr, holds: bool = True) -> AbstractContextManager[None]:
        """A scope in which a condition holds, or does not; a condition that may wrap around gives
        no facts about the integers in it.
        """
        if self.is_exact and self.analyzer.may_wrap(condition):
            return nullcontext()
        return super().assuming(condition, holds)

    def propagated(self, e: Expr, statement: Stmt) -> Expr:
        """An expression of a statement; subclasses replace elements whose values they know."""
        return e

    def decided(self, node: IfThenElse) -> bool | None:
        """Whether the condition follows from the values of lets."""
        condition = node.condition
        if self.lets and not self.lets.keys().isdisjoint(variables_of(condition)):
            condition = substitute(condition, self.lets)
            truth = plain(_Operands(self.condition, self).value(condition))
            if type(truth) is IntImm:
                return bool(truth.value)
        return self.decided_by_values(condition, node)

    def decided_by_values(self, condition: Expr, node: IfThenElse) -> bool | None:
        """Whether the condition follows from the values of elements, for subclasses that know
        them."""
        return None

    @cached_property
    def variables_of_buffers(self) -> set[Var]:
        """The variables that the buffers of the function depend on."""
        buffers = {
            node.buffer for node in walk(self.func) if isinstance(node, BufferLoad | _ON_BUFFERS)
        }
        pointers = {buffer.data for buffer in buffers}
        return pointers.union(*[variables_of(buffer) for buffer in buffers])

    def visit_Expr(self, node: Expr) -> Expr:
        return self.analyzer.simplify(node)

    def visit_IntImm(self, node: IntImm) -> Expr:
        return node

    def visit_For(self, node: For) -> Stmt:
        self.change_memory_in(node)
        self.analyzer.bind(node.loop_var, Range(node.min, node.extent))
        steps = _steps_if_any(node.extent)
        if steps is None:
            return self.generic(node)
        with self.analyzer.constraint(build.less(node.loop_var, build.add(node.min, steps))):
            return self.generic(node)

    def visit_While(self, node: While) -> Stmt:
        self.change_memory_in(node)
        return self.generic(node)

    def change_memory_in(self, loop: For | While) -> None:
        """Forget what an earlier iteration of a loop may change."""
        if self.analyzer.assumes_memory:
            every = list(walk(loop))
            stored = {node.buffer.data for node in every if type(node) is BufferStore}
            has_call = any(type(node) is Call and changes_memory(node) for node in every)
            self.analyzer.change_memory(None if has_call else stored)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        is_float = dtypes.is_float(node.var.dtype)
        bound_value = self.propagated(node.value, node)
        value = self.value(bound_value) if is_float else self.condition(bound_value)
        if type(value) in (IntImm, FloatImm, Var):
            self.analyzer.bind(node.var, value)
            # Values that may wrap around keep their variables.
            if self.is_exact and not is_float:
                return self.visit(substitute(node.body, {node.var: value}))
            body = self.visit(node.body)
            if node.var not in self.variables_of_buffers:
                return body
            return replace(node, value=value, body=body)
        if self.data.of(value):
            self.data.add(node.var)
        if self.is_exact or effect_of(value) > Effect.PURE:
            return replace(node, value=value, body=self.visit(node.body))
        if _is_inlined(node.var.dtype, value):
            self.analyzer.bind(node.var, value)
        else:
            self.lets[node.var] = value
        body = self.visit(node.body)
        is_used = any(part is node.var for part in walk(body))
        is_used = is_used or node.var in self.variables_of_buffers
        return replace(node, value=value, body=body) if is_used else body

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        condition = self.condition(self.propagated(node.condition, node))
        plain_condition: Any = plain(condition)
        holds = (
            bool(plain_condition.value) if type(plain_condition) is IntImm else self.decided(node)
        )
        if holds is not None:
            if holds:
                return self.visit(node.then_case)
            return NOTHING if node.else_case is None else self.visit(node.else_case)
        then_case, else_case = self.cases(node, plain_condition)
        return replace(node, condition=condition, then_case=then_case, else_case=else_case)

    def visit_AssertStmt(self, node: AssertStmt) -> Stmt:
        condition = self.condition(node.condition)
        if type(condition) is IntImm and condition.value:
            return self.visit(node.body)
        with self.assuming(condition):
            return replace(node, condition=condition, body=self.visit(node.body))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        value = self.value(self.propagated(node.value, node))
        indices = [self.index(self.propagated(index, node)) for index in node.indices]
        node = replace(node, value=value, indices=tuple(indices))
        self.analyzer.change_memory({node.buffer.data})
        return NOTHING if keeps_memory(node) else node

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        value = self.value(self.propagated(node.value, node))
        if changes_memory(value):
            self.analyzer.change_memory()
        return replace(node, value=value)

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        new = self.sequence(node)
        if new is node:
            return node
        return sequence([stmt for stmt in new.seq if not is_nothing(stmt)] or new.seq[:1])

    def sequence(self, node: SeqStmt) -> SeqStmt:
        """The statements of a sequence."""
        new: SeqStmt = self.generic(node)
        return new


def _is_inlined(dtype: str, value: Expr) -> bool:
    """Whether the value of a let replaces its variable: small ones of signed integers, as in TVM,
    which also inlines large ones.
    """
    return dtypes.is_int(dtype) and sum(1 for _ in islice(walk(value), _LARGEST_LET)) < _LARGEST_LET


class _Operands(Mapper):
    """Simplifies each operand of a conjunction where the other holds, and of a disjunction where
    the other does not; `simplify` is applied to the operands and to whole values.
    """

    def __init__(self, simplify: Callable[[Expr], Expr], facts: StatementSimplifier) -> None:
        self.simplify, self.assuming = simplify, facts.assuming

    def value(self, e: Expr) -> Expr:
        """The simplified expression."""
        return self.simplify(self.visit(e))

    def visit_And(self, node: And) -> Expr:
        return ops.logical_and(*self.operands(node, holds=True))

    def visit_Or(self, node: Or) -> Expr:
        return ops.logical_or(*self.operands(node, holds=False))

    def operands(self, node: And | Or, holds: bool) -> tuple[Expr, Expr]:
        """Both operands, simplified where the other one holds, or does not."""
        a = self.value(node.a)
        with self.assuming(a, holds):
            b = self.value(node.b)
        if effect_of(a) > Effect.PURE:  # its accesses happen before the second operand is known
            return a, b
        with self.assuming(b, holds):
            return self.simplify(a), b


def _steps_if_any(extent: Expr) -> Expr | None:
    """n of the extent max(n, 0): if such a loop runs at all, it has n iterations."""
    if type(extent) is Max:
        for bound, steps in ((extent.a, extent.b), (extent.b, extent.a)):
            if type(bound) is IntImm and bound.value <= 0:
                return steps
    return None


def index_simplifier(analyzer: Analyzer) -> Callable[[Expr], Expr]:
    """The simplifier of indices, exact in programs to run."""
    return Exact(analyzer).index if analyzer.is_exact else analyzer.simplify


class Exact(Mapper):
    """Simplifies values; of expressions that may wrap around, only the operands."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.data = analyzer.data
        self.is_condition = False  # expressions of loop variables alone do not overflow
        self.memo: dict[Any, bool] = {}  # what may wrap around, under facts
        analyzer.keep(self)

    def condition(self, e: Expr) -> Expr:
        """A condition, or an integer for one."""
        outside, self.is_condition = self.is_condition, True
        new = self.visit(e)
        self.is_condition = outside
        return new

    def visit_Expr(self, e: Any) -> Expr:
        """A value."""
        if type(e) is BufferLoad:
            return replace(e, indices=tuple(map(self.index, e.indices)))
        if not self.data.of(e) and not self.wraps(e, self.is_condition):
            return self.analyzer.simplify(e)
        if type(e) is Let:
            self.data.add(e.var)
            self.memo = {}
        choice = choice_of(e)
        if choice is None:
            return _folded(self.generic(e))
        condition, yes, no = choice
        return _folded(with_choice(e, self.condition(condition), self.visit(yes), self.visit(no)))

    def wraps(self, e: Any, is_condition: bool) -> bool:
        """Whether a part of a value, or of an index in it, may wrap around."""
        may_wrap = self.memo.get((e, is_condition))
        if may_wrap is None:
            may_wrap = self.memo[e, is_condition] = self._wraps(e, is_condition)
        return may_wrap

    def _wraps(self, e: Any, is_condition: bool) -> bool:
        if type(e) is BufferLoad:
            return any(map(self.analyzer.may_wrap, e.indices))
        if not is_condition and self.analyzer.wraps(e):
            return True
        below = list(children(e))
        if choice_of(e) is not None and self.wraps(below.pop(0), True):
            return True
        return any(self.wraps(child, is_condition) for child in below)

    def index(self, e: Expr) -> Expr:
        """An index: a sum whose terms that may wrap around are replaced by variables. It is not
        changed if a part of its simplified form may wrap around: max(x, 5) - 5 does not, but max(x
        - 5, 0) may.
        """
        if not self.data.of(e):
            return self.analyzer.simplify(e)
        if not self.analyzer.may_wrap(e):
            simple = self.analyzer.simplify(e)
            return e if self.analyzer.may_wrap(simple) else simple
        hidden: dict[Var, Expr] = {}
        shown = self.hide(e, hidden)
        return substitute(self.analyzer.simplify(shown), hidden)

    def hide(self, e: Expr, hidden: dict[Var, Expr]) -> Expr:
        """Replace the terms of a sum that may wrap around by variables."""
        if isinstance(e, Add | Sub | Mul):
            a, b = self.hide(e.a, hidden), self.hide(e.b, hidden)
            return e if a is e.a and b is e.b else type(e)(a, b)
        if not self.analyzer.may_wrap(e):
            return e
        new: Expr = self.generic(e)
        var = Var("wrapping", new.dtype)
        hidden[var] = _folded(new)
        return var


def _folded(e: Expr) -> Expr:
    """Logic and choices with constant conditions."""
    if isinstance(e, And):
        return ops.logical_and(e.a, e.b)
    if isinstance(e, Or):
        return ops.logical_or(e.a, e.b)
    if isinstance(e, Not):
        return ops.logical_not(e.a)
    return chosen_in(e)
