"""Primitives that move blocks below loops: compute_at, reverse_compute_at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import unwrap
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, eval_set, from_range, intersect
from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_map import detect_iter_map, inverse_affine_iter_map
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.visitor import replace, substitute, variables_of
from te_sched.tensorir.base import ScheduleBase, integer, of_block, of_loop
from te_sched.tensorir.blocks import (
    accessed,
    advice_to_initialize,
    buffers_of,
    consumers,
    loop_ranges,
    loops_around,
    producers,
    siblings,
    stated_blocks,
    why_not_complete,
    why_not_exact,
    why_not_reduction,
    written_results,
)
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tensorir.handles import (
    ATTRIBUTE,
    FLAG,
    INLINE,
    ROOT,
    BlockRV,
    LoopRV,
    instruction,
)
from te_sched.tensorir.insertion import Place, number_in, statements_of, with_inserted
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.relaxation import (
    Sets,
    always_holds,
    bound_loops,
    exceeds,
    joined,
    relaxed,
    sharing,
)
from te_sched.tensorir.removal import without
from te_sched.tensorir.stage_pipeline import PIPELINE_HELP, why_not_pipeline
from te_sched.tensorir.state import BlockIndex, BlockKey, Key


class MovementPrimitives(ScheduleBase):
    """Primitives that move blocks below loops."""

    __slots__ = ()

    @instruction("Compute {block} at loop {loop}", preserve_unit_loops=FLAG, index=ATTRIBUTE)
    def compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Compute a producer in a loop of its consumers: in each iteration what they need there.

        Parameters
        ----------
        loop : a loop that has all consumers of the block in it.
        preserve_unit_loops : whether loops of one iteration are kept.
        index : the place among the statements of the loop; -1 is right before the first consumer,
            -2 the first possible one.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> sch.compute_at("C", i)
        >>> [loop.name for loop in sch.get_loops("C")]
        ['i', 'ax0', 'ax1']
        """
        self._move(block, loop, preserve_unit_loops, index, "compute_at", is_producer=True)

    @instruction(
        "Compute {block} at loop {loop}, after what it reads",
        preserve_unit_loops=FLAG,
        index=ATTRIBUTE,
    )
    def reverse_compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Compute a consumer in a loop of its producers: in each iteration what they made there.

        Parameters
        ----------
        loop : a loop that has all producers of the block in it.
        preserve_unit_loops : whether loops of one iteration are kept.
        index : the place among the statements of the loop; -1 is the last possible one, -2 the
            first, right after the last producer.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j, k = sch.get_loops("C")
        >>> sch.reverse_compute_at("D", j)
        >>> [loop.name for loop in sch.get_loops("D")]
        ['i', 'j']
        """
        self._move(block, loop, preserve_unit_loops, index, "reverse_compute_at", is_producer=False)

    def _move(
        self, block: Any, loop: Any, keeps_units: Any, index: Any, action: str, is_producer: bool
    ) -> None:
        key = self.block_key(block, action)
        check_not_root(self, key, "move")
        if isinstance(loop, LoopRV) and loop.key is INLINE:
            name = "compute_inline" if is_producer else "reverse_compute_inline"
            unwrap(getattr(type(self), name))(self, block)  # the trace has the call of this one
            return
        if isinstance(loop, LoopRV) and loop.key is ROOT:
            return
        target = self.loop_key(loop, action)
        scope = self.scope(key)
        assert scope is not None
        self._check_movable(key, target, scope, is_producer)
        others = consumers(self, key) if is_producer else producers(self, key)
        under = [block_key for block_key in others if target in _loops_of(self, block_key)]
        if len(under) < len(others):
            what = "consumer" if is_producer else "producer"
            outside = ", ".join([block_key.name for block_key in others if block_key not in under])
            why = (
                f"it requires all the {what}s of the block to be in the loop, and {outside} is not"
            )
            help = f"move {outside} there first, or use a loop around all {what}s"
            raise _refused(key, target, why, help)
        self._check_order(key, target)
        position = self._place(key, target, integer(index, "index"))
        needed = self._needed(key, target, others, is_producer)
        realize = self.realize(key)
        self._check_apart(key, target, needed, is_producer)
        if not is_producer:
            self._check_executed(key, target, needed, others)
        domains = _domains(realize.block, needed, is_producer)
        instance = self._instance(realize, target, domains, bool(keeps_units))
        links: dict[Block, Block] = {}
        rest = without(self, key, scope, links)
        assert rest is not None  # the others
        draft = self.draft
        moved = self.blocks_below(key)
        after = statements_of(self, target)[position] if position < _count(self, target) else None
        draft.replace(scope, rest, links, f"it was replaced when block {key.name} was moved")
        draft.remember(moved)
        number = _number_of(draft, target, after)
        draft.replace(target, with_inserted(draft, Place(target, number), instance, {}))

    def _check_movable(
        self, key: BlockKey, target: Var, scope: BlockKey, is_producer: bool
    ) -> None:
        if self.scope(target) is not scope:
            raise _refused(
                key, target, "they are not in the same block scope", "use a loop of its scope"
            )
        if target in _loops_of(self, key):
            raise _refused(
                key,
                target,
                f"loop {target.name} is an ancestor of block {key.name} already",
                "use a loop of its " + ("consumers" if is_producer else "producers"),
            )
        why = why_not_complete(self, key)
        if why and why_not_reduction(self, key):
            raise _refused(
                key,
                target,
                f"it is neither a complete block ({why}) nor a reduction",
                advice_to_initialize(
                    self, key, "write every buffer in one block, and read it after that"
                ),
            )
        why = why_not_exact(self, [key] if is_producer else producers(self, key))
        if why:
            raise _refused(key, target, why, "state the region after the block is moved")
        outputs = written_results(self, key)
        if is_producer and outputs:
            raise _refused(
                key,
                target,
                f"it is an output block: {outputs[0].name} is needed outside",
                "move intermediate blocks; reverse_compute_at moves consumers",
            )
        if not _covers_its_domain(self, key):
            raise _refused(
                key,
                target,
                f"its iterators {', '.join(map(str, self.realize(key).iter_values))} do not take "
                "exactly the values of their domains",
                "bind them to all values of their domains",
            )
        why = why_not_pipeline(self, key)
        if why:
            raise _refused(key, target, why, PIPELINE_HELP)

    def _check_order(self, key: BlockKey, target: Var) -> None:
        """Check that no block before the loop reads what the block writes."""
        blocks = siblings(self, key)
        first = blocks.index(self.blocks_of(target)[0])
        written = buffers_of(accessed(self, key, writes=True))
        for consumer in consumers(self, key):
            read = buffers_of(accessed(self, consumer, writes=False))
            both = [buffer.name for buffer in written if buffer in read]
            if both and blocks.index(consumer) < first:
                raise _refused(
                    key,
                    target,
                    f"block {consumer.name} reads {both[0]} before the loop",
                    "use a loop before its consumers, or around them",
                )

    def _place(self, key: BlockKey, target: Var, index: int) -> int:
        """The number of the statement of a loop before which a block is inserted."""
        makers = [number_in(self, target, producer) for producer in producers(self, key)]
        users = [number_in(self, target, consumer) for consumer in consumers(self, key)]
        count = len(statements_of(self, target))
        first = max([number + 1 for number in makers if number is not None], default=0)
        last = min([number for number in users if number is not None], default=count)
        assert first <= last
        if index == -1:
            return last
        if index == -2:
            return first
        if first <= index <= last:
            return index
        raise _refused(
            key,
            target,
            f"index {index} is not after its producers and before its consumers",
            f"give a number from {first} to {last}, -1 or -2",
        )

    def _needed(
        self, key: BlockKey, target: Var, others: Sequence[BlockKey], is_producer: bool
    ) -> dict[Buffer, Sets]:
        """The regions that consumers read, or producers write, in one iteration of a loop."""
        block = self.block(key)
        own = buffers_of(block.writes if is_producer else block.reads)
        above = [*self.loops_above(target), target]
        sets_of: dict[Buffer, Sets] = {}
        for buffer in own:
            sets = []
            for block_key in stated_blocks(self, others):
                other = self.block(block_key)
                regions = other.reads if is_producer else other.writes
                loops = [*_below(self, block_key, target), *sharing(self, above, buffer.scope())]
                sets += [
                    relaxed(self, block_key, region, loops)
                    for region in regions
                    if region.buffer is buffer
                ]
            if sets:
                sets_of[buffer] = joined(sets)
        return sets_of

    def _check_apart(
        self, key: BlockKey, target: Var, needed: Mapping[Buffer, Sets], is_producer: bool
    ) -> None:
        """Refuse a block if a part of a buffer does not tell the instances that access it: those of
        B[v:v + 3] overlap, and B[v + w] is accessed by several.
        """
        block = self.block(key)
        axes = {axis.var: axis for axis in block.iter_vars}
        for region in block.writes if is_producer else block.reads:
            for bound in region.region if region.buffer in needed else ():
                used = [*axes.keys() & variables_of(bound.min)]
                if len(used) == 1:
                    is_clear = is_const(bound.extent, 1) or _factor(bound.min, *used) not in (1, -1)
                else:
                    is_clear = not used or bool(_inverted(region, needed[region.buffer], axes))
                if not is_clear:
                    raise _refused(
                        key,
                        target,
                        f"several of its instances access the same elements of "
                        f"{region.buffer.name}, those of {region}",
                        "move the other block below a loop of this one, with "
                        + ("reverse_compute_at" if is_producer else "compute_at"),
                    )

    def _check_executed(
        self, key: BlockKey, target: Var, needed: Mapping[Buffer, Sets], others: Sequence[BlockKey]
    ) -> None:
        """Refuse a consumer with instances that read nothing that its producers write, as those of
        a padding, B[v] = A[v - 1] if v > 0 else 0: no iteration of the loop would execute them.
        """
        block = self.block(key)
        own = {axis.var for axis in block.iter_vars}
        for region in block.reads:
            if region.buffer not in needed or not own & variables_of(region):
                continue
            makers = stated_blocks(self, others)
            if all(exceeds(self, maker, key, region) for maker in makers):
                raise _refused(
                    key,
                    target,
                    f"some of its instances may read {region}, which no producer writes",
                    "move the producers below a loop of this block, with compute_at",
                )

    def _instance(
        self,
        realize: BlockRealize,
        target: Var,
        domains: Mapping[Var, IntervalSet],
        keeps_units: bool,
    ) -> Stmt:
        """The block with new loops over parts of the domains of its iterators."""
        above = [*self.loops_above(target), target]
        ranges = loop_ranges(self, above)
        analyzer = bound_loops(self, above, Analyzer())
        loops: list[tuple[Var, Expr]] = []
        values: list[Expr] = []
        predicate: Expr = ops.const(True)
        for axis in realize.block.iter_vars:
            bound = _dom(axis)
            dtype = axis.var.dtype
            wanted = domains.get(axis.var, from_range(bound))
            low, high = wanted.min, wanted.max
            if low is None or high is None:
                low, high = bound.min, bound.min + bound.extent - 1
            low, high = analyzer.simplify(low), analyzer.simplify(high)
            first, last = bound.min, analyzer.simplify(bound.min + bound.extent - 1)
            if isinstance(low, IntImm) and isinstance(first, IntImm) and low.value < first.value:
                low = first
            if isinstance(high, IntImm) and isinstance(last, IntImm) and high.value > last.value:
                high = last
            low = ops.cast(dtype, low)
            extent = ops.cast(dtype, analyzer.simplify(high - low + 1))
            value = low
            if keeps_units or not is_const(extent, 1):
                var = Var(f"ax{len(loops)}", dtype)
                loops.append((var, extent))
                ranges[var] = Range(IntImm(0, dtype), extent)
                analyzer.bind(var, ranges[var])
                value = low + var
            values.append(value)
            for needed in (value >= bound.min, value < bound.min + bound.extent):
                done = analyzer.simplify(needed)
                if not (is_const(done, 1) or always_holds(needed, ranges, True)):
                    predicate = ops.logical_and(predicate, done)
        body: Stmt = replace(realize, iter_values=tuple(values), predicate=predicate)
        for var, extent in reversed(loops):
            body = For(var, IntImm(0, var.dtype), extent, "serial", body)
        return body


def _refused(key: BlockKey, target: Var, why: str, help: str) -> ScheduleError:
    return ScheduleError(
        f"cannot move block {key.name} below loop {target.name}",
        why,
        help,
        [of_block(key.name), of_loop(target.name)],
    )


def _dom(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom


def _loops_of(schedule: ScheduleBase, key: Key) -> set[Key]:
    return {*schedule.around(key)}


def _below(schedule: ScheduleBase, key: BlockKey, target: Var) -> list[Var]:
    above = loops_around(schedule, key)
    return above[above.index(target) + 1 :]


def _domains(
    block: Block, needed: Mapping[Buffer, Sets], is_producer: bool
) -> dict[Var, IntervalSet]:
    """The values of the iterators for which a block accesses regions."""
    axes = {axis.var: axis for axis in block.iter_vars if axis.kind in (SPATIAL, REDUCTION)}
    domains: dict[Var, IntervalSet] = {}
    for region in block.writes if is_producer else block.reads:
        sets = needed.get(region.buffer)
        if sets is None:
            continue
        solved = [
            _solved(bound, wanted, axes) for bound, wanted in zip(region.region, sets, strict=True)
        ]
        pairs = [pair for pair in solved if pair is not None]
        if len(pairs) < len({*axes} & variables_of(region)):
            pairs = _inverted(region, sets, axes) or pairs
        for var, values in pairs:
            domains[var] = intersect([domains[var], values]) if var in domains else values
    return domains


def _inverted(
    region: BufferRegion, sets: Sets, axes: Mapping[Var, IterVar]
) -> list[tuple[Var, IntervalSet]]:
    """The values of iterators whose parts are indices, such as v // 4 and v % 4."""
    if not all(is_const(bound.extent, 1) for bound in region.region):
        return []
    ranges = {var: _dom(axis) for var, axis in axes.items()}
    indices = [bound.min for bound in region.region]
    iter_map = detect_iter_map(indices, ranges, None, IterMapLevel.BIJECTIVE)
    if iter_map.errors:
        return []
    stand_ins = [Var("index", index.dtype) for index in indices]
    inverse = inverse_affine_iter_map(iter_map.indices, stand_ins)
    domains = dict(zip(stand_ins, sets, strict=True))
    return [(var, eval_set(value, domains)) for var, value in inverse.items() if var in axes]


