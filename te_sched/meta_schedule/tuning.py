"""`te_sched.tune`: from a program to its fastest schedule, for users who know no part of a search.

The unscheduled program is measured first, as a candidate without primitives; a database has both.
Must not know pages.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.analysis.findings import Finding
from te_sched.analysis.programs.hints import hints_of_blocks
from te_sched.codegen.target import Arguments, Target, as_target, target_after_program
from te_sched.errors import BuildError, DeclarationError, kind_of, repr_of
from te_sched.ir.expr import Var
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.pipeline import check_parameters
from te_sched.lowering.prim_func import create_prim_func
from te_sched.meta_schedule import builder as builders
from te_sched.meta_schedule import cost_model as cost_models
from te_sched.meta_schedule import runner as runners
from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.builder.base import Builder
from te_sched.meta_schedule.database import (
    Database,
    MemoryDatabase,
    SQLiteDatabase,
    TuningRecord,
)
from te_sched.meta_schedule.runner.base import Runner, RunnerFuture, RunnerInput
from te_sched.meta_schedule.search_strategy import SearchStrategy
from te_sched.meta_schedule.space_generator import ScheduleFn, SpaceGenerator
from te_sched.meta_schedule.task_scheduler import TaskRecord, TaskScheduler
from te_sched.meta_schedule.tir_integration import tune_tir
from te_sched.meta_schedule.tune import FILE, check_trials, made_folder
from te_sched.meta_schedule.tune_context import TuneContext, normalized_module
from te_sched.meta_schedule.utils import cpu_count
from te_sched.notebook_display import Shown
from te_sched.public_members import is_function
from te_sched.schedule.schedule import Schedule as TensorSchedule
from te_sched.signatures import bound, is_index, is_sequence
from te_sched.te.operation import PlaceholderOp
from te_sched.te.tensor import Tensor
from te_sched.tir.schedule import Schedule, Trace
from te_sched.wording import BLOCKS, worded
from te_sched.worker_pool import scratch_folder

_HEAD = """\
# {title}
import te_sched
from te_sched import tir
from te_sched.script import ir as I
from te_sched.script import tir as T
"""
_FOOT = """\
sch = tir.Schedule(Module)
apply_trace(sch)
library = te_sched.build(sch.mod, target={target!r})
"""
# The instructions of a schedule as it was made.
_NOTHING: list[list[Any]] = [["EnterPostproc", [], [], []]]


class Trials:
    """What a database has of one program and target: the unscheduled program, then candidates.

    Parameters
    ----------
    database : of a search.
    mod : the program, a workload of the database.
    target : by default the target of the first record.
    """

    def __init__(self, database: Database, mod: IRModule, target: Target | None = None) -> None:
        self.database, self.module = database, mod
        own = _records_of(database, mod, target)
        self.target = target or next(
            (record.target for record in own if record.target), Target("llvm")
        )
        own = [record for record in own if record.is_of(self.target)]
        plain = [record for record in own if _changes_nothing(record) and record.is_valid]
        self.unscheduled: TuningRecord | None = plain[0] if plain else None
        self.candidates = [record for record in own if record is not self.unscheduled]
        valid = [record for record in own if record.is_valid]
        self.best: TuningRecord | None = min(valid, key=lambda record: record.mean, default=None)

    @property
    def is_unscheduled_best(self) -> bool:
        """Whether no candidate is faster than the unscheduled program."""
        return self.best is not None and self.best is self.unscheduled

    @property
    def outcome(self) -> str:
        """Why the unscheduled program is the best, or "" if it is not."""
        if not self.is_unscheduled_best:
            return ""
        if not self.candidates:
            return "No candidate was tried besides the unscheduled program"
        if len(self._failed()) == len(self.candidates):
            return "No candidate could be measured besides the unscheduled program"
        return "No candidate is faster than the unscheduled program"

    def hints(self) -> list[Finding]:
        """What the program perhaps does not mean, if no candidate could be measured."""
        if any(record.is_valid for record in self.candidates):
            return []
        functions = [func for func in self.module.functions.values() if isinstance(func, PrimFunc)]
        with worded(BLOCKS):
            return [hint for func in functions for hint in hints_of_blocks(func)]

    @property
    def latencies(self) -> list[float]:
        """The seconds of each candidate, in their order; infinite for failures."""
        return [record.mean if record.is_valid else math.inf for record in self.candidates]

    @property
    def failures(self) -> dict[str, int]:
        """How many candidates failed, by what happened."""
        return dict(Counter(_fault(record) for record in self._failed()).most_common())

    def first_failure(self, what: str) -> TuningRecord:
        """The first candidate that failed as a key of `failures` says."""
        return next(record for record in self._failed() if _fault(record) == what)

    def _failed(self) -> list[TuningRecord]:
        return [record for record in self.candidates if not record.is_valid]

    def table(self, task_name: str = "main") -> str:
        """The table of tasks, as `TaskScheduler.statistics` gives it."""
        task = TaskRecord(TuneContext(self.module, target=self.target, task_name=task_name))
        for seconds in self.latencies:
            task.latencies.append(min(task.best, seconds))
        task.is_terminated = True
        scheduler = TaskScheduler.create("round-robin")
        scheduler.tasks_ = [task]
        return scheduler.statistics()


class Tuned(Shown):
    """What `te_sched.tune` found.

    Parameters
    ----------
    trials : what was measured, the unscheduled program included.
    name : of the program, for tables.

    `schedule` is the fastest Schedule, `latency` its seconds, `unscheduled_latency` those of the
    program as it was given, None for a GPU. If no candidate is faster than that, it is the best.

    Raises
    ------
    BuildError if nothing could be measured.
    """

    def __init__(self, trials: Trials, name: str = "main") -> None:
        if trials.best is None:
            raise _nothing_measured(trials, name)
        plain = trials.unscheduled
        self.trials, self.name, self._best = trials, name, trials.best
        self.latency = trials.best.mean
        self.unscheduled_latency = None if plain is None else plain.mean

    @cached_property
    def schedule(self) -> Schedule:
        """The fastest schedule."""
        return self._best.schedule()

    @property
    def mod(self) -> IRModule:
        """The module of the fastest schedule, for `te_sched.build`."""
        return self.schedule.mod

    @property
    def trace(self) -> Trace:
        """The primitives of the fastest schedule, with their decisions."""
        return self._best.trace

    @property
    def target(self) -> Target:
        """What the program was measured for."""
        return self.trials.target

    @property
    def database(self) -> Database:
        """What was measured: `te_sched.tune(..., database=...)` continues from it."""
        return self.trials.database

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the unscheduled program the schedule is."""
        plain = self.unscheduled_latency
        if plain is None:
            return None
        return plain / self.latency if self.latency else math.inf

    @property
    def failures(self) -> dict[str, int]:
        """How many candidates failed, by what happened."""
        return self.trials.failures

    def table(self) -> str:
        """The table of tasks, as `TaskScheduler.statistics` gives it."""
        return self.trials.table(self.name)

    def as_python(self) -> str:
        """A program that makes the schedule and builds it: the module, and the trace."""
        return schedule_text(self.trials.module, self.trace, self.target, self._title())

    def _title(self) -> str:
        plain = self.unscheduled_latency
        than = "" if plain is None else f"; {plain * 1e6:.1f} us unscheduled"
        return f"{self.name}: {self.latency * 1e6:.1f} us{than}"

    def __str__(self) -> str:
        plain = self.unscheduled_latency
        lines = [self.table()]
        lines += [] if plain is None else [f"Unscheduled (us): {plain * 1e6:.4f}"]
        lines += [f"{outcome}."] if (outcome := self.trials.outcome) else []
        lines += [f"Failed: {count} ({what})" for what, count in self.failures.items()]
        lines += map(str, self.trials.hints())
        return "\n".join(lines)

    def __repr__(self) -> str:
        count = len(self.trials.candidates)
        return f"<te_sched.Tuned {self._title()}, {count} candidates>"


