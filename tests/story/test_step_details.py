"""The details of one step."""

from __future__ import annotations

import json
from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.story.model import StoryStep
from te_sched.story.steps import TraceReplay
from tests.golden.corpus import Program, programs
from tests.story.block_stories import blocks_story, row
from tests.story.schedules import problems, text_of, tiled
from tests.tensorir.programs import STAGES, program


def test_changes_are_against_the_program_before() -> None:
    story = tiled()
    before, after = story.steps[3].program, story.steps[4].program
    removed = [one.text for one in story.steps[4].changes if one.mark == "-"]
    added = [one.text for one in story.steps[4].changes if one.mark == "+"]
    assert removed
    assert set(removed) <= {line.text for line in before} - {line.text for line in after}
    assert set(added) <= {line.text for line in after}


_STORIES = programs("primitives", "gemm_gpu", "programs")


@pytest.mark.parametrize("program", _STORIES, ids=lambda one: one.name)
def test_every_step_shows_what_lower_gives(program: Program) -> None:
    *_, (schedule, args) = program.steps(te_sched)
    story = te_sched.explain(schedule, args, measure=False, max_steps=6)
    replay = TraceReplay(schedule, 6)
    for snapshot, step in zip(replay.snapshots(), story.steps, strict=True):
        arguments = [replay.argument(arg) for arg in args]
        check_step(snapshot.schedule, arguments, step)
    assert json.loads(json.dumps(story.to_json()))["steps"]


def check_step(schedule: Any, args: Any, step: StoryStep) -> None:
    """A step has the program of its schedule, or says why there is none."""
    assert step.nest
    assert step.dataflow.startswith("<svg")
    if step.program:
        assert [line.text for line in step.program] == text_of(schedule, args)
        known = {stage.op.name for stage in schedule.stages}
        assert {name for line in step.program for name in line.stages} <= known
    else:
        assert [one.phase for one in step.problems] == ["lower"]
    assert step.outputs or step.problems or step.notes


def test_a_schedule_that_cannot_be_lowered_is_told_to_its_end() -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] * 2.0, name="C")
    D = te.compute((8, 8), lambda i, j: B[i, j] + C[i, j], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[D].parallel(D.op.axis[0])
    story = te_sched.explain(s, [A, D], measure=False)
    assert [(number, phase) for number, phase, _ in problems(story)] == [(1, "lower"), (2, "lower")]
    assert story.steps[1].nest
    assert story.steps[1].program == ()


def test_every_step_has_code_and_a_time() -> None:
    for step in blocks_story().steps:
        assert [one.kind for one in step.outputs] == ["compiled", "llvm", "assembly"]
        assert step.timing.milliseconds is not None
        assert step.operations == 2 * 8**3 + 8**2


def test_loops_have_figures_and_the_lines_that_show_them() -> None:
    step = blocks_story().steps[2]
    loop, inner, block = (
        row(step, text)
        for text in (
            "for k  0:8",
            "for j_1  0:4",
            "block C  vi = i, vj = j_0 * 4 + j_1, reduce vk = k",
        )
    )
    assert (loop.figures.iteration, loop.figures.whole) == (4 + 4 * 4 + 4 * 4, 176)
    texts = [line.text.strip() for line in step.program]
    assert texts[loop.lines[0] - 1] == "for i, j_0, k, j_1 in T.grid(8, 2, 8, 4):"
    assert inner.lines == loop.lines
    assert texts[block.lines[0] - 1] == 'with T.block("C"):'


def test_long_annotations_are_shortened() -> None:
    sch = tir.Schedule(program(STAGES))
    text = "int f(void) { return 0; }\n" * 50
    sch.annotate(sch.get_loops("B")[0], "pragma_import_c", text)
    found = te_sched.explain(sch, measure=False)
    step = found.steps[1]
    assert len(step.title) < 120
    assert max(len(line.text) for line in step.program) <= 1000
    assert max(map(len, step.code.splitlines())) <= 1000
    assert max(len(one.text) for one in step.nest) < 120
    assert text.strip().splitlines()[-1] in found.data.trace