def _solved(
    bound: Range, wanted: IntervalSet, axes: Mapping[Var, IterVar]
) -> tuple[Var, IntervalSet] | None:
    """The iterator in an index `v * factor + rest`, and its values for indices in an interval."""
    used = variables_of(bound.min) & axes.keys()
    if len(used) != 1 or wanted.min is None or wanted.max is None:
        return None
    (var,) = used
    analyzer = Analyzer()
    factor = _factor(bound.min, var)
    low, high = wanted.min, wanted.max
    if factor == 1:
        rest = bound.min - var
        return var, IntervalSet(analyzer.simplify(low - rest), analyzer.simplify(high - rest))
    if factor == -1:  # reversed
        rest = bound.min + var
        return var, IntervalSet(analyzer.simplify(rest - high), analyzer.simplify(rest - low))
    extent = bound.extent
    if factor and isinstance(extent, IntImm) and 1 < extent.value <= factor:  # tiles
        rest = analyzer.simplify(bound.min - var * factor)
        low, high = [ops.floordiv(end - rest, factor) for end in (low, high)]
        return var, IntervalSet(analyzer.simplify(low), analyzer.simplify(high))
    return None


def _factor(index: Expr, var: Var) -> int | None:
    """The factor of a variable in an index that is linear in it."""
    step = Analyzer().simplify(substitute(index, {var: var + 1}) - index)
    return step.value if isinstance(step, IntImm) else None


