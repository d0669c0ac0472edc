"""Runners, by TVM's names."""

from te_sched.meta_schedule.runner.base import EvaluatorConfig as EvaluatorConfig
from te_sched.meta_schedule.runner.base import PyRunner as PyRunner
from te_sched.meta_schedule.runner.base import PyRunnerFuture as PyRunnerFuture
from te_sched.meta_schedule.runner.base import Runner as Runner
from te_sched.meta_schedule.runner.base import RunnerFuture as RunnerFuture
from te_sched.meta_schedule.runner.base import RunnerInput as RunnerInput
from te_sched.meta_schedule.runner.base import RunnerResult as RunnerResult

__all__ = [
    "EvaluatorConfig",
    "PyRunner",
    "PyRunnerFuture",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
]
