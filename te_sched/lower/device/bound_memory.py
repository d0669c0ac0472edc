"""Memory inside of kernels gets constant sizes: the largest that its extents can be.

    A_shared = allocate([bx * 8 % 18 + 7])    ->    A_shared = allocate([24])

Extents without an upper bound stay. Must not know what kernels compute.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir.expr import Expr, IntImm, Range
from te_sched.ir.stmt import Allocate, AttrStmt, For, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, replace

_MOST = 2**28  # elements; more is no bound, but the range of a variable of a shape


def bound_memory(kernel: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The kernel with constant extents of its allocations where they have a bound."""
    body = _Bounds(settings).visit(kernel.body)
    return kernel if body is kernel.body else kernel.with_body(body)


class _Bounds(StatementMapper):
    """Replaces extents by their upper bounds."""

    def __init__(self, settings: Lowering) -> None:
        self.analyzer = Analyzer(settings)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key == "thread_extent":
            zero = IntImm(0, node.node.var.dtype)
            self.analyzer.bind(node.node.var, Range(zero, node.value))
        return self.generic(node)

    def visit_For(self, node: For) -> Stmt:
        self.analyzer.bind(node.loop_var, Range(node.min, node.extent))
        return self.generic(node)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        extents = tuple(map(self.largest, node.extents))
        body = self.visit(node.body)
        if body is node.body and all(a is b for a, b in zip(extents, node.extents, strict=True)):
            return node
        return replace(node, extents=extents, body=body)

    def largest(self, extent: Expr) -> Expr:
        """The largest value of an extent; the extent itself where there is none."""
        if isinstance(extent, IntImm):
            return extent
        _, high = self.analyzer.const_bounds(self.analyzer.simplify(extent))
        if high is None or high > _MOST:
            return extent
        return IntImm(max(high, 1), extent.dtype)
