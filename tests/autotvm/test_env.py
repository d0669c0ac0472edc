"""Switches for the whole process."""

from __future__ import annotations

from te_sched import autotvm
from te_sched.autotvm.tuner import GridSearchTuner
from tests.autotvm.templates import made_up, task_of


def test_tuning_is_known_while_a_tuner_runs() -> None:
    seen: list[bool] = []
    callbacks = [lambda *_: seen.append(autotvm.GLOBAL_SCOPE.in_tuning)]
    GridSearchTuner(task_of(8)).tune(1, made_up(), callbacks=callbacks)
    assert (seen, autotvm.GLOBAL_SCOPE.in_tuning) == ([True], False)
