"""A builder in worker processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from te_sched.codegen.target import Target
from te_sched.driver import build as build_module
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.builder.base import Builder, BuilderInput, BuilderResult
from te_sched.meta_schedule.utils import get_global_func_with_default_on_worker, half_of_memory
from te_sched.signatures import checked
from te_sched.tuning.artifacts import export as default_export
from te_sched.tuning.artifacts import remove_artifact
from te_sched.tuning.workers import Failure, loading, outcome_of, with_switches
from te_sched.worker_pool import WorkerPool

_Function = str | Callable[..., Any] | None


class LocalBuilder(Builder):
    """Builds candidates in worker processes, which are reused.

    A candidate that cannot be built, crashes the compiler, or takes too long or too much memory has
    an error message for a result.

    Parameters
    ----------
    max_workers : processes at a time, by default one for each processor.
    timeout_sec : for each candidate.
    f_build : what builds, a function of the module, the target and the parameters, or its
        registered name; by default `te_sched.build`.
    f_export : what writes the built module, a function of it that returns the path.
    initializer : called first in each worker.
    memory_limit : bytes for each worker, by default half of the machine's memory.

    Raises
    ------
    DeclarationError for a name that is not registered.
    """

    @checked
    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: _Function = None,
        f_export: _Function = None,
        initializer: Callable[[], None] | None = None,
        memory_limit: int | None = None,
    ) -> None:
        if initializer is None:
            for name in (f_build, f_export):
                get_global_func_with_default_on_worker(name, None)
        self.timeout_sec = timeout_sec
        self._functions = (f_build, f_export)
        limit = half_of_memory() if memory_limit is None else memory_limit
        self._pool = WorkerPool(max_workers, timeout_sec, limit, loading(built, initializer))

    def close(self) -> None:
        """End the workers; `build` starts new ones."""
        self._pool.restart()

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        build = with_switches(built)
        futures = [
            self._pool.submit(
                build, source.mod, str(source.target), source.params, *self._functions
            )
            for source in build_inputs
        ]
        try:
            return [self._result(future) for future in futures]
        except BaseException:  # Ctrl-C
            for future in futures:
                if not future.cancel() and future.done() and future.exception() is None:
                    remove_artifact(future.result())
            raise

    def _result(self, future: Future[str]) -> BuilderResult:
        outcome = outcome_of(future.result)
        if isinstance(outcome, Failure):
            return BuilderResult(None, outcome.message("LocalBuilder", f"{self.timeout_sec:g}"))
        return BuilderResult(outcome, None)


def built(mod: IRModule, target: str, params: Any, f_build: _Function, f_export: _Function) -> str:
    """Build a module and write it to a file, whose path is returned."""
    build = get_global_func_with_default_on_worker(f_build, default_build)
    export = get_global_func_with_default_on_worker(f_export, default_export)
    return str(export(build(mod, Target(target), params)))


def default_build(mod: IRModule, target: Target, params: Any) -> Any:
    """The module as te_sched builds it; parameters are accepted as in TVM."""
    del params
    return build_module(mod, target=target)
