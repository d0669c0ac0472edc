"""Primitives that make several loops of one, and one of several: loop_partition, merge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError, repr_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Expr,
    IntImm,
    IterVar,
    Range,
    Var,
)
from te_sched.ir.renew import renewed_body
from te_sched.ir.stmt import BufferStore, For, SeqStmt, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import parts_of, replace, substitute, walk
from te_sched.tensorir.base import ScheduleBase, const_like, of_loop
from te_sched.tensorir.blocks import Conflict, conflict, regions_of
from te_sched.tensorir.handles import FLAG, LIST, LoopRV, instruction
from te_sched.tensorir.insertion import number_in, statements_of, with_body
from te_sched.tensorir.primitives.loops import plain_loop
from te_sched.tensorir.relaxation import Sets, relaxed
from te_sched.tensorir.rewriting import BlockMapper, Values
from te_sched.tensorir.state import BlockKey, Key, sequence


class PartitioningPrimitives(ScheduleBase):
    """Primitives that make several loops of one, and one of several."""

    __slots__ = ()

    @instruction("Partition {loop} into {results}", factors=LIST, preserve_unit_iters=FLAG)
    def loop_partition(
        self, loop: LoopRV, factors: Sequence[Any], preserve_unit_iters: bool = True
    ) -> list[LoopRV]:
        """Partition a loop into consecutive loops, each with a copy of its body.

        The new loops are in blocks NAME_LOOP0_partition, ..., which are in one NAME_LOOP_common,
        where NAME is the block in the loop.

        Parameters
        ----------
        factors : the extents of the new loops; one may be None and is inferred. If their sum is
            smaller than the extent, another loop has the rest.
        preserve_unit_iters : accepted as in TVM, where it has no effect.

        Returns
        -------
        The new loops, in program order.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> sch.loop_partition(i, factors=[2, None])
        [tir.LoopRV(i0), tir.LoopRV(i1)]
        >>> [block.name for block in sch.get_child_blocks(sch.get_block("D_i_common"))]
        ['D_i0_partition', 'D_i1_partition']
        """
        key = self.loop_key(loop, "loop_partition")
        node = plain_loop(self, key, "partition")
        sizes = _sizes(self, node, factors)
        chain = _chain_of_blocks(self, key)
        first, leaf = self.block(chain[0]).name_hint, self.realize(chain[-1])
        axis = next((a for a, v in _bindings(leaf) if v is key), None)
        parts: list[Stmt] = []
        loop_vars: list[Var] = []
        begin = 0
        for number, size in enumerate(sizes):
            var = Var(f"{key.name}{number}", key.dtype)
            low, extent = IntImm(begin, key.dtype), IntImm(size, key.dtype)
            narrow = _Narrow(key, var, Range(low, extent), leaf.block, axis)
            body = renewed_body(narrow.visit(node.body))
            name = f"{first}_{var.name}_partition"
            parts.append(_grouped(name, For(var, low, extent, "serial", body)))
            loop_vars.append(var)
            begin += size
        common = _grouped(f"{first}_{key.name}_common", SeqStmt(tuple(parts)))
        names = ", ".join([var.name for var in loop_vars])
        self.draft.replace(key, common, None, f"it was partitioned into {names}")
        return [LoopRV(var) for var in loop_vars]

    @instruction("Merge {loops} into {results}")
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Merge loops of the same extent, one after the other, into one that has their bodies.

        Loops around them, up to the first that has all of them in it, are merged, too.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((8,)), B: T.Buffer((8,)), C: T.Buffer((8,))):
        ...     for i in range(8):
        ...         with T.block("B"):
        ...             vi = T.axis.spatial(8, i)
        ...             B[vi] = A[vi] * 2.0
        ...     for i in range(8):
        ...         with T.block("C"):
        ...             vi = T.axis.spatial(8, i)
        ...             C[vi] = B[vi] + 1.0
        >>> sch = tir.Schedule(main)
        >>> sch.merge(*sch.get_loops("B"), *sch.get_loops("C"))
        tir.LoopRV(i_m)
        >>> [block.name for block in sch.get_child_blocks(sch.get_loops("B")[0])]
        ['B', 'C']
        """
        keys = [self.loop_key(handle, "merge") for handle in loops]
        if len({*keys}) < max(2, len(keys)):
            raise ScheduleError(
                f"merge needs different loops, got {', '.join([key.name for key in keys]) or None}",
                "",
                "give at least two loops, each once",
                [of_loop(key.name) for key in keys],
            )
        chains = _chains(self, keys)
        for chain in chains:
            for loop in chain:
                plain_loop(self, loop, "merge")
        first = chains[0]
        for chain in chains[1:]:
            for loop, other in zip(first, chain, strict=True):
                if not Analyzer().can_prove_equal(self.loop(loop).extent, self.loop(other).extent):
                    raise _unlike(
                        loop,
                        other,
                        f"they have {self.loop(loop).extent} and {self.loop(other).extent} "
                        "iterations",
                        "split them into loops of the same extents",
                    )
        parent = self.parents[first[0]]
        assert parent is not None
        numbers = [_number(self, parent, chain[0]) for chain in chains]
        _check_independent(self, parent, chains, numbers)
        merged_vars = [Var(f"{old_var.name}_m", old_var.dtype) for old_var in first]
        links: dict[Block, Block] = {}
        bodies: list[Stmt] = []
        for chain in chains:
            both = zip(chain, merged_vars, strict=True)
            values = Values({old_var: const_like(var, old_var) for old_var, var in both})
            bodies.append(values.visit(self.loop(chain[-1]).body))
            links |= values.continued
        merged = sequence(*bodies)
        for loop, var in reversed([*zip(first, merged_vars, strict=True)]):
            merged = replace(self.loop(loop), loop_var=var, kind="serial", body=merged)
        statements: list[Stmt | None] = list(statements_of(self, parent))
        for number in numbers:
            statements[number] = None
        statements[max(numbers)] = merged
        new = with_body(self, parent, sequence(*statements), links)
        self.draft.replace(parent, new, links, f"it was merged into {merged_vars[-1].name}")
        return LoopRV(merged_vars[-1])