def _nothing_measured(trials: Trials, name: str) -> BuildError:
    failures = "; ".join(f"{count} candidates: {what}" for what, count in trials.failures.items())
    return BuildError(
        f"no schedule of {name} could be measured",
        failures or "the space has no valid candidates",
        "build one yourself with te_sched.build to see its error, or search another space",
    )


def schedule_text(mod: IRModule, trace: Trace, target: Target, title: str) -> str:
    """A program, as text that can be run: a module, its trace, and how it is built."""
    return "\n\n".join(
        [
            _HEAD.format(title=title),
            _without_comments(mod.script()) + "\n",
            _without_comments(str(trace)) + "\n",
            _FOOT.format(target=str(target)),
        ]
    )


def _without_comments(text: str) -> str:
    """A text without the comment lines at its beginning."""
    lines = text.strip("\n").splitlines()
    while lines and (lines[0].startswith("#") or not lines[0]):
        del lines[0]
    return "\n".join(lines)


@bound
def tune(
    f: Any,
    args: Arguments = None,
    target: Target | str | None = None,
    *,
    trials: int = 64,
    seed: int | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    cost_model: Any = "xgb",
    builder: Any = "local",
    runner: Any = "local",
    database: Database | None = None,
    num_trials_per_iter: int = 16,
    name: str | None = None,
) -> Tuned:
    """Search for the fastest schedule of a program.

    Candidates are built and measured in other processes, and the results of each are compared with
    those of the unscheduled program. A terminal shows how many were measured, and the best time so
    far. Ctrl-C ends the search with what was found until then.

    Parameters
    ----------
    f : a function of blocks or a module with one; tensors, arguments and results; a schedule, whose
        program is taken without its primitives; or a function that returns one of these.
    args : what the function `f` is called with, or the arguments of a schedule of tensors. A string
        or Target in its place is the target.
    target : where it runs, such as "llvm -mcpu=znver4 -num-cores=4", by default as for `build`; the
        number of cores is that of this machine if it is left out.
    trials : how many candidates are measured.
    seed : of all decisions; the same seed gives the same first candidates.
    work_dir : a folder that keeps what was measured. The same call goes on from there: it measures
        what is missing from `trials`. Without it, nothing is kept.
    space : what is searched: "post-order-apply" for the default space, or a function of a schedule
        that schedules it with `sch.sample_perfect_tile` and the like.
    strategy, cost_model, builder, runner, num_trials_per_iter : as of
        `meta_schedule.tune_tir`.
    database : keeps what is measured, instead of one in `work_dir`.
    name : of the program in tables; by default its own.

    Returns
    -------
    The best schedule, with its time, its text (`as_python()`) and all trials.

    Raises
    ------
    DeclarationError for what cannot be searched; BuildError if the program as it is given cannot be
    built or run, or no candidate can.

    >>> A = te.placeholder((64, 64), name="A")
    >>> B = te.compute((64, 64), lambda i, j: A[j, i] + 1.0, name="B")
    >>> def space(sch):
    ...     i, j = sch.get_loops("B")
    ...     sch.vectorize(sch.split(j, sch.sample_perfect_tile(j, n=2))[1])
    >>> found = te_sched.tune([A, B], trials=2, space=space, cost_model=None)
    >>> len(found.trials.candidates), found.latency <= found.unscheduled_latency
    (2, True)
    """
    _check_options(trials, num_trials_per_iter, seed, name)
    space, strategy = SpaceGenerator.create(space), SearchStrategy.create(strategy)
    cost_model = cost_models.create(cost_model)
    arguments, text = target_after_program(args, target, "tune")
    module, own_name = program_of(f, arguments)
    name = own_name if name is None else name
    ArgInfo.from_entry_func(module)  # which refuses symbolic shapes
    target = _with_cores(as_target(text))
    with (
        _folder(work_dir) as folder,
        closing(builders.create(builder)) as own_builder,
        closing(runners.create(runner)) as own_runner,
    ):
        record_database = _database(database, None if work_dir is None else folder)
        before = Trials(record_database, module, target)
        if before.unscheduled is None and target.kind.name == "llvm":
            _measure_unscheduled(record_database, module, target, folder, own_builder, own_runner)
        measured = len(before.candidates)
        if measured < trials:
            tune_tir(
                module,
                target,
                folder,
                trials - measured,
                num_trials_per_iter=num_trials_per_iter,
                builder=own_builder,
                runner=own_runner,
                database=record_database,
                cost_model=cost_model,
                space=space,
                strategy=strategy,
                seed=seed,
                task_name=name,
            )
    return Tuned(Trials(record_database, module, target), name)


