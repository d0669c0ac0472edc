"""A runner on the machines of a cluster of dask."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from functools import partial
from typing import Any

from te_sched.locks import new_lock
from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.runner.base import Runner, RunnerFuture, RunnerInput, RunnerResult
from te_sched.meta_schedule.runner.local_runner import LocalRunner
from te_sched.tuning.artifacts import Artifact, remove_artifact, temporary_folder
from te_sched.tuning.cluster import Calls


class DaskRunner(Runner):
    """Measures candidates on the machines of a cluster, one at a time in each worker.

    Workers of one machine disturb each other: start one on each. Results have the name of the
    machine. A candidate whose worker dies is measured by another one.

    Parameters
    ----------
    cluster : the address of a dask scheduler ("tcp://machine:8786"), a cluster or a client.
    settings : of the `LocalRunner` of each worker.

    Raises
    ------
    DeclarationError without dask.distributed, and for a cluster that does not answer.
    """

    def __init__(self, cluster: Any, **settings: Any) -> None:
        self._calls = Calls(cluster, LocalRunner, settings)

    def close(self) -> None:
        """Cancel what is being measured."""
        self._calls.close()

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        futures = [
            self._calls.submit(
                _measured,
                Artifact(runner_input.artifact_path),
                runner_input.device_type,
                [info.as_json() for info in runner_input.args_info],
                None
                if runner_input.reference_path is None
                else Artifact(runner_input.reference_path),
            )
            for runner_input in runner_inputs
        ]
        return [RunnerFuture(future.done, partial(self._result, future)) for future in futures]

    def _result(self, future: Any) -> RunnerResult:
        try:
            return RunnerResult(*self._calls.result(future))
        except Exception as failure:
            return RunnerResult(None, f"DaskRunner: the call was lost\n{failure}")


# What follows runs in workers of a cluster.

_programs: dict[str, tempfile.TemporaryDirectory[str]] = {}  # unscheduled ones, by their bytes
_lock = new_lock()


def _measured(
    runner: LocalRunner,
    artifact: Artifact,
    device_type: str,
    args_info: Sequence[Any],
    program: Artifact | None,
) -> tuple[list[float] | None, str | None, str | None]:
    path = artifact.written()
    infos = [ArgInfo.from_json(info) for info in args_info]
    reference = None if program is None else _kept(program)
    try:
        (future,) = runner.run([RunnerInput(path, device_type, infos, reference)])
        result = future.result()
    finally:
        remove_artifact(path)
    return result.run_secs, result.error_msg, result.machine


def _kept(program: Artifact) -> str:
    """The path of an unscheduled program, whose results the runner keeps beside it."""
    key = hashlib.sha256(program.data).hexdigest()
    with _lock:
        if key not in _programs:
            _programs[key] = temporary_folder("te_sched-program-")
            program.written(_programs[key].name)
        return f"{_programs[key].name}/{program.name}"
