"""Overflow of counts that depend on the call: elements of temporaries, extents.

    B = allocate([n * n])   ->   assert n <= 46340 ...: "B has n * n elements ..."
                                 B = allocate([n * n])

Indices are int32 if sizes are. Arguments are checked by their shapes. Temporaries, whose sizes may
be products of symbolic sizes, are checked by an assertion. Loops and temporaries of 64-bit sizes,
for which there is no wider type, are checked by the call (`counted_sizes`). Must not know targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from te_sched.analysis.checks.check_builder import widen
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.argument_sizes import Size, within_types
from te_sched.ir.expr import Add, Expr, IntImm, Mul, StringImm
from te_sched.ir.stmt import Allocate, AssertStmt, BufferRealize, For, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, statements, walk
from te_sched.wording import wording

_WIDEST = ("int64", "uint64")  # the widest types, in which assertions compute


def guard_counts(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with assertions that the sizes of its temporaries do not overflow."""
    for node in statements(func.body):
        if type(node) is Allocate and any(is_countable(e) is not None for e in node.extents):
            return func.with_body(_Guard().visit(func.body))
    return func


def counted_sizes(func: PrimFunc) -> Iterator[Size]:
    """The counts of iterations and elements that no assertion can check, for checks by the call."""
    arguments = {buffer.data for buffer in func.buffer_map.values()}
    for node in statements(func.body):
        kind = type(node)
        if kind is For:
            what, extents = f"the number of iterations of {node.loop_var.name}", (node.extent,)
        elif kind is Allocate:
            what, extents = f"the number of elements of {node.buffer_var.name}", node.extents
        elif kind is BufferRealize and node.buffer.data not in arguments:
            what = f"the number of elements of {node.buffer.name}"
            extents = tuple([bound.extent for bound in node.bounds])
        else:
            continue
        is_asserted = kind is not For and all(extent.dtype not in _WIDEST for extent in extents)
        if not is_asserted and not all(isinstance(extent, IntImm) for extent in extents):
            around = extents if len(extents) > 1 else ()
            yield from within_types(Size(what, reduce(ops.mul, extents), loops=around))


def is_countable(e: Expr) -> Expr | None:
    """The condition that no sum or product overflows; None if there are none."""
    holds: Expr | None = None
    for part in walk(e):
        if isinstance(part, Add | Mul) and part.dtype not in _WIDEST:
            most = IntImm(ops.int_limits(part.dtype)[1], "int64")
            within = ops.less_equal(widen(part), most)
            holds = within if holds is None else ops.logical_and(within, holds)
    return holds


class _Guard(StatementMapper):
    """Inserts assertions before allocations."""

    def visit_Allocate(self, node: Allocate) -> Stmt:
        guarded: Stmt = self.generic(node)
        for extent in node.extents:
            if (countable := is_countable(extent)) is not None:
                message = (
                    f"the intermediate buffer {node.buffer_var.name} has {extent} elements, which "
                    f"is more than {extent.dtype} indices count; declare the sizes as "
                    f"{wording().wide_sizes}, or compute it inside of its consumer"
                )
                guarded = AssertStmt(countable, StringImm(message), guarded)
        return guarded