def _check_options(trials: Any, num_trials_per_iter: Any, seed: Any, name: Any) -> None:
    check_trials("trials", trials)
    check_trials("num_trials_per_iter", num_trials_per_iter)
    if seed is not None and not is_index(seed):
        raise DeclarationError(
            f"the seed is {repr_of(seed)}, expected an int", "", "give an int of 64 bits"
        )
    if name is not None and not isinstance(name, str):
        raise DeclarationError(f"the name is {kind_of(name)}, expected a str", "", "give a str")


def program_of(f: Any, args: Sequence[Any] | None = None) -> tuple[IRModule, str]:
    """The module of one function of blocks that something declares, and its name.

    See `tune` for `f` and `args`.
    """
    if args is not None and not is_sequence(args):
        raise DeclarationError(
            f"args is {kind_of(args)}, expected a list", "", "give a list, also of one argument"
        )
    if isinstance(f, TensorSchedule):
        return _named(create_prim_func(_complete(list(args or _declared(f)))), "main")
    if isinstance(f, GraphFunction):
        return _one_function(IRModule({"main": f}))
    if is_function(f) and not isinstance(f, Tensor):
        module, name = program_of(f(*(args or ())))
        return module, getattr(f, "__name__", name) if name == "main" else name
    check_parameters("tune", f, args, error=DeclarationError)
    if isinstance(f, Schedule):
        return _one_function(f.declared)
    if isinstance(f, IRModule):
        return _one_function(f)
    if isinstance(f, PrimFunc):
        return _named(f, str(f.attrs.get("global_symbol", "main")))
    parts: list[Any] = [f] if isinstance(f, Tensor) else list(f) if is_sequence(f) else []
    if len(parts) == 2 and isinstance(parts[0], TensorSchedule) and is_sequence(parts[1]):
        return program_of(parts[0], parts[1])
    if parts and all(isinstance(part, Tensor | Var) for part in parts):
        return _named(create_prim_func(_complete(parts)), "main")
    raise DeclarationError(
        f"cannot search for schedules of {kind_of(f)}",
        "it is not a function of blocks, a module, tensors, a schedule, or a function of these",
        "give what T.prim_func or te.create_prim_func made, or a function that returns tensors",
    )


