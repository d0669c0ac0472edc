"""Remove statements without effect: empty loops and branches, unused values.

    for i in range(n):             A[0] = 1
        evaluate(A[i])       ->    evaluate(call_extern("f"))
    A[0] = 1
    if call_extern("f"):
        evaluate(0)

Expressions that are evaluated for an effect (calls of unknown functions) stay. (TVM's name:
RemoveNoOp.) Must not know other passes, nor how it was found that a store has no effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.build import negate
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, Range, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.scopes import loop_of
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
from te_sched.ir.visitor import StatementMapper, children, replace
from te_sched.lowering.statements import NOTHING, describing, is_nothing, keeps_memory, sequence


def remove_no_op(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without statements that have no effect."""
    return func.with_body(NoOpRemover(settings).visit(func.body))


def is_without_effect(statement: Stmt, settings: Lowering = AS_TVM) -> bool:
    """Whether nothing is left of a statement without what has no effect."""
    return is_nothing(NoOpRemover(settings).visit(statement))


class NoOpRemover(StatementMapper):
    """Rebuilds statements from the inside out; expressions are left alone.

    `removed` are stores that have no effect. `around_it` has the loops, lets and conditions around
    the current statement; an analyzer is made of them only where it is asked.
    """

    def __init__(self, settings: Lowering, removed: Collection[Stmt] = ()) -> None:
        self.settings = settings
        self.removed = frozenset(removed)
        self.around_it: list[tuple[Var, Range | Expr] | Expr] = []
        self.used: dict[Stmt, set[Var]] = {}  # by statements with a value that is bound

    def inside(self, fact: tuple[Var, Range | Expr] | Expr, node: Stmt) -> Stmt:
        """The mapped statement, where a variable has a value or a range, or a condition holds."""
        self.around_it.append(fact)
        new = self.visit(node)
        self.around_it.pop()
        return new

    def visit_For(self, node: For) -> Stmt:
        if self.is_empty(node.extent):
            return NOTHING
        body = self.inside((node.loop_var, Range(node.min, node.extent)), node.body)
        return self.around(node, body, node.min, node.extent)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        body = self.inside((node.var, node.value), node.body)
        is_needed = is_nothing(body) or effect_of(node.value) > Effect.READ_STATE
        if is_needed:
            return self.around(node, body, node.value)
        used = self.variables_in(body)
        new = self.around(node, body, node.value) if node.var in used else body
        self.used[new] = used if new is body else used | self.variables_in(node.value)
        return new

    def variables_in(self, root: Stmt | Expr) -> set[Var]:
        """The variables that a statement uses, also as the pointers or in the layouts of buffers:
        statements that bind values, and were looked at before, are not walked again.
        """
        used: set[Var] = set()
        buffers: set[Buffer] = set()
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if node in self.used:
                used |= self.used.pop(node)
                continue
            if type(node) is Var:
                used.add(node)
            elif (buffer := getattr(node, "buffer", None)) is not None:
                buffers.add(buffer)
            stack += children(node)
        return used.union(*map(describing, buffers))

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key == "pragma_debug_skip_region":
            return NOTHING
        loop = loop_of(node)
        fact = None if loop is None else (loop.var, loop.range)
        body = self.visit(node.body) if fact is None else self.inside(fact, node.body)
        return self.around(node, body, node.value)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        return self.around(node, self.visit(node.body), *node.extents)

    def visit_DeclBuffer(self, node: DeclBuffer) -> Stmt:
        return self.around(node, self.visit(node.body))

    def around(
        self, node: For | LetStmt | AttrStmt | Allocate | DeclBuffer, body: Stmt, *values: Expr
    ) -> Stmt:
        """The statement with another body; if that has no effect, only the evaluation of its
        values."""
        if is_nothing(body):
            return _evaluations(*values)
        return node if body is node.body else replace(node, body=body)

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        then_case = self.inside(node.condition, node.then_case)
        else_case = node.else_case
        if else_case is not None:
            else_case = self.inside(negate(node.condition), else_case)
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
        if node in self.removed:
            return _evaluations(*node.indices, node.value)
        return NOTHING if keeps_memory(node) or self.copies_to_itself(node) else node

    def copies_to_itself(self, store: BufferStore) -> bool:
        """Whether a store copies an element to a place that is proved to be the same."""
        value = store.value
        if type(value) is not BufferLoad or value.buffer is not store.buffer:
            return False
        if value.predicate is not None or store.predicate is not None or self.settings.to_run:
            return False
        if any(effect_of(index) > Effect.PURE for index in (*value.indices, *store.indices)):
            return False
        with self.facts() as analyzer:
            return all(map(analyzer.can_prove_equal, value.indices, store.indices))

    def is_empty(self, extent: Expr) -> bool:
        """Whether a loop of this extent is known to do nothing."""
        if type(extent) is IntImm:
            return extent.value <= 0
        with self.facts() as analyzer:
            high = analyzer.const_bounds(extent)[1]
        return high is not None and high <= 0

    @contextmanager
    def facts(self) -> Iterator[Analyzer]:
        """An analyzer that knows what is around the current statement."""
        analyzer = Analyzer(self.settings)
        with ExitStack() as conditions:
            for fact in self.around_it:
                if isinstance(fact, tuple):
                    analyzer.bind(*fact)
                elif effect_of(fact) <= Effect.PURE:
                    condition = analyzer.rewrite_simplify(fact)
                    conditions.enter_context(analyzer.constraint(condition))
            yield analyzer


def _evaluations(*values: Expr) -> Stmt:
    """Those of the values that have effects."""
    parts: list[Stmt] = [
        Evaluate(value) for value in values if effect_of(value) > Effect.READ_STATE
    ]
    return sequence(parts)
