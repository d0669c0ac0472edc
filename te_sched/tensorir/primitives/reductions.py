"""Primitives that change reductions: decompose_reduction, rfactor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, IterVar, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.base import ScheduleBase, integer, of_block, of_loop
from te_sched.tensorir.blocks import (
    accessed,
    advice_to_initialize,
    loops_around,
    run_once,
    why_not_reduction,
)
from te_sched.tensorir.dependences import outermost_blocks
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL, bound_axes
from te_sched.tensorir.handles import ATTRIBUTE, BlockRV, LoopRV, instruction
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.relaxation import WITHIN, bound_loops, why_outside
from te_sched.tensorir.rewriting import nested
from te_sched.tensorir.stage_pipeline import PIPELINE_HELP, why_not_pipeline
from te_sched.tensorir.state import BlockKey, sequence, with_block
from te_sched.tensorir.updates import Refusal, Update, stores_to, update_of

_T = TypeVar("_T")


class ReductionPrimitives(ScheduleBase):
    """Primitives that change reductions."""

    __slots__ = ()

    @instruction("Initialize {block} in a block of its own, before loop {loop}")
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Split a reduction into a block that initializes, before a loop, and one that updates.

        Parameters
        ----------
        loop : a loop around the block, outside of all its reduction loops.

        Returns
        -------
        The block that initializes.

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
                f"cannot initialize block {key.name} before loop {before.name}",
                f"{before.name} is not a loop around it",
                f"give one of {', '.join([loop_var.name for loop_var in above])}",
                [of_block(key.name), of_loop(before.name)],
            )
        why = why_not_reduction(self, key)
        if why or init is None:
            raise ScheduleError(
                f"cannot decompose block {key.name}",
                f"it is not a reduction: {why}",
                advice_to_initialize(self, key, "use a block with T.init and reduction iterators"),
                of_block(key.name),
            )
        outside = above[: above.index(before)]
        around = loops_around(self, key)  # also those around a part of loop_partition
        for outer_loop in around[: around.index(before)]:
            reduced = [
                axis.var.name for axis in bound_axes(realize, outer_loop) if axis.kind != SPATIAL
            ]
            if reduced:
                raise ScheduleError(
                    f"cannot initialize block {key.name} before loop {before.name}",
                    f"the reduction loop {outer_loop.name} is around it: each of its "
                    "iterations would initialize again",
                    f"give loop {outer_loop.name}, or reorder it inside",
                    [of_block(key.name), of_loop(before.name)],
                )
        inside = above[len(outside) :]
        used = variables_of(*realize.iter_values)
        unused = [loop_var for loop_var in inside if loop_var not in used]
        if not run_once(self, unused, realize.predicate):
            outer_loop = next(
                loop_var for loop_var in unused if not is_const(self.loop(loop_var).extent, 1)
            )
            raise ScheduleError(
                f"cannot initialize block {key.name} before loop {before.name}",
                f"no iterator depends on loop {outer_loop.name}: each of its iterations "
                "computes the whole reduction again, and would add to the result of the one before",
                f"give a loop inside of {outer_loop.name}",
                [of_block(key.name), of_loop(outer_loop.name)],
            )
        links: dict[Block, Block] = {}
        init_nest = initialization(realize, init, [self.loop(loop_var) for loop_var in inside])
        reads = {region.buffer for region in own.reads}
        rest = with_block(
            realize,
            links,
            name_hint=f"{own.name_hint}_update",
            init=None,
            reads=(*[region for region in own.writes if region.buffer not in reads], *own.reads),
        )
        draft = self.draft
        draft.replace(key, rest, links)
        draft.replace(before, sequence(init_nest, draft.nodes[before]))
        (init_key,) = [block_key for block_key in draft.blocks_in(init_nest)]
        return BlockRV(init_key)

    @instruction("Compute a partial result for each iteration of {loop}", factor_axis=ATTRIBUTE)
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Split a reduction into partial results, one for each iteration of a loop, and their sum.

        The partial results are computed by a new block, whose iterator of the loop is spatial, into
        a buffer with one more dimension. The block itself combines them.

        Parameters
        ----------
        loop : a reduction loop with one block inside.
        factor_axis : the position of the dimension of the loop; negative ones count from the end.

        Returns
        -------
        The block that computes the partial results.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> k_0, k_1 = sch.split(k, factors=[None, 4])
        >>> partial = sch.rfactor(k_1, factor_axis=2)
        >>> sch.get(partial).writes[0], sch.get(sch.get_block("C")).reads[0]
        (C_rf[vi, vj, vk_1], C_rf[vi, vj, vk_1])
        """
        factored = self.loop_key(loop, "rfactor")
        key = _only_block(self, factored)
        realize, above = self.realize(key), self.loops_above(key)

        def refused(what: str, why: str, help: str) -> ScheduleError:
            fault = f"cannot factor the reduction of block {key.name} over loop {factored.name}"
            subjects = [of_block(key.name), of_loop(factored.name)]
            return ScheduleError(f"{fault}: {what}" if why else fault, why or what, help, subjects)

        _check_reduction(self, key, factored, refused)
        update = update_of(realize.block, refused)
        reductions = _reduction_loops(realize, above, factored, refused)
        _check_conditions(self, realize, above, reductions, factored, refused)
        top = next(loop for loop in above if loop in reductions)
        _check_neighbors(self, key, top, above[0], refused)
        rank = len(update.stores[0].indices)
        axis = integer(factor_axis, "factor_axis")
        if not -rank - 1 <= axis <= rank:
            raise refused(
                f"factor_axis is {axis}, and the results have {rank} dimensions", "",
                f"give a number from {-rank - 1} to {rank}",
            )  # fmt: skip
        plan = Factoring(realize, self.loop(factored), axis % (rank + 1), update)
        loops = [self.loop(loop_var) for loop_var in above]
        partial_nest, buffers = plan.partial(loops)
        links: dict[Block, Block] = {}
        rest: Stmt = plan.combined(buffers, reductions, links)
        inside = loops[above.index(top) :]
        kept = [
            node for node in inside if node.loop_var is factored or node.loop_var not in reductions
        ]
        draft = self.draft
        draft.replace(top, nested(kept, rest), links)
        outer = above[0] if above[0] is not top else kept[0].loop_var
        draft.replace(outer, sequence(partial_nest, draft.nodes[outer]))
        scope = draft.scope(key)
        assert scope is not None
        links = {}
        owner = draft.realize(scope)
        allocated = (*owner.block.alloc_buffers, *buffers)
        draft.replace(scope, with_block(owner, links, alloc_buffers=allocated), links)
        (block_key,) = draft.blocks_in(partial_nest)
        return BlockRV(block_key)


