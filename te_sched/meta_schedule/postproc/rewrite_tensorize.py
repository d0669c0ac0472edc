"""The postprocessor that puts intrinsics in the place of blocks that rules marked."""

from __future__ import annotations

from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.tir.schedule import Schedule

_MARKS = ("meta_schedule.auto_tensorize", "meta_schedule.auto_tensorize_init")


class RewriteTensorize(Postproc):
    """Tensorizes the blocks that are annotated with an intrinsic; an empty name only unmarks.

    Parameters
    ----------
    vectorize_init_loop : vectorize the innermost loop of a marked initialisation that has no
        intrinsic.

    >>> RewriteTensorize().apply(tir.Schedule(matmul_relu))
    True
    """

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """Tensorize all marked blocks; an intrinsic that does not fit raises a ScheduleError."""
        for key in list(sch.keys.values()):
            own = sch.block(key)
            annotations = own.annotations
            for mark in _MARKS:
                if mark in annotations:
                    block = sch.get_block(own.name_hint, sch.function_of(key))
                    name = str(annotations[mark])
                    sch.unannotate(block, mark)
                    if name:
                        sch.tensorize(block, name)
                    elif self.vectorize_init_loop and mark == _MARKS[1]:
                        sch.vectorize(sch.get_loops(block)[-1])
        return True
