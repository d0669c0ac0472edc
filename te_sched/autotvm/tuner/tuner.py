"""The base of tuners: the loop that asks for configurations, measures them and keeps the best.

Must not know how configurations are chosen.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.env import GLOBAL_SCOPE
from te_sched.autotvm.measure.measure import (
    Callback,
    MeasureInput,
    MeasureResult,
    create_measure_batch,
)
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.callback import speed
from te_sched.autotvm.utils import format_si_prefix
from te_sched.errors import DeclarationError, counted, warn
from te_sched.public_members import PublicObject, missing_method
from te_sched.signatures import check_function, checked

logger = logging.getLogger("autotvm")


class Tuner(PublicObject):
    """The base of tuners. `tune` measures; then `best_config`, `best_flops` (operations per second)
    and `best_measure_pair` are those of the fastest configuration.
    """

    @checked
    def __init__(self, task: Task, **kwargs: Any) -> None:
        if task.config_space is None:
            raise DeclarationError(
                f"task {task.name} has no space of configurations",
                "a log names tasks, and their templates define the spaces",
                "make it with autotvm.task.create",
            )
        self.param = kwargs
        self.task, self.space = task, task.config_space  # of a task that `create` made
        self.error_ct_threshold = 150
        self.n_trial: int | None = None
        self.early_stopping: int | None = None
        self.reset()

    def reset(self) -> None:
        """Forget what was measured."""
        self.best_config: ConfigEntity | None = None
        self.best_flops: float = 0
        self.best_measure_pair: tuple[MeasureInput, MeasureResult] | None = None
        self.best_iter = 0
        self.ttl: int | None = None

    def has_next(self) -> bool:
        """Whether there are configurations that were not tried."""
        raise missing_method(self, "has_next")

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The configurations to measure next, at most `batch_size`."""
        raise missing_method(self, "next_batch")

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Learn from measurements."""

    def load_history(self, data_set: Sequence[Any], min_seed_records: int = 500) -> None:
        """Learn from the records of a log, if there are at least `min_seed_records`."""

    def set_error_threshold(self, threshold: int) -> None:
        """Set after how many errors in a row they are shown; by default 150."""
        self.error_ct_threshold = threshold

    @checked
    def tune(
        self,
        n_trial: int,
        measure_option: Mapping[str, Any],
        early_stopping: int | None = None,
        callbacks: Sequence[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measure configurations.

        Parameters
        ----------
        n_trial : how many, at most.
        measure_option : the builder and the runner: see autotvm.measure_option.
        early_stopping : stop after this number of measurements without anything better.
        callbacks : called after each batch with the tuner, the inputs and the results.
        si_prefix : the unit of speeds in messages: "G" shows GFLOPS.
        """
        format_si_prefix(0, si_prefix)
        for callback in callbacks:
            check_function(callback, 3, "a tune callback", "lambda tuner, inputs, results: ...")
        measure = create_measure_batch(self.task, measure_option)
        self.n_trial, self.early_stopping = n_trial, early_stopping
        done, errors, failures = 0, 0, list[MeasureResult]()
        was_tuning, GLOBAL_SCOPE.in_tuning = GLOBAL_SCOPE.in_tuning, True
        try:
            while done < n_trial and self.has_next():
                configs = self.next_batch(min(measure.n_parallel, n_trial - done))
                if not configs:
                    break
                target: Any = self.task.target
                inputs = [MeasureInput(target, self.task, config) for config in configs]
                results = measure(inputs)
                for inp, result in zip(inputs, results, strict=True):
                    self._judge(inp, result, done, si_prefix)
                    errors = errors + 1 if result.error_no else 0
                    failures += [result] if result.error_no else []
                    done += 1
                self.ttl = n_trial - done
                if early_stopping is not None:
                    self.ttl = min(early_stopping + self.best_iter, n_trial) - done
                self.update(inputs, results)
                for callback in callbacks:
                    callback(self, inputs, results)
                if self.ttl <= 0:
                    break
                if errors > self.error_ct_threshold:
                    errors = self._complain(errors, results)
        finally:
            GLOBAL_SCOPE.in_tuning = was_tuning
        if failures and len(failures) == done:
            warn(
                f"{counted(done, 'configuration')} of {self.task.name} failed, and none ran: "
                f"{_reason(failures[-1])}"
            )

    def _judge(self, inp: MeasureInput, result: MeasureResult, number: int, si_prefix: str) -> None:
        """Keep a measurement if it is the best."""
        flops = speed(inp, result)
        if flops > self.best_flops:
            self.best_flops, self.best_config = flops, inp.config
            self.best_measure_pair, self.best_iter = (inp, result), number
        logger.debug(
            "No: %d\t%sFLOPS: %.2f/%.2f\tresult: %s\t%s",
            number + 1,
            si_prefix,
            format_si_prefix(flops, si_prefix),
            format_si_prefix(self.best_flops, si_prefix),
            result,
            inp.config,
        )

    def _complain(self, errors: int, results: Sequence[MeasureResult]) -> int:
        logger.warning(
            "The last %d configurations of %s failed; the error of the last one: %s",
            errors,
            self.task.name,
            _reason(results[-1]),
        )
        return 0


def _reason(result: MeasureResult) -> str:
    """The first line of the error of a failed measurement."""
    return (str(result.costs[0]).splitlines() or [""])[0]


_tell_of_absent_names(__name__)
