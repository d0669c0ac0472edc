"""The steps of building, in order: those of a schedule begin with `check_schedule`, those of
functions with `take_functions`.

Each step calls other parts of te_sched. Must not know how steps are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.analysis.checks.guard_counts import counted_sizes, guard_counts
from te_sched.analysis.checks.sanitize import sanitize
from te_sched.analysis.findings import RULE, Findings
from te_sched.analysis.judge import check_program, functions_of
from te_sched.analysis.kernels.device_limits import check_device_limits
from te_sched.analysis.kernels.kernel_races import check_kernel_races
from te_sched.analysis.kernels.launch_limits import guard_launches
from te_sched.analysis.programs.block_instances import judge_blocks
from te_sched.analysis.programs.data_types import check_data_types
from te_sched.analysis.programs.double_buffering import check_turns
from te_sched.analysis.programs.initialized import proved_memory
from te_sched.analysis.programs.shared_arguments import shared_arguments
from te_sched.analysis.schedules import regions, results
from te_sched.analysis.schedules.combinations import check_combinations
from te_sched.analysis.schedules.legality import check_legality
from te_sched.analysis.schedules.predicates import check_predicates
from te_sched.analysis.schedules.promises import promised_sizes
from te_sched.analysis.schedules.results import check_sums, warn_of_extrema
from te_sched.analysis.schedules.sizes import check_extents, check_sizes, symbolic_sizes
from te_sched.config import Config, current
from te_sched.deep_recursion import walks_deeply
from te_sched.driver.plan import Step, Work
from te_sched.errors import BuildError, SourceLocation, Subject
from te_sched.ir import verify
from te_sched.ir.argument_sizes import ATTRIBUTE, Size
from te_sched.ir.device_limits import DeviceLimits
from te_sched.ir.intrinsic_table import EFFECTS
from te_sched.ir.kernel import is_kernel
from te_sched.ir.op import RULES
from te_sched.ir.shared_arguments import ATTRIBUTE as SHARED
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.blocks.initialize_empty import initialize_empty
from te_sched.lowering.blocks.pipeline import passes_of
from te_sched.lowering.device.pipeline import device_passes
from te_sched.lowering.guard_extents import guard_extents
from te_sched.lowering.lower_constants import lower_constants
from te_sched.lowering.lower_predicates import lower_predicates
from te_sched.lowering.pipeline import (
    TARGET_PASSES,
    WATCHED_PASSES,
    check_name,
    lower_functions,
    lower_schedule,
)
from te_sched.lowering.replace_intrinsics import replace_intrinsics
from te_sched.lowering.specialize_strides import specialize_strides
from te_sched.lowering.statements import stores_and_calls
from te_sched.passes import LoweringPass, apply_passes
from te_sched.schedule.source_locations import stage_named
from te_sched.schedule.state import Fate
from te_sched.trace.trace import Trace
from te_sched.wording import by_name

PROCESSOR_PASSES = (LoweringPass(guard_counts, "final"), LoweringPass(specialize_strides, "final"))

_Functions = Mapping[str, PrimFunc]
_MOST_JUDGED = 256  # stores and calls
_EFFECTS = dict(EFFECTS)  # the original ones, which programs may change
HISTORY = frozenset({Trace, Fate, SourceLocation})  # not part of the name of a program


def find_built(work: Work) -> None:
    """Find the module of an earlier build of the same program."""
    from te_sched.runtime.build import find_built as find  # loads LLVM
    from te_sched.runtime.compiled_programs import name_program

    request: tuple[object, ...] = (work.inputs, work.args, work.name, work.binds, work.verify)
    request = (*request, work.sanitize, work.callers)
    parts = (request, work.outside.lowering, work.outside.check_accesses)
    work.known_as = name_program(parts, work.target, HISTORY)
    if work.known_as is not None:
        work.module = find(work.known_as, work.target)


def _may_be_known(work: Work) -> bool:
    """Whether the cache applies: it is on, for a CPU, and no rule or effect was registered."""
    return not work.is_for_gpu and work.known_as is None and is_cacheable(work.outside)


def is_cacheable(switches: Config | None = None) -> bool:
    """Whether the cache is on, and no rule or effect of an intrinsic was registered."""
    switches = switches or current()
    is_kept = switches.cache and not switches.verify_passes
    return is_kept and not RULES and EFFECTS == _EFFECTS


# -- From a schedule to its loops ------------------------------------------------------------------


def check_schedule(work: Work) -> None:
    """Check the axes, extents and sizes of the schedule."""
    for check in (check_legality, check_combinations, check_extents, check_sizes):
        check(work.schedule)


@walks_deeply("lower a program")
def make_loops(work: Work) -> None:
    """Make the loops of the schedule."""
    name, schedule = work.name, work.schedule
    check_name(name)
    switches, last = work.switches, "schedule_ops"
    module = lower_schedule(schedule, work.args, name, work.binds, switches, last)
    work.functions = _with_sizes({name: guard_extents(module[name])}, symbolic_sizes(schedule))


@walks_deeply("check a program")
def judge_instances(work: Work) -> None:
    """Check the instances of the blocks of the given functions."""
    for func in functions_of(work.inputs, work.name, "build").values():
        Findings(judge_blocks(func)).raise_refuted()


@walks_deeply("lower a program")
def take_functions(work: Work) -> None:
    """Use the given functions; those of blocks become loops."""
    functions, switches = functions_of(work.inputs, work.name, "build"), work.switches
    work.functions = {
        name: apply_passes(passes_of(func), _to_run(func, switches), switches, work.timer)
        for name, func in functions.items()
    }


@walks_deeply("check a program")
def find_shared_arguments(work: Work) -> None:
    """Find the arguments that may not share memory in calls of the given functions."""
    sources = functions_of(work.inputs, work.name, "build")
    for name, func in work.functions.items():
        if not func.attrs.get("tir.noalias"):  # else calls check all of them
            pairs = shared_arguments(func, sources[name])
            if pairs:
                work.functions = {**work.functions, name: func.with_attr(SHARED, pairs)}


def _to_run(func: PrimFunc, switches: Config) -> PrimFunc:
    """The function without what no later step knows."""
    return lower_predicates(lower_constants(initialize_empty(func, switches.lowering)))


# -- Functions, as they are scheduled --------------------------------------------------------------


def count_sizes(work: Work) -> None:
    """Collect the conditions on calls under which extents and sizes fit their types."""
    functions = work.functions.items()
    work.functions = {name: _with_size(func, counted_sizes(func)) for name, func in functions}


def check_definitions(work: Work) -> None:
    """Check that variables are defined where they are used, and operands have fitting types."""
    for func in work.functions.values():
        verify.check_definitions(func)
        verify.check_operands(func, BuildError)


def check_results(work: Work) -> None:
    """Check the results, sums, predicates and exact splits of the schedule."""
    schedule, args = work.schedule, work.args or ()
    results.check_results(schedule, args, work.binds or {})
    regions.check_regions(schedule)
    check_sums(schedule)
    check_predicates(schedule, args, work.binds)
    work.functions = _with_sizes(work.functions, promised_sizes(schedule))


def judge_programs(work: Work) -> None:
    """Check for races, results that are not written, and reads of uninitialized elements."""
    work.findings = [check_program(func) for func in work.functions.values()]


def guard_indices(work: Work) -> None:
    """Check the indices of accesses, and add run-time checks where these depend on the call."""
    insert = work.outside.check_accesses and not work.sanitize
    named = _named(work)
    guarded = {name: guard_accesses(f, named, insert) for name, f in work.functions.items()}
    checked = {name: _with_size(guard.func, guard.sizes) for name, guard in guarded.items()}
    if not work.is_for_gpu:
        work.functions = checked
    else:  # a GPU runs kernels without checks
        bare = {
            name: _with_size(work.functions[name], guard.sizes) for name, guard in guarded.items()
        }
        work.functions = bare
        if insert:
            work.checked = checked if any(guard.checked for guard in guarded.values()) else {}
    Findings(finding for guard in guarded.values() for finding in guard.findings).raise_refuted()


def watch_accesses(work: Work) -> None:
    """Instrument each access of the program."""
    for findings in work.findings:  # proved errors need no instrumentation
        findings.raise_refuted()
    if work.is_scheduled:
        warn_of_extrema(work.schedule)
    named = _named(work)
    work.functions = {name: sanitize(func, named) for name, func in work.functions.items()}


def _named(work: Work) -> Callable[[str], Subject]:
    """The subject of messages about a stage, by its name."""
    return partial(stage_named, work.schedule) if work.is_scheduled else by_name


def _with_sizes(functions: _Functions, sizes: list[Size]) -> _Functions:
    return {name: _with_size(func, sizes) for name, func in functions.items()}


def _with_size(func: PrimFunc, sizes: Iterable[Size]) -> PrimFunc:
    """The function with additional conditions on its calls."""
    old_sizes = func.attrs.get(ATTRIBUTE, ())
    more = [*old_sizes, *sizes]
    return func.with_attr(ATTRIBUTE, more) if len(more) > len(old_sizes) else func


# -- Functions, lowered ----------------------------------------------------------------------------


def run_passes(work: Work) -> None:
    """Lower the functions."""
    work.functions = _lowered(work, work.functions)


@walks_deeply("lower a program")
def _lowered(work: Work, functions: _Functions) -> _Functions:
    passes = WATCHED_PASSES if work.sanitize else None
    return lower_functions(functions, work.switches, watcher=work.timer, passes=passes).functions


def refuse_findings(work: Work) -> None:
    """Raise the findings as an error, those of kernels first."""
    for func in work.functions.values():
        check_turns(func)
    for findings in work.findings:
        if findings.refuted:
            if work.is_for_gpu and findings.refuted[0].kind != RULE:
                _kernels(work, _for_target(work, work.functions), True)
            findings.raise_refuted()


def judge_passes(work: Work) -> None:
    """Check the output of passes, including the user's, of a program that was correct before."""
    # Not if they have made it very long: all pairs of accesses are compared.
    # What was proved before is searched again for long only if a pass is not one of te_sched.
    is_changed = bool(work.switches.lowering.added_passes)
    for func, findings in zip(work.functions.values(), work.findings, strict=True):
        if stores_and_calls(func.body) <= _MOST_JUDGED:
            proved = () if is_changed else proved_memory(findings)
            check_program(func, proved).raise_refuted()


