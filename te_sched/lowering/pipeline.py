"""Lowering: from a schedule to a program, by tuples of passes.

`lower` prints TVM's text, also for schedules with races; `build` checks whether a program may run.
The switches are read on entry to `lower`; passes receive their settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from te_sched import config
from te_sched.config import Config, Lowering
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import (
    LoweringError,
    TeSchedError,
    did_you_mean,
    kind_of,
    repr_of,
    why_no_text,
)
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.reals import as_reals
from te_sched.ir.source_lines import adding_lines
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.verify import verify
from te_sched.ir.visitor import replace
from te_sched.lowering.assemble import schedule_ops
from te_sched.lowering.blocks.pipeline import BLOCK_PASSES, passes_of, printed_passes_of
from te_sched.lowering.bounds import infer_bound
from te_sched.lowering.eliminate_common_subexpressions import eliminate_common_subexpressions
from te_sched.lowering.flatten_storage import flatten_storage
from te_sched.lowering.hoist_conditions import hoist_conditions
from te_sched.lowering.inject_double_buffer import inject_double_buffer
from te_sched.lowering.inject_prefetch import inject_prefetch
from te_sched.lowering.inject_virtual_threads import inject_virtual_threads
from te_sched.lowering.join_dimensions import join_dimensions
from te_sched.lowering.narrow_index_types import narrow_index_types
from te_sched.lowering.partition_loops import partition_loops
from te_sched.lowering.remove_no_op import remove_no_op
from te_sched.lowering.renormalize_split_patterns import renormalize_split_patterns
from te_sched.lowering.rewrite_storage import rewrite_storage
from te_sched.lowering.rewrite_unsafe_select import rewrite_unsafe_select
from te_sched.lowering.show_passes import PassPrinter, shown
from te_sched.lowering.simplify import simplify
from te_sched.lowering.unroll_loops import unroll_loops
from te_sched.lowering.vectorize_loops import vectorize_loops
from te_sched.lowering.widen_indices import widen_indices
from te_sched.passes import LoweringPass, Watcher, apply_passes
from te_sched.schedule.normalize import fold_reals
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import adding_places
from te_sched.signatures import checked_as, is_sequence
from te_sched.te.extern import check_buffer_of
from te_sched.te.tensor import Tensor
from te_sched.tensorir.schedule import BlockSchedule, advice_on_program
from te_sched.trace.observing import observers
from te_sched.wording import worded, words_for

# The passes after schedule_ops, for programs to be printed or to run.
PASSES = (
    LoweringPass(inject_prefetch, "buffers", 0),
    LoweringPass(flatten_storage, "flat", 0),
    LoweringPass(narrow_index_types, "flat", 0),
    LoweringPass(simplify, "flat", 0),
    LoweringPass(partition_loops, "flat", 1),
    LoweringPass(vectorize_loops, "vector", 1),
    LoweringPass(inject_virtual_threads, "vector", 1),
    LoweringPass(inject_double_buffer, "vector", 1),
    LoweringPass(rewrite_storage, "vector", 1),
    LoweringPass(hoist_conditions, "vector", 1),
    LoweringPass(simplify, "vector", 1),
    LoweringPass(remove_no_op, "vector", 1),
    LoweringPass(unroll_loops, "vector", 1),
    LoweringPass(renormalize_split_patterns, "vector", 2),
    LoweringPass(simplify, "vector", 2),
    LoweringPass(remove_no_op, "vector", 2),
    LoweringPass(rewrite_unsafe_select, "vector", 2),
    LoweringPass(eliminate_common_subexpressions, "final", 3),
)
_PHASE_LEVELS = ("buffers", "flat", "vector", "vector")

# As in TVM 0.9: conditions are hoisted out of the loops that remain after unrolling.
AS_OLDER_PASSES = (
    *(
        lowering_pass
        for lowering_pass in PASSES[:-1]
        if lowering_pass.function is not hoist_conditions
    ),
    LoweringPass(hoist_conditions, "vector", 3),
    PASSES[-1],
)

# For the checked mode: without passes that move or copy statements.
_MOVING = {
    *(inject_prefetch, partition_loops, inject_double_buffer, rewrite_storage),
    *(hoist_conditions, unroll_loops, eliminate_common_subexpressions),
}
WATCHED_PASSES = tuple(
    lowering_pass for lowering_pass in PASSES if lowering_pass.function not in _MOVING
)

# Programs to run have one index per access, as wide as needed.
TARGET_PASSES = (LoweringPass(join_dimensions, "final"), LoweringPass(widen_indices, "final"))


@checked_as(LoweringError, but=("inputs", "args", "binds"))
@walks_deeply("lower a program")
def lower(
    inputs: Schedule | PrimFunc | IRModule,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    simple_mode: bool = False,
    stop_after: str | None = None,
    show: str | None = None,
) -> IRModule:
    """Lower a schedule to a program of loops.

    Parameters
    ----------
    inputs : a Schedule; a PrimFunc or IRModule runs through the remaining passes.
    args : the parameters of the function: tensors, buffers and variables, inputs and outputs.
    name : the name of the function.
    binds : buffers to use for some of the tensors.
    simple_mode : do not partition loops, which is easier to read.
    stop_after : name of the pass to stop after, "schedule_ops" or one of `pass_names()`.
    show : "passes" prints the program, and then the lines that each pass changes.

    Returns
    -------
    A module with one function. Its `str` is TVMScript, its `astext()` the older primfn text.

    Raises
    ------
    LoweringError when args do not fit the schedule or the schedule cannot be turned into loops.

    >>> from te_sched import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> lower(te.create_schedule(B.op), [A, B])["main"].body
    for i in range(8):
        B = T.Buffer((8,))
        A = T.Buffer((8,))
        B[i] = A[i] + T.float32(1)
    """
    if stop_after is not None and stop_after not in pass_names():
        raise LoweringError(
            f"unknown pass in stop_after: {repr_of(stop_after)}",
            help="use one of " + ", ".join(pass_names()) + did_you_mean(stop_after, pass_names()),
        )
    check_name(name)
    switches = config.current()
    with shown(show, {"passes": PassPrinter}, "lower", LoweringError) as printer:
        options = switches, stop_after, simple_mode, printer
        check_parameters("lower", inputs, args, binds)
        if isinstance(inputs, PrimFunc):
            inputs = IRModule({name: _named(inputs, name)})
        if isinstance(inputs, IRModule):
            return _lower_module(inputs, *options)
        return lower_schedule(inputs, args, name, binds, *options)


def _lower_module(
    inputs: IRModule,
    switches: Config,
    stop_after: str | None,
    simple_mode: bool,
    watcher: Watcher | None,
) -> IRModule:
    """Lower the functions of a module; observers are notified."""
    for observer in observers:
        observer.lowering(
            inputs,
            args=None,
            name="",
            binds=None,
            simple_mode=simple_mode,
            stop_after=stop_after,
            choices=switches.lowering,
        )
    module = lower_functions(inputs.functions, switches, stop_after, simple_mode, watcher)
    for observer in observers:
        observer.lowered(inputs, module)
    return module


def lower_functions(
    funcs: Mapping[str, PrimFunc],
    switches: Config,
    stop_after: str | None = None,
    simple_mode: bool = False,
    watcher: Watcher | None = None,
    passes: Sequence[LoweringPass] | None = None,
) -> IRModule:
    """Apply the remaining passes to functions (see `run_passes`)."""
    lowered = {}
    for name, func in funcs.items():
        if watcher is not None:
            watcher.begin(func, f"{name}: the program that is given")
        if not switches.lowering.to_run:
            func = as_reals(func)
        with worded(words_for([func])), adding_lines(func.lines.located):
            lowered[name] = run_passes(func, switches, stop_after, simple_mode, watcher, passes)
    return IRModule(lowered)


def lower_schedule(
    inputs: Schedule,
    args: Sequence[Any] | None,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
    switches: Config,
    stop_after: str | None = None,
    simple_mode: bool = False,
    watcher: Watcher | None = None,
) -> IRModule:
    """The loops of a schedule after the passes up to `stop_after`; observers are notified."""
    if not isinstance(inputs, Schedule):
        raise LoweringError(
            f"lower expects a schedule, got {kind_of(inputs)}",
            help=advice_on_program(inputs, "pass what te.create_schedule returned"),
        )
    arguments = _checked_args(args)
    _check_binds(binds)
    for observer in observers:
        observer.lowering(
            inputs,
            args=arguments,
            name=name,
            binds=binds,
            simple_mode=simple_mode,
            stop_after=stop_after,
            choices=switches.lowering,
        )
    with adding_places(inputs):
        func = _loops(inputs, arguments, switches, name, binds)
        if watcher is not None:
            watcher.begin(func, "schedule_ops: The loops as they are scheduled")
        if stop_after != "schedule_ops":
            func = run_passes(func, switches, stop_after, simple_mode, watcher)
    module = IRModule({name: func})
    for observer in observers:
        observer.lowered(inputs, module)
    return module


@walks_deeply("show the loops of a schedule")
def scheduled_loops(schedule: Schedule, args: Sequence[Any], name: str = "main") -> PrimFunc:
    """The result of `lower(schedule, args, stop_after="schedule_ops")`, for analyses: observers are
    not notified, since the user's program does not lower.
    """
    with adding_places(schedule):
        return _loops(schedule, _checked_args(args), config.current(), name)


def _loops(
    inputs: Schedule,
    arguments: Sequence[Any],
    switches: Config,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> PrimFunc:
    schedule, settings = inputs.normalize(), switches.lowering
    if not settings.to_run:
        fold_reals(schedule)
    func = schedule_ops(schedule, infer_bound(schedule, settings), arguments, name, binds, settings)
    if not settings.to_run:
        func = as_reals(func)  # statements written by the user
    if switches.verify_passes:
        verify(func, "buffers")
    return func


def pass_names() -> list[str]:
    """The values of `stop_after`, in the order of lowering."""
    return list(
        dict.fromkeys(
            ["schedule_ops", *(lowering_pass.name for lowering_pass in (*BLOCK_PASSES, *PASSES))]
        )
    )


def run_passes(
    func: PrimFunc,
    switches: Config,
    stop_after: str | None = None,
    simple_mode: bool = False,
    watcher: Watcher | None = None,
    passes: Sequence[LoweringPass] | None = None,
) -> PrimFunc:
    """The function after passes, up to the last one named `stop_after`.

    By default these are PASSES, or AS_OLDER_PASSES if `switches.lowering` asks for them.
    `switches.lowering` may disable passes and add others; `simple_mode` disables partition_loops. A
    `watcher` is notified of each pass.
    """
    settings = switches.lowering
    if passes is None:
        passes = AS_OLDER_PASSES if settings.as_older else PASSES
    if func.origin != "schedule":
        passes = (*(passes_of if settings.to_run else printed_passes_of)(func), *passes)
    chosen = _chosen_passes(passes, settings)
    if stop_after is not None:
        chosen = chosen[: _end_of(chosen, stop_after)]
    if simple_mode:
        chosen = [
            lowering_pass
            for lowering_pass in chosen
            if lowering_pass.function is not partition_loops
        ]
    return apply_passes(chosen, func, switches, watcher)


def _end_of(passes: Sequence[LoweringPass], name: str) -> int:
    """The number of passes up to the last one of a name; 0 for the making of loops."""
    if name == "schedule_ops":
        return 0
    numbers = [
        number for number, lowering_pass in enumerate(passes, 1) if lowering_pass.name == name
    ]
    if not numbers:
        raise LoweringError(
            f"pass {repr_of(name)} of stop_after is disabled",
            "disabled_pass of the PassContext contains it",
            "stop after another one, or lower outside of the PassContext",
        )
    return numbers[-1]


def _chosen_passes(passes: Sequence[LoweringPass], settings: Lowering) -> list[LoweringPass]:
    """Passes without those that a program disables, and with those that it adds."""
    added = [
        LoweringPass(
            _with_settings(user_pass),
            _PHASE_LEVELS[min(phase, 3)],
            min(phase, 3),
            getattr(user_pass, "info", None),
        )
        for phase, user_pass in settings.added_passes
    ]
    chosen = [
        lowering_pass
        for lowering_pass in passes
        if lowering_pass.name not in settings.disabled_passes
    ]
    return sorted([*added, *chosen], key=lambda lowering_pass: lowering_pass.phase)


def _with_settings(
    user_pass: Callable[[PrimFunc], PrimFunc],
) -> Callable[[PrimFunc, Lowering], PrimFunc]:
    """A user's pass in the form of te_sched's passes."""

    def run(func: PrimFunc, settings: Lowering) -> PrimFunc:
        return user_pass(func)

    run.__name__, run.__doc__ = getattr(user_pass, "__name__", repr(user_pass)), user_pass.__doc__
    return run


def _named(func: PrimFunc, name: str) -> PrimFunc:
    """A function that is lowered alone: its buffers are taken to be distinct, as in TVM."""
    return replace(func, attrs={**func.attrs, "global_symbol": name, "tir.noalias": True})


def check_name(name: str) -> None:
    """Refuse an invalid name of a function."""
    if why_no_text(name) is not None or not name or "\0" in name:
        raise LoweringError(
            f"name of a function must be a non-empty string, got {repr_of(name)}",
            why_no_text(name) or "",
            "give a string",
        )


def check_parameters(
    call: str,
    inputs: Any,
    args: Any,
    binds: Any = None,
    error: type[TeSchedError] = LoweringError,
) -> None:
    """Refuse parameters of a function for programs that have their own."""
    if not isinstance(inputs, PrimFunc | IRModule | BlockSchedule | Mapping):
        return
    for name, value in (("args", args), ("binds", binds)):
        if value is not None and not (is_sequence(value) and not len(value)):
            raise error(
                f"{call} takes no {name} with {kind_of(inputs)}, got {repr_of(value)}",
                "functions have their own parameters",
                f"leave {name} out",
            )


def _check_binds(binds: Any) -> None:
    if binds is not None and not isinstance(binds, Mapping):
        raise LoweringError(
            f"binds must be a mapping of tensors to buffers, got {repr_of(binds)}",
            help="give {tensor: buffer}",
        )
    bound: dict[Var, Tensor] = {}
    for tensor, buffer in (binds or {}).items():
        if not isinstance(tensor, Tensor):
            raise LoweringError(
                f"key of binds must be a tensor, got {repr_of(tensor)}",
                help="give {tensor: buffer}",
            )
        check_buffer_of(tensor, buffer, "lower")
        if (other := bound.setdefault(buffer.data, tensor)) is not tensor:
            raise LoweringError(
                f"tensors {other.name} and {tensor.name} are bound to one buffer, {buffer.name}",
                "each would overwrite the other",
                "declare a buffer for each tensor: tir.decl_buffer(tensor.shape, tensor.dtype)",
            )


def _checked_args(args: Any) -> list[Any]:
    if args is None:
        raise LoweringError(
            "args is required to lower a schedule",
            "it has the parameters of the function",
            "pass the tensors that the caller gives and receives: te_sched.lower(s, [A, B, C])",
        )
    others = (Tensor, Buffer, Var, Mapping, Set, str)
    if isinstance(args, others) or not isinstance(args, Iterable):
        description = (
            kind_of(args) if isinstance(args, Set) else repr_of(args)
        )  # sets are unordered
        raise LoweringError(
            f"args must be a list of tensors, buffers or variables, got {description}",
            "the parameters of a function have an order",
            "pass them as a list: [A, B, C]",
        )
    arguments = list(args)
    seen: set[Buffer | Var] = set()
    for position, arg in enumerate(arguments):
        if isinstance(arg, Buffer | Var) and arg in seen:
            raise LoweringError(
                f"args[{position}], {arg.name}, is given twice",
                help="name every argument once",
            )
        if isinstance(arg, Buffer | Var):
            seen.add(arg)
        if not isinstance(arg, (Tensor, Buffer, Var)):
            raise LoweringError(
                f"args[{position}] must be a tensor, buffer or variable, got {repr_of(arg)}",
                help="give tensors, variables of their shapes, or buffers from decl_buffer",
            )
    return arguments