def _refused(action: str, node: For, why: str, help: str) -> ScheduleError:
    name = node.loop_var.name
    return ScheduleError(f"cannot {action} loop {name}", why, help, of_loop(name))


# -- loop_partition --------------------------------------------------------------------------------


def _sizes(schedule: ScheduleBase, node: For, factors: Any) -> list[int]:
    """The extents of the parts of a loop."""
    name = node.loop_var.name
    if not isinstance(node.extent, IntImm):
        raise _refused(
            "partition",
            node,
            f"its extent is {node.extent}",
            "partition loops of constant extents",
        )
    total = node.extent.value
    if not isinstance(factors, list | tuple) or not factors:
        raise ScheduleError(
            f"partition factors of loop {name} must be a list, got {repr_of(factors)}",
            "",
            "sch.loop_partition(loop, factors=[4, None])",
            of_loop(name),
        )
    what = f"partition factor of loop {name}"
    values = [None if factor is None else schedule.number_of(factor, what) for factor in factors]
    sizes = [None if value == -1 else value for value in values]
    if sizes.count(None) > 1:
        raise ScheduleError(
            f"{sizes.count(None)} partition factors of loop {name} are None",
            "one can be inferred from the others",
            "give all factors but one",
            of_loop(name),
        )
    known_sizes = [part_size for part_size in sizes if part_size is not None]
    for size in known_sizes:
        if size < 1:
            raise ScheduleError(
                f"{what} must be at least 1, got {size}",
                "",
                "give positive integers",
                of_loop(name),
            )
    rest = total - sum(known_sizes)
    if rest < 1 or not known_sizes:
        raise ScheduleError(
            f"partition factors of loop {name} have the sum {sum(known_sizes)}, and it has {total} "
            "iterations",
            "another part must have iterations, too",
            f"give factors with a sum of 1 to {total - 1}"
            if total > 1
            else "partition loops of several iterations",
            of_loop(name),
        )
    return [
        rest if part_size is None else part_size
        for part_size in (sizes if None in sizes else [*sizes, rest])
    ]


def _chain_of_blocks(schedule: ScheduleBase, loop: Var) -> list[BlockKey]:
    """The only block in a loop, the only block in it, and so on."""
    chain: list[BlockKey] = []
    key: Key = loop
    while inside := schedule.blocks_of(key):
        if len(inside) > 1:
            raise _refused(
                "partition",
                schedule.loop(loop),
                f"it has the blocks {', '.join([block_key.name for block_key in inside])} in it",
                "use a loop with one block",
            )
        chain += inside
        key = inside[0]
    if not chain:
        raise _refused(
            "partition", schedule.loop(loop), "it has no block in it", "use a loop with one block"
        )
    return chain


