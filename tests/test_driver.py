"""build: from schedules and programs to modules that run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import config, driver, relax, te, tir
from te_sched.driver import build
from te_sched.driver.steps import PLAN
from te_sched.errors import BuildError, DeclarationError, LoweringError, ScheduleError, TeSchedError
from te_sched.ir.expr import Call, StringImm
from te_sched.ir.op import Op
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.pipeline import lower
from te_sched.meta_schedule import tune_tir
from te_sched.schedule.schedule import create_schedule
from te_sched.story.explaining import explain
from te_sched.target import Target

N = 37


def declare():
    a = te.placeholder((N, N), name="A")
    b = te.placeholder((N, N), name="B")
    k = te.reduce_axis((0, N), name="k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return create_schedule(c.op), [a, b, c], k


def check(module) -> None:
    a, b = np.random.default_rng(0).random((2, N, N), "float32")
    c = np.zeros((N, N), "float32")
    module(a, b, c)
    np.testing.assert_allclose(c, a @ b, 1e-5)


def test_schedule_builds_and_runs() -> None:
    schedule, args, k = declare()
    check(build(schedule, args))
    stage = schedule[args[2]]
    outer, inner = stage.split(stage.op.axis[0], factor=8)
    k_outer, k_inner = stage.split(k, factor=4)
    stage.reorder(outer, k_outer, inner, k_inner)
    stage.parallel(outer)
    check(build(schedule, args, Target("llvm"), name="matmul"))


def test_lowered_programs_build() -> None:
    schedule, args, _ = declare()
    module = lower(schedule, args, name="first")
    check(build(module))
    check(build(module.functions["first"]))
    check(build(IRModule({"other": module.functions["first"]})))
    check(build({"f": module.functions["first"]}))


def test_race_is_refused_unless_insisted_on() -> None:
    schedule, args, k = declare()
    schedule[args[2]].parallel(k)
    with pytest.raises(BuildError, match="cannot parallelize reduction axis k of stage C"):
        build(schedule, args)
    build(schedule, args, verify=False)


def test_rejects() -> None:
    schedule, args, _ = declare()
    with pytest.raises(LoweringError, match="args is required"):
        build(schedule)
    with pytest.raises(BuildError, match="no loop around it is bound to a thread"):
        build(schedule, args, "cuda")
    with pytest.raises(BuildError, match="got an int"):
        build(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["cuda", {"kind": "cuda"}, Target("cuda")])
def test_target_of_functions_may_be_the_second_argument(target: Any) -> None:
    module = lower(*declare()[:2])
    for program in (module, module["main"], {"main": module["main"]}):
        with pytest.raises(BuildError, match="no loop around it is bound to a thread"):
            build(program, target)
    story = explain(module, "llvm -mcpu=znver4", measure=False)
    assert "for llvm -mcpu=znver4" in str(story)
    with pytest.raises(BuildError, match=r"'lvvm' is not a target kind(.|\n)*mean 'llvm'"):
        build(module, "lvvm")
    with pytest.raises(BuildError, match=r"build takes no args with an IRModule, got \{'a': 1\}"):
        build(module, {"a": 1})
    with pytest.raises(BuildError, match="the mapping has no 'kind'"):
        build(module, target={"a": 1})  # type: ignore[arg-type]
    with pytest.raises(BuildError, match="build has two targets: 'llvm' and 'cuda'"):
        build(module, "llvm", "cuda")


def test_a_schedule_rejects_a_target_in_place_of_its_arguments() -> None:
    schedule, *_ = declare()
    for target in ("cuda", Target("cuda")):
        with pytest.raises(BuildError, match=r'help: .* te_sched.build\(s, \[A, B\], "cuda"\)'):
            build(schedule, target)


def test_functions_reject_parameters_of_a_schedule() -> None:
    schedule, args, _ = declare()
    module = lower(schedule, args)
    check(build(module, [], "llvm"))  # no parameters
    with pytest.raises(BuildError, match="build takes no args with an IRModule"):
        build(module, args)
    with pytest.raises(LoweringError, match=r"takes no args with a PrimFunc, got 'x'"):
        lower(module["main"], "x")  # type: ignore[arg-type]
    with pytest.raises(LoweringError, match="lower takes no binds"):
        lower(module, binds={args[0]: tir.decl_buffer((N, N), name="A")})
    with pytest.raises(ScheduleError, match="explain takes no args"):
        explain(module, args)


@pytest.mark.parametrize("shared", ["buffer", "memory"])
def test_binds_reject_one_buffer_for_two_tensors(shared: str) -> None:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    C = te.compute((4,), lambda i: A[i] - B[i], name="C")
    X = tir.decl_buffer((4,), "float32", "X")
    Y = X if shared == "buffer" else tir.decl_buffer((4,), "float32", "Y", data=X.data)
    with pytest.raises(LoweringError, match="tensors A and B are bound to one buffer"):
        build(create_schedule(C.op), [A, B, C], binds={A: X, B: Y})


def test_arguments_reject_what_has_no_order() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i], name="B")
    with pytest.raises(LoweringError, match=r"args must be a list .*, got a set"):
        build(create_schedule(B.op), {A, B})
    with pytest.raises(ScheduleError, match="an operation or a list of operations"):
        create_schedule({B.op})


@pytest.mark.parametrize("place", ["variable", "memory"])
def test_hand_written_loops_reject_what_is_used_after_them(place: str) -> None:
    B = tir.decl_buffer((4,), "float32", "B")
    ib = tir.ir_builder.create()
    p = ib.buffer_ptr(B)
    with ib.for_range(0, 4, name="k") as k:
        t = ib.allocate("float32", (4,), "t")
        p[k] = t[0] = 1.0
    p[k if place == "variable" else 0] = t[0] if place == "memory" else 2.0
    body, message = ib.get(), r"variable (k|t) is used outside of its definition"
    with pytest.raises(DeclarationError, match=message):
        te.extern((4,), [], lambda ins, outs: body, name="B", dtype="float32")
    with pytest.raises(BuildError, match=message):
        build(PrimFunc((B.data,), body, {B.data: B}))


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800b"])
def test_build_rejects_what_is_no_name_of_a_function(name):
    B = te.compute((8,), lambda i: i, name="B")
    with pytest.raises(LoweringError, match="name of a function must be"):
        build(create_schedule(B.op), [B], name=name)


def steps_of(capsys, *args, **options) -> list[str]:
    """The steps that build took, without the passes."""
    build(*args, **options, show="steps")
    rows = capsys.readouterr().out.splitlines()
    assert all(" ms" in row for row in rows)
    return [row.split()[0] for row in rows if not row.startswith(" ")]


@pytest.mark.parametrize("options", [{}, {"sanitize": True}, {"verify": False}, {"target": "cuda"}])
def test_schedules_functions_and_modules_take_their_steps_in_one_order(capsys, options):
    schedule, args, _ = declare()
    if "target" in options:
        for axis, tag in zip(args[2].op.axis, ("blockIdx.x", "threadIdx.x"), strict=True):
            schedule[args[2]].bind(axis, te.thread_axis(tag))
    module = lower(schedule, args)
    with config.scoped(cache=False):
        of_schedule = steps_of(capsys, schedule, args, **options)
        of_module = steps_of(capsys, module, **options)
        assert steps_of(capsys, module["main"], **options) == of_module
    order = [step.run.__name__ for step in PLAN]
    for steps in (of_schedule, of_module):
        assert steps == sorted(steps, key=order.index)
    shared = of_schedule[of_schedule.index("count_sizes") :]
    own = {"check_results", "check_definitions", "judge_instances", "find_shared_arguments"}
    assert [one for one in of_module if one not in own][1:] == [
        one for one in shared if one not in own
    ]


@pytest.mark.parametrize("is_gathered", [False, True])
def test_kernels_are_lowered_with_checks_where_they_need_some(capsys, is_gathered):
    A, P = te.placeholder((64,), name="A"), te.placeholder((64,), name="P", dtype="int32")
    B = te.compute((64,), lambda i: A[P[i]] if is_gathered else A[i] + P[i], name="B")
    s = create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    steps = steps_of(capsys, s, [A, P, B], target="cuda")
    assert ("check_kernels" in steps) == is_gathered


def test_steps_show_the_passes_that_they_run(capsys):
    schedule, args, _ = declare()
    build(schedule, args, show="steps")
    names = [row.split()[0] for row in capsys.readouterr().out.splitlines()]
    at = names.index("run_passes")
    assert names[at + 1 : at + 3] == ["inject_prefetch", "flatten_storage"]
    assert names.index("finish_functions") < names.index("join_dimensions")


def test_steps_are_shown_up_to_the_one_that_fails(capsys):
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i + 4], name="B")
    schedule, args = create_schedule(B.op), [A, B]
    with pytest.raises(BuildError, match="A"):
        build(schedule, args, show="steps")
    names = [row.split()[0] for row in capsys.readouterr().out.splitlines()]
    assert (names[0], names[-1]) == ("check_schedule", "judge_programs")
    with pytest.raises(BuildError, match=r"use show='steps', or none \(did you mean 'steps'\?\)"):
        build(schedule, args, show="step")


def test_double_buffers_in_parallel_loops_are_refused_in_functions_too():
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 16), lambda i, j: B[i, j] * 2.0, name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    s[C].parallel(C.op.axis[0])
    for inputs in ((s, [A, C]), (lower(s, [A, C], stop_after="schedule_ops"),)):
        with pytest.raises(BuildError, match="double-buffer stage B in the parallel loop i"):
            build(*inputs)


def test_a_caller_of_a_function_that_is_missing_is_refused():
    call = Call("int32", Op.get("tir.call_function"), (StringImm("nothing"),))
    caller = tir.PrimFunc((), tir.Evaluate(call), {}, {"global_symbol": "f"})
    with pytest.raises(BuildError, match="cannot call function 'nothing' of the module"):
        driver.build_with_callers(IRModule({}), {"f": caller}, Target("llvm"))


def test_what_is_not_a_program_is_refused_with_what_makes_one() -> None:
    class Forgotten:
        """A class without @I.ir_module."""

    module = lower(*declare()[:2])
    calls: list[Any] = [build, lower, relax.build, tir.Schedule]
    for call in calls:
        with pytest.raises(TeSchedError, match=r"decorate the class with @I.ir_module"):
            call(Forgotten)
        if call is not lower:
            with pytest.raises(TeSchedError, match=r"a tir.Schedule(.|\n)*: sch.mod"):
                call(tir.Schedule(module))
    with pytest.raises(DeclarationError, match=r"a tir.Schedule(.|\n)*: sch.mod"):
        tune_tir(tir.Schedule(module), "llvm", work_dir="", max_trials_global=1)