def _one_function(module: IRModule) -> tuple[IRModule, str]:
    names = list(module.functions_of_loops)
    if len(names) != 1:
        listed = ", ".join(names)
        raise DeclarationError(
            f"the module has {len(names)} functions, expected one",
            listed,
            f"tune one of them: te_sched.tune(module[{names[0]!r}]), or all of them with "
            "te_sched.meta_schedule.tune_tir"
            if names
            else "give a module with a T.prim_func; for a graph, call "
            "te_sched.meta_schedule.relax_integration.tune_relax",
        )
    return module, names[0]


def _named(func: PrimFunc, name: str) -> tuple[IRModule, str]:
    return normalized_module(func), name


def _declared(schedule: TensorSchedule) -> list[Tensor]:
    """The results of a schedule."""
    return [tensor for op in schedule.outputs for tensor in op.outputs]


def _complete(tensors: list[Any]) -> list[Any]:
    """The parameters of a function, with the placeholders before them that it would lack."""
    placeholders: dict[Any, None] = {}
    seen: set[Any] = set()
    left = [tensor.op for tensor in reversed(tensors) if isinstance(tensor, Tensor)]
    while left:
        op = left.pop()
        if op in seen:
            continue
        seen.add(op)
        if isinstance(op, PlaceholderOp):
            placeholders[op.output(0)] = None
        left += [tensor.op for tensor in reversed(op.input_tensors)]
    return [*(placeholder for placeholder in placeholders if placeholder not in tensors), *tensors]


