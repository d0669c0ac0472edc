"""The rule for programs whose iterations depend on each other: one thread executes them.

Scans and scatters are written as serial loops in a block that does not say what it accesses. Such a
function is correct on a GPU, but as slow as one thread.
"""

from __future__ import annotations

from typing import Any

from te_sched.codegen.target import Target
from te_sched.dlight.base import has_threads
from te_sched.dlight.gpu.base import GPURule
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import IterVar, Var
from te_sched.ir.kernel import memory_scope
from te_sched.ir.ops import const
from te_sched.ir.root_block import ROOT, is_root
from te_sched.ir.stmt import Allocate, For, PrimFunc, Stmt
from te_sched.ir.verify import undefined_variables
from te_sched.ir.visitor import StatementMapper, reads_data, replace, variables_of
from te_sched.tir.schedule import Schedule


class SingleThread(GPURule):
    """All of a function in one thread, for what no other rule schedules.

    Functions that have threads already, and those that call functions of the host, are of another
    kind.

    >>> import te_sched
    >>> from te_sched import dlight, te, topi
    >>> A = te.placeholder((64,), name="A")
    >>> func = te.create_prim_func([A, topi.cumsum(A)])
    >>> sch = dlight.gpu.SingleThread().apply(func, te_sched.target.Target("cuda"), False)
    >>> [sch.get(one).thread_binding.thread_tag for one in sch.get_loops("cumsum_generic")]
    ['blockIdx.x', 'threadIdx.x']
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """A schedule of the function, or None."""
        if not isinstance(func, PrimFunc) or has_threads(func):
            return None
        return super().apply(_on_one_thread(func), target, tunable)

    def scheduled(self, sch: Schedule, target: Target) -> Schedule | None:
        """The schedule of a function on one thread."""
        return sch


def _on_one_thread(func: PrimFunc) -> PrimFunc:
    """The function in which what is in its root block is in loops of one thread."""
    body = func.body
    if is_root(body):
        block = replace(body.block, body=_in_threads(body.block.body))
        return func.with_body(replace(body, block=block))
    block = Block((), (), (), ROOT, None, _in_threads(body), ())
    return func.with_body(BlockRealize((), ops.TRUE, block))


def _in_threads(body: Stmt) -> Stmt:
    serial = _Serial(body)
    body = serial.visit(body)
    for tag in ("threadIdx.x", "blockIdx.x"):
        bound = IterVar(None, Var(tag, "int32"), "ThreadIndex", tag)
        var = Var(tag.partition(".")[0], "int32")
        body = For(var, const(0), const(1), "thread_binding", body, bound)
    for memory in reversed(serial.workspaces):
        body = replace(memory, body=body)
    return body


class _Serial(StatementMapper):
    """Makes parallel loops serial, and collects the allocations of global memory, which the host
    makes, once: of a size that is computed in the kernel, it cannot.
    """

    def __init__(self, body: Stmt) -> None:
        self.workspaces: list[Allocate] = []
        self._of_caller = set(undefined_variables(body, ()))

    def visit_Allocate(self, node: Allocate) -> Stmt:
        allocation: Allocate = self.generic(node)
        sizes = (*allocation.extents, allocation.condition)
        is_computed = any(map(reads_data, sizes)) or variables_of(*sizes) - self._of_caller
        if memory_scope(node.buffer_var) != "global" or is_computed:
            return allocation
        self.workspaces.append(allocation)
        return allocation.body

    def visit_For(self, node: For) -> Stmt:
        loop: For = self.generic(node)
        return replace(loop, kind="serial") if loop.kind == "parallel" else loop
