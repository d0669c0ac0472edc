"""Schedules of products, and stories of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import te_sched
from te_sched import te
from te_sched.story.story import Story


def matmul(size: int = 16) -> tuple[Any, ...]:
    k = te.reduce_axis((0, size), "k")
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


@cache
def tiled() -> Story:
    s, A, B, C = matmul()
    CC = s.cache_write(C, "local")
    _, jo, _, ji = s[C].tile(*C.op.axis, 4, 4)
    s[CC].compute_at(s[C], jo)
    s[C].vectorize(ji)
    return te_sched.explain(s, [A, B, C], measure=False)


def problems(story: Story) -> list[tuple[int, str, str]]:
    return [(step.number, one.phase, one.fault) for step in story.steps for one in step.problems]


def text_of(s: Any, args: Any) -> list[str]:
    return str(te_sched.lower(s, args, simple_mode=True)).split("\n")
