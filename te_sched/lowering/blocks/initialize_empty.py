"""Initialize the results of reductions over no values, in programs to run.

T.init runs in the first iteration of a reduction. There may be none if its extent is 0 or given by
the call: then the initialization comes before the loops of the reduction.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Var
from te_sched.ir.stmt import For, IfThenElse, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, replace, statements, variables_of
from te_sched.tensorir.facts.axes import REDUCTION, bound_axes
from te_sched.tensorir.primitives.reductions import initialization
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.tensorir.state import BlockKey, sequence
from te_sched.trace.observing import unobserved

# The block of a reduction, the loops from its first one on, and those that are of data, too.
_Mixed = tuple[BlockKey, list[Var], set[Var]]


def initialize_empty(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with decomposed reductions, where they may be empty and their loops allow it."""
    if not any(
        type(stmt) is Block and _may_be_empty(stmt, settings) for stmt in statements(func.body)
    ):
        return func
    with unobserved():
        sch = BlockSchedule(func)
        mixed: list[_Mixed] = []
        for key in [key for key in sch.keys.values() if _may_be_empty(sch.block(key), settings)]:
            mixed += _decompose(sch, key)
        new_func: PrimFunc = sch.mod["main"]
        added = _Before()
        for key, above, loops in mixed:
            added.statements[sch.loop(above[0])].append(_initialize(sch, key, above, loops))
    return replace(new_func, body=added.visit(new_func.body))


def _may_be_empty(block: Block, settings: Lowering) -> bool:
    """Whether a block with an initial value may have no iteration."""
    if block.init is None:
        return False
    domains = [axis.dom for axis in block.iter_vars if axis.kind == REDUCTION and axis.dom]
    prove = Analyzer(settings).can_prove
    return not all(
        prove(ops.greater(domain.extent, ops.const(0, domain.extent.dtype))) for domain in domains
    )


def _decompose(sch: BlockSchedule, key: BlockKey) -> list[_Mixed]:
    """Initialize before the loops of a reduction; threads of a reduction initialize anyway.

    Returns the reduction if its loops are left as they are: some are of data, too, or others.
    """
    realize, loops = sch.realize(key), sch.loops_above(key)
    kinds = {loop: {axis.kind for axis in bound_axes(realize, loop)} for loop in loops}
    reduced = [loop for loop in loops if REDUCTION in kinds[loop]]
    if not reduced or any(sch.loop(loop).thread_binding is not None for loop in reduced):
        return []
    mixed = {loop for loop in reduced if kinds[loop] != {REDUCTION}}
    if not mixed:
        with suppress(ScheduleError):
            sch.decompose_reduction(sch.handle_of(key), sch.handle_of(reduced[0]))
            return []
    return [(key, loops[loops.index(reduced[0]) :], mixed)]


def _initialize(sch: BlockSchedule, key: BlockKey, above: list[Var], mixed: set[Var]) -> Stmt:
    """Initialize what a reduction writes if it has no iteration, over the domains of its axes of
    data where loops have no iteration either.
    """
    realize, loops = sch.realize(key), [sch.loop(loop_key) for loop_key in above]
    values, empty, init = [], ops.const(False), realize.block.init
    assert init is not None
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        assert axis.dom is not None
        extent = axis.dom.extent
        if axis.kind == REDUCTION:
            empty = ops.logical_or(empty, ops.equal(extent, ops.const(0, extent.dtype)))
        elif variables_of(value) & mixed:
            value = Var(axis.var.name, axis.var.dtype)
            loops.append(For(value, axis.dom.min, extent, "serial", realize))
        values.append(value)
    part = replace(realize, iter_values=tuple(values))
    return IfThenElse(empty, initialization(part, init, loops))


class _Before(StatementMapper):
    """Adds statements before loops."""

    def __init__(self) -> None:
        self.statements: defaultdict[For, list[Stmt]] = defaultdict(list)

    def visit_For(self, node: For) -> Stmt:
        return sequence(*self.statements[node], self.generic(node))
