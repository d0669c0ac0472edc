"""The stages and buffers of a story."""

from __future__ import annotations

import te_sched
from te_sched.story.model import StoryStage
from te_sched.story.stage_list import StageList
from tests.story.block_stories import tiled_blocks
from tests.story.schedules import tiled


def test_stages_that_a_primitive_makes_are_born_at_its_step() -> None:
    story = tiled()
    born = {stage.name: (stage.kind, stage.born) for stage in story.data.stages}
    assert born == {
        "A": ("placeholder", 0),
        "B": ("placeholder", 0),
        "C.local": ("compute", 1),
        "C": ("compute", 0),
    }


def test_the_parts_of_a_story_of_blocks_are_buffers() -> None:
    sch = tiled_blocks()
    sch.cache_read("C_update", 1, "local")
    found = te_sched.explain(sch, measure=False).data
    parts = {one.name: (one.kind, one.formula, one.born) for one in found.stages}
    assert found.part == "buffer"
    assert parts["A"] == ("parameter", "", 0)
    assert parts["C"][0] == "global memory"
    assert parts["A_local"] == ("local memory", "A_local[v0, v1] = A[v0, v1]", 6)
    assert "Buffers</h3>" in te_sched.explain(sch, measure=False).html()


def test_removed_stages_come_after_those_that_are_there():
    stages = StageList()
    stages.see(
        [
            (name, lambda born, name=name: StoryStage(name, "compute", (), "", 0, "", "", born))
            for name in "AB"
        ],
        0,
    )
    stages.see(
        [("B", None), ("C", lambda born: StoryStage("C", "compute", (), "", 0, "", "", born))], 1
    )
    assert [(stage.name, stage.born) for stage in stages.listed()] == [("B", 0), ("C", 1), ("A", 0)]
