"""Passes over graphs that search for schedules: into a folder, or by a few draws in place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

from te_sched.codegen.target import Target
from te_sched.dlight.base import IS_SCHEDULED, named_as
from te_sched.errors import DeclarationError
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.builder import LocalBuilder
from te_sched.meta_schedule.graph_passes import current_target
from te_sched.meta_schedule.relax_integration import tune_relax
from te_sched.meta_schedule.runner import LocalRunner
from te_sched.meta_schedule.tir_integration import compile_tir, tune_tir
from te_sched.meta_schedule.tune import noting_interrupts
from te_sched.meta_schedule.tune_context import TuneContext, normalized_module
from te_sched.signatures import checked_as
from te_sched.tir.schedule import Schedule
from te_sched.tir.transform import ModulePass


class MetaScheduleTuneIRMod(ModulePass):
    """The pass that tunes the functions of a graph into a folder; the module stays as it is.

    The parameters are those of `relax_integration.tune_relax`.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None,
        work_dir: str | os.PathLike[str],
        max_trials_global: int,
        max_trials_per_task: int | None = None,
        op_names: list[str] | None = None,
    ) -> None:
        self.params, self.work_dir, self.op_names = params, work_dir, op_names
        self.max_trials_global, self.max_trials_per_task = max_trials_global, max_trials_per_task

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module itself, after the search."""
        if self.max_trials_global > 0:
            tune_relax(
                mod,
                self.params,
                current_target(self.info.name),
                self.work_dir,
                self.max_trials_global,
                self.max_trials_per_task,
                self.op_names,
                database="json",
            )
        return mod


class MetaScheduleTuneTIR(ModulePass):
    """The pass that tunes each function of blocks of a module into a folder, for
    `MetaScheduleApplyDatabase`; the module stays as it is.

    `max_trials_global` candidates of each function are measured. Functions that are scheduled are
    left out. Ctrl-C ends the search; the folder keeps what was measured, and the same call goes on.
    """

    def __init__(self, work_dir: str | os.PathLike[str], max_trials_global: int) -> None:
        self.work_dir, self.max_trials_global = work_dir, max_trials_global

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module itself, after the search."""
        with noting_interrupts() as interrupted, _shared_workers() as parts:
            for name, func in mod.functions.items() if self.max_trials_global > 0 else ():
                if _is_open(func) and not interrupted:
                    tune_tir(
                        func,
                        current_target(self.info.name),
                        Path(self.work_dir),
                        self.max_trials_global,
                        database="json",
                        task_name=str(name),
                        **parts,
                    )
        return mod


class FewShotTuning(ModulePass):
    """The pass that schedules functions of static shapes by schedules drawn from the default space.

    Parameters
    ----------
    valid_count : how many valid schedules of a function are drawn.
    benchmark : whether they are measured, and the fastest is taken; otherwise the first is.

    >>> import te_sched
    >>> from te_sched import te
    >>> A = te.placeholder((64,), name="A")
    >>> B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    >>> module = te_sched.IRModule({"main": te.create_prim_func([A, B])})
    >>> with Target("llvm -num-cores=4"):
    ...     FewShotTuning()(module)["main"].attrs["tir.is_scheduled"]
    1
    """

    @checked_as(DeclarationError)
    def __init__(self, valid_count: int = 1, benchmark: bool = False) -> None:
        if valid_count < 1:
            raise DeclarationError(
                f"valid_count is {valid_count}", "a schedule must be drawn", "give 1 or more"
            )
        self.valid_count, self.benchmark = valid_count, benchmark

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with scheduled functions; those without a valid schedule stay as they are."""
        target = current_target(self.info.name)
        functions: dict[str, PrimFunc] = {}
        with _shared_workers() as parts:
            for name, func in mod.functions.items():
                if not _is_open(func) or not _is_static(func):
                    continue
                sch = self._chosen(normalized_module(func), target, parts)
                if sch is not None:
                    new_func: PrimFunc = sch.mod["main"]
                    functions[name] = named_as(new_func, func).with_attr(IS_SCHEDULED, 1)
        return mod.with_functions(functions)

    def _chosen(self, mod: IRModule, target: Target, parts: Mapping[str, Any]) -> Schedule | None:
        """The schedule of a function; None if none was valid."""
        if not self.benchmark:
            return _first_drawn(mod, target)
        with tempfile.TemporaryDirectory() as folder, noting_interrupts() as interrupted:
            database = tune_tir(
                mod,
                target,
                folder,
                self.valid_count,
                database="memory",
                strategy="replay-trace",
                cost_model=None,
                **parts,
            )
            if interrupted:
                raise KeyboardInterrupt  # some functions are tuned, others are not
            sch: Schedule | None = compile_tir(database, mod, target)
            return sch


@contextmanager
def _shared_workers() -> Iterator[dict[str, Any]]:
    """A builder and a runner for the searches of all functions; their processes end here."""
    builder, runner = LocalBuilder(), LocalRunner()
    try:
        yield {"builder": builder, "runner": runner}
    finally:
        runner.close()
        builder.close()


def _is_open(func: object) -> TypeGuard[PrimFunc]:
    """Whether a function has blocks and was not scheduled."""
    return isinstance(func, PrimFunc) and not func.attrs.get(IS_SCHEDULED)


def _is_static(func: PrimFunc) -> bool:
    """Whether all sizes of the arguments are numbers."""
    sizes = [size for buffer in func.buffer_map.values() for size in buffer.shape]
    return all(isinstance(size, IntImm) for size in sizes)


def _first_drawn(mod: IRModule, target: Target) -> Schedule | None:
    """The first valid schedule of the default space; a module has the same one each time."""
    context = TuneContext(
        mod,
        target=target,
        space_generator="post-order-apply",
        search_strategy="replay-trace",
        rand_state=1,
    )
    context.pre_tuning(1, 1)
    candidates = context.generate_measure_candidates()
    context.post_tuning()
    return candidates[0].sch if candidates else None
