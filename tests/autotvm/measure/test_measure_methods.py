"""Building and running candidates."""

from __future__ import annotations

import concurrent.futures
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import autotvm, config, target, te
from te_sched.autotvm import measure
from te_sched.autotvm.measure import MeasureErrorNo, candidates
from te_sched.autotvm.measure.candidates import WrongAnswerError
from te_sched.autotvm.tuner import GridSearchTuner
from te_sched.errors import CallError, DeclarationError
from te_sched.transform import PassContext
from te_sched.tuning import reference as references
from te_sched.tuning.timing import TimingOptions
from te_sched.worker_pool import WorkerTimeoutError
from tests.autotvm.templates import MadeUpRunner, product, records_of, task_of

ONCE = TimingOptions(1, 1)


def built(n: int = 8, folder: Any = None, index: int = 6) -> Any:
    task = task_of(n)
    s, args = task.instantiate(task.config_space.get(index))
    return candidates.build_candidate(s, args, target.Target("llvm"), str(folder))


# What workers do, in this process.


def test_a_candidate_is_built_and_timed(tmp_path: Path) -> None:
    one = built(folder=tmp_path)
    assert one.arg_info == (((8, 8), "float32"),) * 3
    assert one.device == "cpu"
    found = candidates.run_candidate(one, TimingOptions(2, 3))
    assert (len(found.costs), found.error_no) == (3, 0)
    assert min(found.costs) > 0
    assert found.all_cost >= one.time_cost


def test_caches_are_emptied_before_each_run(tmp_path: Path) -> None:
    one = built(folder=tmp_path)
    found = candidates.run_candidate(one, TimingOptions(2, 2, 0, True))
    assert len(found.costs) == 2


def test_a_candidate_must_have_the_results_of_the_reference(tmp_path: Path) -> None:
    _, args = task_of(8).instantiate(task_of(8).config_space.get(0))
    reference = str(tmp_path / "reference")
    candidates.run_reference(args, reference)
    candidates.run_candidate(built(folder=tmp_path), ONCE, reference)
    a, b, c = results = references.kept(reference) or []
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)
    c[3, 4] += 1
    references.keep(results, reference)
    with pytest.raises(WrongAnswerError, match="argument 2 has wrong values"):
        candidates.run_candidate(built(folder=tmp_path), ONCE, reference)


def test_the_first_candidate_is_the_reference_without_one(tmp_path: Path) -> None:
    reference = tmp_path / "reference"
    candidates.run_candidate(built(folder=tmp_path), ONCE, str(reference))
    assert reference.exists()


def test_configurations_that_change_shapes_are_not_compared(tmp_path: Path) -> None:
    reference = str(tmp_path / "reference")
    candidates.run_candidate(built(8, tmp_path), ONCE, reference)
    found = candidates.run_candidate(built(16, tmp_path, 0), ONCE, reference)
    assert found.error_no == 0


def test_given_arguments_are_used(tmp_path: Path) -> None:
    values = [np.full((8, 8), number, "float32") for number in (2, 3, 0)]
    reference = tmp_path / "reference"
    candidates.run_candidate(built(folder=tmp_path), ONCE, str(reference), 0, values)
    assert (references.kept(str(reference)) or [])[2][0, 0] == 48


