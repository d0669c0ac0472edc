"""A builder on the machines of a cluster of dask."""

from __future__ import annotations

from typing import Any

from te_sched.codegen.target import Target
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.builder.base import Builder, BuilderInput, BuilderResult
from te_sched.meta_schedule.builder.local_builder import LocalBuilder
from te_sched.tuning.artifacts import Artifact, remove_artifact
from te_sched.tuning.cluster import Calls


class DaskBuilder(Builder):
    """Builds candidates on the machines of a cluster.

    Parameters
    ----------
    cluster : the address of a dask scheduler ("tcp://machine:8786"), a cluster or a client.
    settings : of the `LocalBuilder` of each worker, by default with one process.

    Raises
    ------
    DeclarationError without dask.distributed, and for a cluster that does not answer.
    """

    def __init__(self, cluster: Any, **settings: Any) -> None:
        self._calls = Calls(cluster, LocalBuilder, {"max_workers": 1, **settings})

    def close(self) -> None:
        """Cancel what is being built."""
        self._calls.close()

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        futures = [
            self._calls.submit(_built, build_input.mod, str(build_input.target), build_input.params)
            for build_input in build_inputs
        ]
        return [self._result(future) for future in futures]

    def _result(self, future: Any) -> BuilderResult:
        try:
            artifact, error = self._calls.result(future)
        except Exception as failure:
            return BuilderResult(None, f"DaskBuilder: the call was lost\n{failure}")
        return BuilderResult(None if artifact is None else artifact.written(), error)


def _built(
    builder: LocalBuilder, mod: IRModule, target: str, params: Any
) -> tuple[Artifact | None, str | None]:
    (result,) = builder.build([BuilderInput(mod, Target(target), params)])
    if result.artifact_path is None:
        return None, result.error_msg
    try:
        return Artifact(result.artifact_path), None
    finally:
        remove_artifact(result.artifact_path)
