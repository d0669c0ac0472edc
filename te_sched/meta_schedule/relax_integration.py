"""Tune the functions of a graph: its tasks, the search, and the graph with what was found.

A task is a function that the graph calls; functions that count as the same workload are one task,
with the number of their calls as its weight.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, kind_of, repr_of
from te_sched.ir.graph import GraphCall, GraphFunction
from te_sched.ir.op import Op
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.database import Database
from te_sched.meta_schedule.database.equality import ModuleEquality
from te_sched.meta_schedule.default_schedules import keep_faster_defaults
from te_sched.meta_schedule.graph_passes import MetaScheduleApplyDatabase
from te_sched.meta_schedule.tune import TRIALS, noting_interrupts, tune_tasks
from te_sched.meta_schedule.tune_context import TuneContext, normalized_module
from te_sched.meta_schedule.utils import fork_seed
from te_sched.relax.expr_functor import PyExprVisitor
from te_sched.relax.transform.bind_params import BindParams
from te_sched.relax.vm_build import build
from te_sched.runtime.module import Module
from te_sched.signatures import checked_as

_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")


@dataclass(frozen=True)
class ExtractedTask:
    """A function of a graph to tune.

    weight : how often the graph calls it, or functions that count as the same.
    dispatched : the modules that are measured for it.
    """

    task_name: str
    mod: IRModule
    target: Target
    dispatched: list[IRModule]
    weight: int


class _CallCounter(PyExprVisitor):
    """Counts the calls of functions by their names."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def visit_call_(self, op: GraphCall) -> None:
        """Count a call of a function of the module."""
        if isinstance(op.op, Op) and op.op in _CALLS:
            name = str(getattr(op.args[0], "global_symbol", op.args[0]))
            self.counts[name] = self.counts.get(name, 0) + 1
        super().visit_call_(op)


@checked_as(DeclarationError, but=("mod", "target"))
def extract_tasks(
    mod: IRModule | GraphFunction,
    target: Target | str,
    params: Mapping[str, Any] | None = None,
    module_equality: str = "structural",
) -> list[ExtractedTask]:
    """The functions of blocks that a graph calls, those of the same workload once.

    Parameters
    ----------
    mod : a module whose operators are calls of functions (after `LegalizeOps`).
    params : values of the parameters of "main", which are bound first.
    module_equality : what counts as the same workload: "structural", "ignore-ndarray" or
        "anchor-block".
    """
    module = _module(mod, params)
    target = Target(target)
    equality = ModuleEquality(module_equality)
    calls = _CallCounter()
    for func in module.functions.values():
        if isinstance(func, GraphFunction):
            calls.visit_expr(func)
    groups: dict[int, list[tuple[str, IRModule, int]]] = {}
    for name, func in module.functions.items():
        count = calls.counts.get(str(name), 0)
        if not isinstance(func, PrimFunc) or not count or func.attrs.get("tir.is_scheduled"):
            continue
        workload = normalized_module(func)
        rows = groups.setdefault(equality.hash(workload), [])
        for index, (first, other, weight) in enumerate(rows):
            if equality.equal(other, workload):
                rows[index] = (first, other, weight + count)
                break
        else:
            rows.append((str(name), workload, count))
    return [
        ExtractedTask(name, task_module, target, [task_module], weight)
        for rows in groups.values()
        for name, task_module, weight in rows
    ]


@checked_as(DeclarationError, but=("work_dir",))
def extracted_tasks_to_tune_contexts(
    extracted_tasks: list[ExtractedTask],
    work_dir: str | os.PathLike[str],
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_threads: int | str = "physical",
    seed: int | None = None,
) -> tuple[list[TuneContext], list[float]]:
    """The tasks as `tune_tasks` takes them, and their weights."""
    del work_dir
    contexts = [
        TuneContext(
            task.dispatched[0],
            target=task.target,
            space_generator=space,
            search_strategy=strategy,
            task_name=task.task_name,
            rand_state=state,
            num_threads=num_threads,
        )
        for task, state in zip(extracted_tasks, fork_seed(seed, len(extracted_tasks)), strict=True)
    ]
    return contexts, [float(task.weight) for task in extracted_tasks]


@checked_as(DeclarationError, but=("mod", "target", "work_dir", *TRIALS), again=False)
def tune_relax(
    mod: IRModule | GraphFunction,
    params: Mapping[str, Any] | None,
    target: Target | str,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: list[str] | None = None,
    *,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    seed: int | None = None,
    module_equality: str = "structural",
    num_tuning_cores: int | str = "physical",
    **options: Any,
) -> Database:
    """Search for schedules of the functions of a graph; the database of what was measured.

    A function whose default schedule (dlight) is faster than what was found gets a record of it.

    Parameters
    ----------
    mod, params : as of `extract_tasks`.
    work_dir : a folder for the database and a log; the same call continues there.
    max_trials_global, max_trials_per_task : how many candidates are measured, in all and of a task.
    op_names : parts of names of functions: others are not tuned.

    The other parameters are those of `tune_tir`; `options` are those of `tune_tasks`.
    """
    tasks = extract_tasks(mod, target, params, module_equality)
    if op_names is not None:
        tasks = [task for task in tasks if any(part in task.task_name for part in op_names)]
    if not tasks:
        raise DeclarationError(
            "the graph has no functions to tune",
            "it calls none" if op_names is None else f"none has a name with {op_names}",
            "make its operators functions first: relax.transform.LegalizeOps()",
        )
    contexts, weights = extracted_tasks_to_tune_contexts(
        tasks, work_dir, space, strategy, num_tuning_cores, seed
    )
    with noting_interrupts() as interrupted:
        tuned_database: Database = tune_tasks(
            tasks=contexts,
            task_weights=weights,
            work_dir=work_dir,
            max_trials_global=max_trials_global,
            max_trials_per_task=max_trials_per_task,
            module_equality=module_equality,
            **options,
        )
    if not interrupted:
        keep_faster_defaults(tuned_database, contexts)
    return tuned_database


@checked_as(DeclarationError, but=("mod", "target"))
def compile_relax(
    database: Database,
    mod: IRModule,
    target: Target | str,
    params: Mapping[str, Any] | None = None,
    enable_warning: bool = False,
) -> Module | Any:
    """The graph with the fastest schedules of a database, built for a virtual machine."""
    module = _module(mod, params)
    with Target(target), database:
        module = MetaScheduleApplyDatabase(enable_warning=enable_warning)(module)
    return build(module, target=Target(target))


def _module(mod: Any, params: Mapping[str, Any] | None) -> IRModule:
    if isinstance(mod, GraphFunction):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise DeclarationError(
            f"{repr_of(mod)} is not a graph", f"it is {kind_of(mod)}", "give an IRModule"
        )
    bound: IRModule = BindParams("main", dict(params))(mod) if params else mod
    return bound


__all__ = [
    "ExtractedTask",
    "compile_relax",
    "extract_tasks",
    "extracted_tasks_to_tune_contexts",
    "tune_relax",
]

_tell_of_absent_names(__name__)
