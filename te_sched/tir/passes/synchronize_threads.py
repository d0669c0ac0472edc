"""Barriers for accesses to memory of one storage scope, in functions with launches anywhere.

(TVM's name: ThreadSync; `lowering.device.insert_barriers`, which plans the barriers, is what
`build` does for kernels.) Must not know what kernels compute.
"""

from __future__ import annotations

from te_sched.config import AS_TVM, Lowering
from te_sched.ir.kernel import LaunchAxis, allocations
from te_sched.ir.stmt import AttrStmt, PrimFunc
from te_sched.ir.storage_scopes import BLOCK_SCOPES
from te_sched.ir.visitor import statements
from te_sched.lowering.device.insert_barriers import with_barriers


def synchronize_threads(func: PrimFunc, scope: str, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with the barriers that accesses to the memory of one storage scope require.

    Allocations of dynamic shared memory may overlap, since they are placed later. Only the scopes
    of shared memory have barriers here.
    """
    if scope not in BLOCK_SCOPES:
        return func
    shared = [node.buffer_var for node in allocations(func.body, scope)]
    axes = {
        node.node.var: LaunchAxis(node.node.thread_tag, node.node.var, node.value)
        for node in statements(func.body)
        if type(node) is AttrStmt and node.key == "thread_extent"
    }
    return func.with_body(
        with_barriers(func, func.body, list(axes.values()), shared, settings, scope)
    )
