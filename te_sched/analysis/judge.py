"""`check`: all analyses of a program, as findings.

`build` refuses programs with refuted findings. Must not know how properties are analyzed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from te_sched import config
from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.analysis.findings import REFUTED, RULE, Finding, Findings
from te_sched.analysis.programs.accesses import accesses_of
from te_sched.analysis.programs.block_instances import judge_blocks
from te_sched.analysis.programs.coverage import judge_coverage
from te_sched.analysis.programs.hints import hints_of_blocks, hints_of_loops
from te_sched.analysis.programs.initialized import judge_initialized
from te_sched.analysis.programs.races import judge_races
from te_sched.analysis.programs.scopes import judge_scopes
from te_sched.analysis.schedules.combinations import check_combinations
from te_sched.analysis.schedules.legality import check_legality
from te_sched.analysis.schedules.predicates import check_predicates
from te_sched.analysis.schedules.promises import promised_sizes
from te_sched.analysis.schedules.results import check_sums
from te_sched.analysis.schedules.sizes import check_extents, check_sizes
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import BuildError, LoweringError, TeSchedError, kind_of
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.blocks.pipeline import passes_of
from te_sched.lowering.guard_extents import guard_extents
from te_sched.lowering.inline_calls import inline_calls
from te_sched.lowering.pipeline import lower
from te_sched.passes import apply_passes
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import with_places
from te_sched.tensorir.schedule import advice_on_program
from te_sched.wording import worded, words_for


@walks_deeply("check a program")
def check(
    inputs: Schedule | PrimFunc | IRModule | Mapping[str, Any],
    args: Sequence[Any] | None = None,
    target: Any = None,
) -> Findings:
    """The findings about a program before it runs.

    Parameters
    ----------
    inputs : a Schedule with args, a PrimFunc, an IRModule, or functions by name.
    args : for a schedule, the parameters of the function, as for `build`.
    target : accepted for the sake of symmetry with `build`; verdicts do not depend on it.

    Returns
    -------
    Findings: refuted, unproved and proved ones; `str` shows those that are not proved.

    Raises
    ------
    LoweringError where a schedule has no args, BuildError for what is not a program.
    """
    del target
    if not isinstance(inputs, Schedule):
        functions = functions_of(inputs, "main", "check").values()
        return Findings([finding for func in functions for finding in _about_function(func)])
    locate = partial(with_places, schedule=inputs)
    return Findings(finding.located(locate) for finding in _about_schedule(inputs, args))


def _about_schedule(inputs: Schedule, args: Sequence[Any] | None) -> list[Finding]:
    """The findings about a schedule."""
    findings = [
        finding for judge in _OF_SCHEDULES if (finding := _refused(judge, inputs)) is not None
    ]
    try:
        func = lower(inputs, args, stop_after="schedule_ops")["main"]
    except LoweringError as error:
        if not args:
            raise
        return [*findings, _as_finding(error)]
    later = (partial(check_predicates, args=args or ()), promised_sizes)
    findings += [finding for judge in later if (finding := _refused(judge, inputs)) is not None]
    return [*findings, *_all_of(guard_extents(func))]


_OF_SCHEDULES = (check_legality, check_combinations, check_extents, check_sizes, check_sums)


def _about_function(func: PrimFunc) -> list[Finding]:
    """The findings about a function that is given, in the words for its kind."""
    with worded(words_for([func])):
        lowered = apply_passes(passes_of(func), func, config.current())
        findings = [*judge_blocks(func), *hints_of_blocks(func), *_all_of(lowered)]
        return [finding.located(func.lines.located) for finding in findings]


def _refused(judge: Callable[[Schedule], object], schedule: Schedule) -> Finding | None:
    """The finding of a check of schedules that refuses the schedule, or None."""
    try:
        judge(schedule)
    except TeSchedError as error:
        return _as_finding(error)
    return None


def _as_finding(error: TeSchedError) -> Finding:
    return Finding(RULE, REFUTED, error.fault, why=error.why, help=error.advice, line=error.where)


def _all_of(func: PrimFunc) -> Iterator[Finding]:
    """The findings about one function, including those about bounds."""
    yield from check_program(func)
    yield from guard_accesses(func, insert=False).findings
    yield from hints_of_loops(func)


@walks_deeply("check a program")
def check_program(func: PrimFunc, proved: Collection[str] = ()) -> Findings:
    """The findings about one function at any level of lowering. `proved` has the memory that was
    proved to be initialized before passes of te_sched (`judge_initialized`).
    """
    program = accesses_of(func)
    initialized = partial(judge_initialized, proved=proved)
    judges = (judge_scopes, judge_races, judge_coverage, initialized)
    return Findings(finding for judge in judges for finding in judge(program))


@walks_deeply("check a program")
def functions_of(inputs: Any, name: str, call: str) -> dict[str, PrimFunc]:
    """The functions of a program by their names; `name` is that of a single one.

    Raises
    ------
    BuildError, which names `call`, if the input is not a program.
    """
    if isinstance(inputs, PrimFunc):
        return {name: inputs}
    if isinstance(inputs, IRModule):
        graphs = [
            name
            for name, function in inputs.functions.items()
            if isinstance(function, GraphFunction)
        ]
        if graphs:
            raise BuildError(
                f"{call} does not take functions of graphs, got {', '.join(graphs)}",
                help="use relax.build(module, target)",
            )
        return inline_calls(inputs.functions)
    if isinstance(inputs, Mapping):
        parts = [functions_of(part, str(key), call) for key, part in inputs.items()]
        return {key: func for part in parts for key, func in part.items()}
    raise BuildError(
        f"{call} expects a Schedule, a PrimFunc or an IRModule, got {kind_of(inputs)}",
        help=advice_on_program(
            inputs, "pass a Schedule with args, a PrimFunc, or the result of te_sched.lower"
        ),
    )


__all__ = ["Finding", "Findings", "check", "check_program", "functions_of"]