def _bindings(realize: BlockRealize) -> Iterator[tuple[IterVar, Expr]]:
    return zip(realize.block.iter_vars, realize.iter_values, strict=True)


def _grouped(name: str, body: Stmt) -> BlockRealize:
    """A block without iterators, which does not state what its blocks access."""
    return BlockRealize((), ops.const(True), Block((), (), (), name, None, body))


class _Narrow(BlockMapper):
    """Replaces a loop variable by that of a part of the loop, whose number is in the names of the
    blocks. An iterator bound to the loop has the values of the part; the regions of its block, if
    all indices are iterators, are then of all its instances in the part.
    """

    def __init__(self, old: Var, new: Var, part: Range, leaf: Block, axis: IterVar | None) -> None:
        super().__init__()
        self.old, self.new, self.part, self.leaf, self.axis = old, new, part, leaf, axis

    def visit_Var(self, node: Var) -> Expr:
        return self.new if node is self.old else node

    def visit_Block(self, node: Block) -> Any:
        new = self.generic(node)
        if node is self.leaf and self.axis is not None:
            axes = tuple(
                [
                    replace(axis, dom=self.part) if axis.var is self.axis.var else axis
                    for axis in new.iter_vars
                ]
            )
            reads, writes = [
                tuple([_widened(region, new, axes) for region in regions])
                for regions in (new.reads, new.writes)
            ]
            new = replace(new, iter_vars=axes, reads=reads, writes=writes)
        return replace(new, name_hint=f"{node.name_hint}_{self.new.name}")


def _widened(region: BufferRegion, block: Block, axes: Sequence[IterVar]) -> BufferRegion:
    """The region over all instances of a block, if it accesses the buffer at one place, whose
    indices are iterators.
    """
    domains = {axis.var: axis.dom for axis in axes}
    places = _places(block, region.buffer)
    if not places or not all(structural_equal(indices, places[0]) for indices in places):
        return region
    bounds = [domains.get(index) for index in places[0] if isinstance(index, Var)]
    if None in bounds or len(bounds) != len(region.region):
        return region
    return BufferRegion(region.buffer, tuple([bound for bound in bounds if bound is not None]))


def _places(block: Block, buffer: Buffer) -> list[tuple[Expr, ...]]:
    return [
        node.indices
        for part in parts_of(block)
        for node in walk(part)
        if isinstance(node, BufferLoad | BufferStore) and node.buffer is buffer
    ]


# -- merge -----------------------------------------------------------------------------------------


def _chains(schedule: ScheduleBase, keys: Sequence[Var]) -> list[list[Var]]:
    """The loops around each of some loops, and it itself, below the first around all of them."""
    paths = [[*list(schedule.around(key))[::-1], key] for key in keys]
    depth = 0
    while all(len(path) > depth + 1 and path[depth] is paths[0][depth] for path in paths):
        depth += 1
    chains: list[list[Var]] = []
    for key, path in zip(keys, paths, strict=True):
        chain = [key for key in path[depth:] if isinstance(key, Var)]
        if depth == 0 or len(chain) != len(path) - depth:
            raise _unlike(
                keys[0], key, "they are in different block scopes", "merge loops of one block"
            )
        chains.append(chain)
    for key, chain in zip(keys, chains, strict=True):
        if len(chain) != len(chains[0]):
            raise _unlike(
                keys[0],
                key,
                f"{len(chains[0])} and {len(chain)} loops are to be merged",
                "use loops at the same depth",
            )
        for outer, inner in pairwise(chain):
            if schedule.loop(outer).body is not schedule.nodes[inner]:
                raise _unlike(
                    keys[0],
                    key,
                    f"loop {outer.name} has other statements beside {inner.name}",
                    "use loops each of which is the only statement of the one around it",
                )
    return chains


def _unlike(loop: Var, other: Var, why: str, help: str) -> ScheduleError:
    return ScheduleError(
        f"cannot merge loops {loop.name} and {other.name}",
        why,
        help,
        [of_loop(loop.name), of_loop(other.name)],
    )


