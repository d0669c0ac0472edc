"""Check that reductions which a schedule computes in another order have the same result.

`rfactor` and threads combine partial results, and reordered loops combine the values in another
order: both need a reducer that is associative and commutative. Only a counterexample refuses. Must
not know statements.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.combiners import Law, find_counterexample, in_another_order, in_groups
from te_sched.errors import BuildError
from te_sched.ir import ops
from te_sched.ir.expr import CommReducer, IterVar, ProducerLoad, Reduce
from te_sched.schedule.relations import Ranges
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At, draw_loops
from te_sched.schedule.state import StageState
from te_sched.te.operation import ComputeOp, domains
from te_sched.te.tensor import Tensor

_HELP = "use a reducer that is associative and commutative, with an identity that changes nothing"


def check_combinations(schedule: Schedule) -> None:
    """Refuse a reduction whose result depends on the order that a schedule has changed.

    Raises
    ------
    BuildError for the first stage for which a counterexample is found.
    """
    for stage in schedule.stages:
        if not isinstance(stage.op, ComputeOp) or not isinstance(stage.op.body[0], Reduce):
            continue
        reduction = stage.op.body[0]
        if (factored := _factored_from(reduction)) is not None:
            what = f"combine the partial results of stage {factored}"
            _check(stage, (), reduction.combiner, in_groups, what)
        expected, is_ordered = _loops_in_order(stage)
        loops = [loop for loop in stage.leaf_iter_vars if loop in expected]
        if bound := [loop for loop in loops if _is_bound(stage, loop)]:
            what = f"bind reduction axis {bound[0].var.name} of stage {stage.op.name} to threads"
            _check(stage, bound, reduction.combiner, in_groups, what)
        if not is_ordered or (loops != expected and _are_moved(stage, loops, expected)):
            names = " and ".join([loop.var.name for loop in loops])
            what = f"reorder reduction axes {names} of stage {stage.op.name}"
            _check(stage, loops, reduction.combiner, in_another_order, what)


def _check(
    stage: StageState, axes: Sequence[IterVar], combiner: CommReducer, law: Law, what: str
) -> None:
    counterexample = find_counterexample(combiner, law)
    if counterexample is None:
        return
    raise BuildError(
        f"cannot {what}: the result of its reducer depends on the order",
        counterexample,
        _HELP,
        At(stage, *axes[:1]),
        draw_loops(stage, dict.fromkeys(axes, "refused")) if axes else "",
        can_override=True,
    )


def _factored_from(reduction: Reduce) -> str | None:
    """The stage that rfactor made, if a reduction combines its partial results.

    Each call of a reducer has a combiner of its own, which both halves of a factored one share.
    """
    for source in reduction.source:
        tensor = source.producer if isinstance(source, ProducerLoad) else None
        if isinstance(tensor, Tensor) and isinstance(tensor.op, ComputeOp):
            body = tensor.op.body[0]
            if isinstance(body, Reduce) and body.combiner is reduction.combiner:
                return tensor.op.name
    return None


def _is_bound(stage: StageState, loop: IterVar) -> bool:
    attr = stage.iter_var_attrs.get(loop)
    return attr is not None and attr.bind_thread is not None


def _loops_in_order(stage: StageState) -> tuple[list[IterVar], bool]:
    """The loops that the reduction axes of a stage became, in the order in which they run the
    values as declared, and whether any order does.
    """
    order, is_ordered = list(stage.op.reduce_axis), True
    for relation in stage.relations:
        sources = [axis for axis in order if axis in relation.inputs]
        if not sources:
            continue
        position = order.index(sources[0])
        is_ordered &= tuple(order[position : position + len(sources)]) == tuple(
            axis for axis in relation.inputs if axis in sources
        )
        order = [axis for axis in order if axis not in sources]
        order[position:position] = relation.outputs
    return order, is_ordered


def _are_moved(stage: StageState, loops: Sequence[IterVar], expected: Sequence[IterVar]) -> bool:
    """Whether the order of two loops of more than one iteration differs."""
    ranges: Ranges = domains(stage.op.root_iter_vars())
    analyzer = Analyzer()
    for relation in stage.relations:
        relation.ranges_down(ranges, analyzer, None)
    single = {loop for loop in loops if ops.is_const(ranges[loop].extent, 1)}
    return [loop for loop in loops if loop not in single] != [
        loop for loop in expected if loop not in single
    ]
