"""Names of meta_schedule until TVM 0.10: configurations of strategies, tune_te, default_config;
measure_option of AutoTVM in TVM 0.4.

    ms.tune_tir(func, target, ms.ReplayTraceConfig(32, 32, 32), "work_dir")

They return the best schedule, or None.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from te_sched import autotvm, te
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule import tir_integration
from te_sched.meta_schedule.mutator import Mutator
from te_sched.meta_schedule.postproc import Postproc
from te_sched.meta_schedule.schedule_rule import ScheduleRule
from te_sched.meta_schedule.schedule_rule.targets import kind_of_target, rules_of_target
from te_sched.meta_schedule.space_generator import PostOrderApply
from te_sched.meta_schedule.tir_integration import TuneConfig
from te_sched.meta_schedule.tune_context import normalized_module
from te_sched.signatures import checked_as

__all__ = [
    "EvolutionarySearchConfig",
    "ReplayFuncConfig",
    "ReplayTraceConfig",
    "default_config",
    "measure_option",
    "tune_te",
    "tune_tir",
]


def measure_option(
    builder: Any = "local", runner: Any = None, *, n_parallel: int | None = None, **options: Any
) -> dict[str, Any]:
    """autotvm.measure_option; TVM 0.4 had no runner, but its options: number, repeat, timeout."""
    if runner is None:
        if builder == "local":
            builder = autotvm.LocalBuilder(n_parallel=n_parallel)
        runner, options = autotvm.LocalRunner(**options), {}
    return autotvm.measure_option(builder, runner, **options)


def _configured(strategy: str) -> Callable[..., TuneConfig]:
    """A function that makes configurations of a strategy."""

    @checked_as(DeclarationError)
    def config(
        num_trials_per_iter: int = 32,
        max_trials_per_task: int | None = None,
        max_trials_global: int | None = None,
        num_trials_total: int | None = None,
        **options: Any,
    ) -> TuneConfig:
        """How to search.

        Parameters
        ----------
        num_trials_total : the name of `max_trials_global` in TVM 0.8.
        options : those of the strategy.
        """
        total = next(
            (
                limit
                for limit in (max_trials_global, num_trials_total, max_trials_per_task)
                if limit
            ),
            None,
        )
        if total is None:
            raise DeclarationError(
                "the configuration does not say how many candidates are measured",
                "",
                "give max_trials_global=64, or another number",
            )
        return TuneConfig(
            total,
            num_trials_per_iter,
            max_trials_per_task,
            strategy=strategy,
            search_strategy_config=options,
        )

    return config


ReplayTraceConfig = _configured("replay_trace")
ReplayFuncConfig = _configured("replay_func")
EvolutionarySearchConfig = _configured("evolutionary")


class default_config:
    """The default rules of a target, where none are given.

    >>> len(default_config.schedule_rules(None, Target("llvm"))) > 3
    True
    """

    @staticmethod
    def mod(mod: IRModule | PrimFunc) -> IRModule:
        """The module of a function."""
        return normalized_module(mod)

    @staticmethod
    def target(target: Target | str) -> Target:
        """The target of a text."""
        return Target(target)

    @staticmethod
    def schedule_rules(sch_rules: Any, target: Target) -> Any:
        """The rules that are given, or the default ones."""
        return _given(sch_rules) or _default(ScheduleRule, rules_of_target(target))

    @staticmethod
    def postproc(postproc: Any, target: Target) -> Any:
        """The postprocessors that are given, or the default ones."""
        return _given(postproc) or _default(Postproc, kind_of_target(target))

    @staticmethod
    def mutator_probs(mutator_probs: Any, target: Target) -> Any:
        """The mutators that are given, with their probabilities, or the default ones."""
        return _given(mutator_probs) or _default(Mutator, kind_of_target(target))


def _default(part: Any, kind: str) -> Any:
    return part.create(kind)


def _given(parts: Any) -> Any:
    """Parts of a space; they were functions that make them."""
    return parts() if callable(parts) else parts


def tune_tir(
    mod: IRModule | PrimFunc,
    target: Target | str,
    *args: Any,
    sch_rules: Any = None,
    postprocs: Any = None,
    mutator_probs: Any = None,
    num_threads: int | None = None,
    **options: Any,
) -> Any:
    """`tune_tir` of any generation: until TVM 0.10 the third argument was a configuration.

    Parameters
    ----------
    args, options : those of `te_sched.meta_schedule.tune_tir`.
    sch_rules, postprocs, mutator_probs : the parts of the default space, or functions that return
        them.
    num_threads : the older name of `num_tuning_cores`.
    """
    if args and isinstance(args[0], TuneConfig):
        options["config"], args = args[0], args[1:]
    parts = [_given(part) for part in (sch_rules, postprocs, mutator_probs)]
    if any(part is not None for part in parts):
        parts = ["from-target" if part is None else part for part in parts]
        options["space"] = PostOrderApply(None, *parts)
    if num_threads is not None:
        options["num_tuning_cores"] = num_threads
    return tir_integration.tune_tir(mod, target, *args, **options)


def tune_te(
    tensors: Sequence[te.Tensor],
    target: Target | str,
    config: TuneConfig,
    work_dir: str | os.PathLike[str],
    **options: Any,
) -> Any:
    """The best schedule of the blocks of tensors that are declared, as `tune_tir` gives it."""
    return tune_tir(te.create_prim_func(tensors), target, config, work_dir, **options)
