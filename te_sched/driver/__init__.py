"""build: compiles a schedule or functions into a module.

Reads the current switches and runs the steps of `steps.PLAN`. Must not know the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.analysis.judge import functions_of
from te_sched.codegen.target import (
    Arguments,
    Target,
    as_target,
    check_available,
    target_after_program,
)
from te_sched.config import current
from te_sched.deep_recursion import walks_deeply
from te_sched.driver.plan import Step, StepTimer, Work, functions_in, run_plan
from te_sched.driver.steps import PLAN, PLAN_IN_TURN, PREPARING
from te_sched.errors import BuildError, repr_of, user_place
from te_sched.ir.expr import Buffer
from te_sched.ir.source_lines import About, adding_lines, lines_of
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.pipeline import check_parameters
from te_sched.lowering.show_passes import shown
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import with_places
from te_sched.signatures import checked_as
from te_sched.te.tensor import Tensor
from te_sched.trace.observing import observers

if TYPE_CHECKING:
    from te_sched.runtime.cuda_module import CudaModule
    from te_sched.runtime.module import Module


@checked_as(BuildError, but=("inputs", "args", "binds", "target", "target_host"))
@walks_deeply("build a program", BuildError)
def build(
    inputs: Schedule | PrimFunc | IRModule | Mapping[str, Any],
    args: Arguments = None,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    verify: bool = True,
    sanitize: bool = False,
    show: str | None = None,
) -> Module | CudaModule:
    """Compile a program for a target.

    Parameters
    ----------
    inputs : a Schedule, a PrimFunc, an IRModule, or functions by name.
    args : for a schedule, the parameters of the function: inputs and outputs. Functions have their
        own; for them, the target may be the second argument: build(function, "cuda").
    target : "llvm" (the default), "llvm -mcpu=skylake-avx512 -mattr=+avx2", "cuda",
        "cuda -arch=sm_80", or a Target.
    target_host : accepted for compatibility with TVM; the host is the target.
    name : the name of the function.
    binds : buffers to use for some of the tensors of a schedule.
    verify : refuse a schedule whose loops would race, or that drops an output; False builds it
        anyway.
    sanitize : for a CPU, check each access at run time, in a serial and slow program: indices that
        are out of bounds or overflow, reads of uninitialized elements and races of parallel loops
        raise an AccessError.
    show : "steps" prints each step with its time in milliseconds, and below it those of the passes
        that it runs.

    Extents may be 0, as in numpy. A call raises a CallError for a negative symbolic extent, a
    symbolic split length below 1, an extent beyond the type of its loop, and a max, min or argmax
    of no values.

    Raises
    ------
    BuildError when the program may not run as scheduled, or cannot be compiled for the target.

    Examples
    --------
    >>> import te_sched
    >>> from te_sched import te
    >>> A = te.placeholder((8,), name="A")
    >>> s = te.create_schedule(te.compute((8,), lambda i: A[i] + 1.0, name="B").op)
    >>> with te_sched.config(cache=False):  # an earlier build is found in one step
    ...     module = te_sched.build(s, [A, s.outputs[0].output(0)], show="steps")
    ...     # doctest: +ELLIPSIS
    check_schedule ... ms  Check the axes, extents and sizes of the schedule
    make_loops ... ms  Make the loops of the schedule
    ...
    compile_functions ... ms  Compile the functions with LLVM
    """
    del target_host
    arguments, text = _arguments(inputs, args, target)
    wanted = as_target(text)
    check_parameters("build", inputs, arguments, binds, BuildError)
    if isinstance(arguments, Iterator):
        arguments = list(arguments)  # it is read several times
    for observer in observers:
        observer.building(
            inputs,
            user_place(),
            args=arguments,
            name=name,
            binds=binds,
            target=wanted,
            verify=verify,
        )
    check_available(wanted)
    if sanitize and wanted.kind == "cuda":
        raise BuildError(
            "sanitize=True is not supported for target cuda",
            "the checked mode of a module checks the accesses of kernels",
            "build without it and call module.check(...) in place of module(...)",
        )
    with shown(show, {"steps": StepTimer}, "build", BuildError) as timer:
        work = _work(inputs, arguments, wanted, name, binds, verify, sanitize)
        work.timer = timer
        _take(PLAN, work)
    assert work.module is not None
    return work.module


def _arguments(inputs: Any, args: Any, target: Any) -> tuple[Any, Any]:
    """The arguments of `build`, and its target, which functions may have in place of them."""
    arguments, wanted = target_after_program(args, target, "build")
    if wanted is not target and isinstance(inputs, Schedule):
        raise BuildError(
            f"build has a target in place of the arguments of the schedule: {repr_of(args)}",
            "a schedule does not determine the parameters of its function",
            f'give them before it: te_sched.build(s, [A, B], "{as_target(wanted)}")',
        )
    return arguments, wanted


def build_with_callers(
    functions: IRModule, callers: Mapping[str, PrimFunc], target: Target, name: str | None = None
) -> Module:
    """Compile functions for a processor, with lowered ones that call them (`tir.call_function`).

    `name` is that of the program in the cache, if it is known and was looked for.

    Raises
    ------
    BuildError as `build` does.
    """
    work = _work(functions, None, target)
    work.callers, work.known_as = callers, name
    work.prepared = _PreparedInTurn(work)
    _take(PLAN_IN_TURN, work)
    module: Any = work.module
    return module  # type: ignore[no-any-return]


class _PreparedInTurn:
    """The functions for LLVM, each prepared when it is first asked for, then those that call them.

    They can be asked for again: compiling starts anew on a larger stack where it recurses deeply.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._prepared: dict[str, Mapping[str, PrimFunc]] = {}

    def __iter__(self) -> Iterator[tuple[str, PrimFunc]]:
        work = self._work
        for name, func in functions_of(work.inputs, work.name, "build").items():
            if name not in self._prepared:
                part = replace(work, inputs=IRModule({name: func}), callers={}, prepared=None)
                run_plan(PREPARING, part)
                self._prepared[name] = part.functions
            yield from self._prepared[name].items()
        yield from work.callers.items()


def functions_for_processor(
    inputs: Schedule | IRModule, args: Sequence[Any] | None, target: Target, name: str = "main"
) -> Mapping[str, PrimFunc]:
    """The functions that `build` generates code for, of a program for a processor.

    Raises
    ------
    BuildError as `build` does.
    """
    work = _work(inputs, args, target, name)
    _take(PREPARING, work)
    return work.functions


def _work(
    inputs: Schedule | PrimFunc | IRModule | Mapping[str, Any],
    args: Sequence[Any] | None,
    target: Target,
    *others: Any,
) -> Work:
    """The work of a build, with the current switches and with those of its passes."""
    outside, is_cut = current(), target.kind != "cuda"
    to_run = replace(outside.lowering, partition_for_speed=is_cut, to_run=True)
    return Work(inputs, args, target, outside, replace(outside, lowering=to_run), *others)


def _take(steps: Sequence[Step], work: Work) -> None:
    """Run steps, and add the lines of the user's program to errors: of them, and of calls."""
    inputs = work.inputs

    def locate(about: About) -> About:
        if isinstance(inputs, Schedule):
            return with_places(about, inputs)
        return lines_of(functions_in(inputs)).located(about)

    with adding_lines(locate):
        run_plan(steps, work)
    if work.module is not None:
        work.module.add_lines(locate)


__all__ = ["build"]
_tell_of_absent_names(__name__)
