"""Lowering: the story from a schedule to a program, as one tuple of passes.

`lower` prints what TVM printed, also for a schedule that would race; whether a program may run is
judged by
`build`. Each pass maps a PrimFunc to a PrimFunc and does nothing where it has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from te_sched import config
from te_sched.config import Lowering
from te_sched.deep import walks_deeply
from te_sched.errors import LoweringError, did_you_mean, kind_of, repr_of, why_no_text
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.reals import as_reals
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.verify import verify
from te_sched.ir.visitor import replace
from te_sched.lower.assemble import schedule_ops
from te_sched.lower.bounds import infer_bound
from te_sched.lower.eliminate_common_subexpressions import eliminate_common_subexpressions
from te_sched.lower.flatten_storage import flatten_storage
from te_sched.lower.hoist_conditions import hoist_conditions
from te_sched.lower.inject_double_buffer import inject_double_buffer
from te_sched.lower.inject_prefetch import inject_prefetch
from te_sched.lower.inject_virtual_threads import inject_virtual_threads
from te_sched.lower.narrow_index_types import narrow_index_types
from te_sched.lower.partition_loops import partition_loops
from te_sched.lower.remove_no_op import remove_no_op
from te_sched.lower.renormalize_split_patterns import renormalize_split_patterns
from te_sched.lower.rewrite_storage import rewrite_storage
from te_sched.lower.rewrite_unsafe_select import rewrite_unsafe_select
from te_sched.lower.show_passes import PassPrinter, shown
from te_sched.lower.simplify import simplify
from te_sched.lower.unroll_loops import unroll_loops
from te_sched.lower.vectorize_loops import vectorize_loops
from te_sched.schedule.normalize import fold_reals
from te_sched.schedule.places import adding_places
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked_as
from te_sched.te.extern import check_buffer_of
from te_sched.te.tensor import Tensor
from te_sched.trace.observing import observers

Pass = Callable[[PrimFunc], PrimFunc]

_HOISTING: tuple[Pass, str] = (hoist_conditions, "vector")

# What happens to a program after schedule_ops, and the level of the IR (see ir.verify) that each
# pass leaves.
PASSES: tuple[tuple[Pass, str], ...] = (
    (inject_prefetch, "buffers"),
    (flatten_storage, "flat"),
    (narrow_index_types, "flat"),
    (simplify, "flat"),
    (partition_loops, "flat"),
    (vectorize_loops, "vector"),
    (inject_virtual_threads, "vector"),
    (inject_double_buffer, "vector"),
    (rewrite_storage, "vector"),
    (simplify, "vector"),
    (remove_no_op, "vector"),
    _HOISTING,
    (unroll_loops, "vector"),
    (renormalize_split_patterns, "vector"),
    (simplify, "vector"),
    (remove_no_op, "vector"),
    (rewrite_unsafe_select, "vector"),
    (eliminate_common_subexpressions, "final"),
)

# TVM 0.9 hoisted conditions out of the loops that unrolling had left.
_OLDER_PASSES = (
    *(one for one in PASSES[:-1] if one is not _HOISTING),
    _HOISTING,
    PASSES[-1],
)

# After which passes the phases 1, 2 and 3 of `config.Lowering.added_passes` come.
_PHASE_ENDS = ("simplify", "unroll_loops", "rewrite_unsafe_select")


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
    """The lowered program of a schedule.

    Parameters
    ----------
    inputs : a Schedule; a PrimFunc or IRModule is lowered from where it stands.
    args : the parameters of the function: tensors, buffers and variables, inputs and outputs.
    name : the name of the function.
    binds : buffers to use for some of the tensors.
    simple_mode : leave loops and their guards whole, which is easier to read.
    stop_after : name of the pass to stop after, "schedule_ops" or one of `pass_names()`.
    show : "passes" prints the program, and then the lines that each pass changes.

    Returns
    -------
    A module with one function. Its `str` is TVMScript, its `astext()` the older primfn text.

    Raises
    ------
    LoweringError when args do not fit the schedule or the schedule cannot be turned into loops.
    """
    if stop_after is not None and stop_after not in pass_names():
        raise LoweringError(
            f"lower(..., stop_after={repr_of(stop_after)})",
            "there is no such pass",
            "use one of " + ", ".join(pass_names()) + did_you_mean(stop_after, pass_names()),
        )
    _check_name(name)
    with shown(show) as printer:
        if isinstance(inputs, IRModule):
            return _lower_functions(inputs.functions, stop_after, simple_mode, printer)
        if isinstance(inputs, PrimFunc):
            return _lower_functions({name: _named(inputs, name)}, stop_after, simple_mode, printer)
        return _lower_schedule(inputs, args, name, binds, simple_mode, stop_after, printer)


def _lower_functions(
    funcs: Mapping[str, PrimFunc],
    stop_after: str | None,
    simple_mode: bool,
    printer: PassPrinter | None,
) -> IRModule:
    lowered = {}
    for name, func in funcs.items():
        if printer is not None:
            printer.begin(func, f"{name}: the program that is given")
        if not config.current().lowering.to_run:
            func = as_reals(func)
        lowered[name] = run_passes(func, stop_after, simple_mode, printer)
    return IRModule(lowered)


def _lower_schedule(
    inputs: Schedule,
    args: Sequence[Any] | None,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
    simple_mode: bool,
    stop_after: str | None,
    printer: PassPrinter | None,
) -> IRModule:
    if not isinstance(inputs, Schedule):
        raise LoweringError(
            f"lower {kind_of(inputs)}",
            "it is not a schedule",
            "pass what te.create_schedule returned",
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
        )
    with adding_places(inputs):
        func = _loops(inputs, arguments, name, binds)
        if printer is not None:
            printer.begin(func, "schedule_ops: The loops as they are scheduled")
        if stop_after != "schedule_ops":
            func = run_passes(func, stop_after, simple_mode, printer)
    module = IRModule({name: func})
    for observer in observers:
        observer.lowered(inputs, module)
    return module


@walks_deeply("show the loops of a schedule")
def scheduled_loops(schedule: Schedule, args: Sequence[Any]) -> PrimFunc:
    """What `lower(schedule, args, stop_after="schedule_ops")` gives, to look at: no observer is
    told, since nothing is lowered on behalf of the user's program.
    """
    with adding_places(schedule):
        return _loops(schedule, _checked_args(args))


def _loops(
    inputs: Schedule,
    arguments: Sequence[Any],
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> PrimFunc:
    schedule = inputs.normalize()
    if config.current().lowering.to_run:
        func = schedule_ops(schedule, infer_bound(schedule), arguments, name, binds or {})
    else:
        fold_reals(schedule)
        func = schedule_ops(schedule, infer_bound(schedule), arguments, name, binds or {})
        func = as_reals(func)  # what users wrote in statements
    if config.current().verify_passes:
        verify(func, "buffers")
    return func


def pass_names() -> list[str]:
    """Names that `stop_after` takes, in the order of lowering."""
    return list(dict.fromkeys(["schedule_ops", *(one.__name__ for one, _ in PASSES)]))


def run_passes(
    func: PrimFunc,
    stop_after: str | None = None,
    simple_mode: bool = False,
    printer: PassPrinter | None = None,
) -> PrimFunc:
    """The function after the passes of PASSES, up to the last one named `stop_after`.

    `config.Lowering` may leave out passes and add some; `simple_mode` leaves out partition_loops.
    A `printer` is told of each pass.
    """
    switches = config.current()
    check, passes = switches.verify_passes, _chosen_passes(switches.lowering)
    last = len(passes) if stop_after is None else _end_of(passes, stop_after)
    for one, level in passes[:last]:
        if simple_mode and one is partition_loops:
            continue
        func = one(func)
        if printer is not None:
            printer.after(one, func)
        if check:
            verify(func, level)
    return func


def _end_of(passes: Sequence[tuple[Pass, str]], name: str) -> int:
    """How many passes there are up to the last one of a name."""
    found = [number for number, (one, _) in enumerate(passes, 1) if _name_of(one) == name]
    if not found:
        raise LoweringError(
            f"lower(..., stop_after={repr_of(name)})",
            "this pass is switched off (disabled_pass)",
            "stop after another one, or lower outside of the PassContext",
        )
    return found[-1]


def _chosen_passes(choices: Lowering) -> tuple[tuple[Pass, str], ...]:
    """PASSES with what a program takes away and adds."""
    passes = _OLDER_PASSES if choices.as_older else PASSES
    if not choices.disabled_passes and not choices.added_passes:
        return passes
    chosen, level = [(one, "buffers") for one in _added(choices, 0)], "buffers"
    phase = 1
    for one, level in passes:
        if one.__name__ not in choices.disabled_passes:
            chosen.append((one, level))
        if phase < 4 and one.__name__ == _PHASE_ENDS[phase - 1]:
            chosen += [(added, level) for added in _added(choices, phase)]
            phase += 1
    return tuple(chosen)


def _added(choices: Lowering, phase: int) -> list[Pass]:
    return [one for when, one in choices.added_passes if min(when, 3) == phase]


def _name_of(one: Pass) -> str:
    return getattr(one, "__name__", "")


def _named(func: PrimFunc, name: str) -> PrimFunc:
    return replace(func, attrs={**func.attrs, "global_symbol": name})


def _check_name(name: str) -> None:
    if why_no_text(name) is not None or not name or "\0" in name:
        raise LoweringError(
            f"lower with name={repr_of(name)}", "it is no name of a function", "give a string"
        )


def _check_binds(binds: Any) -> None:
    if binds is not None and not isinstance(binds, Mapping):
        raise LoweringError(
            f"lower with binds={repr_of(binds)}", "it is no mapping", "give {tensor: buffer}"
        )
    bound: dict[Var, Tensor] = {}
    for tensor, buffer in (binds or {}).items():
        if not isinstance(tensor, Tensor):
            raise LoweringError(
                f"lower with {repr_of(tensor)} in binds", "it is no tensor", "give {tensor: buffer}"
            )
        check_buffer_of(tensor, buffer, "lower")
        if (other := bound.setdefault(buffer.data, tensor)) is not tensor:
            raise LoweringError(
                f"tensors {other.name} and {tensor.name} are bound to one buffer, {buffer.name}",
                "each would be stored over the other",
                "declare a buffer for each tensor: tir.decl_buffer(tensor.shape, tensor.dtype)",
            )


def _checked_args(args: Any) -> list[Any]:
    if args is None:
        raise LoweringError(
            "lower a schedule without args",
            "the parameters of the function are not known",
            "pass the tensors that the caller gives and receives: te_sched.lower(s, [A, B, C])",
        )
    others = (Tensor, Buffer, Var, Mapping, Set, str)
    if isinstance(args, others) or not isinstance(args, Iterable):
        given = kind_of(args) if isinstance(args, Set) else repr_of(args)  # which has an order
        raise LoweringError(
            f"lower with args={given}",
            f"{kind_of(args)} is no list of arguments, which have an order",
            "write te_sched.lower(s, [A, B, C])",
        )
    arguments = list(args)
    seen: set[Buffer | Var] = set()
    for position, arg in enumerate(arguments):
        if isinstance(arg, Buffer | Var) and arg in seen:
            raise LoweringError(
                f"lower with args[{position}] = {arg.name}",
                "it is given twice",
                "name every argument once",
            )
        if isinstance(arg, Buffer | Var):
            seen.add(arg)
        if not isinstance(arg, (Tensor, Buffer, Var)):
            raise LoweringError(
                f"lower with args[{position}] = {repr_of(arg)}",
                f"{kind_of(arg)} cannot be a parameter",
                "args are tensors, variables of the shapes, or buffers from decl_buffer",
            )
    return arguments
