"""A limit on the iterations of loops that nothing else bounds.

Only loops are counted whose number of iterations the program does not tell: `while`, and loops over
an extent that is loaded or given by the caller. Each thread counts for itself, of a `for` loop all
iterations at once:

    while not done[tx]:              steps[0] += 1
        ...                   ->     assert steps[0] <= limit       first in the loop's body

Loops of constant extents cost nothing. Must not know how threads become loops.
"""

from __future__ import annotations

from te_sched.codegen.calls import array_of
from te_sched.ir import ops
from te_sched.ir.expr import BufferLoad, Expr, IntImm, PointerType, StringImm, Var
from te_sched.ir.ops import TRUE
from te_sched.ir.stmt import (
    Allocate,
    AssertStmt,
    BufferStore,
    Evaluate,
    For,
    LetStmt,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.visitor import StatementMapper, replace, walk
from te_sched.lower.device.kernel import thread_axes, with_work
from te_sched.lower.statements import sequence

DEFAULT_LIMIT = 1_000_000_000
_FIRST = IntImm(0)


def count_steps(kernel: PrimFunc, limit: int) -> PrimFunc:
    """The kernel, stopped with an error where a thread takes more than `limit` steps.

    It is the same kernel where all its loops are bounded.
    """
    axes, body = thread_axes(kernel)
    counter = _Counter(str(kernel.attrs.get("global_symbol", "main")), limit)
    counter.bounded.update(axis.var for axis in axes)
    counted = counter.visit(body)
    if counted is body:
        return kernel
    start = BufferStore(counter.buffer, IntImm(0, "int64"), (_FIRST,))
    whole: Stmt = sequence([start, counted])
    whole = Allocate(counter.buffer.data, "int64", (IntImm(1),), TRUE, whole)
    return with_work(kernel, whole)


class _Counter(StatementMapper):
    """Adds the counting to loops; `bounded` are variables of which the program tells the bounds."""

    def __init__(self, kernel: str, limit: int) -> None:
        self.limit = limit
        self.bounded: set[Var] = set()
        data = Var("steps", "handle", PointerType("int64", "local"))
        self.buffer = array_of(data, "int64")
        self.message = StringImm(
            f"a thread of kernel {kernel!r} goes on after {limit} steps of its loops; see that the "
            "loop ends, or raise config max_steps (TE_SCHED_MAX_STEPS)"
        )

    def visit_While(self, node: While) -> Stmt:
        body = self.visit(node.body)
        return While(node.condition, sequence([*self.steps(IntImm(1, "int64")), body]))

    def visit_For(self, node: For) -> Stmt:
        if self.is_bounded(node.extent):
            self.bounded.add(node.loop_var)
            return self.generic(node)
        loop = replace(node, body=self.visit(node.body))
        count = ops.maximum(ops.cast("int64", node.extent), IntImm(0, "int64"))
        return sequence([*self.steps(count), loop])

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        if self.is_bounded(node.value):
            self.bounded.add(node.var)
        return self.generic(node)

    def steps(self, count: Expr) -> list[Stmt]:
        """Count, and stop at the limit."""
        total = ops.add(BufferLoad(self.buffer, (_FIRST,)), count)
        within = ops.less_equal(BufferLoad(self.buffer, (_FIRST,)), IntImm(self.limit, "int64"))
        return [
            BufferStore(self.buffer, total, (_FIRST,)),
            AssertStmt(within, self.message, Evaluate(_FIRST)),
        ]

    def is_bounded(self, e: Expr) -> bool:
        """Whether a value depends on nothing but constants and bounded variables."""
        return isinstance(e, IntImm) or not any(
            type(part) is BufferLoad or (type(part) is Var and part not in self.bounded)
            for part in walk(e)
        )
