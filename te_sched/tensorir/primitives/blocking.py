"""Primitives that make blocks of blocks: blockize; and that change the iterators of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import from_range
from te_sched.arith.iter_detect import expr_of, is_number
from te_sched.arith.iter_map import subspace_divide
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.visitor import replace, substitute, variables_of
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_block, of_loop
from te_sched.tensorir.blocks import loop_ranges
from te_sched.tensorir.handles import FLAG, NUMBERS, BlockRV, LoopRV, instruction
from te_sched.tensorir.relaxation import Sets, joined, ranges_of, region_sets
from te_sched.tensorir.rewriting import Values
from te_sched.tensorir.state import BlockKey, Key


class BlockingPrimitives(ScheduleBase):
    """Primitives that make blocks of blocks, or change their iterators."""

    __slots__ = ()

    @instruction("Make {target} a block", preserve_unit_iters=FLAG)
    def blockize(self, target: LoopRV, preserve_unit_iters: bool = True) -> BlockRV:
        """Make a block of a loop and what is in it: a tile, which is computed as one.

        Parameters
        ----------
        target : a loop with one block in it.
        preserve_unit_iters : whether the new block keeps iterators of one value.

        Returns
        -------
        The new block.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> i_0, i_1 = sch.split(i, [None, 4])
        >>> tile = sch.blockize(i_1)
        >>> [axis.var.name for axis in sch.get(tile).iter_vars]
        ['vi_o', 'vj_o']
        """
        key = self._blockize(target, bool(preserve_unit_iters), "blockize")
        return BlockRV(key, key.name)

    def _blockize(self, target: LoopRV, keeps_units: bool, action: str) -> BlockKey:
        """Make a block of a loop; the key of the block."""
        loop = self.loop_key(target, action)
        blocks = self.blocks_of(loop)
        if len(blocks) != 1:
            raise ScheduleError(
                f"cannot make a block of loop {loop.name}",
                f"it has {len(blocks)} blocks in it, expected one",
                "use a loop with one block",
                of_loop(loop.name),
            )
        (key,) = blocks
        above = self.loops_above(key)
        inside = above[above.index(loop) :]
        below: list[Key] = [*inside[1:], key]
        for outer, inner in zip(inside, below, strict=True):
            if self.loop(outer).body is not self.nodes[inner]:
                raise ScheduleError(
                    f"cannot make a block of loop {loop.name}",
                    f"loop {outer.name} has other statements than block {key.name}",
                    "use loops with one block",
                    [of_loop(loop.name), of_block(key.name)],
                )
        made = _blockized(self, key, inside, keeps_units)
        realize, inner_block = made
        old = self.block(key)
        self.draft.replace(loop, realize, {inner_block: old}, "it is in a new block")
        return self.draft.keys[realize.block]

    @instruction("Reorder the iterators of {block}", new_order=NUMBERS)
    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Reorder the iterators of a block.

        Parameters
        ----------
        new_order : the numbers of the iterators, in their new order.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.reorder_block_iter_var("C", [2, 0, 1])
        >>> [axis.var.name for axis in sch.get(sch.get_block("C")).iter_vars]
        ['vk', 'vi', 'vj']
        """
        key = self.block_key(block, "reorder_block_iter_var")
        realize = self.realize(key)
        count = len(realize.block.iter_vars)
        order = [
            integer(one, "the number of an iterator") for one in listed(new_order, "new_order")
        ]
        if sorted(order) != list(range(count)):
            raise ScheduleError(
                f"cannot reorder the iterators of block {key.name} to {order}",
                f"it has {count} iterators",
                f"give each number from 0 to {count - 1} once",
                of_block(key.name),
            )
        new = replace(
            realize.block, iter_vars=tuple([realize.block.iter_vars[one] for one in order])
        )
        values = tuple([realize.iter_values[one] for one in order])
        self.draft.replace(
            key, replace(realize, iter_values=values, block=new), {new: realize.block}
        )


