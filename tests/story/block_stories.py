"""A schedule of blocks, and its story."""

from __future__ import annotations

from functools import cache
from typing import Any

import te_sched
from te_sched import tir
from te_sched.story.model import StoryStep
from te_sched.story.story import Story
from tests.tensorir.programs import MATMUL, program


def tiled_blocks() -> Any:
    sch = tir.Schedule(program(MATMUL))
    _, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, [None, 4])
    sch.reorder(j_0, k, j_1)
    sch.reverse_compute_at("D", j_0)
    sch.vectorize(j_1)
    sch.decompose_reduction("C", k)
    return sch


@cache
def blocks_story() -> Story:
    return te_sched.explain(tiled_blocks())


def row(step: StoryStep, text: str) -> Any:
    (found,) = [one for one in step.nest if one.text == text]
    return found
