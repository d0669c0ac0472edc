"""Small programs to schedule, and snapshots of schedules."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from te_sched import te
from te_sched.schedule import Schedule
from te_sched.schedule.program import ScheduleState
from te_sched.schedule.state import StageState


def chain() -> SimpleNamespace:
    """D reads C reads B reads A, all 16 x 8."""
    A = te.placeholder((16, 8), name="A")
    B = te.compute((16, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((16, 8), lambda i, j: B[i, j] * 2, name="C")
    D = te.compute((16, 8), lambda i, j: C[i, j] - 3, name="D")
    return SimpleNamespace(A=A, B=B, C=C, D=D, s=te.create_schedule(D.op))


def product() -> SimpleNamespace:
    """C = A @ B, D = C + 1."""
    A = te.placeholder((16, 32), name="A")
    B = te.placeholder((32, 8), name="B")
    k = te.reduce_axis((0, 32), "k")
    C = te.compute((16, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16, 8), lambda i, j: C[i, j] + 1, name="D")
    return SimpleNamespace(A=A, B=B, C=C, D=D, k=k, s=te.create_schedule(D.op))


def pair() -> SimpleNamespace:
    """Two outputs of one operation, read by C."""
    A = te.placeholder((16,), name="A")
    B0, B1 = te.compute((16,), lambda i: (A[i] + 1, A[i] * 2), name="B")
    C = te.compute((16,), lambda i: B0[i] + B1[i], name="C")
    return SimpleNamespace(A=A, B0=B0, B1=B1, C=C, s=te.create_schedule(C.op))


def scan() -> SimpleNamespace:
    """A cumulative sum, and D that reads it."""
    X = te.placeholder((10, 16), name="X")
    state = te.placeholder((10, 16), name="state")
    init = te.compute((1, 16), lambda _, i: X[0, i], name="init")
    update = te.compute((10, 16), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    total = te.scan(init, update, state, inputs=[X])
    D = te.compute((10, 16), lambda i, j: total[i, j] + 1, name="D")
    s = te.create_schedule(D.op)
    return SimpleNamespace(X=X, state=state, init=init, update=update, scan=total, D=D, s=s)


def leaves(stage: Any) -> str:
    """The names of the loops, outermost first."""
    return ", ".join([axis.var.name for axis in stage.leaf_iter_vars])


def stages(schedule: Schedule) -> str:
    """The names of the stages in order."""
    return ", ".join([stage.op.name for stage in schedule.stages])


def snapshot(schedule: Schedule) -> list[Any]:
    """All state that a primitive may change."""
    whole = [name for name in ScheduleState.__slots__ if name not in ("trace", "__weakref__")]
    of_stage = [name for name in StageState.__slots__ if name != "schedule"]
    return [
        len(schedule.trace),
        frozenset(schedule.trace.known),
        *[_frozen(getattr(schedule, name)) for name in whole],
        *[
            _frozen(getattr(stage, name))
            for stage in (*schedule.stages, *schedule.groups)
            for name in of_stage
        ],
    ]


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return tuple(value.items()) if isinstance(value, dict) else value
