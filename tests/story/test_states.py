"""What is shown and built of the program of a step."""

from __future__ import annotations

import te_sched
from tests.story.block_stories import blocks_story, tiled_blocks
from tests.tensorir.programs import function, program


def test_the_program_of_a_step_is_the_module() -> None:
    lines = [line.text for line in blocks_story().steps[-1].program]
    assert lines == tiled_blocks().mod.script().splitlines()
    assert blocks_story().steps[-1].program_title == "As scheduled"
    added = [one.text.strip() for one in blocks_story().steps[2].changes if one.mark == "+"]
    assert added == ["for i, j_0, k, j_1 in T.grid(8, 2, 8, 4):"]
    assert str(blocks_story().data.trace) == str(tiled_blocks().trace)


def test_stores_are_linked_with_the_instructions_made_of_them() -> None:
    step = blocks_story().steps[2]
    (store,) = [one for one in step.nest if one.text.startswith("C[vi, vj] +=")]
    assert store.stages == ("C", "A", "B")
    (compiled,) = [one for one in step.outputs if one.kind == "compiled"]
    shown = {line.text.strip() for line in compiled.lines if set(line.numbers) & set(store.numbers)}
    assert sum("* B_1[" in text for text in shown) == 1
    assert not any("for " in text for text in shown)


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
