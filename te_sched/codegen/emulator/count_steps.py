"""A limit on the iterations of loops without a known bound.

Only loops with an unknown number of iterations are counted: `while`, and loops over an extent that
is loaded or passed by the caller. Each thread counts for itself, of a `for` loop all
iterations at once:

    while not done[tx]:              steps[0] += 1
        ...                   ->     assert steps[0] <= limit       first in the loop's body

Loops of constant extents cost nothing. Must not know how threads become loops.
"""

from __future__ import annotations

from te_sched.codegen.calls import array_of
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.kernel import thread_axes, with_work
from te_sched.ir.ops import TRUE
from te_sched.ir.visitor import StatementMapper, replace, walk
from te_sched.lowering.statements import sequence

DEFAULT_LIMIT = 1_000_000_000
_FIRST = E.IntImm(0)


def count_steps(kernel: S.PrimFunc, limit: int) -> S.PrimFunc:
    """The kernel, stopped with an error where a thread takes more than `limit` steps.

    It is the same kernel where all its loops are bounded.
    """
    axes, body = thread_axes(kernel)
    counter = _Counter(str(kernel.attrs.get("global_symbol", "main")), limit)
    counter.bounded.update(axis.var for axis in axes)
    counted = counter.visit(body)
    if counted is body:
        return kernel
    start = S.BufferStore(counter.buffer, E.IntImm(0, "int64"), (_FIRST,))
    whole: S.Stmt = sequence([start, counted])
    whole = S.Allocate(counter.buffer.data, "int64", (E.IntImm(1),), TRUE, whole)
    return with_work(kernel, whole)


class _Counter(StatementMapper):
    """Adds the counting to loops; `bounded` are variables of which the program tells the bounds."""

    def __init__(self, kernel: str, limit: int) -> None:
        self.limit = limit
        self.bounded: set[E.Var] = set()
        data = E.Var("steps", "handle", E.PointerType("int64", "local"))
        self.buffer = array_of(data, "int64")
        self.message = E.StringImm(
            f"a thread of kernel {kernel!r} goes on after {limit} steps of its loops; see that the "
            "loop ends, or raise config max_steps (TE_SCHED_MAX_STEPS)"
        )

    def visit_While(self, node: S.While) -> S.Stmt:
        body = self.visit(node.body)
        return S.While(node.condition, sequence([*self.steps(E.IntImm(1, "int64")), body]))

    def visit_For(self, node: S.For) -> S.Stmt:
        if self.is_bounded(node.extent):
            self.bounded.add(node.loop_var)
            return self.generic(node)
        loop = replace(node, body=self.visit(node.body))
        count = ops.maximum(ops.cast("int64", node.extent), E.IntImm(0, "int64"))
        return sequence([*self.steps(count), loop])

    def visit_LetStmt(self, node: S.LetStmt) -> S.Stmt:
        if self.is_bounded(node.value):
            self.bounded.add(node.var)
        return self.generic(node)

    def steps(self, count: E.Expr) -> list[S.Stmt]:
        """Count, and stop at the limit."""
        total = ops.add(E.BufferLoad(self.buffer, (_FIRST,)), count)
        within = ops.less_equal(E.BufferLoad(self.buffer, (_FIRST,)), E.IntImm(self.limit, "int64"))
        return [
            S.BufferStore(self.buffer, total, (_FIRST,)),
            S.AssertStmt(within, self.message, S.Evaluate(_FIRST)),
        ]

    def is_bounded(self, e: E.Expr) -> bool:
        """Whether a value depends on nothing but constants and bounded variables."""
        return isinstance(e, E.IntImm) or not any(
            type(part) is E.BufferLoad or (type(part) is E.Var and part not in self.bounded)
            for part in walk(e)
        )
