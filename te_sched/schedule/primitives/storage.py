"""Primitives for the storage of a stage: set_scope, storage_align, double_buffer; and env_threads,
which launches threads around a scan.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.errors import ScheduleError
from te_sched.ir.expr import IterVar
from te_sched.schedule.handles import INTEGER, NAME, THREADS, Integer, as_items
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
    """Primitives that set the storage of a stage."""

    __slots__ = ()

    @primitive("Store {stage} in scope {scope}", has_target=True, scope=NAME)
    def set_scope(self, scope: str) -> None:
        """Set the storage scope of the result: "global", "shared", "warp", "local", ...

        "shared" memory belongs to a thread block, "warp" to a warp of 32 threads, "local" to one
        thread.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> print(s)
        main(A: float32[8], C: float32[8])
        ├─ B: float32[8] global, 32 bytes
        ├─ stage B
        │  └─ for i  0:8
        │     └─ B[i] = A[i] + 1.0
        └─ stage C
           └─ for i  0:8
              └─ C[i] = B[i] * 2.0
        >>> s[B].set_scope("shared")
        >>> print(s)
        main(A: float32[8], C: float32[8])
        ├─ B: float32[8] shared, 32 bytes
        ├─ stage B
        │  └─ for i  0:8
        │     └─ B[i] = A[i] + 1.0
        └─ stage C
           └─ for i  0:8
              └─ C[i] = B[i] * 2.0
        """
        check_operation(self, "set the scope of")
        called = f"set_scope of {stage_label(self)}"
        self.draft.scope = check_scope(scope, called, At(self), is_empty_allowed=True)

    @primitive(
        "Align the rows of {stage} along {axis}", has_target=True, factor=INTEGER, offset=INTEGER
    )
    def storage_align(self, axis: IterVar, factor: Integer, offset: Integer) -> None:
        """Pad the buffer so that the stride of an output axis is k * factor + offset elements.

        `s[AA].storage_align(AA.op.axis[0], 100, 8)` avoids bank conflicts between the rows of a
        shared buffer.

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> print(s)
        main(A: float32[4, 8], C: float32[4, 8])
        ├─ B: float32[4, 8] global, 128 bytes
        ├─ stage B
        │  └─ for i  0:4
        │     └─ for j  0:8
        │        └─ B[i, j] = A[i, j] + 1.0
        └─ stage C
           └─ for i  0:4
              └─ for j  0:8
                 └─ C[i, j] = B[i, j] * 2.0
        >>> s[B].storage_align(B.op.axis[0], 16, 4)
        >>> print(s)
        main(A: float32[4, 8], C: float32[4, 8])
        ├─ B: stride of dimension 0 is a multiple of 16 plus 4
        ├─ B: float32[4, 8] global, 128 bytes
        ├─ stage B
        │  └─ for i  0:4
        │     └─ for j  0:8
        │        └─ B[i, j] = A[i, j] + 1.0
        └─ stage C
           └─ for i  0:4
              └─ for j  0:8
                 └─ C[i, j] = B[i, j] * 2.0
        """
        op = compute_operation(self, "align the storage of")
        if not isinstance(axis, IterVar) or not any(axis is iter_var for iter_var in op.axis):
            name = f"axis {axis.var.name}" if isinstance(axis, IterVar) else brief(axis)
            raise ScheduleError(
                f"cannot align {name} of {stage_label(self)}: it is not an output axis",
                "only the dimensions of a tensor have strides",
                f"use one of the operation's axes: {names(op.axis)}",
                At(self),
            )
        step = integer(factor, "storage_align factor", self)
        rest = integer(offset, "storage_align offset", self)
        if step < 1:
            raise ScheduleError(
                f"storage_align factor of axis {axis.var.name} must be at least 1, got {step}",
                help="give a positive integer",
                where=At(self, axis),
            )
        self.draft.set_attr(axis, dim_align_factor=step, dim_align_offset=rest)

    @primitive("Double the buffer of {stage}", has_target=True)
    def double_buffer(self) -> None:
        """Alternate between two buffers, so that one can be filled while the other is read.

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], C.op.axis[0])
        >>> print(s)
        main(A: float32[4, 8], C: float32[4, 8])
        └─ stage C
           └─ for i  0:4
              ├─ B: float32[1, 8] global, 32 bytes
              ├─ stage B
              │  └─ for j  0:8
              │     └─ B[i, j] = A[i, j] + 1.0
              └─ for j  0:8
                 └─ C[i, j] = B[i, j] * 2.0
        >>> s[B].double_buffer()
        >>> print(s)
        main(A: float32[4, 8], C: float32[4, 8])
        └─ stage C
           └─ for i  0:4
              ├─ B: float32[1, 8] global, 32 bytes
              ├─ B: double buffer
              ├─ stage B
              │  └─ for j  0:8
              │     └─ B[i, j] = A[i, j] + 1.0
              └─ for j  0:8
                 └─ C[i, j] = B[i, j] * 2.0
        """
        check_operation(self, "double-buffer")
        if self.is_output or isinstance(self.op, PlaceholderOp):
            role = "an output" if self.is_output else "an input"
            raise ScheduleError(
                f"cannot double-buffer {stage_label(self)}: it is {role}",
                "the caller owns its memory",
                "use it on an intermediate stage",
                At(self),
            )
        self.draft.is_double_buffered = True

    @primitive(
        "Launch the threads {threads} for the whole scan {stage}", has_target=True, threads=THREADS
    )
    def env_threads(self, threads: IterVar | Sequence[IterVar]) -> None:
        """Launch threads around a scan; each thread executes all of its steps.

        >>> from te_sched import te
        >>> X = te.placeholder((4, 8), name="X")
        >>> state = te.placeholder((4, 8), name="state")
        >>> init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
        >>> update = te.compute((4, 8), lambda t, i: state[t - 1, i] + X[t, i], name="update")
        >>> S = te.scan(init, update, state, name="S")
        >>> s = te.create_schedule(S)
        >>> s[S]
        S(S.idx)
        >>> s[S].env_threads(te.thread_axis((0, 8), "threadIdx.x"))
        >>> s[S]
        S(threadIdx.x, S.idx)
        """
        what = f"cannot launch threads around {stage_label(self)}"
        if self.is_group or not isinstance(self.op, ScanOp):
            raise ScheduleError(
                f"{what}: it is not a scan",
                help="bind axes of the stage to threads instead",
                where=At(self),
            )
        if self.launched_threads:
            raise ScheduleError(
                f"{what}: it already has the threads {names(self.launched_threads)}",
                help="give all threads in one call",
                where=At(self),
            )
        thread_axes = as_items(threads)
        for thread in thread_axes:
            check_thread(thread, stage_label(self), At(self))
        draft = self.draft
        draft.launched_threads = thread_axes
        draft.leaf_iter_vars[:0] = thread_axes
        draft.all_iter_vars += thread_axes
