"""What a call alone decides, and a type may not count: elements of temporaries, extents.

    B = allocate([n * n])   ->   assert n <= 46340 ...: "B has n * n elements ..."
                                 B = allocate([n * n])

Indices are int32 where sizes are. Those of arguments are judged by their shapes; those of
temporaries, whose sizes may be products of them, by an assertion. Must not know targets.
"""

from __future__ import annotations

from te_sched.analysis.checks.making import widen
from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, IntImm, Mul, StringImm
from te_sched.ir.stmt import Allocate, AssertStmt, BufferStore, Evaluate, PrimFunc, Stmt
from te_sched.ir.visitor import Mapper, replace, walk
from te_sched.lower.statements import statements


def guard_counts(func: PrimFunc) -> PrimFunc:
    """The function, which asserts that the elements of its temporaries can be counted."""
    for node in statements(func.body):
        if type(node) is Allocate and any(is_countable(e) is not None for e in node.extents):
            return func.with_body(_Guard().visit(func.body))
    return func


def is_countable(e: Expr) -> Expr | None:
    """Whether no sum or product in an integer is beyond its type; None where there is none."""
    holds: Expr | None = None
    for part in walk(e):
        if isinstance(part, Add | Mul) and part.dtype != "int64":
            most = IntImm(ops.int_limits(part.dtype)[1], "int64")
            within = ops.less_equal(widen(part), most)
            holds = within if holds is None else ops.logical_and(within, holds)
    return holds


def guarded_allocation(node: Allocate) -> Stmt:
    """An allocation of which it is asserted that its elements can be counted."""
    guarded: Stmt = node
    for extent in node.extents:
        if (countable := is_countable(extent)) is not None:
            message = (
                f"the intermediate buffer {node.buffer_var.name} has {extent} elements, which is "
                f"more than {extent.dtype} indices count; declare the sizes as "
                "te.var(name, dtype='int64'), or compute the stage inside of its consumer"
            )
            guarded = AssertStmt(countable, StringImm(message), guarded)
    return guarded


class _Guard(Mapper):
    """Puts assertions before allocations."""

    def visit_Allocate(self, node: Allocate) -> Stmt:
        return guarded_allocation(replace(node, body=self.visit(node.body)))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return node

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        return node
