"""The postprocessor that rejects loops of unknown length."""

from __future__ import annotations

from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import For
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.tir.schedule import Schedule


class DisallowDynamicLoop(Postproc):
    """Rejects programs with loops whose extent is not constant.

    >>> DisallowDynamicLoop().apply(tir.Schedule(matmul_relu))
    True
    """

    def apply(self, sch: Schedule) -> bool:
        """Whether all loops have constant extents."""
        return all(
            type(node) is not For or isinstance(node.extent, IntImm) for node in sch.nodes.values()
        )
