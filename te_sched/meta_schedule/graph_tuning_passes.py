"""Passes over graphs that search for schedules, into a folder; the module is not changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from te_sched.dlight.base import IS_SCHEDULED
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.graph_passes import current_target
from te_sched.meta_schedule.relax_integration import tune_relax
from te_sched.meta_schedule.tir_integration import tune_tir
from te_sched.tir.transform import ModulePass, PassInfo


class MetaScheduleTuneIRMod(ModulePass):
    """The pass that tunes the functions of a graph into a folder; the module stays as it is.

    The parameters are those of `relax_integration.tune_relax`.
    """

    info = PassInfo(name="MetaScheduleTuneIRMod")

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

    def __call__(self, mod: IRModule) -> IRModule:
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
    left out.
    """

    info = PassInfo(name="MetaScheduleTuneTIR")

    def __init__(self, work_dir: str | os.PathLike[str], max_trials_global: int) -> None:
        self.work_dir, self.max_trials_global = work_dir, max_trials_global

    def __call__(self, mod: IRModule) -> IRModule:
        """The module itself, after the search."""
        for name, func in mod.functions_items() if self.max_trials_global > 0 else ():
            if isinstance(func, PrimFunc) and not func.attrs.get(IS_SCHEDULED):
                tune_tir(
                    func,
                    current_target(self.info.name),
                    Path(self.work_dir),
                    self.max_trials_global,
                    database="json",
                    task_name=str(name),
                )
        return mod
