"""Whether store predicates leave out what a result is made of.

`set_store_predicate` is for values that several threads or iterations have, of which one stores. A
predicate that holds for some terms of a sum alone drops the others. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.evaluate import Unevaluable, evaluate
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import BuildError
from te_sched.ir.expr import Expr, IntImm, IterVar, Range, Var
from te_sched.ir.visitor import substitute, walk
from te_sched.lower.bounds import infer_bound
from te_sched.schedule.places import At
from te_sched.schedule.relations import Flags
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import AttachType, Stage

_LIMIT = 1 << 16  # iterations that are tried
_SIZES = (67, 130)  # that stand for whatever symbolic extents may be


def check_predicates(schedule: Schedule) -> None:
    """Refuse store predicates that never hold, or hold for some terms of a reduction only.

    Raises
    ------
    BuildError for the first stage whose predicate is known to do that.
    """
    stages = [stage for stage in schedule.stages if stage.store_predicate is not None]
    if not stages:
        return
    normal = schedule.normalize()
    ranges = infer_bound(normal)
    for stage in normal.stages:
        if stage.store_predicate is not None and stage.attach_type != AttachType.INLINED_ALREADY:
            _check(stage, stage.store_predicate, ranges)


def _check(stage: Stage, predicate: Expr, ranges: Mapping[IterVar, Range]) -> None:
    values = _values(stage, ranges)
    by_loops = substitute(predicate, {axis.var: value for axis, value in values.items()})
    simple = Analyzer().simplify(by_loops)
    if type(simple) is IntImm and not simple.value:
        raise _refusal(stage, "it never holds, so nothing is stored")
    if not stage.op.reduce_axis:
        return
    used = {part for part in walk(simple) if type(part) is Var}
    leaves = [leaf for leaf in stage.leaf_iter_vars if leaf.var in used and _is_loop(stage, leaf)]
    if not leaves or len(used) > len(leaves):
        return
    try:
        is_wrong = all(
            _drops(stage, simple, leaves, values, _at_sizes(ranges, size)) for size in _SIZES
        )
    except Unevaluable:
        return
    if is_wrong:
        names = ", ".join(leaf.var.name for leaf in leaves)
        raise _refusal(
            stage, f"of the iterations of {names}, which add to the result, it drops some"
        )


def _drops(
    stage: Stage,
    predicate: Expr,
    leaves: Sequence[IterVar],
    values: Mapping[IterVar, Expr],
    bounds: Mapping[IterVar, _Bounds],
) -> bool:
    """Whether something is left out of an element that is stored, or of an output."""
    if any(leaf not in bounds for leaf in leaves):
        raise Unevaluable
    counts = [bounds[leaf].extent for leaf in leaves]
    if not 0 < prod(counts) <= _LIMIT:
        raise Unevaluable
    points = dict(zip(leaves, np.indices(counts), strict=True))
    holds = evaluate(predicate, {leaf.var: number for leaf, number in points.items()}, {})
    happens = _happens(stage, points, values, bounds)
    stored = np.broadcast_to(np.asarray(holds, bool), counts)
    reduced = _reduced(stage)
    terms = tuple(place for place, leaf in enumerate(leaves) if leaf in reduced)
    some = np.any(happens & stored, axis=terms, keepdims=True) if terms else happens
    return bool(np.any(happens & ~stored & some)) and (bool(terms) or stage.is_output)


class _Bounds(NamedTuple):
    """The range of an axis where symbolic extents are some number."""

    low: int
    extent: int


def _at_sizes(ranges: Mapping[IterVar, Range], size: int) -> dict[IterVar, _Bounds]:
    """The ranges that depend on sizes alone, where each of these is `size`."""
    loops = {axis.var for axis in ranges}
    found: dict[IterVar, _Bounds] = {}
    for axis, bound in ranges.items():
        parts = {part for one in (bound.min, bound.extent) for part in walk(one)}
        variables = {part for part in parts if type(part) is Var}
        if variables.isdisjoint(loops):
            numbers: dict[Var, Any] = dict.fromkeys(variables, size)
            low, extent = (evaluate(one, numbers, {}) for one in (bound.min, bound.extent))
            found[axis] = _Bounds(int(low), int(extent))
    return found


def _is_loop(stage: Stage, leaf: IterVar) -> bool:
    """Whether iterations follow each other; those of threads have each their own value."""
    attr = stage.iter_var_attrs.get(leaf)
    return attr is None or attr.bind_thread is None


def _reduced(stage: Stage) -> Flags:
    flags: Flags = dict.fromkeys(stage.op.reduce_axis, 1)
    for relation in stage.relations:
        relation.flags_down(flags)
    return flags


def _values(stage: Stage, ranges: Mapping[IterVar, Range]) -> dict[IterVar, Expr]:
    """All axes of a stage by the variables of its loops."""
    values: dict[IterVar, Expr] = {leaf: leaf.var for leaf in stage.leaf_iter_vars}
    for relation in reversed(stage.relations):
        relation.indices_up(values, ranges)
    return values


def _happens(
    stage: Stage,
    points: Mapping[IterVar, Any],
    values: Mapping[IterVar, Expr],
    bounds: Mapping[IterVar, _Bounds],
) -> Any:
    """Which iterations are any, where loops that are not among `points` do their first one."""
    numbers: dict[Var, Any] = {leaf.var: 0 for leaf in stage.leaf_iter_vars}
    numbers.update({leaf.var: number for leaf, number in points.items()})
    happens = np.ones(next(iter(points.values())).shape, bool)
    for axis in (*stage.op.axis, *stage.op.reduce_axis):
        if axis not in values or axis not in bounds:
            raise Unevaluable
        value = evaluate(values[axis], numbers, {})
        low, extent = bounds[axis]
        happens = happens & (value >= low) & (value < low + extent)
    return happens


def _refusal(stage: Stage, why: str) -> BuildError:
    return BuildError(
        f"store {stage.op.name} where {stage.store_predicate}",
        why,
        "leave out the predicate, or make it of the index of threads that have the same value; "
        "build(..., verify=False) insists",
        where=At(stage),
    )
