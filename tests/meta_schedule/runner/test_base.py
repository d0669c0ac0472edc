"""Inputs, results and futures of runners, and runners by name."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.runner import base


def test_defaults_are_several_short_measurements():
    assert tuple(base.EvaluatorConfig()) == (1, 5, 5, False)


def test_inputs_and_results_have_their_own_lists():
    infos, seconds = [ms.arg_info.TensorInfo("int8", [3])], [1, 2.5]
    made = base.RunnerInput("module.o", "cpu", infos)
    result = base.RunnerResult(seconds, None, "machine")
    infos.clear()
    seconds.clear()
    assert [one.shape for one in made.args_info] == [[3]]
    assert (made.artifact_path, made.device_type, made.reference_path) == ("module.o", "cpu", None)
    assert (result.run_secs, result.error_msg, result.machine) == ([1.0, 2.5], None, "machine")
    assert base.RunnerResult(None, "crashed").run_secs is None


def test_futures_ask_functions():
    answers = iter([False, True])
    result = base.RunnerResult([1.0], None)
    future = base.RunnerFuture(lambda: next(answers), lambda: result)
    assert (future.done(), future.result(), future.done()) == (False, result, True)
    with pytest.raises(DeclarationError, match="class RunnerFuture has no method result"):
        base.RunnerFuture(lambda: True).result()


def test_runners_do_not_wait_for_each_other_by_default():
    runner = base.Runner()
    assert ms.runner.create(runner) is runner
    runner.close()
    assert (runner.is_exclusive, ms.runner.LocalRunner.is_exclusive) == (False, True)
    with pytest.raises(DeclarationError, match="class Runner has no method run"):
        runner.run([])
