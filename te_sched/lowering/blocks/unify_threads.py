"""One variable for each axis of threads of a kernel, launched at its outermost loop of threads.

    for i in T.thread_binding(8, ...):            for blockIdx_x in T.thread_binding(8, ...):
        for k in range(4):                            for threadIdx_x in T.thread_binding(32, ...):
            for j in T.thread_binding(32, ...):  ->       for k in range(4):
                C[i * 128 + k * 32 + j] = ...                 C[blockIdx_x * 128 + ...] = ...

(TVM's names: LiftThreadBinding, UnifyThreadBinding.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BlockError, Subject
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.ir.stmt import AttrStmt, For, PrimFunc, Stmt
from te_sched.ir.visitor import ReferenceMapper, parts_of, replace


def unify_threads(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with one loop for each axis of threads of a kernel."""
    if func.origin == "schedule":
        return func
    return func.with_body(_Unification().visit(func.body))


def unify_equal_threads(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with one loop for each axis of threads of a kernel.

    Raises
    ------
    BlockError if loops over the threads of one axis have different extents.
    """
    for tag, (extent, other) in differing_threads(func.body, settings):
        raise BlockError(
            f"thread axis {tag} has extents {extent} and {other} in one kernel",
            ONE_LAUNCH,
            EQUAL_EXTENTS,
            Subject("axis", tag),
        )
    return unify_threads(func, settings)


ONE_LAUNCH = "a kernel is launched with one number of threads"
EQUAL_EXTENTS = "bind loops of one extent, or split the longer one"


def differing_threads(
    statement: Any, settings: Lowering = AS_TVM, extents: dict[str, Expr] | None = None
) -> Iterator[tuple[str, tuple[Expr, Expr]]]:
    """The thread axes that have two extents in one kernel; `extents` are those known in it."""
    axis, extent = None, None
    if type(statement) is For and statement.thread_binding is not None:
        axis, extent = statement.thread_binding, statement.extent
    elif type(statement) is AttrStmt and statement.key == "thread_extent":
        axis, extent = statement.node, statement.value
    if axis is not None and extent is not None and is_unified(axis.thread_tag):
        extents = {} if extents is None else extents
        first = extents.setdefault(axis.thread_tag, extent)
        if not Analyzer(settings).can_prove_equal(first, extent):
            yield axis.thread_tag, (first, extent)
    for part in parts_of(statement):
        yield from differing_threads(part, settings, extents)


class _Unification(ReferenceMapper):
    """Removes thread loops; `launched` are those of the kernel by their tags, outermost first."""

    def __init__(self) -> None:
        self.values: dict[Var, Expr] = {}
        self.launched: dict[str, For] | None = None
        self.extents: dict[str, Expr] = {}

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_For(self, node: For) -> Stmt:
        if node.thread_binding is None or not is_unified(node.thread_binding.thread_tag):
            return self.generic(node)
        inside: Stmt = node.body
        if node.annotations and self.launched is not None:
            var = Var("var", node.loop_var.dtype)
            zero, one = ops.const(0, var.dtype), ops.const(1, var.dtype)
            inside = For(var, zero, one, "serial", inside, None, node.annotations)
        return self._in_thread(node, inside)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != "thread_extent" or not is_unified(node.node.thread_tag):
            return self.generic(node)
        axis, low = node.node, ops.const(0, node.node.var.dtype)
        binding = IterVar(None, axis.var, "ThreadIndex", axis.thread_tag)
        return self._in_thread(
            For(axis.var, low, node.value, "thread_binding", node.body, binding), node.body
        )

    def _in_thread(self, node: For, inside: Stmt) -> Stmt:
        """The body of a loop over threads; of the outermost one, in the loops of the kernel."""
        assert node.thread_binding is not None
        is_outermost = self.launched is None
        if self.launched is None:
            self.launched, self.extents = {}, {}
        extent = self.visit(node.extent)
        self._launch(node, extent)
        body = self.visit(inside)
        # Extents that differ are refused by `build`: as in TVM, the loop that ends first counts.
        self.extents.setdefault(node.thread_binding.thread_tag, extent)
        if is_outermost:
            for tag, loop in reversed(self.launched.items()):
                body = replace(loop, extent=self.extents[tag], body=body)
            self.launched = None
        return body

    def _launch(self, node: For, extent: Expr) -> None:
        """Record the launch of a thread loop, and map its variable to that of the thread axis."""
        assert self.launched is not None
        assert node.thread_binding is not None
        tag, dtype = node.thread_binding.thread_tag, node.loop_var.dtype
        launch = self.launched.get(tag)
        if launch is None:
            var = Var(tag, dtype)
            axis = IterVar(None, Var("", dtype), "ThreadIndex", tag)
            zero = ops.const(0, dtype)
            notes = {} if self.launched else node.annotations  # inner ones stay inside
            launch = For(var, zero, extent, node.kind, node.body, axis, notes)
            self.launched[tag] = launch
        value = ops.cast(dtype, launch.loop_var)
        self.values[node.loop_var] = ops.add(value, self.visit(node.min))


def is_unified(tag: str) -> bool:
    """Whether loops that are bound to a tag are unified."""
    return tag != "cthread"


def is_virtual(tag: str) -> bool:
    """Whether a tag is of a virtual thread."""
    return tag.startswith("vthread") or tag == "cthread"