def _only_block(index: ReductionPrimitives, loop: Var) -> BlockKey:
    """The only block in a loop."""
    blocks = index.blocks_of(loop)
    if len(blocks) != 1:
        raise ScheduleError(
            f"cannot factor a reduction over loop {loop.name}",
            f"{len(blocks)} blocks are in it, expected one",
            "give a loop around one reduction block",
            of_loop(loop.name),
        )
    return blocks[0]


def _check_reduction(
    index: ReductionPrimitives, key: BlockKey, factored: Var, refused: Refusal
) -> None:
    """Refuse to factor a loop that is not serial, or a block that is not a reduction."""
    kind = index.loop(factored).kind
    if kind != "serial":
        raise refused("the loop is not serial", f"it is {kind}", "change its kind after rfactor")
    if why := why_not_reduction(index, key):
        help = advice_to_initialize(index, key, "use a block with T.init")
        raise refused(f"it is not a reduction: {why}", "", help)
    if why := why_outside(index, key):
        raise refused(f"it leaves its domain: {why}", "", WITHIN)


def _check_conditions(
    index: ReductionPrimitives,
    realize: BlockRealize,
    above: list[Var],
    reductions: set[Var],
    factored: Var,
    refused: Refusal,
) -> None:
    """Refuse conditions of a block that leave partial results without an iteration."""
    begin = {loop: index.loop(loop).min for loop in reductions if loop is not factored}
    analyzer = bound_loops(index, above, Analyzer())
    for condition in conjuncts(realize.predicate):
        is_initial = analyzer.can_prove(substitute(condition, begin))
        if variables_of(condition) & reductions and not is_initial:
            raise refused(
                f"the block has the condition {condition}",
                "some partial results would have no iterations, and no value",
                "split the reduction loops by factors of their extents",
            )