def _number(schedule: ScheduleBase, parent: Key, key: Var) -> int:
    number = number_in(schedule, parent, key)
    if number is None or statements_of(schedule, parent)[number] is not schedule.nodes[key]:
        raise _refused(
            "merge",
            schedule.loop(key),
            "it is in a condition or another statement",
            "use loops directly in the same loop or block",
        )
    return number


def _check_independent(
    schedule: ScheduleBase, parent: Key, chains: Sequence[list[Var]], numbers: Sequence[int]
) -> None:
    """Refuse to merge loops if that changes the order of accesses to the same elements."""
    statements = statements_of(schedule, parent)
    last = max(numbers)
    for chain, number in zip(chains, numbers, strict=True):
        between = [
            block_key
            for statement_index in range(number + 1, last)
            if statement_index not in numbers
            for block_key in schedule.blocks_in(statements[statement_index])
        ]
        clash = conflict(schedule, schedule.blocks_of(chain[0]), between)
        if clash is not None:
            name, own, other = clash
            raise _refused(
                "merge",
                schedule.loop(chain[0]),
                f"its block {own.name} and block {other.name}, which comes before the last of the "
                f"loops, access {name}",
                "merge neighboring loops",
            )
    for position, chain in enumerate(chains):
        for other_place in range(position + 1, len(chains)):
            following = chains[other_place]
            is_turned = numbers[other_place] < numbers[position]
            before, after = (following, chain) if is_turned else (chain, following)
            clash = _overlap(schedule, before, after, is_turned)
            if clash is not None:
                name, first_key, two = clash
                raise _unlike(
                    before[-1],
                    after[-1],
                    f"an iteration of {after[-1].name} would access elements of {name} in block "
                    f"{two.name} before later iterations of {before[-1].name} access them in block "
                    f"{first_key.name}",
                    "merge loops whose iterations access different elements",
                )


def _overlap(
    schedule: ScheduleBase, before: Sequence[Var], after: Sequence[Var], is_turned: bool
) -> Conflict:
    """A buffer with elements that an iteration of the loops `after` and a later one of `before` may
    access, one of which writes; or the same iteration, if it `is_turned`.
    """
    for key, region, writes in regions_of(schedule, schedule.blocks_of(before[0])):
        for other, second, also in regions_of(schedule, schedule.blocks_of(after[0])):
            if region.buffer is not second.buffer or not (writes or also):
                continue
            depths = [*range(len(before)), *([len(before)] if is_turned else [])]
            for depth in depths:
                sets = _relaxed(schedule, key, region, before, depth)
                others = _relaxed(schedule, other, second, after, depth)
                if not _are_apart(schedule, before, after, depth, sets, others):
                    return region.buffer.name, key, other
    return None


def _relaxed(
    schedule: ScheduleBase, key: BlockKey, region: BufferRegion, chain: Sequence[Var], depth: int
) -> Sets:
    """A region over the loops in those of a chain up to a depth."""
    fixed = chain[: depth + 1]
    loops: list[Var] = []
    for outer_key in schedule.around(key):
        if outer_key is chain[0]:
            break
        if isinstance(outer_key, Var) and outer_key not in fixed:
            loops.append(outer_key)
    return relaxed(schedule, key, region, loops)


def _are_apart(
    schedule: ScheduleBase,
    before: Sequence[Var],
    after: Sequence[Var],
    depth: int,
    sets: Sets,
    others: Sets,
) -> bool:
    """Whether regions have no common elements, if the iteration of `before` is later in the loop of
    a depth and the same in the loops around it (the same in all, if there is no such loop).
    """
    analyzer = Analyzer()
    values: dict[Var, Expr] = {}
    for level, (loop, other) in enumerate(zip(before, after, strict=True)):
        node = schedule.loop(other)
        analyzer.bind(other, Range(node.min, node.extent))
        if level < depth:
            values[loop] = const_like(other, loop)
        elif level == depth:
            distance = Var("distance", loop.dtype)
            extent = const_like(node.extent, loop)
            analyzer.bind(distance, Range(IntImm(1, loop.dtype), extent))
            values[loop] = const_like(other, loop) + distance
    for mine, second in zip(sets, others, strict=True):
        ends = (mine.min, mine.max, second.min, second.max)
        if any(end is None for end in ends):
            continue
        low, high = [substitute(end, values) for end in ends[:2] if end is not None]
        first, last = [end for end in ends[2:] if end is not None]
        if analyzer.can_prove(low > last) or analyzer.can_prove(high < first):
            return True
    return False