def _blockized(
    schedule: ScheduleBase, key: BlockKey, inside: Sequence[Var], keeps_units: bool
) -> tuple[BlockRealize, Block]:
    """An instance of a new block around loops, and the block in it."""
    realize = schedule.realize(key)
    own = realize.block
    ranges = loop_ranges(schedule, schedule.loops_above(key))
    outside = [
        one
        for one in schedule.around(key)
        if isinstance(one, Var) and one not in ranges
        if one in variables_of(*realize.iter_values)
    ]
    if outside:
        raise ScheduleError(
            f"cannot make a block of loop {inside[0].name}",
            f"an iterator of block {key.name} depends on loop {outside[0].name}, which is outside "
            "of the block around them",
            "bind that loop to an iterator of the block around them",
            [of_loop(inside[0].name), of_block(key.name)],
        )
    used = variables_of(*realize.iter_values)
    shifted = [one for one in ranges if one in used and not is_const(ranges[one].min, 0)]
    if shifted:
        raise ScheduleError(
            f"cannot make a block of loop {inside[0].name}",
            f"loop {shifted[0].name} starts at {ranges[shifted[0]].min}, not at 0",
            "make the block before the loop is partitioned, or write the loop from 0",
            [of_loop(inside[0].name), of_block(key.name)],
        )
    division = subspace_divide(
        realize.iter_values, ranges, inside, realize.predicate, keeps_units=keeps_units
    )
    if division is None:
        raise ScheduleError(
            f"cannot make a block of loop {inside[0].name}",
            f"the iterators of block {key.name} do not divide into a part of the loops outside and "
            f"one of {', '.join([one.name for one in inside])}: "
            + ", ".join(map(str, realize.iter_values)),
            "reorder the loops so that those inside are the finer parts",
            [of_loop(inside[0].name), of_block(key.name)],
        )
    outer_axes, outer_values, inner_axes, inner_values = [], [], [], []
    values: dict[Var, Expr] = {}
    for axis, (outer, inner) in zip(own.iter_vars, division.bindings, strict=True):
        dtype = axis.var.dtype
        value: Expr = IntImm(0, dtype)
        is_outer, is_inner = not is_number(outer.extent, 1), not is_number(inner.extent, 1)
        made = _axis(axis, f"{axis.var.name}_o", outer.extent)
        outer_axes.append(made)
        outer_values.append(ops.cast(dtype, expr_of(outer)))
        if is_outer or not is_inner:
            value = made.var * ops.cast(dtype, inner.extent) if is_inner else made.var
        if is_inner:
            made = _axis(axis, f"{axis.var.name}_i", inner.extent)
            inner_axes.append(made)
            inner_values.append(ops.cast(dtype, expr_of(inner)))
            value = value + made.var
        values[axis.var] = value
    visitor = Values(values)
    reads = {region.buffer for region in own.reads}
    extra = [one for one in own.writes if one.buffer not in reads] if own.init is not None else []
    body = visitor.visit(own.body)
    rest = replace(
        own,
        iter_vars=tuple(inner_axes),
        reads=tuple([visitor.visit(one) for one in (*extra, *own.reads)]),
        writes=tuple([visitor.visit(one) for one in own.writes]),
        init=None,
        body=body,
        match_buffers=tuple([visitor.visit(one) for one in own.match_buffers]),
    )
    loops = [schedule.loop(one) for one in inside]
    instance = BlockRealize(tuple(inner_values), division.predicates[1], rest)
    init = None
    if own.init is not None:
        init = _initialisation(own, values, inner_axes, inner_values, loops, division.predicates[1])
    statement: Stmt = instance
    for loop in reversed(loops):
        statement = replace(loop, body=statement)
    domains = {axis.var: from_range(_dom(axis)) for axis in inner_axes}
    around = Block(
        tuple(outer_axes),
        _relaxed([visitor.visit(one) for one in own.reads], domains),
        _relaxed(rest.writes, domains),
        f"{own.name_hint}_o",
        init,
        statement,
    )
    return BlockRealize(tuple(outer_values), division.predicates[0], around), rest


def _axis(axis: IterVar, name: str, extent: Any) -> IterVar:
    dtype = axis.var.dtype
    return IterVar(Range(IntImm(0, dtype), ops.cast(dtype, extent)), Var(name, dtype), axis.kind)


def _dom(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom


def _relaxed(regions: Sequence[BufferRegion], domains: Any) -> tuple[BufferRegion, ...]:
    """Regions over all values of inner iterators, one for each buffer."""
    found: dict[Any, list[Sets]] = {}
    for region in regions:
        found.setdefault(region.buffer, []).append(region_sets(region, domains))
    return tuple(
        [
            BufferRegion(buffer, tuple(ranges_of(joined(sets), buffer.shape, Analyzer(), False)))
            for buffer, sets in found.items()
        ]
    )


def _initialisation(
    own: Block,
    values: dict[Var, Expr],
    axes: Sequence[IterVar],
    bound: Sequence[Expr],
    loops: Sequence[For],
    predicate: Expr,
) -> Stmt:
    """Loops around a block that initialises all elements of a tile."""
    spatial = [
        (axis, value) for axis, value in zip(axes, bound, strict=True) if axis.kind == "DataPar"
    ]
    used = variables_of(*[value for _, value in spatial])
    chosen = [loop for loop in loops if loop.loop_var in used]
    variables: dict[Var, Expr] = {
        loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in chosen
    }
    made = [
        IterVar(axis.dom, Var(f"{axis.var.name}_init", axis.var.dtype), axis.kind)
        for axis, _ in spatial
    ]
    inside: dict[Var, Expr] = {
        axis.var: new.var for (axis, _), new in zip(spatial, made, strict=True)
    }
    assert own.init is not None
    first = {var: substitute(value, inside) for var, value in values.items()}
    is_guarded = not is_const(predicate, 1) and not variables_of(predicate) - used
    block = Block(
        tuple(made),
        (),
        tuple([substitute(region, first) for region in own.writes]),
        f"{own.name_hint}_init",
        None,
        substitute(own.init, first),
    )
    body: Stmt = BlockRealize(
        tuple([substitute(value, variables) for _, value in spatial]),
        substitute(predicate, variables) if is_guarded else ops.const(True),
        block,
    )
    for loop in reversed(chosen):
        var = variables[loop.loop_var]
        assert isinstance(var, Var)
        body = replace(loop, loop_var=var, body=body)
    return body
