"""Which configurations tuners choose, with made-up costs."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

import pytest

from te_sched import autotvm
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner import DropletTuner, GATuner, GridSearchTuner, RandomTuner, Tuner
from te_sched.errors import DeclarationError
from tests.autotvm.templates import MadeUpRunner, NoBuilder, made_up, task_of
from tests.autotvm.tuner.chosen import chosen

TUNERS = [RandomTuner, GridSearchTuner, GATuner, DropletTuner]


@pytest.mark.parametrize("kind", [RandomTuner, GridSearchTuner, GATuner])
def test_a_tuner_tries_each_configuration_once(kind: Callable[..., Tuner]) -> None:
    assert sorted(chosen(kind(task_of(8)))) == list(range(16))


@pytest.mark.parametrize("kind", TUNERS)
def test_a_tuner_never_tries_what_the_filter_rejects(kind: Callable[..., Tuner]) -> None:
    task = task_of(8)
    task.config_space.multi_filter(lambda one: one["tile_x"].size[1] >= one["tile_y"].size[1])
    found = chosen(kind(task))
    assert len(found) == len(set(found))
    assert all(task.config_space.is_index_valid(one) for one in found)


@pytest.mark.parametrize("kind", TUNERS)
def test_the_same_seed_gives_the_same_choices(kind: Callable[..., Tuner]) -> None:
    found = []
    for _ in range(2):
        random.seed(7)
        found.append(chosen(kind(task_of(64)), 20))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", TUNERS)
def test_the_best_is_kept(kind: Callable[..., Tuner]) -> None:
    tuner = kind(task_of(8))
    found = chosen(tuner, measure=made_up(lambda index: 1.0 + abs(index - 10)))
    best = min(found, key=lambda index: abs(index - 10))
    assert tuner.best_config.index == best
    assert tuner.best_flops == 1024 / (1.0 + abs(best - 10))
    assert tuner.best_measure_pair[1].costs == (1.0 + abs(best - 10),)


def test_tuning_stops_early_without_improvement() -> None:
    tuner = GridSearchTuner(task_of(8))
    assert chosen(tuner, early_stopping=4, measure=made_up()) == list(range(4))
    assert tuner.ttl == 0


def test_tuning_stops_after_its_trials() -> None:
    assert len(chosen(RandomTuner(task_of(8)), 6)) == 6


def test_many_errors_in_a_row_are_told(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(MadeUpRunner):
        def run(self, measure_inputs: Any, build_results: Any) -> Any:
            results = super().run(measure_inputs, build_results)
            return [one._replace(error_no=4, costs=(ValueError("no"),)) for one in results]

    tuner = GridSearchTuner(task_of(8))
    tuner.set_error_threshold(5)
    with caplog.at_level(logging.WARNING, "autotvm"):
        chosen(tuner, measure=autotvm.measure_option(NoBuilder(1, 4), Failing()))
    assert "configurations of tests/product failed; the error of the last one: no" in caplog.text


def test_a_tuner_forgets() -> None:
    tuner = GridSearchTuner(task_of(8))
    chosen(tuner, 3)
    tuner.load_history([], 1)
    tuner.reset()
    assert (tuner.best_config, tuner.best_flops) == (None, 0)


def test_a_batch_may_be_empty() -> None:
    class Idle(Tuner):
        def has_next(self) -> bool:
            return True

        def next_batch(self, batch_size: int) -> list[Any]:
            return []

    assert chosen(Idle(task_of(8))) == []


def test_an_interrupted_tuner_keeps_its_best() -> None:
    tuner = GridSearchTuner(task_of(8))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuner.tune(8, made_up(), callbacks=[interrupt])
    assert tuner.best_config.index == 0
    assert not autotvm.GLOBAL_SCOPE.in_tuning


def test_a_tuner_rejects_what_it_cannot_tune() -> None:
    with pytest.raises(DeclarationError, match=r"argument task of .* expected a TuningTask"):
        RandomTuner("tests/product")
    with pytest.raises(DeclarationError, match="task tests/product has no space of configurations"):
        RandomTuner(Task("tests/product", (8,)))
    with pytest.raises(DeclarationError, match="'Q' is not an SI prefix"):
        RandomTuner(task_of(8)).tune(1, made_up(), si_prefix="Q")
    with pytest.raises(DeclarationError, match="None is not a runner"):
        RandomTuner(task_of(8)).tune(1, {"builder": NoBuilder()})
    for odd, fault in [
        ({"n_trial": "3"}, "argument n_trial of tune is '3', expected an int"),
        ({"early_stopping": 1.5}, "argument early_stopping of tune is 1.5, expected an int"),
        ({"callbacks": 3}, "argument callbacks of tune is 3"),
        ({"callbacks": [3]}, "argument callbacks of tune is"),
    ]:
        with pytest.raises(DeclarationError, match=fault):
            RandomTuner(task_of(8)).tune(**{"n_trial": 1, "measure_option": made_up(), **odd})
    with pytest.raises(DeclarationError, match="Tuner has no method has_next"):
        Tuner(task_of(8)).tune(1, made_up())
    with pytest.raises(DeclarationError, match="Tuner has no method next_batch"):
        Tuner(task_of(8)).next_batch(1)


def test_a_search_of_which_nothing_runs_warns_once() -> None:
    class Absent(MadeUpRunner):
        def run(self, measure_inputs: Any, build_results: Any) -> Any:
            results = super().run(measure_inputs, build_results)
            failure = ValueError("there is no device cuda(0)\nhelp")
            return [one._replace(error_no=4, costs=(failure,)) for one in results]

    option = autotvm.measure_option(NoBuilder(1, 4), Absent())
    match = r"8 configurations of .* failed, and none ran: there is no device cuda\(0\)$"
    with pytest.warns(UserWarning, match=match) as caught:
        chosen(RandomTuner(task_of(64)), 8, measure=option)
    assert len(caught) == 1
    assert caught[0].filename == chosen.__code__.co_filename