def test_programs_of_symbolic_shapes_are_refused(tmp_path: Path) -> None:
    A = te.placeholder((te.var("n"),), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(CallError, match="cannot measure a program with argument A of shape"):
        candidates.build_candidate(s, [A, B], target.Target("llvm"), str(tmp_path))


# Builders and runners.


@pytest.fixture(scope="module")
def option() -> dict[str, Any]:
    """The workers of all tests: they take seconds to start."""
    runner = autotvm.LocalRunner(number=1, repeat=1, cooldown_interval=0, timeout=20)
    return autotvm.measure_option(autotvm.LocalBuilder(timeout=60, n_parallel=1), runner)


def results_of(task: Any, option: Any, n_trial: int = 100) -> list[Any]:
    found: list[Any] = []
    tuner = GridSearchTuner(task)
    tuner.tune(n_trial, option, callbacks=[lambda _, __, results: found.extend(results)])
    return found


def test_a_task_is_tuned_in_workers(option: Any, tmp_path: Path) -> None:
    log = tmp_path / "product.log"
    task, tuner = task_of(8), GridSearchTuner(task_of(8))
    tuner.tune(6, option, callbacks=[autotvm.callback.log_to_file(log)])
    assert tuner.best_flops > 0
    results = [result for _, result in autotvm.record.load_from_file(log)]
    assert [one.error_no for one in results] == [0] * 6
    with autotvm.apply_history_best(log), target.Target("llvm"):
        s, args = product(8)
    a, b = (np.random.default_rng(n).random((8, 8)).astype("float32") for n in (0, 1))
    c = np.zeros((8, 8), "float32")
    te_sched.build(s, args)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert task.config_space is not None


def test_a_candidate_that_fails_costs_itself_alone(option: Any) -> None:
    runner = autotvm.LocalRunner(number=1, repeat=1, cooldown_interval=0, timeout=2)
    task = autotvm.task.create("tests/faults", (16,), "llvm")
    found = results_of(task, {**option, "runner": runner})
    assert [MeasureErrorNo(one.error_no).name for one in found] == [
        *("NO_ERROR", "INSTANTIATION_ERROR", "INSTANTIATION_ERROR", "COMPILE_HOST"),
        *("RUNTIME_DEVICE", "RUN_TIMEOUT", "WRONG_ANSWER"),
    ]
    errors = [one.costs[0] for one in found[1:]]
    for error, text in zip(
        errors,
        (
            "refuses configuration 1",
            "the template fails",
            "threadIdx.x",
            "SIGABRT",
            "longer than 2 s",
            "wrong values",
        ),
        strict=True,
    ):
        assert text in str(error)
    assert isinstance(errors[4], WorkerTimeoutError)


def test_builds_have_a_limit_of_time(option: Any) -> None:
    builder = autotvm.LocalBuilder(timeout=1e-4, n_parallel=1)
    found = results_of(task_of(8), {**option, "builder": builder}, 1)
    assert found[0].error_no == MeasureErrorNo.BUILD_TIMEOUT


def test_builds_have_the_switches_and_options_of_the_caller(option: Any) -> None:
    builder = autotvm.LocalBuilder(
        n_parallel=1, build_kwargs={"build_option": {"tir.disable_vectorize": True}}
    )

    class Keeping:
        def submit(self, function: Any, *args: Any) -> Any:
            self.function, self.args = function, args
            return concurrent.futures.Future()

    builder.executor = keeping = Keeping()
    task = autotvm.task.create("tests/product", (8,), "llvm", "llvm -mcpu=core-avx2")
    inp = records_of(task, [1.0])[0][0]
    builder.set_task(task, {"build_option": {}})
    with config.scoped(max_steps=7), PassContext(config={"tir.disable_vectorize": False}):
        builder._begin(inp)
    switches, _ = keeping.function.args
    assert (switches["max_steps"], switches["lowering"].vectorize) == (7, False)
    assert keeping.args[2].host.mcpu == "core-avx2"


def test_a_program_that_cannot_be_a_reference_is_told(
    option: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @autotvm.template("tests/no_fallback")
    def template(n: int) -> Any:
        if autotvm.get_config().is_fallback:
            raise ValueError("it needs a configuration")
        return product.__wrapped__(n)

    found = results_of(autotvm.task.create("tests/no_fallback", (8,), "llvm"), option, 2)
    assert [one.error_no for one in found] == [0, 0]
    assert "compared with those of its first candidate" in caplog.text


def test_a_runner_gives_the_arguments_of_the_user() -> None:
    values = [np.zeros((2, 2)) for _ in range(3)]
    runner = measure.LocalRunner(check_correctness=False)
    runner.ref_input = values

    class Recording(measure.Executor):
        def submit(self, func: Any, *args: Any, **kwargs: Any) -> Any:
            assert args[-1] is values
            future: Any = concurrent.futures.Future()
            future.set_result(None)
            return future

    runner.executor = Recording()
    assert runner.run([None], [None]) == [None]


def test_a_linker_of_the_user_makes_libraries(option: Any, tmp_path: Path) -> None:
    builder = autotvm.LocalBuilder(n_parallel=1, build_func=te_sched.contrib.cc.create_shared)
    builder.set_task(task_of(8))
    inp = records_of(task_of(8), [1.0])[0][0]
    one = builder.build([inp])[0]
    assert one.filename.endswith(".so")
    assert option["runner"].run([inp], [one])[0].error_no == 0


def test_results_print_as_tvms() -> None:
    result = measure.MeasureResult((1.5,), MeasureErrorNo.WRONG_ANSWER, 3.5, 4.5)
    assert repr(result) == "MeasureResult(costs=(1.5,), error_no=5, all_cost=3.5, timestamp=4.5)"


# Refusals.


def test_options_reject_other_parts() -> None:
    with pytest.raises(DeclarationError, match=r"'x' is not a builder") as caught:
        autotvm.measure_option("x", MadeUpRunner())
    assert caught.value.help.startswith('pass "local", autotvm.LocalBuilder()')
    with pytest.raises(DeclarationError, match="None is not a runner"):
        autotvm.measure_option("local", None)
    assert isinstance(autotvm.measure_option("local", "local")["runner"], autotvm.LocalRunner)


def test_parts_need_their_methods() -> None:
    with pytest.raises(DeclarationError, match="MeasureBuilder has no method build"):
        measure.Builder().build([])
    with pytest.raises(DeclarationError, match="MeasureRunner has no method run"):
        measure.Runner().run([], [])
    with pytest.raises(DeclarationError, match="Executor has no method submit"):
        measure.Executor().submit(len)


def test_a_builder_and_a_runner_reject_what_is_for_other_machines() -> None:
    with pytest.raises(DeclarationError, match="invalid build_func 'ndk'"):
        autotvm.LocalBuilder(build_func="ndk")
    with pytest.raises(DeclarationError, match="LocalRunner has no module loaders"):
        autotvm.LocalRunner(module_loader=print)
