"""Checks of the arguments of primitives.

Every check raises a ScheduleError and changes nothing. Must not know any single primitive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any

from te_sched.errors import (
    DeclarationError,
    ScheduleError,
    TeSchedError,
    Where,
    kind_of,
    repr_of,
    with_article,
)
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, IterVar
from te_sched.ir.message_text import spelled
from te_sched.ir.storage_scopes import advice_on_scope, is_storage_scope
from te_sched.ir.visitor import reads_data, variables_of
from te_sched.schedule.relations import spread_down
from te_sched.schedule.source_locations import At, draw_loops
from te_sched.schedule.state import StageState
from te_sched.te.operation import ComputeOp, Operation
from te_sched.te.tensor import Tensor


def names(items: Iterable[Any]) -> str:
    """Names of axes, operations or tensors as a list in a sentence."""
    texts = [item.var.name if isinstance(item, IterVar) else item.name for item in items]
    return ", ".join(texts) if texts else "none"


def stage_label(stage: StageState) -> str:
    """The name of a stage in messages, such as "stage B"."""
    return "a group" if stage.is_group else f"stage {stage.op.name}"


def check_operation(stage: StageState, action: str) -> None:
    """Refuse a group, which has no loops.

    An `action` stands between "cannot" and the stage or axis: "split", "apply rfactor to".
    """
    if stage.is_group:
        raise ScheduleError(
            f"cannot {action} a group",
            "a group has no loops of its own",
            "use it on a stage of the group: s[tensor]",
        )


def leaf_position(stage: StageState, axis: Any, action: str) -> int:
    """The position of an axis among the loops of a stage."""
    check_operation(stage, action)
    if not isinstance(axis, IterVar):
        separately = ", each as an argument of its own" if isinstance(axis, list | tuple) else ""
        raise ScheduleError(
            f"cannot {action} {brief(axis)}: expected an axis of {stage_label(stage)}, "
            f"got {kind_of(axis)}",
            help=f"give one of its axes{separately}: {names(stage.leaf_iter_vars)}",
            where=At(stage),
        )
    for position, leaf in enumerate(stage.leaf_iter_vars):
        if leaf is axis:
            return position
    subject, why = _why_no_leaf(stage, axis)
    raise ScheduleError(
        f"cannot {action} {subject}",
        why,
        f"use one of its axes: {names(stage.leaf_iter_vars)}",
        At(stage, axis),
        draw_loops(stage, _descendants(stage, axis)),
    )


def _descendants(stage: StageState, axis: IterVar) -> dict[IterVar | StageState, str]:
    """Marks for a drawing, on the loops derived from an axis."""
    flags = spread_down(stage.relations, {axis: 1})
    name = axis.var.name
    return {leaf: f"comes from {name}" for leaf in stage.leaf_iter_vars if leaf in flags}


def _why_no_leaf(stage: StageState, axis: IterVar) -> tuple[str, str]:
    """The fault of an axis that is not a loop of the stage, and its reason."""
    name, label, own = f"axis {axis.var.name}", stage_label(stage), stage.origin_op
    fate = stage.fates.get(axis)
    if fate is not None:
        location = f" at {fate.place}" if fate.place.file else ""
        return f"{name} of {label}: the axis was {fate.text}{location}", ""
    if any(axis is iter_var for iter_var in stage.all_iter_vars):
        return f"{name} of {label}: it is not a loop", "the enclosing operation gives its values"
    for other in stage.schedule.stages:
        if any(axis is iter_var for iter_var in other.all_iter_vars) or axis in other.fates:
            is_alike = other.op.name == stage.op.name
            location = f" declared at {other.origin_op.place}" if is_alike else ""
            return f"{name}: it is an axis of {stage_label(other)}{location}, not of {label}", ""
    if axis.kind == "ThreadIndex":
        return f"thread {name}: it is not a loop", f"an axis of {label} can be bound to it"
    if any(
        (iter_var.var.name, iter_var.kind) == (axis.var.name, axis.kind)
        for iter_var in own.root_iter_vars()
    ):
        location = f" declared at {own.place}" if own.place.file else ""
        return (
            f"{name}: it is not the {axis.var.name} of {label}",
            "it comes from another declaration; this schedule uses the "
            f"{own.name}{location}, whose axes are s[{own.name}].op.axis",
        )
    return f"{name}: it belongs to no stage of this schedule", ""


def check_kind(stage: StageState, axis: IterVar, kinds: tuple[str, ...], action: str) -> None:
    """Refuse an axis of another kind."""
    if axis.kind not in kinds:
        legal = [leaf for leaf in stage.leaf_iter_vars if leaf.kind in kinds]
        kind, why = KINDS[axis.kind]
        raise ScheduleError(
            f"cannot {action} {kind} {axis.var.name} of {stage_label(stage)}",
            why,
            f"use one of {names(legal)}" if legal else "use it on another stage",
            At(stage, axis),
        )


# The name of each kind of axis in messages, and the reason why a primitive refuses it.
KINDS = {
    "DataPar": ("output axis", ""),
    "CommReduce": ("reduction axis", "its iterations depend on each other"),
    "Ordered": ("scan axis", "its iterations run in order"),
    "ThreadIndex": ("thread axis", "its iterations are the threads of a launch"),
    "Opaque": ("opaque axis", "it has no loop"),
}


def check_distinct(stage: StageState, axes: Iterable[IterVar], action: str) -> None:
    """Refuse an axis that is given twice."""
    seen: set[IterVar] = set()
    for axis in axes:
        if axis in seen:
            raise ScheduleError(
                f"axis {axis.var.name} is given twice to {action}",
                help="give every axis once",
                where=At(stage, axis),
            )
        seen.add(axis)


def positive_integer(value: Any, name: str, action: str, stage: StageState, axis: IterVar) -> Expr:
    """The expression of a loop length: an int >= 1 or an integer expression."""
    where, label = At(stage, axis), f"{action} {name} of axis {axis.var.name}"
    expr = as_expr(value, label, where)
    if isinstance(value, bool) or not dtypes.is_integral(expr.dtype):
        raise ScheduleError(
            f"{label} must be an integer, got {brief(value)}",
            help=f"give an int >= 1 or an integer expression{_rounded(value)}",
            where=where,
        )
    if reads_data(expr):
        raise ScheduleError(
            f"{label} reads data: {spelled(expr)}",
            "the extent of a loop is a constant or an argument of the call",
            "give an int, or a te.var that is an argument of the program",
            where,
        )
    used = variables_of(expr)
    own = [iter_var for iter_var in stage.all_iter_vars if iter_var.var in used]
    if own or isinstance(value, IterVar):
        reads = (
            f"reads {brief(own[0])} of the same stage: {spelled(expr)}"
            if own
            else f"is {brief(value)}"
        )
        raise ScheduleError(
            f"{label} {reads}",
            "the extent of a loop is a constant or an argument of the call",
            "give an int, or a te.var that is an argument of the program",
            where,
        )
    if isinstance(expr, IntImm) and expr.value < 1:
        raise ScheduleError(
            f"{label} must be at least 1, got {expr.value}",
            help="give a positive integer",
            where=where,
        )
    largest = ops.int_limits(axis.var.dtype)[1]
    if isinstance(expr, IntImm) and expr.value > largest:
        raise ScheduleError(
            f"{label} must be at most {largest}, got {expr.value}",
            f"the axis counts in {axis.var.dtype}",
            "give a smaller number",
            where,
        )
    return expr


def flag(value: Any, label: str, where: Where = ()) -> bool:
    """The bool of an argument."""
    try:
        return bool(value)
    except (TypeError, ValueError, TeSchedError) as error:
        raise ScheduleError(
            f"{label} must be True or False, got {brief(value)}",
            f"{kind_of(value)} has no truth value",
            "give True or False",
            where,
        ) from error


def _rounded(value: Any) -> str:
    if not isinstance(value, float) or not math.isfinite(value):
        return ""
    return f", for example {max(1, int(value))}"


def integer(value: Any, label: str, stage: StageState) -> int:
    """The value of an int or integer constant."""
    if isinstance(value, IntImm) and value.dtype != "bool":
        return value.value
    try:
        number = index(value)
    except TypeError:  # also of arrays
        number = None
    if number is None or isinstance(value, bool):
        raise ScheduleError(
            f"{label} must be an int, got {brief(value)}",
            f"it is {kind_of(value)}",
            "give an int",
            At(stage),
        )
    low, high = ops.int_limits("int32")
    if not low <= number <= high:
        raise ScheduleError(
            f"{label} must be from {low} to {high}, got {repr_of(number)}",
            help="give a smaller number",
            where=At(stage),
        )
    return number


def as_expr(value: Any, label: str, where: Where) -> Expr:
    """The expression that an argument converts to."""
    try:
        return ops.convert(value)
    except DeclarationError as error:
        fault = f"{label} must be an expression, got {brief(value)}"
        raise ScheduleError(fault, error.why or error.fault, error.help, where) from None


def check_scope(scope: Any, called: str, where: Where, is_empty_allowed: bool = False) -> str:
    """A storage scope, checked."""
    if is_empty_allowed and isinstance(scope, str) and not scope:
        return ""
    if not isinstance(scope, str) or not is_storage_scope(scope):
        raise ScheduleError(
            f"unknown storage scope {brief(scope)} in {called}",
            help=advice_on_scope(scope),
            where=where,
        )
    return scope


def compute_operation(stage: StageState, action: str) -> ComputeOp:
    """The operation of a stage, which must be a compute."""
    check_operation(stage, action)
    if not isinstance(stage.op, ComputeOp):
        raise ScheduleError(
            f"cannot {action} {stage_label(stage)}: "
            f"it is {with_article(type(stage.op).__name__)}, not a te.compute",
            help="copy it by te.compute first",
            where=At(stage),
        )
    return stage.op


def brief(value: Any) -> str:
    """A short description of a value for messages."""
    if isinstance(value, StageState):
        return stage_label(value)
    if isinstance(value, IterVar):
        return f"axis {value.var.name}"
    if isinstance(value, (Tensor, Operation)):
        return f"{type(value).__name__} {value.name}"
    if isinstance(value, IntImm):
        return str(value.value)
    if isinstance(value, Expr):
        text = spelled(value)
        return text if len(text) <= 40 else kind_of(value)
    return repr_of(value, 40)