def _check_neighbors(
    index: ReductionPrimitives, key: BlockKey, top: Var, outermost: Var, refused: Refusal
) -> None:
    """Refuse other blocks in the reduction loops, and those that write what the block reads."""
    if len(outermost_blocks(index.loop(top))) != 1:
        raise refused(f"loop {top.name} has other blocks in it, too", "", "compute them elsewhere")
    reads = {region.buffer for region in index.realize(key).block.reads}
    for other in index.blocks_of(outermost):
        written = accessed(index, other, writes=True)
        both = [region.buffer.name for region in written if region.buffer in reads]
        if other is not key and both:
            raise refused(
                f"block {other.name} writes {both[0]} in loop {outermost.name}",
                "the partial results are computed before that loop",
                "compute that block outside of the loop",
            )
    if why := why_not_pipeline(index, key):
        raise refused(why, "", PIPELINE_HELP)


def _reduction_loops(
    realize: BlockRealize, above: list[Var], factored: Var, refused: Refusal
) -> set[Var]:
    """The loops of reduction iterators, and the factored one."""
    loops = {factored}
    for loop in above:
        kinds = {axis.kind for axis in bound_axes(realize, loop)}
        if kinds == {SPATIAL} and loop is factored:
            raise refused(
                f"loop {loop.name} is not a reduction loop",
                "spatial iterators of the block depend on it",
                "give a loop of a reduction iterator",
            )
        if len(kinds) > 1:
            raise refused(
                f"loop {loop.name} is a loop of spatial and of reduction iterators",
                "its iterations are neither results nor parts of one",
                "split the loop",
            )
        if REDUCTION in kinds:
            loops.add(loop)
    return loops


