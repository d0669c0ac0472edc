"""Programs to build."""

from __future__ import annotations

from te_sched import te
from te_sched.schedule.schedule import create_schedule

N = 37


def declare():
    a = te.placeholder((N, N), name="A")
    b = te.placeholder((N, N), name="B")
    k = te.reduce_axis((0, N), name="k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return create_schedule(c.op), [a, b, c], k
