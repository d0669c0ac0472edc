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
from te_sched.errors import BlockError, Subject
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.ir.stmt import AttrStmt, For, PrimFunc, Stmt
from te_sched.ir.visitor import ReferenceMapper, replace


def unify_threads(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with one loop for each axis of threads of a kernel."""
    if func.origin == "schedule":
        return func
    return func.with_body(_Unification(Analyzer(settings)).visit(func.body))


class _Unification(ReferenceMapper):
    """Removes thread loops; `launched` are those of the kernel by their tags, outermost first."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.values: dict[Var, Expr] = {}
        self.launched: dict[str, For] | None = None

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_For(self, node: For) -> Stmt:
        if node.thread_binding is None or not _is_unified(node.thread_binding.thread_tag):
            return self.generic(node)
        inside: Stmt = node.body
        if node.annotations:
            var = Var("var", node.loop_var.dtype)
            zero, one = ops.const(0, var.dtype), ops.const(1, var.dtype)
            inside = For(var, zero, one, "serial", inside, None, node.annotations)
        return self._in_thread(node, inside)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != "thread_extent" or not _is_unified(node.node.thread_tag):
            return self.generic(node)
        axis, low = node.node, ops.const(0, node.node.var.dtype)
        binding = IterVar(None, axis.var, "ThreadIndex", axis.thread_tag)
        return self._in_thread(
            For(axis.var, low, node.value, "thread_binding", node.body, binding), node.body
        )

    def _in_thread(self, node: For, inside: Stmt) -> Stmt:
        """The body of a loop over threads; of the outermost one, in the loops of the kernel."""
        if self.launched is not None:
            self._launch(node)
            return self.visit(inside)
        self.launched = {}
        self._launch(node)
        body = self.visit(inside)
        for loop in reversed(self.launched.values()):
            body = replace(loop, body=body)
        self.launched = None
        return body

    def _launch(self, node: For) -> None:
        """Record the launch of a thread loop, and map its variable to that of the thread axis."""
        assert self.launched is not None
        assert node.thread_binding is not None
        tag, dtype = node.thread_binding.thread_tag, node.loop_var.dtype
        extent = self.visit(node.extent)
        known = self.launched.get(tag)
        if known is None:
            var = Var(tag, dtype)
            axis = IterVar(None, Var("", dtype), "ThreadIndex", tag)
            zero = ops.const(0, dtype)
            known = self.launched[tag] = For(var, zero, extent, node.kind, node.body, axis)
        elif not self.analyzer.can_prove_equal(known.extent, extent):
            raise BlockError(
                f"thread axis {tag} has extents {known.extent} and {extent} in one kernel",
                "a kernel is launched with one number of threads",
                "bind loops of one extent, or split the longer one",
                Subject("axis", tag),
            )
        value = ops.cast(dtype, known.loop_var)
        self.values[node.loop_var] = ops.add(value, self.visit(node.min))


def _is_unified(tag: str) -> bool:
    """Whether loops that are bound to a tag are unified."""
    return tag != "cthread"


def is_virtual(tag: str) -> bool:
    """Whether a tag is of a virtual thread."""
    return tag.startswith("vthread") or tag == "cthread"
