"""Cut loops at their guards, so that most iterations run without any.

    for i in range((n + 31) // 32):
        for j in range(32):
            if likely(i * 32 + j < n): C[i * 32 + j] = 1

becomes

    for i in range(n // 32):
        for j in range(32): C[i * 32 + j] = 1
    for i in range((n + 31) // 32 - n // 32):
        for j in range(32):
            if i * 32 + n // 32 * 32 + j < n: C[i * 32 + n // 32 * 32 + j] = 1

No marks of guards remain. (TVM's name: LoopPartition.) `guards` finds guards, `cutter` cuts as TVM
does, and `speed_cutter` as far as it is profitable.
"""

from __future__ import annotations

from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.ir.expr import Call, IntImm
from te_sched.ir.stmt import AttrStmt, PrimFunc
from te_sched.lowering.cutter import Cleaner, Cutter
from te_sched.lowering.guards import is_hint, is_mark
from te_sched.lowering.speed_cutter import SpeedCutter
from te_sched.lowering.statements import nodes_of


def partition_loops(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with loops cut at their guards, and no marks."""
    if not any(map(_is_marked, nodes_of(func.body, frozenset((Call, AttrStmt))))):
        return func
    is_for_speed = settings.partition_for_speed and settings.partition_const_loop is None
    cutter = SpeedCutter(settings, func.body) if is_for_speed else Cutter(settings)
    for buffer in func.buffer_map.values():
        for extent in buffer.shape:
            if type(extent) is not IntImm:
                cutter.analyzer.mark_nonnegative(extent)
    return func.with_body(Cleaner({}, is_last=True).visit(cutter.visit(func.body)))


def _is_marked(node: Any) -> bool:
    return is_mark(node) or is_hint(node)