# -- Code ------------------------------------------------------------------------------------------


def finish_functions(work: Work) -> None:
    """Compute the sizes of temporaries, and specialize the functions for a CPU."""
    work.functions = {
        name: apply_passes(PROCESSOR_PASSES, func, work.switches, work.timer)
        for name, func in _for_target(work, work.functions).items()
    }


def compile_functions(work: Work) -> None:
    """Compile the functions with LLVM."""
    from te_sched.runtime.build import build_functions

    functions = {**work.functions, **work.callers}
    work.module = build_functions(work.prepared or functions, work.target, work.known_as)


def make_kernels(work: Work) -> None:
    """Split the functions into host functions and kernels, and check the kernels."""
    work.functions = _launched(work, work.functions, work.verify)


def check_kernels(work: Work) -> None:
    """Lower the functions once more, with checks, for the emulated device."""
    work.checked = _launched(work, _lowered(work, work.checked or {}), False)


def load_kernels(work: Work) -> None:
    """Create the module that launches the kernels."""
    from te_sched.runtime.cuda_module import CudaModule

    program = IRModule(work.functions)
    checked = IRModule(work.checked) if work.checked else program
    work.module = CudaModule(program, work.target, None if work.checked is None else checked)


def _launched(work: Work, functions: _Functions, verify: bool) -> _Functions:
    """The host functions, which check their launches, and the kernels."""
    return guard_launches(*_kernels(work, _for_target(work, functions), verify)).functions


