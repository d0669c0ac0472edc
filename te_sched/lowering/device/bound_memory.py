"""Give allocations in kernels constant sizes: the upper bounds of their extents.

    A_shared = allocate([bx * 8 % 18 + 7])    ->    A_shared = allocate([24])

Extents without an upper bound stay. Must not know what kernels compute.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.stmt import Allocate, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, replace
from te_sched.lowering.facts_mapper import FactsMapper

_MOST = 2**28  # elements; larger bounds are only the range of the type of a shape variable


def bound_memory(kernel: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The kernel with constant extents of its allocations where they have a bound."""
    return kernel.with_body(_Bounds(settings).visit(kernel.body))


class _Bounds(FactsMapper, StatementMapper):
    """Replaces extents by their upper bounds."""

    def __init__(self, settings: Lowering) -> None:
        self.analyzer = Analyzer(settings)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        extents = tuple(map(self.largest, node.extents))
        return replace(node, extents=extents, body=self.visit(node.body))

    def largest(self, extent: Expr) -> Expr:
        """The largest value of an extent; the extent itself where there is none."""
        if isinstance(extent, IntImm):
            return extent
        _, high = self.analyzer.const_bounds(self.analyzer.simplify(extent))
        if high is None or high > _MOST:
            return extent
        return IntImm(max(high, 1), extent.dtype)
