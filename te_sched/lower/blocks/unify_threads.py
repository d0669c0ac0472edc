"""One variable for each axis of threads of a kernel, launched at its outermost loop of threads.

    for i in T.thread_binding(8, ...):            for blockIdx_x in T.thread_binding(8, ...):
        for k in range(4):                            for threadIdx_x in T.thread_binding(32, ...):
            for j in T.thread_binding(32, ...):  ->       for k in range(4):
                C[i * 128 + k * 32 + j] = ...                 C[blockIdx_x * 128 + ...] = ...

(TVM's names: LiftThreadBinding, UnifyThreadBinding.)
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError, Subject
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.ir.stmt import For, PrimFunc, Stmt
from te_sched.ir.visitor import ReferenceMapper, replace


def unify_threads(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with one loop for each axis of threads of a kernel."""
    return func.with_body(_Unification(Analyzer(settings)).visit(func.body))


class _Unification(ReferenceMapper):
    """Removes thread loops; `launched` are those of the kernel, outermost first."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.values: dict[Var, Expr] = {}
        self.axes: dict[tuple[str, str], Var] = {}
        self.launched: dict[str, For] | None = None

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_For(self, node: For) -> Stmt:
        if node.thread_binding is None or is_virtual(node.thread_binding.thread_tag):
            return self.generic(node)
        if self.launched is not None:
            self._launch(node, node.thread_binding.thread_tag)
            return self.visit(node.body)
        self.launched, self.axes = {}, {}
        self._launch(node, node.thread_binding.thread_tag)
        body = self.visit(node.body)
        for loop in reversed(self.launched.values()):
            body = replace(loop, body=body)
        self.launched = None
        return body

    def _launch(self, node: For, tag: str) -> None:
        """Record the launch of a thread loop, and map its variable to that of the thread axis."""
        assert self.launched is not None
        extent = self.visit(node.extent)
        known = self.launched.get(tag)
        if known is not None and not self.analyzer.can_prove_equal(known.extent, extent):
            raise LoweringError(
                f"thread axis {tag} has extents {known.extent} and {extent} in one kernel",
                "a kernel is launched with one number of threads",
                "bind loops of one extent, or split the longer one",
                Subject("axis", tag),
            )
        dtype = node.loop_var.dtype
        var = self.axes.setdefault((tag, dtype), Var(tag, dtype))
        self.values[node.loop_var] = ops.add(var, self.visit(node.min))
        if known is None:
            axis = IterVar(None, Var("", dtype), "ThreadIndex", tag)
            notes = dict(node.annotations)
            self.launched[tag] = For(
                var, ops.const(0, dtype), extent, node.kind, node.body, axis, notes
            )


def is_virtual(tag: str) -> bool:
    """Whether a tag is of a virtual thread."""
    return tag.startswith("vthread") or tag == "cthread"
