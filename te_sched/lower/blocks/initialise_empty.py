"""Initialise the results of reductions over no values, in programs to run.

T.init runs in the first iteration of a reduction. There may be none if its extent is 0 or given by
the call: then the initialisation comes before the loops of the reduction.
"""

from __future__ import annotations

from contextlib import suppress

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.stmt import PrimFunc
from te_sched.lower.statements import statements
from te_sched.tensorir.blocks import bound_kinds
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.tensorir.state import BlockKey
from te_sched.trace.observing import unobserved


def initialise_empty(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with decomposed reductions, where they may be empty and their loops allow it."""
    if not any(
        type(one) is Block and _may_be_empty(one, settings) for one in statements(func.body)
    ):
        return func
    with unobserved():
        sch = BlockSchedule(func)
        for key in [one for one in sch.keys.values() if _may_be_empty(sch.block(one), settings)]:
            with suppress(ScheduleError):
                _decompose(sch, key)
        made: PrimFunc = sch.mod["main"]
    return made


def _may_be_empty(block: Block, settings: Lowering) -> bool:
    """Whether a block with an initial value may have no iteration."""
    if block.init is None:
        return False
    domains = [axis.dom for axis in block.iter_vars if axis.kind == "CommReduce" and axis.dom]
    prove = Analyzer(settings).can_prove
    return not all(
        prove(ops.greater(one.extent, ops.const(0, one.extent.dtype))) for one in domains
    )


def _decompose(sch: BlockSchedule, key: BlockKey) -> None:
    """Initialise before the loops of a reduction; threads of a reduction initialise anyway."""
    realize, loops = sch.realize(key), sch.loops_above(key)
    kinds = {loop: {kind for _, kind in bound_kinds(realize, loop)} for loop in loops}
    reduced = [loop for loop in loops if "CommReduce" in kinds[loop]]
    if not reduced or any(sch.loop(one).thread_binding is not None for one in reduced):
        return
    if all(kinds[one] == {"CommReduce"} for one in reduced):  # otherwise they are of data, too
        sch.decompose_reduction(BlockRV(key), LoopRV(reduced[0]))
