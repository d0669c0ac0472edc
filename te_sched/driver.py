"""build: from a schedule to a module that can be called.

Joins lowering, the legality analysis and the runtime. Must not know how any of them works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.analysis.checks.guard_counts import counted_sizes, guard_counts
from te_sched.analysis.checks.sanitize import sanitize as sanitize_program
from te_sched.analysis.findings import RULE, Finding, Findings
from te_sched.analysis.judge import check_program
from te_sched.analysis.kernels.device_limits import Limits, check_device_limits
from te_sched.analysis.kernels.kernel_races import check_kernel_races
from te_sched.analysis.kernels.launch_limits import guard_launches
from te_sched.analysis.programs.turns import check_turns
from te_sched.analysis.schedules.extents import check_extents
from te_sched.analysis.schedules.legality import check_legality
from te_sched.analysis.schedules.predicates import check_predicates
from te_sched.analysis.schedules.promises import promised_sizes
from te_sched.analysis.schedules.results import check_results, check_sums, warn_of_extrema
from te_sched.analysis.schedules.sizes import ATTRIBUTE, Size, check_sizes, symbolic_sizes
from te_sched.codegen.target import Target, as_target, check_available
from te_sched.config import Config, current, scoped
from te_sched.deep import walks_deeply
from te_sched.errors import BuildError, Place, TeSchedError, kind_of, user_place
from te_sched.ir.expr import Buffer
from te_sched.ir.intrinsic_table import EFFECTS
from te_sched.ir.op import RULES
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.verify import check_definitions
from te_sched.lower.device.kernel import is_kernel
from te_sched.lower.device.pipeline import device_passes
from te_sched.lower.guard_extents import guard_extents
from te_sched.lower.join_dimensions import join_dimensions
from te_sched.lower.pipeline import lower
from te_sched.lower.replace_intrinsics import replace_intrinsics
from te_sched.lower.specialize_strides import specialize_strides
from te_sched.lower.statements import stores_and_calls
from te_sched.lower.widen_indices import widen_indices
from te_sched.schedule.places import add_places, place_named
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.state import Fate
from te_sched.signatures import checked_as
from te_sched.te.tensor import Tensor
from te_sched.trace.observing import observers
from te_sched.trace.trace import Trace

if TYPE_CHECKING:
    from te_sched.runtime.cuda_module import CudaModule
    from te_sched.runtime.module import Module


@checked_as(BuildError, but=("inputs", "args", "binds", "target", "target_host"))
@walks_deeply("build a program", BuildError)
def build(
    inputs: Schedule | PrimFunc | IRModule | Mapping[str, Any],
    args: Sequence[Any] | None = None,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    verify: bool = True,
    sanitize: bool = False,
) -> Module | CudaModule:
    """Compile a program for a target.

    Parameters
    ----------
    inputs : a Schedule, a PrimFunc, an IRModule, or functions by name.
    args : for a schedule, the parameters of the function: inputs and outputs.
    target : "llvm" (the default), "llvm -mcpu=skylake-avx512 -mattr=+avx2", "cuda",
        "cuda -arch=sm_80", or a Target.
    target_host : accepted for TVM's sake; the host is the target.
    name : the name of the function.
    binds : buffers to use for some of the tensors of a schedule.
    verify : refuse a schedule whose loops would race, or that computes what nobody gets; False
        insists.
    sanitize : for a processor, a program that watches each of its accesses, runs serially and is
        slow: indices out of bounds or that overflow, reads of what nobody wrote, and iterations of
        parallel loops that meet end the call (AccessError).

    Extents may be 0, and then there is nothing to compute, as in numpy. A symbolic extent that a
    call makes negative, a symbolic length of a split below 1, loops that their type does not count,
    and a max, min or argmax of no values, are refused (CallError).

    Raises
    ------
    BuildError when the program may not run as scheduled, or cannot be compiled for the target.
    """
    del target_host
    wanted = as_target(target)
    given = list(args) if isinstance(args, Iterator) else args  # it is read several times
    for observer in observers:
        observer.building(
            inputs,
            user_place(),
            args=given,
            name=name,
            binds=binds,
            target=wanted,
            verify=verify,
        )
    check_available(wanted)
    if sanitize and wanted.kind == "cuda":
        raise BuildError(
            "build for cuda with sanitize=True",
            "kernels are watched in the checked mode of a module",
            "build without it and call module.check(...) in place of module(...)",
        )
    known_as = _name_program((inputs, given, name, binds, verify, sanitize), wanted)
    if known_as is not None:
        from te_sched.runtime.build import find_built  # loads LLVM

        if (built := find_built(known_as, wanted)) is not None:
            return built
    if isinstance(inputs, Schedule):
        try:
            functions, guarded = _lowered_schedule(
                inputs, given, name, binds, verify, wanted, sanitize
            )
            return _compile(functions, guarded, wanted, verify, known_as)
        except TeSchedError as error:
            add_places(error, inputs)
            raise
    module = _counted(_module(inputs, name))
    for func in module.functions.values():
        check_definitions(func)
    guarded = _guarded(module, wanted, not sanitize) if verify else _Guarded(module)
    functions = _watched(guarded.module) if sanitize else _lowered(guarded.module, wanted)
    if verify:
        for func in module.functions.values():
            _refuse(check_program(func), functions, wanted)
        guarded.findings.raise_refuted()
        if not sanitize:
            _recheck(functions, wanted)
    return _compile(functions, guarded, wanted, verify, known_as)


def _lowered_schedule(
    schedule: Schedule,
    args: Sequence[Any] | None,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
    verify: bool,
    target: Target,
    sanitize: bool,
) -> tuple[Mapping[str, PrimFunc], _Guarded]:
    """The function of a schedule, judged before, between and after the steps of lowering.

    Also what it was after the first step, with checks.
    """
    if verify:
        check_legality(schedule)
        check_extents(schedule)
        check_sizes(schedule)
    with _lowering_to_run(target):
        module = lower(schedule, args, name=name, binds=binds, stop_after="schedule_ops")
    func = _with_sizes(guard_extents(module[name]), symbolic_sizes(schedule))
    module = _counted(IRModule({name: func}))
    places = partial(place_named, schedule)
    guarded = _Guarded(module)
    if verify:
        check_results(schedule, args or (), binds or {})
        check_sums(schedule)
        check_predicates(schedule, args or (), binds)
        module = IRModule({name: _with_sizes(module[name], promised_sizes(schedule))})
        findings = check_program(module[name])
        guarded = _guarded(module, target, not sanitize, places)
        guarded.findings.raise_refuted()
        if sanitize:  # before what is refuted is instrumented
            findings.raise_refuted()
    if sanitize:
        warn_of_extrema(schedule)
    module = guarded.module
    functions = _watched(module, places) if sanitize else _lowered(module, target)
    if verify:
        check_turns(functions[name])
        _refuse(findings, functions, target)
        if not sanitize:
            _recheck(functions, target)
    return functions, guarded


class _Guarded(NamedTuple):
    """The functions with what their calls must fulfil, and what was found.

    For a processor they check what is known to calls alone. A GPU runs kernels without checks:
    `checked` has them for the emulated device, is `module` where nothing needs one, and None where
    nothing is to be checked.
    """

    module: IRModule
    findings: Findings = Findings()
    checked: IRModule | None = None


def _counted(module: IRModule) -> IRModule:
    """The functions with what their calls must fulfil so that loops and memory can be counted."""
    functions = module.functions.items()
    return IRModule({name: _with_sizes(func, counted_sizes(func)) for name, func in functions})


def _with_sizes(func: PrimFunc, sizes: Iterable[Size]) -> PrimFunc:
    """The function with more of what its calls must fulfil."""
    known = func.attrs.get(ATTRIBUTE, ())
    more = [*known, *sizes]
    return func.with_attr(ATTRIBUTE, more) if len(more) > len(known) else func


def _guarded(
    module: IRModule,
    target: Target,
    guards: bool,
    places: Callable[[str], str] = "stage {}".format,
) -> _Guarded:
    functions: dict[str, PrimFunc] = {}
    checked: dict[str, PrimFunc] = {}
    found: list[Finding] = []
    count = 0
    insert = guards and current().check_accesses
    for name, func in module.functions.items():
        guarded = guard_accesses(func, places, insert)
        found += guarded.findings
        count += guarded.checked
        functions[name], checked[name] = (
            _with_sizes(one, guarded.sizes) for one in (func, guarded.func)
        )
    if target.kind != "cuda":
        return _Guarded(IRModule(checked), Findings(found))
    module = IRModule(functions)
    with_checks = IRModule(checked) if count else module
    return _Guarded(module, Findings(found), with_checks if insert else None)


def _watched(
    module: IRModule, places: Callable[[str], str] = "stage {}".format
) -> Mapping[str, PrimFunc]:
    """The functions of a module, instrumented, lowered so that what is watched stays in order."""
    functions = {name: sanitize_program(func, places) for name, func in module.functions.items()}
    choices = current().lowering
    disabled = choices.disabled_passes | _NOT_WATCHED
    with scoped(lowering=replace(choices, disabled_passes=disabled, to_run=True)):
        return lower(IRModule(functions)).functions


# Passes that move or copy what happens, which would be of no use.
_NOT_WATCHED = frozenset(
    (
        "inject_prefetch",
        "partition_loops",
        "inject_double_buffer",
        "rewrite_storage",
        "hoist_conditions",
        "unroll_loops",
        "eliminate_common_subexpressions",
    )
)


def _refuse(findings: Findings, functions: Mapping[str, PrimFunc], target: Target) -> None:
    """Refuse what is refuted, after what is said of kernels in the words of threads."""
    if findings.refuted:
        if target.kind == "cuda" and findings.refuted[0].kind != RULE:
            _kernels(_for_target(functions, target), target, True)
        findings.raise_refuted()


def _recheck(functions: Mapping[str, PrimFunc], target: Target) -> None:
    """Judge what passes, also the user's own, have made of a program that was found right.

    Not what they have made very long: every access is held against every other.
    """
    if target.kind != "cuda":  # kernels are judged as they are made
        for func in functions.values():
            if stores_and_calls(func.body) <= _MOST_JUDGED:
                check_program(func).raise_refuted()


_MOST_JUDGED = 256  # stores and calls


def _lowered(module: IRModule, target: Target) -> Mapping[str, PrimFunc]:
    """The functions of a module, lowered from where they stand to what runs fast."""
    with _lowering_to_run(target):
        return lower(module).functions


def _lowering_to_run(target: Target) -> AbstractContextManager[Config]:
    """A scope in which passes do what `build` asks for."""
    is_cut = target.kind != "cuda"
    return scoped(lowering=replace(current().lowering, partition_for_speed=is_cut, to_run=True))


def _name_program(parts: tuple[Any, ...], target: Target) -> str | None:
    """The name of what is built and all that it is built by, if it may be found in the cache."""
    switches = current()
    if not switches.cache or switches.verify_passes or target.kind == "cuda":
        return None
    if RULES or EFFECTS != _EFFECTS:
        return None
    from te_sched.runtime.compiled_programs import name_program  # loads LLVM

    return name_program((parts, switches.lowering, switches.check_accesses), target, _HISTORY)


_EFFECTS = dict(EFFECTS)  # before programs change them
_HISTORY = frozenset({Trace, Fate, Place})  # of a schedule: where and how it was made


def _compile(
    functions: Mapping[str, PrimFunc],
    guarded: _Guarded,
    target: Target,
    verify: bool,
    known_as: str | None,
) -> Module | CudaModule:
    """A module of lowered functions."""
    from te_sched.runtime.build import build_functions  # loads LLVM
    from te_sched.runtime.cuda_module import CudaModule

    if target.kind != "cuda":
        return build_functions(_for_processor(functions, target), target, known_as)
    program = _launched(functions, target, verify)
    checked = guarded.checked
    if checked is guarded.module:
        checked = program
    elif checked is not None:
        checked = _launched(_lowered(checked, target), target, False)
    return CudaModule(program, target, checked)


def _launched(functions: Mapping[str, PrimFunc], target: Target, verify: bool) -> IRModule:
    """The functions of the host, which check what they launch, and the kernels."""
    return guard_launches(*_kernels(_for_target(functions, target), target, verify))


def _for_processor(functions: Mapping[str, PrimFunc], target: Target) -> dict[str, PrimFunc]:
    """The functions that code is generated for."""
    with _lowering_to_run(target):
        return {
            name: specialize_strides(guard_counts(func))
            for name, func in _for_target(functions, target).items()
        }


def functions_for_processor(
    schedule: Schedule, args: Sequence[Any], target: Target, name: str = "main"
) -> dict[str, PrimFunc]:
    """The functions that `build` generates code for, of a schedule for a processor.

    Raises
    ------
    BuildError as `build` does.
    """
    try:
        functions, _ = _lowered_schedule(schedule, args, name, None, True, target, False)
    except TeSchedError as error:
        add_places(error, schedule)
        raise
    return _for_processor(functions, target)


def _kernels(
    functions: Mapping[str, PrimFunc], target: Target, verify: bool
) -> tuple[IRModule, Limits]:
    """The functions of the host and the kernels, after they have been judged."""
    program: dict[str, PrimFunc] = {}
    for func in functions.values():
        program.update(device_passes(func).functions)
    arch = str(target.options.get("arch", "sm_80"))
    limits = Limits(arch, target.max_num_threads, target.max_shared_memory_per_block)
    check_device_limits(IRModule(program), limits)
    for func in program.values():
        if verify and is_kernel(func):
            check_kernel_races(func)
    return IRModule(program), limits


def _for_target(functions: Mapping[str, PrimFunc], target: Target) -> dict[str, PrimFunc]:
    keys = (target.kind, *target.keys)
    return {
        name: widen_indices(join_dimensions(replace_intrinsics(func, keys)))
        for name, func in functions.items()
    }


def _module(inputs: Any, name: str) -> IRModule:
    """Functions by name, as a module."""
    if isinstance(inputs, PrimFunc):
        inputs = IRModule({name: inputs})
    elif isinstance(inputs, Mapping):
        functions: dict[str, PrimFunc] = {}
        for key, value in inputs.items():
            functions.update(_module(value, str(key)).functions)
        inputs = IRModule(functions)
    if not isinstance(inputs, IRModule):
        raise BuildError(
            f"build {kind_of(inputs)}",
            "it is neither a schedule nor a program",
            "pass a Schedule with args, a PrimFunc, or what te_sched.lower gave",
        )
    return inputs
