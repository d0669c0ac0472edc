"""Primitives that say how a stage is stored: set_scope, storage_align, double_buffer; and
env_threads, which says who runs a scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.errors import ScheduleError
from te_sched.ir.expr import IterVar
from te_sched.schedule.handles import INTEGER, NAME, THREADS, as_items
from te_sched.schedule.primitives.annotations import check_thread
from te_sched.schedule.primitives.checks import (
    brief,
    check_operation,
    check_scope,
    compute_operation,
    integer,
    names,
    stage_label,
)
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState
from te_sched.te.operation import PlaceholderOp, ScanOp
from te_sched.trace.primitive import primitive


class StoragePrimitives(StageState):
    """How a stage is stored."""

    __slots__ = ()

    @primitive(has_target=True, scope=NAME)
    def set_scope(self, scope: str) -> None:
        """Keep the result in a memory: "global", "shared", "warp", "local", ...

        "shared" is of the threads of a block, "warp" of the 32 of a warp, "local" of one thread.
        """
        check_operation(self, "set_scope")
        self.draft.scope = check_scope(scope, "set_scope", At(self), is_empty_allowed=True)

    @primitive(has_target=True, factor=INTEGER, offset=INTEGER)
    def storage_align(self, axis: IterVar, factor: Any, offset: Any) -> None:
        """Pad the storage so that the stride of an output axis is k * factor + offset elements.

        `s[AA].storage_align(AA.op.axis[0], 100, 8)` keeps the rows of a shared buffer off the same
        banks.
        """
        what = "storage_align"
        op = compute_operation(self, what)
        if not isinstance(axis, IterVar) or not any(axis is one for one in op.axis):
            name = f"axis {axis.var.name}" if isinstance(axis, IterVar) else brief(axis)
            raise ScheduleError(
                f"{what} of {name}",
                "only the dimensions of a tensor have strides",
                f"use one of the operation's axes: {names(op.axis)}",
                At(self),
            )
        step = integer(factor, "factor", what, self)
        rest = integer(offset, "offset", what, self)
        if step < 1:
            raise ScheduleError(
                f"{what} with factor={step}",
                "a factor is at least 1",
                "give a positive integer",
                At(self, axis),
            )
        self.draft.set_attr(axis, dim_align_factor=step, dim_align_offset=rest)

    @primitive(has_target=True)
    def double_buffer(self) -> None:
        """Use two buffers in turn, so that one can be filled while the other is read."""
        check_operation(self, "double_buffer")
        if self.is_output or isinstance(self.op, PlaceholderOp):
            role = "an output" if self.is_output else "an input"
            raise ScheduleError(
                f"double_buffer of {self.op.name}",
                f"it is {role}, whose memory is the caller's",
                "use it on a stage in between",
                At(self),
            )
        self.draft.is_double_buffered = True

    @primitive(has_target=True, threads=THREADS)
    def env_threads(self, threads: IterVar | Sequence[IterVar]) -> None:
        """Launch threads round a whole scan."""
        what = "env_threads"
        if self.is_group or not isinstance(self.op, ScanOp):
            raise ScheduleError(
                f"{what} of {stage_label(self)}",
                "threads can be launched round a scan only",
                "bind axes of the stage to threads instead",
                At(self),
            )
        if self.launched_threads:
            raise ScheduleError(
                f"{what} of {stage_label(self)}",
                f"it has the threads {names(self.launched_threads)} already",
                "give all threads in one call",
                At(self),
            )
        given = as_items(threads)
        for thread in given:
            check_thread(thread, f"{what} of {stage_label(self)}", At(self))
        draft = self.draft
        draft.launched_threads = given
        draft.leaf_iter_vars[:0] = given
        draft.all_iter_vars += given
