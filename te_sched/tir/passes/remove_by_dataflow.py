"""Remove statements without effect, given all that a program stores.

    A[0] = 1                             A[0] = 2
    A[0] = 2              ->
    A[0] = 2

Stores whose elements are written again before they are read go, and then stores of values that
elements are known to have. (TVM's name: RemoveNoOp with `use_dataflow_analysis`.) Must not know
how values are propagated.
"""

from __future__ import annotations

from te_sched.config import AS_TVM, Lowering
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.lowering.remove_no_op import NoOpRemover
from te_sched.tir.passes.dataflow.dead_stores import dead_stores
from te_sched.tir.passes.dataflow.known_values import WORK, KnownValues


def remove_by_dataflow(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without statements that have no effect; `settings.dataflow_steps` limits the
    work."""
    work = settings.dataflow_steps or WORK
    values = KnownValues(func, settings, work)
    dead = dead_stores(func, work, values)
    if dead:
        func = func.with_body(NoOpRemover(settings, dead).visit(func.body))
        values = KnownValues(func, settings, work)
    stores = [node for node in statements(func.body) if type(node) is BufferStore]
    kept = [node for node in stores if values.keeps(node)]
    return func.with_body(NoOpRemover(settings, kept).visit(func.body))
