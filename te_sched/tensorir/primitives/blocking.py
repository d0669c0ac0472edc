"""Primitives that make blocks of blocks: blockize; and that change the iterators of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import is_number
from te_sched.arith.iter_map import Division, normalize_iter_map_to_expr
from te_sched.errors import ScheduleError, Subject
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Var
from te_sched.ir.stmt import SeqStmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace
from te_sched.signatures import is_sequence
from te_sched.tensorir.base import ScheduleBase, integer, listed, of_block, of_loop
from te_sched.tensorir.blockized import Refusal, Tile, divided, outer_axes, united
from te_sched.tensorir.blocks import conflict
from te_sched.tensorir.facts.axes import REDUCTION
from te_sched.tensorir.handles import FLAG, NUMBERS, BlockRV, LoopRV, instruction
from te_sched.tensorir.insertion import (
    Place,
    common_parent,
    number_in,
    statements_of,
    with_inserted,
)
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.state import BlockKey, Key


class BlockingPrimitives(ScheduleBase):
    """Primitives that make blocks of blocks, or change their iterators."""

    __slots__ = ()

    @instruction("Make {target} a block", preserve_unit_iters=FLAG)
    def blockize(
        self, target: LoopRV | Sequence[BlockRV | str], preserve_unit_iters: bool = True
    ) -> BlockRV:
        """Make a block of a loop and what is in it: a tile, which is computed as one. Or make one
        block of several, with their loops.

        Parameters
        ----------
        target : a loop with one block in it; or a list of blocks whose loops follow each other. The
            block of B and C is named outer_B_C_, and its iterators are those of B, for the loops
            around both.
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
        keeps_units = bool(preserve_unit_iters)
        if is_sequence(target):
            key = self._blockize_together(listed(target, "target"), keeps_units)
        else:
            key = self._blockize(target, keeps_units, "blockize")
        return BlockRV(key, key.name)

    def _blockize(self, target: Any, keeps_units: bool, action: str) -> BlockKey:
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
        refused = _refusal(f"loop {loop.name}", [of_loop(loop.name), of_block(key.name)])
        above = self.loops_above(key)
        inside = above[above.index(loop) :]
        _check_alone(self, key, inside, refused)
        division = divided(self, key, inside, keeps_units, refused)
        own = self.block(key)
        outer, values = outer_axes(own, division)
        tile = Tile(self, key, inside, division, outer, keeps_units)
        inner = tile.block(keeps_init=False)
        block = Block(
            tuple(outer),
            tile.relaxed(own.reads),
            tile.relaxed(own.writes),
            f"{own.name_hint}_o",
            None if own.init is None else tile.initialization(),
            tile.statement(inner),
        )
        new = BlockRealize(values, division.predicates[0], block)
        self.draft.replace(loop, new, {inner: own}, "it is in a new block")
        return self.draft.keys[block]

    def _blockize_together(self, targets: list[Any], keeps_units: bool) -> BlockKey:
        """Make a block of several blocks with their loops; the key of the block."""
        keys = [self.block_key(target, "blockize") for target in targets]
        names = [key.name for key in keys]
        refused = _refusal(f"blocks {', '.join(names)}", [of_block(name) for name in names])
        if len({*keys}) < max(2, len(keys)):
            raise refused("it takes several blocks, each once", "give a loop, or other blocks")
        for key in keys:
            check_not_root(self, key, "blockize")
        site = _place_of_all(self, keys, refused)
        parent = site.parent
        outside = [*self.loops_above(parent), parent] if isinstance(parent, Var) else []
        nests = [self.loops_above(key)[len(outside) :] for key in keys]
        divisions = []
        for key, inside in zip(keys, nests, strict=True):
            _check_alone(self, key, inside, refused)
            divisions.append(divided(self, key, inside, keeps_units, refused))
        _check_alike(self, keys, divisions, refused)
        outer, values = outer_axes(self.block(keys[0]), divisions[0])
        tiles = [
            Tile(self, key, inside, division, outer, keeps_units)
            for key, inside, division in zip(keys, nests, divisions, strict=True)
        ]
        inner = [tile.block(keeps_init=True) for tile in tiles]
        block = Block(
            tuple(outer),
            united([region for tile in tiles for region in tile.relaxed(tile.own.reads)]),
            united([region for tile in tiles for region in tile.relaxed(tile.own.writes)]),
            f"outer_{''.join([f'{tile.own.name_hint}_' for tile in tiles])}",
            None,
            SeqStmt(
                tuple(
                    [
                        tile.statement(inner_block)
                        for tile, inner_block in zip(tiles, inner, strict=True)
                    ]
                )
            ),
        )
        new = BlockRealize(values, divisions[0].predicates[0], block)
        links = {inner_block: tile.own for tile, inner_block in zip(tiles, inner, strict=True)}
        body = with_inserted(self, site, new, links, replaced=len(keys))
        self.draft.replace(parent, body, links, "it is in a new block")
        return self.draft.keys[block]

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
            integer(number, "the number of an iterator")
            for number in listed(new_order, "new_order")
        ]
        if sorted(order) != list(range(count)):
            raise ScheduleError(
                f"cannot reorder the iterators of block {key.name} to {order}",
                f"it has {count} iterators",
                f"give each number from 0 to {count - 1} once",
                of_block(key.name),
            )
        new = replace(
            realize.block, iter_vars=tuple([realize.block.iter_vars[number] for number in order])
        )
        values = tuple([realize.iter_values[number] for number in order])
        self.draft.replace(
            key, replace(realize, iter_values=values, block=new), {new: realize.block}
        )