def _covers_its_domain(schedule: ScheduleBase, key: BlockKey) -> bool:
    """Whether the loops give an instance for exactly the values of the iterators' domains."""
    realize = schedule.realize(key)
    axes, values = realize.block.iter_vars, realize.iter_values
    if not axes:
        return is_const(realize.predicate, 1)
    ranges = loop_ranges(schedule, schedule.loops_above(key))
    iter_map = detect_iter_map(values, ranges, realize.predicate, IterMapLevel.SURJECTIVE)
    if iter_map.errors:
        return is_const(realize.predicate, 1)
    if is_const(realize.predicate, 1):
        return True
    analyzer = Analyzer()
    for axis, index in zip(axes, iter_map.indices, strict=True):
        extent = index.args[0].extent if index.args else 1
        if not analyzer.can_prove_equal(ops.convert(extent), _dom(axis).extent):
            return False
    return True


def _count(index: BlockIndex, target: Var) -> int:
    return len(statements_of(index, target))


def _number_of(index: BlockIndex, target: Var, statement: Stmt | None) -> int:
    """The number of a statement of a loop; their number if there is none."""
    numbers = [
        number
        for number, candidate in enumerate(statements_of(index, target))
        if candidate is statement
    ]
    return numbers[0] if numbers else _count(index, target)
