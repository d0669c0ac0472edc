"""Bound checks: the conditions under which the loops of a stage stay within its axes.

Must not know statements.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import ScheduleError
from te_sched.ir.expr import Expr, IntImm, IterVar, Range
from te_sched.schedule.relations import Ranges, Split
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState


def bound_checks(
    stage: StageState,
    ranges: Ranges,
    values: Mapping[IterVar, Expr],
    domains_checked: bool = True,
    skipped: frozenset[IterVar] = frozenset(),
    settings: Lowering = AS_TVM,
) -> list[Expr]:
    """The conditions under which the loops of a stage stay within its axes, without those that are
    proved to hold.
    """
    analyzer = Analyzer(settings)
    checked = dict.fromkeys(stage.leaf_iter_vars, False)
    for relation in reversed(stage.relations):
        relation.guards_up(checked, ranges, analyzer)
    roots = [
        axis for axis in stage.op.root_iter_vars() if axis not in skipped and axis.kind != "Opaque"
    ]
    narrowed = [
        axis
        for axis in roots
        if domains_checked and not _same_range(axis.dom, ranges[axis], analyzer)
    ]
    uneven = [
        axis
        for axis in stage.all_iter_vars
        if axis not in skipped and axis.kind != "Opaque" and checked[axis]
    ]
    if not narrowed and not uneven:
        return []
    sets = {}
    for axis, bound in ranges.items():
        sets[axis.var] = int_set.from_range(bound)
        analyzer.bind(axis.var, bound)
    conditions: list[Expr] = []
    for axis in uneven:
        bound = ranges[axis]
        value = values[axis] - bound.min
        highest = int_set.eval_set(value, sets, settings).max
        if highest is None or not analyzer.can_prove(highest < bound.extent):
            conditions.append(value < bound.extent)
    for axis in narrowed:
        assert axis.dom is not None
        value = values[axis] - axis.dom.min
        reached = int_set.eval_set(value, sets, settings)
        if reached.min is None or not analyzer.can_prove(reached.min >= 0):
            conditions.append(value >= 0)
        if reached.max is None or not analyzer.can_prove(reached.max < axis.dom.extent):
            conditions.append(value < axis.dom.extent)
    return conditions


def unproved_promises(stage: StageState, ranges: Ranges) -> Iterator[Split]:
    """The splits without a guard (`disable_predication`) that are not proved to be exact."""
    analyzer = Analyzer()
    splits = [relation for relation in stage.relations if isinstance(relation, Split)]
    for split in splits:
        if split.disable_predication and not split.is_exact(ranges, analyzer):
            yield split


def check_promises(
    stage: StageState, ranges: Ranges, action: str, axes: Container[IterVar]
) -> None:
    """Refuse an action if a split without a guard may exceed the extent of one of `axes`.

    Raises
    ------
    ScheduleError for the first such split.
    """
    for split in unproved_promises(stage, ranges):
        if (axis := split.parent) in axes:
            raise ScheduleError(
                f"cannot {action} stage {stage.op.name}: its axis {axis.var.name} is split without "
                "a guard (disable_predication=True)",
                "the split is not known to divide the extent of the axis evenly",
                "split it without disable_predication, which guards iterations past the end",
                At(stage, axis),
            )


def _same_range(a: Range | None, b: Range, analyzer: Analyzer) -> bool:
    if a is b:
        return True
    if a is None:
        return False
    return _same(a.min, b.min, analyzer) and _same(a.extent, b.extent, analyzer)


def _same(a: Expr, b: Expr, analyzer: Analyzer) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    return a is b or analyzer.can_prove_equal(a, b)
