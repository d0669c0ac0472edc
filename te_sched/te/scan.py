"""Declaring scans: states that grow along their first dimension. Must not know schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import IntImm, IterVar, ProducerLoad, Range, Var
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import walk
from te_sched.te.declare import axis_of, check_labels, checked_name
from te_sched.te.operation import ComputeOp, Operation, ScanOp
from te_sched.te.tag import tag_or_current
from te_sched.te.tensor import Tensor, tensor_label


@overload
def scan(
    init: Tensor,
    update: Tensor,
    state_placeholder: Tensor,
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Tensor: ...
@overload
def scan(
    init: Sequence[Tensor],
    update: Sequence[Tensor],
    state_placeholder: Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> list[Tensor]: ...
def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Tensor | list[Tensor]:
    """A recurrence along the first dimension.

    Parameters
    ----------
    init : tensors with the first entries of each state.
    update : tensors with all entries, which read the earlier ones from the placeholders.
    state_placeholder : placeholders with the shapes of the states.
    inputs : the other tensors that `update` reads (kept for the user; found anyway).

    Returns
    -------
    The state, or a list of them when lists are given.

    Example
    -------
    >>> S = te.placeholder((8, 4), name="S")
    >>> init = te.compute((1, 4), lambda _, i: 0.0, name="init")
    >>> update = te.compute((8, 4), lambda t, i: S[t - 1, i] + 1, name="update")
    >>> te.scan(init, update, S, name="scan")
    Tensor(shape=[8, 4], op.name=scan)
    """
    what = f"scan {checked_name(name, 'scan')}"
    check_labels(tag, attrs, what)
    others = _tensors(inputs, name) if inputs is not None else ()
    states = [_tensors(tensors, name) for tensors in (init, update, state_placeholder)]
    first, steps, places = states
    if not first or not len(first) == len(steps) == len(places):
        raise DeclarationError(
            f"scan {name} has {len(first)} initial tensors, {len(steps)} updates and"
            f" {len(places)} placeholders",
            "each state needs one of each",
            "give lists of the same length",
        )
    for start, step, placeholder in zip(first, steps, places, strict=True):
        _check_state(start, step, placeholder, name)
    for at, step in enumerate(steps):
        _check_past(step, places, at, name)
    op = ScanOp(
        name,
        tag_or_current(tag),
        attrs,
        _scan_axis(first[0], steps[0], name),
        tuple(
            [
                axis_of(extent, f"{name}.out{at}.i{dimension}", "Opaque")
                for at, state in enumerate(places)
                for dimension, extent in enumerate(state.shape)
                if dimension > 0
            ]
        ),
        first,
        steps,
        places,
        others,
    )
    return op.output(0) if isinstance(init, Tensor) else list(op.outputs)


def _tensors(states: Any, name: str) -> tuple[Tensor, ...]:
    tensors = tuple(states) if isinstance(states, list | tuple) else (states,)
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or tensor.ndim == 0:
            raise DeclarationError(
                f"a state of scan {name} is {repr_of(tensor)}, expected a tensor of at least one "
                "dimension",
                "",
                "give tensors of te.compute and te.placeholder",
            )
    return tensors


def _check_state(init: Tensor, update: Tensor, state: Tensor, name: str) -> None:
    for tensor, what in ((init, "initial tensor"), (update, "update")):
        if tensor.dtype != state.dtype:
            problem = f"dtype {tensor.dtype}, expected {state.dtype}"
        elif tensor.ndim != state.ndim:
            problem = f"{tensor.ndim} dimensions, expected {state.ndim}"
        elif not all(map(structural_equal, tensor.shape[1:], state.shape[1:])):
            problem = "other dimensions after the first than the state"
        elif tensor is update and not structural_equal(tensor.shape[0], state.shape[0]):
            problem = "another first dimension (the time) than the state"
        else:
            continue
        raise DeclarationError(
            f"the {what} of scan {name} has {problem}",
            f"it is {_text(tensor)}, the state {_text(state)}",
            "declare them with one shape and type; only the initial tensor is shorter",
            tensor_label(tensor),
        )


def _text(tensor: Tensor) -> str:
    """The name of a tensor with its shape and type: `state(5, n) float32`."""
    return f"{tensor.name}({', '.join(map(str, tensor.shape))}) {tensor.dtype}"


def _check_past(update: Tensor, places: tuple[Tensor, ...], at: int, name: str) -> None:
    """An update reads entries that are there: earlier ones, or those just made of states before."""
    analyzer = Analyzer()
    seen: set[tuple[Operation, int]] = set()
    pending = [(update.op, 0)]
    while pending:
        op, ahead = pending.pop()
        if (op, ahead) in seen or not isinstance(op, ComputeOp) or not op.axis:
            continue
        seen.add((op, ahead))
        for load in [node for body in op.body for node in walk(body)]:
            if type(load) is not ProducerLoad or not load.indices:
                continue
            distance = analyzer.simplify(load.indices[0] - op.axis[0].var)
            if not isinstance(distance, IntImm):
                continue
            steps = ahead + distance.value
            late = places.index(load.producer) if load.producer in places else None
            if late is None:
                pending.append((load.producer.op, steps))  # type: ignore[attr-defined]
            elif steps > 0 or (steps == 0 and late >= at):
                raise DeclarationError(
                    f"update {update.name} of scan {name} reads {load} before it is computed",
                    f"{op.name} reads it at the same step or later",
                    "read the state at an earlier step: state[t - 1, ...]",
                    tensor_label(update),
                )


def _scan_axis(init: Tensor, update: Tensor, name: str) -> IterVar:
    start, end = ops.match_types(init.shape[0], update.shape[0])
    if isinstance(start, IntImm) and isinstance(end, IntImm) and start.value > end.value:
        raise DeclarationError(
            f"the initial tensor of scan {name} has {start.value} entries, more than the state, "
            f"which has {end.value}",
            f"they are {_text(init)} and {_text(update)}",
            "shorten the initial tensor to the first entries of the state",
            tensor_label(init),
        )
    domain = Range(start, ops.sub(end, start))
    return IterVar(domain, Var(f"{name}.idx", start.dtype), "Ordered")
