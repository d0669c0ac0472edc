"""Tune functions of blocks: `tune_tir`, and the best schedule from a database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.database import Database
from te_sched.meta_schedule.search_strategy import SearchStrategy
from te_sched.meta_schedule.task_scheduler import TaskScheduler
from te_sched.meta_schedule.tune import TRIALS, tune_tasks
from te_sched.meta_schedule.tune_context import TuneContext, normalized_module
from te_sched.meta_schedule.utils import fork_seed
from te_sched.signatures import checked_as
from te_sched.tir.schedule import Schedule


@dataclass(frozen=True)
class TuneConfig:
    """How to search, as TVM until 0.10 took it: `tune_tir(..., config=TuneConfig(...))`. The names
    of strategies and schedulers may have underscores, as there.

    >>> TuneConfig(max_trials_global=32).num_trials_per_iter
    32
    """

    max_trials_global: int
    num_trials_per_iter: int = 32
    max_trials_per_task: int | None = None
    strategy: str = "evolutionary"
    task_scheduler: str = "gradient"
    search_strategy_config: Mapping[str, Any] = field(default_factory=dict)
    task_scheduler_config: Mapping[str, Any] = field(default_factory=dict)


@checked_as(DeclarationError, but=("mod", "target", "work_dir", *TRIALS), again=False)
def tune_tir(
    mod: IRModule | PrimFunc,
    target: Target | str,
    work_dir: str | os.PathLike[str],
    max_trials_global: int | None = None,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = "sqlite",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: Mapping[str, Any] | None = None,
    task_name: str = "main",
    config: TuneConfig | None = None,
) -> Any:
    """Search for the fastest schedule of each function of a module.

    Candidates are built and measured in other processes. A candidate that computes something else
    than the module is recorded as wrong, and never chosen.

    Parameters
    ----------
    mod : a module or a function of blocks.
    target : where it runs: "llvm -num-cores=4". The number of cores, by default that of this
        machine, decides how many threads parallel loops of the default space are made for.
    work_dir : a folder for the database and a log; the same call continues there.
    max_trials_global : how many candidates are measured in all.
    space : what is searched: "post-order-apply" for the default space, a function of a schedule, or
        a generator; `special_space` has others by the name of a function.
    strategy : "evolutionary", "replay-trace", "replay-func" or a strategy.
    seed : of all decisions.
    task_name : the name of a single function in tables.
    config : the parameters as TVM until 0.10 took them; the best schedule is returned then.

    The other parameters are those of `tune_tasks`.

    Returns
    -------
    The database; with `config`, the best Schedule, or None if there is none.
    """
    if config is not None:
        max_trials_global, num_trials_per_iter = (
            config.max_trials_global,
            config.num_trials_per_iter,
        )
        max_trials_per_task = config.max_trials_per_task
        strategy, task_scheduler = _parts_of(config)
    if max_trials_global is None:
        raise DeclarationError(
            "tune_tir does not know how many candidates to measure",
            "",
            "give max_trials_global=64, or another number",
        )
    target = Target(target)
    functions = _functions(mod, task_name)
    spaces = dict(special_space or {})
    seeds = fork_seed(seed, len(functions))
    tasks = [
        TuneContext(
            function,
            target=target,
            space_generator=spaces.get(name, space),
            search_strategy=strategy,
            task_name=name,
            rand_state=state,
            num_threads=num_tuning_cores,
        )
        for (name, function), state in zip(functions.items(), seeds, strict=True)
    ]
    tuned_database = tune_tasks(
        tasks=tasks,
        task_weights=[1.0] * len(tasks),
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        max_trials_per_task=max_trials_per_task,
        num_trials_per_iter=num_trials_per_iter,
        builder=builder,
        runner=runner,
        database=database,
        cost_model=cost_model,
        measure_callbacks=measure_callbacks,
        task_scheduler=task_scheduler,
        module_equality=module_equality,
    )
    return tuned_database if config is None else compile_tir(tuned_database, mod, target)


def _parts_of(config: TuneConfig) -> tuple[SearchStrategy, TaskScheduler]:
    """The strategy and the scheduler that a configuration names."""
    strategy = str(config.strategy).replace("_", "-")
    scheduler = str(config.task_scheduler).replace("_", "-")
    return (
        SearchStrategy.create(strategy, **config.search_strategy_config),
        TaskScheduler.create(scheduler, **config.task_scheduler_config),
    )


@checked_as(DeclarationError, but=("mod", "target"))
def compile_tir(
    database: Database, mod: IRModule | PrimFunc, target: Target | str
) -> Schedule | None:
    """The fastest schedule of a module in a database; None if there is none.

    Functions of a module with several functions are looked up one by one; those without a record
    stay as they are.
    """
    module = normalized_module(mod)
    target = Target(target)
    if len(module.functions) == 1:
        return database.query_schedule(module, target, "main")
    functions = {
        name: new_module[name]
        for name, own_module in _functions(module, "main").items()
        if (new_module := database.query_ir_module(own_module, target, name)) is not None
    }
    return Schedule(module.with_functions(functions)) if functions else None


def _functions(mod: IRModule | PrimFunc, task_name: str) -> dict[str, IRModule]:
    """The functions of a module as modules of their own, by name."""
    module = normalized_module(mod)
    modules = {
        name: IRModule({name: func})
        for name, func in module.functions.items()
        if isinstance(func, PrimFunc)
    }
    if module.functions and not modules:
        raise DeclarationError(
            "the module has no functions of blocks to search for",
            f"it has {', '.join(module.functions)}, of graphs",
            "make its operators functions first: relax.transform.LegalizeOps()(module)",
        )
    return {task_name: module} if len(module.functions) == 1 else modules


_tell_of_absent_names(__name__)
