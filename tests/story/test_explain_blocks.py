"""explain of functions of blocks and of their schedules."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.arith.executions import distinct_numbers, distinct_rows
from te_sched.errors import ScheduleError
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source
from te_sched.story.model import StoryStep
from te_sched.story.story import Story
from te_sched.tensorir.handles import PRIMITIVES
from tests.story.test_explain import problems
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES, function, program


def tiled() -> Any:
    sch = tir.Schedule(program(MATMUL))
    _, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, [None, 4])
    sch.reorder(j_0, k, j_1)
    sch.reverse_compute_at("D", j_0)
    sch.vectorize(j_1)
    sch.decompose_reduction("C", k)
    return sch


@cache
def story() -> Story:
    return te_sched.explain(tiled())


def row(step: StoryStep, text: str) -> Any:
    (found,) = [one for one in step.nest if one.text == text]
    return found


def test_each_instruction_that_changes_the_program_is_a_step() -> None:
    assert [step.title for step in story().steps] == [
        "The program as given",
        "split(j, [None, 4])",
        "reorder(j_0, k, j_1)",
        "reverse_compute_at(D, j_0)",
        "vectorize(j_1)",
        "decompose_reduction(C, k)",
    ]
    assert problems(story()) == []
    assert story().steps[1].heading == "Split j (8) into j_0 (2) and j_1 (4)"
    assert story().steps[1].code.splitlines()[:2] == [
        'b0 = sch.get_block(name="C", func_name="main")',
        "l1, l2, l3 = sch.get_loops(block=b0)",
    ]
    assert story().steps[2].source_line == "sch.reorder(j_0, k, j_1)"


def test_the_program_of_a_step_is_the_module() -> None:
    lines = [line.text for line in story().steps[-1].program]
    assert lines == tiled().mod.script().splitlines()
    assert story().steps[-1].program_title == "As scheduled"
    added = [one.text.strip() for one in story().steps[2].changes if one.mark == "+"]
    assert added == ["for i, j_0, k, j_1 in T.grid(8, 2, 8, 4):"]
    assert str(story().data.trace) == str(tiled().trace)


def test_every_step_has_code_and_a_time() -> None:
    for step in story().steps:
        assert [one.kind for one in step.outputs] == ["compiled", "llvm", "assembly"]
        assert step.timing.milliseconds is not None
        assert step.operations == 2 * 8**3 + 8**2


def test_loops_have_figures_and_the_lines_that_show_them() -> None:
    step = story().steps[2]
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


def test_stores_are_linked_with_the_instructions_made_of_them() -> None:
    step = story().steps[2]
    (store,) = [one for one in step.nest if one.text.startswith("C[vi, vj] +=")]
    assert store.stages == ("C", "A", "B")
    (compiled,) = [one for one in step.outputs if one.kind == "compiled"]
    shown = {line.text.strip() for line in compiled.lines if set(line.numbers) & set(store.numbers)}
    assert sum("* B_1[" in text for text in shown) == 1
    assert not any("for " in text for text in shown)


def test_the_parts_of_a_story_of_blocks_are_buffers() -> None:
    sch = tiled()
    sch.cache_read("C_update", 1, "local")
    found = te_sched.explain(sch, measure=False).data
    parts = {one.name: (one.kind, one.formula, one.born) for one in found.stages}
    assert found.part == "buffer"
    assert parts["A"] == ("parameter", "", 0)
    assert parts["C"][0] == "global memory"
    assert parts["A_local"] == ("local memory", "A_local[v0, v1] = A[v0, v1]", 6)
    assert "Buffers</h3>" in te_sched.explain(sch, measure=False).html()


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


def test_a_refused_step_has_the_problem_of_the_build() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.compute_at("B", sch.get_loops("C")[1])
    sch.set_scope("B", 0, "shared")
    step = te_sched.explain(sch, target="cuda", measure=False).steps[-1]
    assert step.program
    func = function("A:8", "for i in T.parallel(8):\n    A[0] = A[i]")
    (problem,) = te_sched.explain(program(func), measure=False).steps[0].problems
    assert problem.phase == "build"


def test_a_program_that_cannot_be_lowered_shows_its_blocks() -> None:
    body = """
for i in T.thread_binding(8, thread="threadIdx.x"):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in T.thread_binding(4, thread="threadIdx.x"):
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        B[vi] = A[vi]
"""
    found = te_sched.explain(program(function("A:8 B:8", body)), measure=False)
    assert found.steps[0].program
    assert any(one.text.startswith("block C") for one in found.steps[0].nest)


def test_steps_of_other_parameters_are_not_measured() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.transform_layout("C", ("write", 0), lambda i, j: [i // 4, i % 4, j])
    first, last = te_sched.explain(sch).steps
    assert first.timing.note == "Not measured: the parameters of the last step have other shapes."
    assert last.timing.milliseconds is not None


def test_a_trace_that_cannot_be_replayed_ends_the_story() -> None:
    sch = tiled()
    sch.trace.entries.pop(2)
    steps = te_sched.explain(sch, measure=False).steps
    assert steps[-1].problems
    assert len(steps) < 6


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


@pytest.mark.parametrize("name", [name for name, one in PRIMITIVES.items() if not one.is_naming])
def test_every_primitive_has_a_heading(name: str) -> None:
    declared = PRIMITIVES[name]
    assert declared.heading, f'give {declared.name} one: @instruction("...")'
    names = {one.name: "x" for one in declared.parameters}
    assert declared.heading.format(results="y", **names)


@pytest.mark.parametrize("seed", range(20))
def test_distinct_numbers_and_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.integers(1, 9)
    columns = [rng.integers(-scale, scale, seed) for _ in range(3)]
    assert np.array_equal(distinct_numbers(columns[0]), np.unique(columns[0]))
    rows = np.unique(np.stack(columns, axis=-1), axis=0)
    assert np.array_equal(distinct_rows(columns), rows)
