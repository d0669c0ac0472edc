"""Builders and runners: results, comparison with the unscheduled program, functions of the user."""

import os
import re

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import WrongAnswerError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.runner import local_runner, measuring
from te_sched.script import tir as T
from tests.meta_schedule.programs import BUILDER, LLVM, MODULE, QUICK, RUNNER, complain


@T.prim_func
def double(a: T.Buffer((8,), "bfloat16"), b: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] + a[vi]


@T.prim_func
def triple(a: T.Buffer((8,), "bfloat16"), b: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] + a[vi] + a[vi]


@T.prim_func
def count(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] * 2


@T.prim_func
def asleep(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
    T.evaluate(T.call_extern("int32", "sleep", 60))
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] * 2


def built(*functions):
    """The paths of functions that were built."""
    results = BUILDER.build(
        [ms.builder.BuilderInput(IRModule({"main": one}), LLVM) for one in functions]
    )
    assert [one.error_msg for one in results] == [None] * len(functions)
    return [one.artifact_path for one in results]


def measured(runner, path, function=MODULE["main"], reference=None):
    infos = ms.ArgInfo.from_prim_func(function)
    (future,) = runner.run([ms.runner.RunnerInput(path, "cpu", infos, reference)])
    result = future.result()
    assert future.done()
    return result


def test_a_candidate_is_built_and_measured():
    (path,) = built(MODULE["main"])
    result = measured(RUNNER, path)
    assert result.error_msg is None
    assert 0 < result.run_secs[0] < 10
    assert result.machine
    ms.utils.remove_build_dir(path)
    assert not os.path.exists(path)
    assert "An exception occurred" in measured(RUNNER, path).error_msg


@pytest.mark.parametrize(("function", "other"), [(double, triple), (count, None)])
def test_results_are_compared(function, other):
    reference, same = built(function, function)
    assert measured(RUNNER, same, function, reference).error_msg is None
    if other is not None:
        (path,) = built(other)
        message = measured(RUNNER, path, function, reference).error_msg
        assert "computes something else than the program in argument 1" in message


def test_caches_are_flushed_before_each_measurement():
    config = ms.runner.EvaluatorConfig(2, 3, 0, enable_cpu_cache_flush=True)
    (path,) = built(MODULE["main"])
    infos = [one.as_json() for one in ms.ArgInfo.from_entry_func(MODULE)]
    found = measuring.measured(path, "llvm", infos, None, config, 2, 0.0, (None, None, None))
    assert len(found) == 2 * 3


def test_the_comparison_is_the_measurement_of_slow_functions():
    (path,) = built(MODULE["main"])
    infos = [one.as_json() for one in ms.ArgInfo.from_entry_func(MODULE)]
    measuring.save_reference(path, infos)
    times = []
    for min_repeat_ms in (0, 1e-9):
        config = ms.runner.EvaluatorConfig(1, 3, min_repeat_ms)
        rest = (config, 1, 0.0, (None, None, None))
        times.append(measuring.measured(path, "llvm", infos, path, *rest))
    assert [len(one) for one in times] == [3, 1]


def test_other_results_than_those_of_the_reference_are_refused():
    reference, path = built(double, triple)
    infos = [one.as_json() for one in ms.ArgInfo.from_prim_func(double)]
    measuring.save_reference(reference, infos)
    config = ms.runner.EvaluatorConfig(1, 1, 0)
    with pytest.raises(WrongAnswerError, match="computes something else than the program in arg"):
        measuring.measured(path, "llvm", infos, reference, config, 1, 0.0, (None, None, None))


def test_hopeless_candidates_are_ended_early(monkeypatch):
    monkeypatch.setattr(local_runner, "_PATIENCE", 0.5)
    reference, path = built(count, asleep)
    runner = ms.runner.LocalRunner()
    message = measured(runner, path, count, reference).error_msg
    found = re.fullmatch(r"LocalRunner: Timeout, killed after ([0-9.]+) seconds", message)
    assert found is not None
    assert float(found[1]) < 10
    runner.close()


def fixed(module, device, config, arguments):
    """An evaluator that gives the number of sets of arguments."""
    return [float(len(arguments))]


def test_functions_of_the_user_are_called(monkeypatch):
    (path,) = built(MODULE["main"])
    runner = ms.runner.LocalRunner(f_run_evaluator=fixed, alloc_repeat=3)
    assert measured(runner, path).run_secs == [3.0]
    runner.close()
    assert measured(runner, path).run_secs == [3.0]
    runner.close()
    runner = ms.runner.LocalRunner(evaluator_config=QUICK, f_cleanup=complain)
    assert "a fault of the user's function" in measured(runner, path).error_msg
    runner.close()
    done = ms.runner.LocalRunnerFuture([1.0])
    assert done.done()
    assert done.result().run_secs == [1.0]
