"""build: from schedules and programs to modules that run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import driver, relax, te, tir
from te_sched.codegen.llvm import compile, parts
from te_sched.codegen.llvm.machine import PartsAhead
from te_sched.driver import build
from te_sched.errors import BuildError, DeclarationError, LoweringError, ScheduleError, TeSchedError
from te_sched.ir.stmt import IRModule
from te_sched.lowering.pipeline import lower
from te_sched.meta_schedule import tune_tir
from te_sched.schedule.schedule import create_schedule
from te_sched.story.explaining import explain
from te_sched.target import Target
from tests.driver.programs import N, declare


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


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800b"])
def test_build_rejects_what_is_no_name_of_a_function(name):
    B = te.compute((8,), lambda i: i, name="B")
    with pytest.raises(LoweringError, match="name of a function must be"):
        build(create_schedule(B.op), [B], name=name)


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


def test_bound_buffers_are_arguments() -> None:
    B = te.placeholder((8,), name="B")
    C = te.compute((8,), lambda i: B[i] + 1, name="C")
    buffer = tir.decl_buffer((8,), name="buffer")
    module = te_sched.build(te.create_schedule(C.op), iter([B, buffer]), binds={C: buffer})
    out = np.zeros(8, "float32")
    module(np.ones(8, "float32"), out)
    np.testing.assert_array_equal(out, 2)


def test_functions_are_compiled_while_others_are_prepared(monkeypatch) -> None:
    """A part is begun as soon as its functions are written."""
    events: list[str] = []
    monkeypatch.setattr(parts, "_LEAST_CUT", 0)
    monkeypatch.setattr(parts, "PART", 500)
    prepare = driver.run_plan
    monkeypatch.setattr(
        driver, "run_plan", lambda *args: (events.append("prepare"), prepare(*args))[1]
    )
    monkeypatch.setattr(PartsAhead, "begin", lambda self, part: events.append("begin"))
    a = te.placeholder((N, N), name="A")
    scales = (2.0, 3.0)
    results = [te.compute((N, N), lambda *i, scale=scale: te.exp(a[i]) * scale) for scale in scales]
    functions = {
        f"f{scale}": te.create_prim_func([a, result])
        for scale, result in zip(scales, results, strict=True)
    }
    with te_sched.config(cache=False):
        module = driver.build_with_callers(IRModule(functions), {}, Target("llvm"))
    assert events == ["prepare", "prepare", "begin", "prepare", "begin"]
    data, result = np.random.default_rng(0).random((N, N), "float32"), np.zeros((N, N), "float32")
    for scale in scales:
        module[f"f{scale}"](data, result)
        np.testing.assert_allclose(result, np.exp(data) * scale, 1e-5)


def test_an_error_of_a_function_ends_what_is_begun() -> None:
    a = te.placeholder((N,), name="A")
    legal = te.create_prim_func([a, te.compute((N,), lambda i: a[i] + 1.0)])
    beyond = te.create_prim_func([a, te.compute((N,), lambda i: a[i + 1])])
    with pytest.raises(BuildError, match="out of bounds"):
        driver.build_with_callers(IRModule({"f": legal, "g": beyond}), {}, Target("llvm"))


def test_functions_that_are_written_again_on_a_larger_stack_are_all_there(monkeypatch) -> None:
    x = relax.Var("x", relax.TensorStructInfo((4, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        product = builder.emit(relax.op.matmul(x, x))
        builder.emit_func_output(builder.emit(relax.op.nn.softmax(product)))
    check_externs, calls = compile._check_externs, []

    def overflow_once(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise RecursionError
        check_externs(*args)

    monkeypatch.setattr(compile, "_check_externs", overflow_once)
    with te_sched.config.scoped(cache=False):
        executable = relax.build(builder.get(), "llvm")
    assert len(calls) == 2
    numbers = np.arange(16, dtype="float32").reshape(4, 4)
    result = relax.VirtualMachine(executable, te_sched.cpu())["main"](te_sched.nd.array(numbers))
    np.testing.assert_allclose(result.numpy().sum(axis=1), np.ones(4), 1e-6)