class Factoring:
    """The two blocks of a factored reduction."""

    def __init__(self, realize: BlockRealize, loop: For, position: int, update: Update) -> None:
        self.realize, self.loop, self.place, self.update = realize, loop, position, update
        self.own = realize.block
        self.pairs = list(zip(self.own.iter_vars, realize.iter_values, strict=True))

    def partial(self, loops: list[For]) -> tuple[Stmt, list[Buffer]]:
        """The loops and the block of the partial results, and their buffers."""
        renewed: dict[Var, Expr] = {
            node.loop_var: Var(node.loop_var.name, node.loop_var.dtype) for node in loops
        }
        axes = [self._axis(self.loop, SPATIAL)]
        values: list[Expr] = [renewed[self.loop.loop_var]]
        of_loops: dict[Var, Expr] = {self.loop.loop_var: axes[0].var}
        inside: dict[Var, Expr] = {}
        by_variable = {node.loop_var: node for node in loops}
        for axis, value in self.pairs:
            if self.loop.loop_var not in variables_of(value):
                axes.append(IterVar(axis.dom, Var(axis.var.name, axis.var.dtype), axis.kind))
                values.append(substitute(value, renewed))
                inside[axis.var] = axes[-1].var
                continue
            for loop_var in [part for part in walk(value) if part in by_variable]:
                if loop_var not in of_loops:
                    axes.append(self._axis(by_variable[loop_var], REDUCTION))
                    values.append(renewed[loop_var])
                    of_loops[loop_var] = axes[-1].var
            inside[axis.var] = substitute(value, of_loops)
        stores = self.update.stores
        buffers = [self._buffer(store.buffer) for store in stores]
        places = [substitute(index, inside) for index in stores[0].indices]
        indices = self._with(axes[0].var, places)
        sources = [substitute(source, inside) for source in self.update.sources]
        results = [BufferLoad(buffer, indices) for buffer in buffers]
        is_reduction = any(axis.kind == REDUCTION for axis in axes)
        start = [substitute(value, inside) for value in self.update.reducer.identity]
        written = {region.buffer: substitute(region, inside).region for region in self.own.writes}
        number = Range(axes[0].var, ops.const(1, axes[0].var.dtype))
        regions = [self._with(number, written[store.buffer]) for store in stores]
        block = Block(
            tuple(axes),
            tuple([substitute(r, inside) for r in self.own.reads if r.buffer not in written]),
            tuple(map(BufferRegion, buffers, regions)),
            f"{self.own.name_hint}_rf",
            stores_to(results, start) if is_reduction else None,
            self.update.combined(results, sources) if is_reduction else stores_to(results, sources),
            annotations=self.own.annotations,
        )
        predicate = substitute(self.realize.predicate, renewed)
        body: Stmt = BlockRealize(tuple(values), predicate, block)
        for loop in reversed(loops):
            bound = Range(substitute(loop.min, renewed), substitute(loop.extent, renewed))
            body = For(
                renewed[loop.loop_var],  # type: ignore[arg-type]
                bound.min,
                bound.extent,
                loop.kind,
                body,
                _like(loop.thread_binding),
                loop.annotations,
            )
        return body, buffers

    def combined(
        self, buffers: list[Buffer], reductions: set[Var], links: dict[Block, Block]
    ) -> BlockRealize:
        """The block that combines the partial results."""
        axes = [self._axis(self.loop, REDUCTION)]
        values: list[Expr] = [self.loop.loop_var]
        inside: dict[Var, Expr] = {}
        for axis, value in self.pairs:
            if axis.kind == SPATIAL:
                axes.append(IterVar(axis.dom, Var(axis.var.name, axis.var.dtype), axis.kind))
                values.append(value)
                inside[axis.var] = axes[-1].var
        stores = self.update.stores
        result_indices = [substitute(index, inside) for index in stores[0].indices]
        results = [BufferLoad(store.buffer, tuple(result_indices)) for store in stores]
        indices = self._with(axes[0].var, result_indices)
        start = [substitute(value, inside) for value in self.update.reducer.identity]
        predicate: Expr = ops.const(True)
        for conjunct in conjuncts(self.realize.predicate):
            if variables_of(conjunct) & reductions:
                continue
            predicate = ops.logical_and(predicate, conjunct)
        block = with_block(
            self.realize,
            links,
            iter_vars=tuple(axes),
            reads=tuple([_point(buffer, indices) for buffer in buffers]),
            writes=tuple([_point(store.buffer, tuple(result_indices)) for store in stores]),
            init=stores_to(results, start),
            body=self.update.combined(results, [BufferLoad(buffer, indices) for buffer in buffers]),
        )
        return replace(block, iter_values=tuple(values), predicate=predicate)

    def _axis(self, loop: For, kind: str) -> IterVar:
        var = Var(f"v{loop.loop_var.name}", loop.loop_var.dtype)
        return IterVar(Range(loop.min, loop.extent), var, kind)

    def _buffer(self, buffer: Buffer) -> Buffer:
        shape = self._with(self.loop.extent, buffer.shape)
        whole = copy_of(buffer, f"{buffer.name}.rf", buffer.scope())
        return replace(whole, shape=shape)

    def _with(self, new: _T, parts: Sequence[_T]) -> tuple[_T, ...]:
        """Parts of dimensions, with that of the new one."""
        return (*parts[: self.place], new, *parts[self.place :])


def _point(buffer: Buffer, indices: tuple[Expr, ...]) -> BufferRegion:
    return BufferRegion(
        buffer, tuple([Range(index, ops.const(1, index.dtype)) for index in indices])
    )


def initialization(realize: BlockRealize, init: Stmt, loops: list[For]) -> Stmt:
    """The loops and the block that initialize what a reduction writes."""
    own = realize.block
    spatial = [
        (axis, value)
        for axis, value in zip(own.iter_vars, realize.iter_values, strict=True)
        if axis.kind == SPATIAL
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
    for conjunct in conjuncts(realize.predicate):
        if not variables_of(conjunct) & dropped:
            predicate = ops.logical_and(predicate, substitute(conjunct, variables))
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
        )
    return body


def _like(thread: IterVar | None) -> IterVar | None:
    """A thread axis for another loop."""
    if thread is None:
        return None
    return IterVar(None, Var(thread.var.name, thread.dtype), thread.kind, thread.thread_tag)
