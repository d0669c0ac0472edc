"""What a worker measures: comparison with the unscheduled program, and functions of the user."""

import subprocess
import sys

import numpy as np
import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched.errors import WrongAnswerError
from te_sched.meta_schedule.runner import EvaluatorConfig, measuring
from tests.meta_schedule.programs import MODULE
from tests.meta_schedule.runner.functions import double, triple


def test_caches_are_flushed_before_each_measurement(built):
    config = ms.runner.EvaluatorConfig(2, 3, 0, enable_cpu_cache_flush=True)
    (path,) = built(MODULE["main"])
    infos = [one.as_json() for one in ms.ArgInfo.from_entry_func(MODULE)]
    found = measuring.measured(path, "llvm", infos, None, config, 2, 0.0, (None, None, None))
    assert len(found) == 2 * 3


def test_the_comparison_is_the_measurement_of_slow_functions(built):
    (path,) = built(MODULE["main"])
    infos = [one.as_json() for one in ms.ArgInfo.from_entry_func(MODULE)]
    measuring.save_reference(path, infos)
    times = []
    for min_repeat_ms in (0, 1e-9):
        config = ms.runner.EvaluatorConfig(1, 3, min_repeat_ms)
        rest = (config, 1, 0.0, (None, None, None))
        times.append(measuring.measured(path, "llvm", infos, path, *rest))
    assert [len(one) for one in times] == [3, 1]


def test_other_results_than_those_of_the_reference_are_refused(built):
    reference, path = built(double, triple)
    infos = [one.as_json() for one in ms.ArgInfo.from_prim_func(double)]
    measuring.save_reference(reference, infos)
    config = ms.runner.EvaluatorConfig(1, 1, 0)
    with pytest.raises(WrongAnswerError, match="computes something else than the program in arg"):
        measuring.measured(path, "llvm", infos, reference, config, 1, 0.0, (None, None, None))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (EvaluatorConfig(), (1, 5, 5, False, 0.1)),
        (EvaluatorConfig(3, 2, 10), (3, 2, 10, False, 0.08)),
        (EvaluatorConfig(3, 2, 0), (3, 2, 0, False, 0)),
        (EvaluatorConfig(3, 2, 10, True), (3, 2, 10, True, 0)),
    ],
)
def test_slow_functions_are_measured_less_often(config, expected):
    assert tuple(measuring.timing_of(config)) == pytest.approx(expected)


def test_arguments_are_random_and_alike_in_each_process():
    infos = [ms.arg_info.TensorInfo("float32", [2, 3]), ["TENSOR", "int8", [4]]]
    assert measuring.shapes_of(infos) == [([2, 3], "float32"), ([4], "int8")]
    first, second = measuring.default_alloc_argument(te_sched.cpu(), infos, 2)
    (again,) = measuring.default_alloc_argument(te_sched.cpu(), infos, 1)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert not np.array_equal(first[0].numpy(), second[0].numpy())
    assert (np.abs(first[0].numpy()) <= 1).all()
    assert {*first[1].numpy().tolist()} <= {*range(8)}


def test_functions_of_the_user_are_called(built):
    calls = []

    def allocate(device, infos, repeat):
        calls.append((infos, repeat))
        return [["a set"]] * repeat

    def evaluate(module, device, config, sets):
        calls.append((config, sets))
        return [3, 4]

    (path,) = built(double)
    infos = [one.as_json() for one in ms.ArgInfo.from_prim_func(double)]
    config, functions = EvaluatorConfig(), (allocate, evaluate, lambda: calls.append("clean"))
    seconds = measuring.measured(path, "cpu", infos, None, config, 2, 0.0, functions)
    assert seconds == [3.0, 4.0]
    assert calls == [(infos, 2), (config, [["a set"]] * 2), "clean"]


def test_each_set_of_arguments_is_measured(built):
    (path,) = built(double)
    module, shapes = te_sched.runtime.load_module(path), ms.ArgInfo.from_prim_func(double)
    sets = measuring.default_alloc_argument(te_sched.cpu(), shapes, 3)
    config = EvaluatorConfig(1, 2, 0)
    seconds = measuring.default_run_evaluator(module, te_sched.cpu(), config, sets)
    assert len(seconds) == 6
    assert all(0 < one < 10 for one in seconds)


def test_workers_load_no_search():
    code = (
        "import sys, te_sched.meta_schedule.runner.measuring\n"
        "import te_sched.meta_schedule.builder.local_builder\n"
        "print(*(name for name in sys.modules if name.startswith('te_sched.meta_schedule.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[2] for name in done.stdout.split()}
    assert loaded == {"arg_info", "builder", "component", "log_file", "runner", "utils"}