def _kernels(work: Work, functions: _Functions, verify: bool) -> tuple[IRModule, DeviceLimits]:
    """The host functions and the kernels, after their checks."""
    program: dict[str, PrimFunc] = {}
    for func in functions.values():
        program.update(device_passes(func, work.outside, work.timer).functions)
    target = work.target
    arch = str(target.options.get("arch", "sm_80"))
    limits = DeviceLimits(arch, target.max_num_threads, target.max_shared_memory_per_block)
    check_device_limits(IRModule(program), limits)
    for func in program.values():
        if verify and is_kernel(func):
            check_kernel_races(func)
    return IRModule(program), limits


def _for_target(work: Work, functions: _Functions) -> _Functions:
    keys, lowered_functions = (work.target.kind, *work.target.keys), {}
    for name, func in functions.items():
        check_data_types(func)
        if work.timer is not None:
            work.timer.begin(func, name)
        func = replace_intrinsics(func, keys)
        lowered_functions[name] = apply_passes(TARGET_PASSES, func, work.switches, work.timer)
    return lowered_functions


PREPARING = (
    Step(check_schedule, lambda work: work.is_scheduled and work.verify),
    Step(make_loops, lambda work: work.is_scheduled),
    Step(judge_instances, lambda work: not work.is_scheduled and work.verify),
    Step(take_functions, lambda work: not work.is_scheduled),
    Step(find_shared_arguments, lambda work: not work.is_scheduled),
    Step(count_sizes),
    Step(check_definitions, lambda work: not work.is_scheduled),
    Step(check_results, lambda work: work.is_scheduled and work.verify),
    Step(judge_programs, lambda work: work.verify),
    Step(guard_indices, lambda work: work.verify),
    Step(watch_accesses, lambda work: work.sanitize),
    Step(run_passes),
    Step(refuse_findings, lambda work: work.verify),
    Step(judge_passes, lambda work: work.verify and not (work.sanitize or work.is_for_gpu)),
    Step(finish_functions, lambda work: not work.is_for_gpu),
)
# Of functions that are prepared one after the other while others are compiled.
PLAN_IN_TURN = (Step(find_built, _may_be_known), Step(compile_functions))
PLAN = (
    Step(find_built, _may_be_known),
    *PREPARING,
    Step(compile_functions, lambda work: not work.is_for_gpu),
    Step(make_kernels, lambda work: work.is_for_gpu),
    Step(check_kernels, lambda work: bool(work.checked)),
    Step(load_kernels),
)
