"""Runners, by TVM's names."""

from __future__ import annotations

import sys
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.component import made
from te_sched.meta_schedule.runner.base import EvaluatorConfig as EvaluatorConfig
from te_sched.meta_schedule.runner.base import PyRunner as PyRunner
from te_sched.meta_schedule.runner.base import PyRunnerFuture as PyRunnerFuture
from te_sched.meta_schedule.runner.base import Runner as Runner
from te_sched.meta_schedule.runner.base import RunnerFuture as RunnerFuture
from te_sched.meta_schedule.runner.base import RunnerInput as RunnerInput
from te_sched.meta_schedule.runner.base import RunnerResult as RunnerResult
from te_sched.meta_schedule.runner.dask_runner import DaskRunner as DaskRunner
from te_sched.meta_schedule.runner.local_runner import LocalRunner as LocalRunner
from te_sched.meta_schedule.runner.local_runner import LocalRunnerFuture as LocalRunnerFuture
from te_sched.meta_schedule.runner.rpc_runner import RPCConfig as RPCConfig
from te_sched.meta_schedule.runner.rpc_runner import RPCRunner as RPCRunner
from te_sched.signatures import check_arguments

_RUNNERS: dict[str, type[Runner]] = {"local": LocalRunner, "dask": DaskRunner, "rpc": RPCRunner}


def create(kind: Any = "local", *args: Any, **kwargs: Any) -> Runner:
    """A runner by its name; a runner is returned as it is."""
    return made(Runner, "runner", _RUNNERS, kind, args, kwargs)


Runner.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "DaskRunner",
    "EvaluatorConfig",
    "LocalRunner",
    "LocalRunnerFuture",
    "PyRunner",
    "PyRunnerFuture",
    "RPCConfig",
    "RPCRunner",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
