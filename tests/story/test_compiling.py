"""Generated code of a step, or why there is none."""

from __future__ import annotations

import te_sched
from te_sched import te, tir
from tests.story.compiled_steps import last, lines_with, output, two_stages
from tests.story.schedules import matmul
from tests.tensorir.programs import STAGES, function, program


def test_a_schedule_that_races_shows_its_loops_and_the_cure() -> None:
    s, A, B, C = matmul()
    s[C].parallel(C.op.reduce_axis[0])
    problem = te_sched.explain(s, [A, B, C], measure=False).steps[1].problems[0]
    assert problem.kind == "BuildError"
    assert "reduction axis k" in problem.fault
    assert problem.why
    assert problem.help
    assert "verify=False" not in problem.help
    assert "tests/story/test_compiling.py" in problem.where


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


def test_a_program_that_gets_very_long_is_not_compiled() -> None:
    A = te.placeholder((64, 64), name="A")
    B = te.compute((33, 64), lambda i, j: A[0, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(s[B].fuse(*B.op.axis))
    step = te_sched.explain(s, measure=False).steps[-1]
    assert step.notes == ("The program has 2112 stores and calls: it is not compiled here.",)
    assert step.outputs == ()


def test_a_refused_step_has_the_problem_of_the_build() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.compute_at("B", sch.get_loops("C")[1])
    sch.set_scope("B", 0, "shared")
    step = te_sched.explain(sch, target="cuda", measure=False).steps[-1]
    assert step.program
    func = function("A:8", "for i in T.parallel(8):\n    A[0] = A[i]")
    (problem,) = te_sched.explain(program(func), measure=False).steps[0].problems
    assert problem.phase == "build"


def test_the_checked_mode_says_how_memory_is_used() -> None:
    s, (A, C) = two_stages()
    B = s.stages[1].op.output(0)
    s[B].compute_inline()
    outer, inner = s[C].split(C.op.axis[0], 32)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    lines = output(last(s, [A, C]), "check")
    assert lines[0].text == "checked: nothing found"
    (read,), (write,) = lines_with(lines, "read  A["), lines_with(lines, "write C[")
    assert (read.stages, write.stages) == (("A",), ("C",))


def test_kernels_that_the_host_launches_in_a_loop_are_not_checked() -> None:
    A = te.placeholder((4, 64), name="A")
    B = te.compute((4, 64), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    assert [one.kind for one in last(s, [A, B]).outputs] == ["compiled", "cuda"]
