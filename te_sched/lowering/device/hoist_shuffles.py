"""Hoist warp shuffles out of divergent conditions, so that all lanes of a warp execute them.

A lane reads another's register only while both execute the shuffle. Conditions move inwards to the
statements that they guard, and the shuffles of these are computed before the condition.

    if tx < 7:                                    x = shuffle(A[0], tx + 1)
        B[tx] = shuffle(A[0], tx + 1)     ->      if tx < 7:
                                                      B[tx] = x

Must not know where shuffles come from.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import BuildError
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import And, Buffer, BufferLoad, Call, Expr, IntImm, Min, Or, Var
from te_sched.ir.kernel import thread_axes
from te_sched.ir.message_text import spelled
from te_sched.ir.ops import const
from te_sched.ir.stmt import (
    Allocate,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.visitor import Mapper, StatementMapper, replace, variables_of, walk
from te_sched.lowering.statements import sequence

SHUFFLE = "tir.tvm_warp_shuffle"


def hoist_shuffles(kernel: PrimFunc, analyzer: Analyzer) -> PrimFunc:
    """The kernel with each shuffle outside of conditions that differ between threads.

    `analyzer` knows the ranges of threads and loops.

    Raises
    ------
    BuildError where a shuffle cannot leave its condition.
    """
    threads = {axis.var for axis in thread_axes(kernel)[0] if not axis.is_block}
    hoist = _Hoist(str(kernel.attrs.get("global_symbol", "main")), threads, analyzer)
    return kernel.with_body(hoist.visit(kernel.body))


class _Hoist(StatementMapper):
    """Pushes conditions down to statements; `differing` differ between threads."""

    def __init__(self, kernel: str, differing: set[Var], analyzer: Analyzer) -> None:
        self.kernel, self.differing, self.analyzer = kernel, differing, analyzer
        self.conditions: tuple[Expr, ...] = ()
        self.sizes: dict[Var, int] = {}
        # Registers that lanes pass to shuffles although they may be uninitialized.
        self.cleared: dict[Var, Buffer] = {}

    def visit(self, node: Any) -> Any:
        """A statement, under the conditions that were moved inwards to it."""
        if self.conditions and not _shuffles(node):
            for condition in reversed(self.conditions):
                node = IfThenElse(condition, node)
            return node
        return super().visit(node)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        if len(node.extents) == 1 and isinstance(node.extents[0], IntImm):
            self.sizes[node.buffer_var] = node.extents[0].value
        body = self.visit(node.body)
        buffer = self.cleared.pop(node.buffer_var, None)
        if buffer is not None:
            zero = const(0, buffer.dtype)
            places = range(self.sizes[node.buffer_var])
            stores = [BufferStore(buffer, zero, (IntImm(index),)) for index in places]
            body = sequence([*stores, body])
        return replace(node, body=body)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        self.analyzer.bind(node.var, node.value)
        if self.differs(node.value):
            self.differing.add(node.var)
        if self.conditions and (_loads(node.value) or _shuffles(node.value)):
            raise self.error(f"{node.var.name}, computed under the same condition, reads memory")
        return LetStmt(node.var, node.value, self.visit(node.body))

    def visit_For(self, node: For) -> Stmt:
        if _shuffles(node.body) and (self.differs(node.min) or self.differs(node.extent)):
            raise self.error(f"threads run the loop over {node.loop_var.name} not equally often")
        return replace(node, body=self.visit(node.body))

    def visit_While(self, node: While) -> Stmt:
        if _shuffles(node) and (self.conditions or self.differs(node.condition)):
            raise self.error("threads run a loop not equally often")
        return replace(node, body=self.visit(node.body))

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        if not _shuffles(node):
            return node
        if not self.differs(node.condition) and not self.conditions:
            other = None if node.else_case is None else self.visit(node.else_case)
            return replace(node, then_case=self.visit(node.then_case), else_case=other)
        if node.else_case is not None or _loads(node.condition) or _shuffles(node.condition):
            raise self.error(f"it stands under {spelled(node.condition)}")
        outside = self.conditions
        self.conditions = (*outside, node.condition)
        body: Stmt = self.visit(node.then_case)
        self.conditions = outside
        return body

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return self.leaf(node, (node.value, *node.indices))

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        return self.leaf(node, (node.value,))

    def leaf(self, node: Stmt, expressions: tuple[Expr, ...]) -> Stmt:
        """A leaf statement, under its conditions."""
        if not self.conditions and not any(map(_chooses, expressions)):
            return node
        taker = _Taker()
        body: Stmt = taker.visit(node)
        for condition in reversed(self.conditions):
            body = IfThenElse(condition, body)
        for var, shuffle in reversed(taker.found):
            body = LetStmt(var, self.by_all(shuffle), body)
        return body

    def by_all(self, shuffle: Call) -> Call:
        """A shuffle of the own values of lanes, also of those whose condition is false."""
        load = shuffle.args[1]
        if not isinstance(load, BufferLoad) or len(_loads(shuffle)) > 1:
            raise self.error("its value is computed under the condition")
        size = self.sizes.get(load.buffer.data)
        index = self.analyzer.simplify(load.indices[0])
        low, high = self.analyzer.const_bounds(index)
        if size is None or low is None or low < 0:
            raise self.error(f"{spelled(load)} may be out of bounds outside of its condition")
        if high is None or high >= size:
            index = Min(index, IntImm(size - 1, index.dtype))
        self.cleared[load.buffer.data] = load.buffer
        kept = BufferLoad(load.buffer, (index,))
        return replace(shuffle, args=(shuffle.args[0], kept, *shuffle.args[2:]))

    def differs(self, e: Expr) -> bool:
        """Whether threads may have different values of an expression."""
        return not self.differing.isdisjoint(variables_of(e)) or bool(_loads(e))

    def error(self, problem: str) -> BuildError:
        """A shuffle that some lanes would not execute."""
        return BuildError(
            f"cannot shuffle between the lanes of a warp in kernel {self.kernel!r}: {problem}",
            "only some lanes reach it, and it cannot be moved out of its condition",
            'let the axis divide evenly, or use scope "shared"',
        )


class _Taker(Mapper):
    """Replaces shuffles by variables; `found` has both, inner ones first."""

    def __init__(self) -> None:
        self.found: list[tuple[Var, Call]] = []

    def visit_Call(self, node: Call) -> Expr:
        new = self.generic(node)
        if new.op != SHUFFLE:
            return new
        var = Var(f"shuffled_{len(self.found)}" if self.found else "shuffled", new.dtype)
        self.found.append((var, new))
        return var


def _shuffles(node: Stmt | Expr) -> bool:
    return any(type(part) is Call and part.op == SHUFFLE for part in walk(node))


def _loads(e: Expr) -> list[BufferLoad]:
    return [part for part in walk(e) if isinstance(part, BufferLoad)]


def _chooses(e: Expr) -> bool:
    """Whether a shuffle is in a branch of a conditional expression."""
    for part in walk(e):
        lazy = isinstance(part, And | Or) or choice_of(part) is not None
        if lazy and _shuffles(part):
            return True
    return False
