"""The last step of schedules."""

from __future__ import annotations

from typing import Any

import te_sched
from te_sched import te
from te_sched.story.model import Line, StoryStep


def two_stages(n: Any = 256) -> tuple[Any, Any]:
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: te.exp(A[i]), name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i] * 2.0, name="C")
    return te.create_schedule(C.op), [A, C]


def last(s: Any, args: Any) -> StoryStep:
    return te_sched.explain(s, args, measure=False).steps[-1]


def lines_with(lines: tuple[Line, ...], part: str) -> list[Line]:
    return [line for line in lines if part in line.text]


def output(step: StoryStep, kind: str) -> tuple[Line, ...]:
    return next(one.lines for one in step.outputs if one.kind == kind)