def _with_cores(target: Target) -> Target:
    """A target with a number of cores: for a processor without one, those of this machine."""
    if target.kind.name != "llvm" or "num-cores" in target.options:
        return target
    return Target(f"{target} -num-cores={cpu_count()}")


@contextmanager
def _folder(work_dir: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The folder of a search, or one that is removed at the end."""
    if work_dir is not None:
        yield made_folder(work_dir)
        return
    with (
        scratch_folder() as scratch,
        files.temporary_folder("tune", DeclarationError, scratch) as folder,
    ):
        yield folder


def _database(database: Database | None, folder: Path | None) -> Database:
    if database is None:
        return MemoryDatabase() if folder is None else SQLiteDatabase(folder / FILE)
    if not isinstance(database, Database):
        raise DeclarationError(
            f"database is {kind_of(database)}, expected a database",
            "",
            "give te_sched.meta_schedule.database.SQLiteDatabase(path), or work_dir=",
        )
    return database


def _measure_unscheduled(
    database: Database,
    module: IRModule,
    target: Target,
    folder: Path,
    builder: Builder,
    runner: Runner,
) -> None:
    """Measure the program as it is, and keep the record, as that of a schedule without primitives.

    Raises
    ------
    BuildError if that fails; KeyboardInterrupt if it was interrupted.
    """
    own = MemoryDatabase()
    tune_tir(
        module,
        target,
        folder,
        1,
        num_trials_per_iter=1,
        builder=builder,
        runner=_Alone(runner),
        database=own,
        cost_model=None,
        space=ScheduleFn(_as_it_is, [], [], {}),
        strategy="replay-trace",
        task_name="the unscheduled program",
    )
    if not len(own):
        raise KeyboardInterrupt
    for record in own.get_all_tuning_records():
        if not record.is_valid:
            raise BuildError(
                "the program cannot be built or run as it is given",
                record.error_msg or f"its seconds are {repr_of(record.run_secs)}",
                "correct it: te_sched.build(...) and a call show the same error",
            )
        workload = database.commit_workload(module)
        database.commit_tuning_record(
            TuningRecord(
                record.trace,
                workload,
                record.run_secs,
                record.target,
                record.args_info,
                machine=record.machine,
            )
        )


def _as_it_is(sch: Schedule) -> None:
    """A space of one schedule without primitives."""


def _changes_nothing(record: TuningRecord) -> bool:
    return bool(record.trace_json()[0] == _NOTHING)


def _records_of(database: Database, module: IRModule, target: Target | None) -> list[TuningRecord]:
    if not database.has_workload(module):
        return []
    workload = database.commit_workload(module)
    return [
        record
        for record in database.get_all_tuning_records()
        if record.workload is workload and (target is None or record.is_of(target))
    ]


def _fault(record: TuningRecord) -> str:
    """What happened to a candidate, without details: the first lines of its message."""
    return ": ".join((record.error_msg or "not measured").strip().splitlines()[:2])


class _Alone(Runner):
    """A runner of candidates that are not compared with the unscheduled program: for that program
    itself, which is not waited for ten times as long before."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self.is_exclusive = runner, runner.is_exclusive

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """Measure all."""
        return self._runner.run(
            [
                RunnerInput(
                    runner_input.artifact_path, runner_input.device_type, runner_input.args_info
                )
                for runner_input in runner_inputs
            ]
        )