def _refusal(what: str, about: Sequence[Subject]) -> Callable[[str, str], ScheduleError]:
    """Makes the errors of making a block of loops or blocks."""
    return lambda why, help: ScheduleError(f"cannot make a block of {what}", why, help, [*about])


def _check_alone(
    schedule: ScheduleBase, key: BlockKey, inside: Sequence[Var], refused: Refusal
) -> None:
    """Refuse loops with other statements than a block."""
    chain: list[Key] = [*inside, key]
    for outer, inner in pairwise(chain):
        if schedule.loop(outer).body is not schedule.nodes[inner]:
            raise refused(
                f"loop {outer.name} has other statements than block {key.name}",
                "use loops with one block",
            )


def _place_of_all(schedule: ScheduleBase, keys: Sequence[BlockKey], refused: Refusal) -> Place:
    """The place of the first of some blocks, which are consecutive in their loops."""
    scope = schedule.scope(keys[0])
    assert scope is not None
    if any(schedule.scope(key) is not scope for key in keys):
        raise refused("they are in different block scopes", "give blocks of one scope")
    parent = common_parent(schedule, scope, keys)
    numbers: list[int] = []
    for key in keys:
        nest: Key = key
        for node_key in schedule.around(key):
            if node_key is parent:
                break
            nest = node_key
        number = number_in(schedule, parent, key)
        if number is None or statements_of(schedule, parent)[number] is not schedule.nodes[nest]:
            raise refused(
                f"block {key.name} is in a condition or another statement",
                "give blocks directly in loops",
            )
        numbers.append(number)
    first = min(numbers)
    if sorted(numbers) != [*range(first, first + len(keys))]:
        raise refused(
            "their loops do not follow each other in one loop or block",
            "give blocks that follow each other, all of them",
        )
    for position, key in enumerate(keys):
        later = [
            candidate
            for candidate, number in zip(keys, numbers, strict=True)
            if number > numbers[position]
        ]
        clash = conflict(
            schedule, [candidate for candidate in keys[:position] if candidate in later], [key]
        )
        if clash is not None:
            name, node_key, other = clash
            raise refused(
                f"block {node_key.name} would run before block {other.name}, "
                f"and both access {name}",
                "give the blocks in the order of the program",
            )
    return Place(parent, first)


def _check_alike(
    schedule: ScheduleBase,
    keys: Sequence[BlockKey],
    divisions: Sequence[Division],
    refused: Refusal,
) -> None:
    """Refuse blocks whose outer iterators are not those of the first one."""
    first, *_ = divisions
    same = Analyzer().can_prove_equal
    for key, division in zip(keys, divisions, strict=True):
        axes = schedule.block(key).iter_vars
        if len(axes) > len(first.bindings):
            raise refused(
                f"block {key.name} has more iterators than block {keys[0].name}, whose iterators "
                "the new block has",
                "give a first block with all of them",
            )
        for axis, (outer, _), (first_outer, _) in zip(
            axes, division.bindings, first.bindings, strict=False
        ):
            if axis.kind == REDUCTION and not (
                division is not first and is_number(outer.extent, 1)
            ):
                raise refused(
                    f"the new block would have a part of the reduction iterator {axis.var.name} of "
                    f"block {key.name}",
                    "give a first block without reduction, and reductions with all their loops in "
                    "the new block",
                )
            part, begun = map(normalize_iter_map_to_expr, (outer, first_outer))
            sizes = map(ops.convert, (outer.extent, first_outer.extent))
            if not (same(*sizes) and same(part, begun)):
                raise refused(
                    f"the part of iterator {axis.var.name} of block {key.name} for the loops "
                    f"around the blocks is {part}, and that of block {keys[0].name} is {begun}",
                    "give blocks whose iterators depend on the same loops around them",
                )
        if not structural_equal(division.predicates[0], first.predicates[0]):
            raise refused(
                f"the loops around the blocks have the condition {division.predicates[0]} in block "
                f"{key.name}, and {first.predicates[0]} in block {keys[0].name}",
                "give blocks with the same condition",
            )
