"""explain: the steps of a story, and what is told of each."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.story.machine import fitting_cache
from te_sched.story.model import StoryStep
from te_sched.story.page import page_html
from te_sched.story.steps import TraceReplay
from te_sched.story.story import Story
from te_sched.story.text import story_text
from tests.golden.corpus import Program, programs


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


def test_steps_are_the_schedule_as_declared_and_its_primitives() -> None:
    story = tiled()
    titles = [step.title for step in story.steps]
    assert titles == [
        "The schedule as declared",
        "s.cache_write(C, 'local')",
        "s[C].tile(i, j, 4, 4)",
        "s[C_local].compute_at(s[C], j_outer)",
        "s[C].vectorize(j_inner)",
    ]
    assert [step.number for step in story.steps] == [0, 1, 2, 3, 4]
    assert problems(story) == []


def test_a_step_has_its_line_its_trace_and_what_the_primitive_is_for() -> None:
    story = tiled()
    step = story.steps[2]
    assert (step.method, step.stage) == ("tile", "C")
    assert step.source_line == "_, jo, _, ji = s[C].tile(*C.op.axis, 4, 4)"
    assert step.where.startswith("tests/story/test_explain.py:")
    assert step.code.splitlines()[-1].endswith(" = s[C].tile(i, j, 4, 4)")
    assert step.summary == "Split two loops and reorder the parts so that they iterate over tiles."


def test_the_program_of_the_user_is_shown_with_its_primitives() -> None:
    story = tiled()
    lines = story.data.program.splitlines()
    marked = {number: lines[line - 1].strip() for number, line in story.data.highlights}
    assert story.data.program_path == "tests/story/test_explain.py"
    assert marked[4] == "s[C].vectorize(ji)"


def test_the_schedule_stays_as_it_is() -> None:
    s, A, B, C = matmul()
    s[C].tile(*C.op.axis, 4, 4)
    before = str(te_sched.lower(s, [A, B, C])), str(s.trace)
    te_sched.explain(s, [A, B, C], measure=False)
    assert (str(te_sched.lower(s, [A, B, C])), str(s.trace)) == before


def test_changes_are_against_the_program_before() -> None:
    story = tiled()
    before, after = story.steps[3].program, story.steps[4].program
    removed = [one.text for one in story.steps[4].changes if one.mark == "-"]
    added = [one.text for one in story.steps[4].changes if one.mark == "+"]
    assert removed
    assert set(removed) <= {line.text for line in before} - {line.text for line in after}
    assert set(added) <= {line.text for line in after}


def test_stages_that_a_primitive_makes_are_born_at_its_step() -> None:
    story = tiled()
    born = {stage.name: (stage.kind, stage.born) for stage in story.data.stages}
    assert born == {
        "A": ("placeholder", 0),
        "B": ("placeholder", 0),
        "C.local": ("compute", 1),
        "C": ("compute", 0),
    }


def test_several_primitives_make_a_step_where_there_would_be_too_many() -> None:
    s, A, B, C = matmul()
    for _ in range(5):
        s[C].split(s[C].leaf_iter_vars[0], 2)
    story = te_sched.explain(s, [A, B, C], measure=False, max_steps=3)
    assert [step.number for step in story.steps] == [0, 1, 2]
    assert story.steps[1].title.endswith("(3 calls)")
    assert [line.text for line in story.steps[2].program] == text_of(s, [A, B, C])


def text_of(s: Any, args: Any) -> list[str]:
    return str(te_sched.lower(s, args, simple_mode=True)).split("\n")


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


@pytest.mark.parametrize("program", programs("primitives"), ids=lambda one: one.name)
def test_every_primitive_says_what_it_is_for(program: Program) -> None:
    *_, (schedule, _) = program.steps(te_sched)
    *_, snapshot = TraceReplay(schedule).snapshots()
    assert snapshot.summary.endswith((".", ":", ")"))


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


def test_a_primitive_that_raised_is_the_last_step() -> None:
    s, A, B, C = matmul()
    s[C].tile(*C.op.axis, 4, 4)
    with pytest.raises(te_sched.ScheduleError) as caught:
        s[C].vectorize(C.op.axis[0])
    story = te_sched.explain(s, [A, B, C], measure=False, error=caught.value)
    last = story.steps[-1]
    assert len(story.steps) == 3
    assert last.title == "s[C].vectorize(C.op.axis[0])"
    assert last.problems[0].phase == "schedule"
    assert last.problems[0].fault == caught.value.fault
    assert last.program == story.steps[1].program
    assert story.data.highlights[-1] == (2, int(last.where.rpartition(":")[2]))


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


def test_the_error_of_lower_is_not_told_twice() -> None:
    s, A, B, C = matmul()
    with pytest.raises(te_sched.LoweringError) as caught:
        te_sched.lower(s, [A, C, C.op.output(0), 3])
    with_error = te_sched.explain(s, [A, B, C], measure=False, error=caught.value)
    assert [phase for _, phase, _ in problems(with_error)] == ["lower"]
    s[C].parallel(C.op.reduce_axis[0])
    with pytest.raises(te_sched.BuildError) as refused:
        te_sched.build(s, [A, B, C])
    story = te_sched.explain(s, [A, B, C], measure=False, error=refused.value)
    assert [(number, phase) for number, phase, _ in problems(story)] == [(1, "build")]


def test_a_schedule_that_races_shows_its_loops_and_the_cure() -> None:
    s, A, B, C = matmul()
    s[C].parallel(C.op.reduce_axis[0])
    problem = te_sched.explain(s, [A, B, C], measure=False).steps[1].problems[0]
    assert problem.kind == "BuildError"
    assert "reduction axis k" in problem.fault
    assert problem.why
    assert problem.help
    assert "verify=False" not in problem.help
    assert "tests/story/test_explain.py" in problem.where


def test_all_that_a_program_is_refused_for_is_told() -> None:
    A = te.placeholder((8, 8), name="A")
    k, m = te.reduce_axis((0, 8), "k"), te.reduce_axis((0, 8), "m")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((8,), lambda i: te.sum(A[m, i], axis=m), name="C")
    s = te.create_schedule([B.op, C.op])
    s[B].parallel(k)
    s[C].parallel(m)
    found = te_sched.explain(s, [A, B, C], measure=False).steps[-1].problems
    assert len(found) == 2


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


def test_long_chains_of_stages_are_told() -> None:
    A = last = te.placeholder((8,), name="A")
    for number in range(250):
        last = te.compute((8,), lambda i, last=last: last[i] + 1.0, name=f"S{number}")
    story = te_sched.explain(te.create_schedule(last.op), [A, last], measure=False)
    assert problems(story) == []
    assert len(story.steps[0].program) > 250


def test_other_exceptions_are_told_too() -> None:
    s, A, B, C = matmul()
    story = te_sched.explain(s, [A, B, C], measure=False, error=ValueError("no such thing"))
    (problem,) = story.steps[-1].problems
    assert (problem.kind, problem.fault) == ("ValueError", "no such thing")
    assert story.steps[-1].title == "no such thing"


def test_arguments_are_the_inputs_and_outputs_by_default() -> None:
    s, *_ = matmul()
    assert te_sched.explain(s, measure=False).data.arguments == ("A", "B", "C")


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_the_function_has_its_own_name(target: str) -> None:
    s, A, B, C = matmul()
    if target == "cuda":
        s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    story = te_sched.explain(s, [A, B, C], name="gemm", target=target, measure=False)
    last = story.steps[-1]
    assert last.nest[0].text.startswith("gemm(A: ")
    texts = [last.program, *(output.lines for output in last.outputs if output.kind != "check")]
    assert all(any("gemm" in line.text for line in lines) for lines in texts)
    assert not any("main" in line.text for lines in texts for line in lines)


def test_a_schedule_with_threads_is_for_a_gpu_by_default() -> None:
    s, _, _, C = matmul()
    assert te_sched.explain(s, measure=False).data.target == "llvm"
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    story = te_sched.explain(s, measure=False)
    assert story.data.target == "cuda"
    assert "no kernels" in story.steps[0].notes[0]
    assert story.steps[0].outputs == ()
    assert [one.kind for one in story.steps[1].outputs] == ["compiled", "cuda", "check"]


def test_a_program_that_gets_very_long_is_not_compiled() -> None:
    A = te.placeholder((64, 64), name="A")
    B = te.compute((33, 64), lambda i, j: A[0, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(s[B].fuse(*B.op.axis))
    step = te_sched.explain(s, measure=False).steps[-1]
    assert step.notes == ("The program has 2112 stores and calls: it is not compiled here.",)
    assert step.outputs == ()


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


def test_the_same_schedule_has_the_same_story() -> None:
    s, A, B, C = matmul()
    s[C].tile(*C.op.axis, 4, 4)
    first, second = (te_sched.explain(s, [A, B, C], measure=False) for _ in range(2))
    assert first.to_json() == second.to_json()


_REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (
        lambda s: te_sched.explain(3),
        te_sched.ScheduleError,
        "explain needs a schedule or a function, got an int",
    ),
    (lambda s: te_sched.explain(s, 3), te_sched.ScheduleError, "args of explain .* got an int"),
    (lambda s: te_sched.explain(s, max_steps=1), te_sched.ScheduleError, "at least 2, got 1"),
    (
        lambda s: te_sched.explain(s, error="late"),
        te_sched.ScheduleError,
        "error of explain .* got a str",
    ),
    (lambda s: te_sched.explain(s, name=""), te_sched.LoweringError, "non-empty string"),
    (lambda s: te_sched.explain(s, target="opencl"), te_sched.BuildError, "opencl"),
]


@pytest.mark.parametrize(("ask", "kind", "said"), _REFUSED)
def test_explain_rejects(ask: Callable[[Any], Any], kind: type[Exception], said: str) -> None:
    s, *_ = matmul()
    with pytest.raises(kind, match=said) as caught:
        ask(s)
    assert caught.value.help  # type: ignore[attr-defined]


def test_the_page_is_written(tmp_path: Path) -> None:
    story = tiled()
    story.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == story.html()
    assert story._repr_html_().startswith("<iframe")


@pytest.mark.parametrize("path", ["", None, 3])
def test_save_rejects_what_is_no_path(path: Any) -> None:
    story = tiled()
    with pytest.raises(te_sched.TeSchedError, match="it is not a path"):
        story.save(path)


def test_save_rejects_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    story = tiled()
    with pytest.raises(te_sched.TeSchedError, match="No such file or directory"):
        story.save(tmp_path / "missing" / "report.html")


def test_the_text_has_steps_loops_changes_and_problems() -> None:
    s, A, B, C = matmul()
    s[C].parallel(C.op.reduce_axis[0])
    text = te_sched.explain(s, [A, B, C], measure=False).text()
    assert "step 1: Run the iterations of k (16) in parallel" in text
    assert "s[C].parallel(k)" in text
    assert "parallel k  0:16" in text
    assert "BuildError (build): " in text
    assert "\n+ " in text
    assert str(te_sched.explain(s, [A, B, C], measure=False)) == text


def test_records_are_flat_and_have_the_figures() -> None:
    story = tiled()
    steps, loops = story.records(), story.records("loops")
    assert [record["primitive"] for record in steps] == [
        "", "cache_write", "tile", "compute_at", "vectorize",
    ]  # fmt: skip
    assert steps[0]["operations"] == 2 * 16**3
    last = [record for record in loops if record["step"] == 4]
    assert last[-1]["annotation"] == "vectorized"
    assert {type(value) for record in loops for value in record.values()} <= {
        int, str, float, type(None),
    }  # fmt: skip
    with pytest.raises(te_sched.TeSchedError, match="did you mean 'loops'"):
        story.records("loop")


def test_a_source_may_be_given_as_text_or_path(tmp_path: Path) -> None:
    s, *_ = matmul()
    assert te_sched.explain(s, measure=False, source="a = 1\nb = 2\n").data.program.startswith("a")
    program = tmp_path / "program.py"
    program.write_text("first = 1\n")
    data = te_sched.explain(s, measure=False, source=program).data
    assert (data.program, data.program_path) == ("first = 1\n", "program.py")
    assert repr(te_sched.explain(s, measure=False)) == "<story of 1 step: The schedule of C>"


def test_explain_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    s, A, B, C = matmul()
    os.mkfifo(tmp_path / "program.py")
    story = te_sched.explain(s, [A, B, C], measure=False, source=tmp_path / "program.py")
    assert story.data.program == ""


@pytest.mark.parametrize("source", ["a\0b", "a\ud800b", 3])
def test_explain_rejects_what_is_no_path_of_a_program(source: Any) -> None:
    s, A, B, C = matmul()
    with pytest.raises(te_sched.TeSchedError, match="explain the program"):
        te_sched.explain(s, [A, B, C], measure=False, source=source)


def test_headings_name_the_loops_with_their_extents() -> None:
    s, A, B, C = matmul()
    outer, inner = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(outer, *C.op.axis, inner)
    cached = s.cache_read(A, "global", [C])
    s[cached].compute_at(s[C], outer)
    headings = [step.heading for step in te_sched.explain(s, [A, B, C], measure=False).steps]
    assert headings[0] == ""
    assert headings[1] == "Split k (16) into k.outer (4) and k.inner (4)"
    assert headings[2].startswith("Reorder the loops to k.outer (4), ")
    assert headings[3] == "Cache reads of A by C as A.global, scope global"
    assert headings[4] == "Compute A.global in the loop k.outer (4) of C"


def test_every_primitive_has_a_heading() -> None:
    for kind in (te.Schedule, te.Stage):
        for name, method in inspect.getmembers(kind, lambda one: hasattr(one, "declared")):
            assert method.declared.heading, name


def test_working_sets_are_marked_with_the_cache_that_holds_them() -> None:
    known = (("L1", 1024), ("L2", 4096))
    found = [fitting_cache(size, known) for size in (8, 1024, 1025, 4097, None)]
    assert found == ["L1", "L1", "L2", "memory", ""]
    s, A, B, C = matmul()
    data = replace(te_sched.explain(s, [A, B, C], measure=False).data, caches=known)
    assert 'class="cache l1"' in page_html(data)
    assert "  L1" in story_text(data)
    assert "cache l1" not in page_html(replace(data, caches=()))


def test_an_exception_of_the_program_is_the_last_step() -> None:
    s, A, B, C = matmul()
    s[C].parallel(C.op.axis[0])
    last = te_sched.explain(s, [A, B, C], measure=False, error=NameError("no x")).steps[-1]
    assert [(one.phase, one.kind, one.fault) for one in last.problems] == [
        ("program", "NameError", "no x")
    ]
