"""What the primitives demand of their arguments, and the errors when they do not get it.

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
    did_you_mean,
    kind_of,
    repr_of,
)
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, IterVar
from te_sched.ir.visitor import reads_data
from te_sched.schedule.relations import spread_down
from te_sched.schedule.source_locations import At, draw_loops
from te_sched.schedule.state import StageState
from te_sched.te.operation import ComputeOp, Operation
from te_sched.te.tensor import Tensor

STORAGE_SCOPES = ("global", "shared", "warp", "local", "wmma", "m16n8k8", "texture")


def names(items: Iterable[Any]) -> str:
    """Names of axes, operations or tensors as a list in a sentence."""
    texts = [item.var.name if isinstance(item, IterVar) else item.name for item in items]
    return ", ".join(texts) if texts else "none"


def stage_label(stage: StageState) -> str:
    """ "stage B", for the `where` of an error."""
    return "a group" if stage.is_group else f"stage {stage.op.name}"


def check_operation(stage: StageState, what: str) -> None:
    """Groups have no loops."""
    if stage.is_group:
        raise ScheduleError(
            f"{what} of a group",
            "a group has no loops of its own",
            "use it on a stage of the group: s[tensor]",
        )


def leaf_position(stage: StageState, axis: Any, what: str) -> int:
    """Where an axis stands among the loops of a stage."""
    check_operation(stage, what)
    if not isinstance(axis, IterVar):
        raise ScheduleError(
            f"{what} with {brief(axis)} for an axis",
            f"{kind_of(axis)} is not an axis",
            f"give one of its axes: {names(stage.leaf_iter_vars)}",
            At(stage),
        )
    for position, leaf in enumerate(stage.leaf_iter_vars):
        if leaf is axis:
            return position
    raise ScheduleError(
        f"{what} on axis {axis.var.name}",
        _why_no_leaf(stage, axis),
        f"use one of its axes: {names(stage.leaf_iter_vars)}",
        At(stage, axis),
        draw_loops(stage, _descendants(stage, axis)),
    )


def _descendants(stage: StageState, axis: IterVar) -> dict[IterVar | StageState, str]:
    """The loops that an axis became, for a drawing."""
    flags = spread_down(stage.relations, {axis: 1})
    name = axis.var.name
    return {leaf: f"comes from {name}" for leaf in stage.leaf_iter_vars if leaf in flags}


def _why_no_leaf(stage: StageState, axis: IterVar) -> str:
    name = axis.var.name
    fate = stage.fates.get(axis)
    if fate is not None:
        return f"{name} was {fate.text}" + (f" at {fate.place}" if fate.place.file else "")
    if any(axis is known for known in stage.all_iter_vars):
        return f"{name} is not a loop: its values are those of the operation round the stage"
    for other in stage.schedule.stages:
        if any(axis is known for known in other.all_iter_vars) or axis in other.fates:
            return f"{name} is an axis of stage {other.op.name}"
    if axis.kind == "ThreadIndex":
        return f"{name} is a thread axis; bind an axis of the stage to it"
    return f"{name} belongs to no stage of this schedule"


def check_kind(stage: StageState, axis: IterVar, kinds: tuple[str, ...], what: str) -> None:
    """The kind of an axis."""
    if axis.kind not in kinds:
        legal = [leaf for leaf in stage.leaf_iter_vars if leaf.kind in kinds]
        raise ScheduleError(
            f"{what} on axis {axis.var.name}",
            f"{axis.var.name} is {KIND_TEXT[axis.kind]}",
            f"it can be done on {names(legal)}",
            At(stage, axis),
        )


KIND_TEXT = {
    "DataPar": "an axis of the output",
    "CommReduce": "a reduction axis, whose iterations depend on each other",
    "Ordered": "the axis of a scan, whose iterations follow each other",
    "ThreadIndex": "a thread axis",
    "Opaque": "an axis without loop",
}


def check_distinct(stage: StageState, axes: Iterable[IterVar], what: str) -> None:
    """No axis is given twice."""
    seen: set[IterVar] = set()
    for axis in axes:
        if axis in seen:
            raise ScheduleError(
                f"{what} with axis {axis.var.name} twice",
                "an axis has one place in the loops",
                "give every axis once",
                At(stage, axis),
            )
        seen.add(axis)


def positive_integer(
    value: Any, name: str, what: str, stage: StageState, axis: IterVar | None = None
) -> Expr:
    """An int or an integer expression that is not a constant below 1."""
    where = At(stage, axis)
    expr = as_expr(value, f"{what} with {name}={brief(value)}", where)
    if isinstance(value, bool) or not dtypes.is_integral(expr.dtype):
        raise ScheduleError(
            f"{what} with {name}={brief(value)}",
            f"{name} is an integer, not {kind_of(value)}",
            f"give an int >= 1 or an integer expression{_rounded(value)}",
            where,
        )
    if reads_data(expr):
        raise ScheduleError(
            f"{name} {expr} reads data: {what}",
            "the length of a loop is known before the program runs, or told by its call",
            "give an int, or a te.var that is an argument of the program",
            where,
        )
    if isinstance(expr, IntImm) and expr.value < 1:
        raise ScheduleError(
            f"{what} with {name}={expr.value}",
            f"{name} is at least 1",
            "give a positive integer",
            where,
        )
    if isinstance(expr, IntImm) and axis is not None:
        largest = ops.int_limits(axis.var.dtype)[1]
        if expr.value > largest:
            raise ScheduleError(
                f"{what} with {name}={expr.value}",
                f"axis {axis.var.name} counts in {axis.var.dtype}, up to {largest}",
                "give a smaller number",
                where,
            )
    return expr


def flag(value: Any, name: str, what: str, where: Where = ()) -> bool:
    """Anything that has a truth value."""
    try:
        return bool(value)
    except (TypeError, ValueError, TeSchedError) as error:
        raise ScheduleError(
            f"{what} with {name}={brief(value)}",
            f"{kind_of(value)} is neither true nor false",
            "give True or False",
            where,
        ) from error


def _rounded(value: Any) -> str:
    if not isinstance(value, float) or not math.isfinite(value):
        return ""
    return f", for example {max(1, int(value))}"


def integer(value: Any, name: str, what: str, stage: StageState) -> int:
    """A Python integer, or a constant."""
    if isinstance(value, IntImm) and value.dtype != "bool":
        return value.value
    try:
        number = index(value)
    except TypeError:  # also of arrays
        number = None
    if number is None or isinstance(value, bool):
        raise ScheduleError(
            f"{what} with {name}={brief(value)}",
            f"{name} is {kind_of(value)}",
            "give an int",
            At(stage),
        )
    low, high = ops.int_limits("int32")
    if not low <= number <= high:
        raise ScheduleError(
            f"{what} with {name}={repr_of(number)}",
            f"{name} lies between {low} and {high}",
            "give a smaller number",
            At(stage),
        )
    return number


def as_expr(value: Any, what: str, where: Where) -> Expr:
    """Anything that stands for an expression."""
    try:
        return ops.convert(value)
    except DeclarationError as error:
        raise ScheduleError(what, error.why, error.help, where) from None


def check_scope(scope: Any, what: str, where: Where, is_empty_allowed: bool = False) -> str:
    """The name of a storage scope."""
    if is_empty_allowed and isinstance(scope, str) and not scope:
        return ""
    if not isinstance(scope, str) or scope.split(".")[0] not in STORAGE_SCOPES:
        raise ScheduleError(
            f"{what} with the scope {repr_of(scope)}",
            "there is no such memory",
            f"use one of {', '.join(STORAGE_SCOPES)}, with a tag after a dot where it has one"
            + did_you_mean(scope, STORAGE_SCOPES),
            where,
        )
    return scope


def compute_operation(stage: StageState, what: str) -> ComputeOp:
    """The operation of a stage, which must be a compute."""
    check_operation(stage, what)
    if not isinstance(stage.op, ComputeOp):
        raise ScheduleError(
            f"{what} of {type(stage.op).__name__} {stage.op.name}",
            "it can be done to the result of te.compute only",
            "copy it by te.compute first",
            At(stage),
        )
    return stage.op


def brief(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, IterVar):
        return f"axis {value.var.name}"
    if isinstance(value, (Tensor, Operation)):
        return f"{type(value).__name__} {value.name}"
    if isinstance(value, IntImm):
        return str(value.value)
    return repr_of(value, 40)
