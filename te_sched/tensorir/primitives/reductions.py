"""Primitives that change reductions: decompose_reduction."""

from __future__ import annotations

from te_sched.arith.conditions import conjuncts
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Expr, IterVar, Range, Var
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.visitor import substitute, variables_of
from te_sched.tensorir.base import ScheduleBase, of_block, of_loop
from te_sched.tensorir.blocks import bound_kinds, why_not_reduction
from te_sched.tensorir.handles import BlockRV, LoopRV, instruction
from te_sched.tensorir.state import sequence, with_block


class ReductionPrimitives(ScheduleBase):
    """Primitives that change reductions."""

    __slots__ = ()

    @instruction()
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Split a reduction into a block that initialises, before a loop, and one that updates.

        Parameters
        ----------
        loop : a loop around the block, outside of all its reduction loops.

        Returns
        -------
        The block that initialises.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> init = sch.decompose_reduction("C", k)
        >>> [block.name for block in sch.get_child_blocks(j)]
        ['C_init', 'C_update']
        """
        key = self.block_key(block, "decompose_reduction")
        before = self.loop_key(loop, "decompose_reduction")
        realize = self.realize(key)
        own, init = realize.block, realize.block.init
        above = self.loops_above(key)
        if before not in above:
            raise ScheduleError(
                f"cannot initialise block {key.name} before loop {before.name}",
                f"{before.name} is not a loop around it",
                f"give one of {', '.join([one.name for one in above])}",
                [of_block(key.name), of_loop(before.name)],
            )
        why = why_not_reduction(self, key)
        if why or init is None:
            raise ScheduleError(
                f"cannot decompose block {key.name}",
                f"it is not a reduction: {why}",
                "use a block with T.init and reduction iterators",
                of_block(key.name),
            )
        outside = above[: above.index(before)]
        for one in outside:
            reduced = [
                axis.var.name for axis, kind in bound_kinds(realize, one) if kind != "DataPar"
            ]
            if reduced:
                raise ScheduleError(
                    f"cannot initialise block {key.name} before loop {before.name}",
                    f"the reduction loop {one.name} is around it: each of its iterations would "
                    "initialise again",
                    f"give loop {one.name}, or reorder it inside",
                    [of_block(key.name), of_loop(before.name)],
                )
        links: dict[Block, Block] = {}
        made = _initialisation(realize, init, [self.loop(one) for one in above[len(outside) :]])
        reads = {region.buffer for region in own.reads}
        rest = with_block(
            realize,
            links,
            name_hint=f"{own.name_hint}_update",
            init=None,
            reads=(*[one for one in own.writes if one.buffer not in reads], *own.reads),
        )
        draft = self.draft
        draft.replace(key, rest, links)
        draft.replace(before, sequence(made, draft.nodes[before]))
        (found,) = [one for one in draft.blocks_in(made)]
        return BlockRV(found)


def _initialisation(realize: BlockRealize, init: Stmt, loops: list[For]) -> Stmt:
    """The loops and the block that initialise what a reduction writes."""
    own = realize.block
    spatial = [
        (axis, value)
        for axis, value in zip(own.iter_vars, realize.iter_values, strict=True)
        if axis.kind == "DataPar"
    ]
    used = variables_of(*[value for _, value in spatial])
    chosen = [loop for loop in loops if loop.loop_var in used]
    dropped = {loop.loop_var for loop in loops if loop.loop_var not in used}
    variables: dict[Var, Expr] = {
        loop.loop_var: Var(f"{loop.loop_var.name}_init", loop.loop_var.dtype) for loop in chosen
    }
    axes = [IterVar(axis.dom, Var(axis.var.name, axis.var.dtype), axis.kind) for axis, _ in spatial]
    inside: dict[Var, Expr] = {
        axis.var: new.var for (axis, _), new in zip(spatial, axes, strict=True)
    }
    predicate: Expr = ops.const(True)
    for one in conjuncts(realize.predicate):
        if not variables_of(one) & dropped:
            predicate = ops.logical_and(predicate, substitute(one, variables))
    block = Block(
        tuple(axes),
        (),
        tuple([substitute(region, inside) for region in own.writes]),
        f"{own.name_hint}_init",
        None,
        substitute(init, inside),
        annotations=own.annotations,
    )
    body: Stmt = BlockRealize(
        tuple([substitute(value, variables) for _, value in spatial]), predicate, block
    )
    for loop in reversed(chosen):
        bound = Range(substitute(loop.min, variables), substitute(loop.extent, variables))
        body = For(
            variables[loop.loop_var],  # type: ignore[arg-type]
            bound.min,
            bound.extent,
            loop.kind,
            body,
            _like(loop.thread_binding),
            loop.annotations,
        )
    return body


def _like(thread: IterVar | None) -> IterVar | None:
    """A thread axis for another loop."""
    if thread is None:
        return None
    return IterVar(None, Var(thread.var.name, thread.dtype), thread.kind, thread.thread_tag)
