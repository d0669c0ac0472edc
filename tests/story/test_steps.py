"""Steps of a trace, one primitive at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import te_sched
from te_sched.story.steps import TraceReplay
from tests.golden.corpus import Program, programs
from tests.story.block_stories import blocks_story, tiled_blocks
from tests.story.schedules import matmul, problems, text_of, tiled


def test_a_step_has_its_line_its_trace_and_what_the_primitive_is_for() -> None:
    story = tiled()
    step = story.steps[2]
    assert (step.method, step.stage) == ("tile", "C")
    assert step.source_line == "_, jo, _, ji = s[C].tile(*C.op.axis, 4, 4)"
    assert step.where.startswith("tests/story/schedules.py:")
    assert step.code.splitlines()[-1].endswith(" = s[C].tile(i, j, 4, 4)")
    assert step.summary == "Split two loops and reorder the parts so that they iterate over tiles."


def test_several_primitives_make_a_step_where_there_would_be_too_many() -> None:
    s, A, B, C = matmul()
    for _ in range(5):
        s[C].split(s[C].leaf_iter_vars[0], 2)
    story = te_sched.explain(s, [A, B, C], measure=False, max_steps=3)
    assert [step.number for step in story.steps] == [0, 1, 2]
    assert story.steps[1].title.endswith("(3 calls)")
    assert [line.text for line in story.steps[2].program] == text_of(s, [A, B, C])


@pytest.mark.parametrize("program", programs("primitives"), ids=lambda one: one.name)
def test_every_primitive_says_what_it_is_for(program: Program) -> None:
    *_, (schedule, _) = program.steps(te_sched)
    *_, snapshot = TraceReplay(schedule).snapshots()
    assert snapshot.summary.endswith((".", ":", ")"))


def test_a_trace_that_cannot_be_done_again_ends_the_story() -> None:
    s, A, B, C = matmul()
    s[C].split(C.op.axis[0], 4)
    s[C].split(C.op.axis[1], 4)
    s.trace.entries[1] = replace(
        s.trace.entries[1], arguments={**s.trace.entries[1].arguments, "factor": 0}
    )
    story = te_sched.explain(s, [A, B, C], measure=False)
    assert [phase for _, phase, _ in problems(story)] == ["schedule"]
    assert len(story.steps) == 2
    assert story.steps[1].nest


def test_what_observers_are_told_has_nothing_of_a_story() -> None:
    from te_sched.trace.observing import Observer, observed_by

    class Counting(Observer):
        count = 0

        def created(self, schedule: Any) -> None:
            self.count += 1

    s, A, B, C = matmul()
    observer = Counting()
    with observed_by(observer):
        te_sched.explain(s, [A, B, C], measure=False)
    assert observer.count == 0


def test_each_instruction_that_changes_the_program_is_a_step() -> None:
    assert [step.title for step in blocks_story().steps] == [
        "The program as given",
        "split(j, [None, 4])",
        "reorder(j_0, k, j_1)",
        "reverse_compute_at(D, j_0)",
        "vectorize(j_1)",
        "decompose_reduction(C, k)",
    ]
    assert problems(blocks_story()) == []
    assert blocks_story().steps[1].heading == "Split j (8) into j_0 (2) and j_1 (4)"
    assert blocks_story().steps[1].code.splitlines()[:2] == [
        'b0 = sch.get_block(name="C", func_name="main")',
        "l1, l2, l3 = sch.get_loops(block=b0)",
    ]
    assert blocks_story().steps[2].source_line == "sch.reorder(j_0, k, j_1)"


def test_a_trace_of_blocks_that_cannot_be_replayed_ends_the_story() -> None:
    sch = tiled_blocks()
    sch.trace.entries.pop(2)
    steps = te_sched.explain(sch, measure=False).steps
    assert steps[-1].problems
    assert len(steps) < 6
