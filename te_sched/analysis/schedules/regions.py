"""Check that calls of tensor intrinsics read regions within their tensors.

`lower` prints any regions; `build` asks here. Must not know loops.
"""

from __future__ import annotations

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.forms import linear_form
from te_sched.errors import BuildError
from te_sched.ir.expr import Expr, Range
from te_sched.ir.message_text import spelled
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState
from te_sched.te.intrin_call import TensorComputeOp
from te_sched.te.operation import domain_of
from te_sched.te.tensor import Tensor


def check_regions(schedule: Schedule) -> None:
    """Refuse a region that ends outside of its tensor.

    Judges the outputs of the schedule, all of whose elements are computed, where the ends of
    regions are linear in the axes.

    Raises
    ------
    BuildError for the first such region.
    """
    for stage in schedule.stages:
        op = stage.op
        if not isinstance(op, TensorComputeOp):
            continue
        if stage.is_output and stage.store_predicate is None:
            for tensor, region in zip(op.inputs, op.input_regions, strict=True):
                for dimension, bound in enumerate(region):
                    _check(stage, tensor, dimension, bound)


def _check(stage: StageState, tensor: Tensor, dimension: int, bound: Range) -> None:
    sets = {axis.var: int_set.from_range(domain_of(axis)) for axis in stage.op.root_iter_vars()}
    analyzer, extent = Analyzer(), tensor.shape[dimension]
    first, last = bound.min, analyzer.simplify(bound.min + bound.extent - 1)
    low, high = int_set.eval_set(first, sets).min, int_set.eval_set(last, sets).max
    wrong: Expr | None = None
    if linear_form(first) is not None and low is not None and analyzer.can_prove(low < 0):
        wrong = low
    if linear_form(last) is not None and high is not None and analyzer.can_prove(high >= extent):
        wrong = high
    if wrong is not None:
        raise BuildError(
            f"stage {stage.op.name} reads {tensor.name} at {spelled(analyzer.simplify(wrong))} in "
            f"dimension {dimension}, which is out of bounds",
            f"the region from {spelled(first)} to {spelled(last)} reaches it, and {tensor.name} "
            f"has {extent} elements there",
            "declare the tensor larger or the computation smaller; pass verify=False to build "
            "anyway",
            At(stage),
        )
