"""Building and running candidates."""

from __future__ import annotations

import concurrent.futures
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import autotvm, config, target
from te_sched.autotvm.measure import MeasureErrorNo
from te_sched.autotvm.tuner import GridSearchTuner
from te_sched.errors import DeclarationError
from te_sched.transform import PassContext
from te_sched.worker_pool import WorkerTimeoutError
from tests.autotvm.templates import product, records_of, task_of


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


def test_a_linker_of_the_user_makes_libraries(option: Any, tmp_path: Path) -> None:
    builder = autotvm.LocalBuilder(n_parallel=1, build_func=te_sched.contrib.cc.create_shared)
    builder.set_task(task_of(8))
    inp = records_of(task_of(8), [1.0])[0][0]
    one = builder.build([inp])[0]
    assert one.filename.endswith(".so")
    assert option["runner"].run([inp], [one])[0].error_no == 0


def test_a_builder_and_a_runner_reject_what_is_for_other_machines() -> None:
    with pytest.raises(DeclarationError, match="invalid build_func 'ndk'"):
        autotvm.LocalBuilder(build_func="ndk")
    with pytest.raises(DeclarationError, match="LocalRunner has no module loaders"):
        autotvm.LocalRunner(module_loader=print)
