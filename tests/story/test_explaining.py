"""explain: the story of a schedule or function, and what it refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import ScheduleError
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source
from tests.story.block_stories import row
from tests.story.schedules import matmul, problems, tiled
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES, program


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


def test_the_program_of_the_user_is_shown_with_its_primitives() -> None:
    story = tiled()
    lines = story.data.program.splitlines()
    marked = {number: lines[line - 1].strip() for number, line in story.data.highlights}
    assert story.data.program_path == "tests/story/schedules.py"
    assert marked[4] == "s[C].vectorize(ji)"


def test_the_schedule_stays_as_it_is() -> None:
    s, A, B, C = matmul()
    s[C].tile(*C.op.axis, 4, 4)
    before = str(te_sched.lower(s, [A, B, C])), str(s.trace)
    te_sched.explain(s, [A, B, C], measure=False)
    assert (str(te_sched.lower(s, [A, B, C])), str(s.trace)) == before


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


def test_an_exception_of_the_program_is_the_last_step() -> None:
    s, A, B, C = matmul()
    s[C].parallel(C.op.axis[0])
    last = te_sched.explain(s, [A, B, C], measure=False, error=NameError("no x")).steps[-1]
    assert [(one.phase, one.kind, one.fault) for one in last.problems] == [
        ("program", "NameError", "no x")
    ]


def test_a_function_without_a_schedule_is_one_step() -> None:
    found = te_sched.explain(program(MATMUL))
    (step,) = found.steps
    assert found.title == "The function main"
    assert found.data.trace == ""
    assert 'aria-label="Dataflow of D"' in step.dataflow
    assert step.timing.milliseconds is not None
    assert [line.text for line in step.program][-1].endswith("T.max(C[vi, vj], T.float32(0))")
    assert "block C" in found.text()


def test_a_function_of_loops_is_one_step() -> None:
    lowered = te_sched.lower(program(MATMUL))
    (step,) = te_sched.explain(lowered, measure=False).steps
    assert [line.text for line in step.program] == lowered.script().splitlines()


def test_a_module_of_several_functions_needs_the_name_of_one() -> None:
    module = from_source(GIVEN + OTHERS["two functions"])
    assert te_sched.explain(module, name="g", measure=False).title == "The function g"
    with pytest.raises(ScheduleError, match="needs the name of a function: the module has 2"):
        te_sched.explain(module)
    with pytest.raises(ScheduleError, match="the module has 0"):
        te_sched.explain(IRModule({}))


def test_the_function_of_the_name_is_timed() -> None:
    module = from_source(GIVEN + OTHERS["two functions"])
    (step,) = te_sched.explain(module, name="g").steps
    assert step.timing.milliseconds is not None


def test_a_schedule_with_threads_is_for_a_gpu_and_checked() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.compute_inline("B")
    i, j = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    found = te_sched.explain(sch, measure=False)
    assert found.data.target == "cuda"
    assert [one.kind for one in found.steps[-1].outputs] == ["compiled", "cuda", "check"]
    assert row(found.steps[-1], "threadIdx.x j  0:8").figures.whole == 64
    assert "no kernels" in found.steps[0].notes[0]


def test_steps_of_other_parameters_are_not_measured() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.transform_layout("C", ("write", 0), lambda i, j: [i // 4, i % 4, j])
    first, last = te_sched.explain(sch).steps
    assert first.timing.note == "Not measured: the parameters of the last step have other shapes."
    assert last.timing.milliseconds is not None
