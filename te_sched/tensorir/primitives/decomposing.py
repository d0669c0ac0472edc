"""Primitives that separate the elements of padding: decompose_padding.

Must not know how programs pad.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.deduce import deduce_bound
from te_sched.arith.int_set import IntervalSet, eval_set, from_range, intersect
from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_map import detect_iter_map
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Call, Expr, FloatImm, IntImm, IterVar, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore, For, Stmt
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.tensorir.base import ScheduleBase, of_block, of_loop
from te_sched.tensorir.blocks import accessed, accessed_outside, range_of, why_not_complete
from te_sched.tensorir.handles import BlockRV, LoopRV, instruction
from te_sched.tensorir.primitives.finding import check_not_root
from te_sched.tensorir.relaxation import bound_loops, covers
from te_sched.tensorir.rewriting import Values, nested
from te_sched.tensorir.state import BlockKey, Key, sequence

_Refusal = Callable[[str, str], ScheduleError]


class DecomposingPrimitives(ScheduleBase):
    """Primitives that separate the elements of padding."""

    __slots__ = ()

    @instruction("Write the constant of {block} in a block of its own, before loop {loop}")
    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Split a block that pads into one that writes the constant everywhere, before a loop, and
        one that writes the other elements.

        The block stores `T.if_then_else(condition, value, constant)`, where the condition bounds
        iterators.

        Parameters
        ----------
        loop : a loop around the block.

        Returns
        -------
        The block that writes the constant.

        >>> from te_sched.script import tir as T
        >>> @T.prim_func
        ... def main(A: T.Buffer((8,)), B: T.Buffer((12,))):
        ...     for i in range(12):
        ...         with T.block("B"):
        ...             vi = T.axis.spatial(12, i)
        ...             B[vi] = T.if_then_else(2 <= vi and vi < 10, A[vi - 2], 0.0)
        >>> sch = tir.Schedule(main)
        >>> sch.decompose_padding("B", sch.get_loops("B")[0])
        tir.BlockRV(B_pad_const)
        >>> sch.get(sch.get_block("B")).writes, sch.get(sch.get_block("B")).reads
        ((B[vi + 2],), (A[vi],))
        """
        key, before = self._padding_arguments(block, loop)
        padding = _padding(self, key, before)
        above = self.loops_above(key)
        outside, inside = above[: above.index(before)], above[above.index(before) :]
        constant = _constant(self, key, padding, outside, inside)
        nest, links = _bounded(self, key, padding)
        draft = self.draft
        own = padding.alone[0] if padding.alone else key
        draft.replace(own, nest, links)
        draft.replace(before, sequence(constant, draft.nodes[before]))
        (block_key,) = draft.blocks_in(constant)
        return BlockRV(block_key)

    @walks_deeply("decompose a padding", ScheduleError)
    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding` accepts a block and a loop.

        >>> sch = tir.Schedule(matmul_relu)
        >>> sch.can_decompose_padding("D", sch.get_loops("D")[0])
        False
        """
        handle = self.get_block(block) if isinstance(block, str) else block  # type: ignore[attr-defined]
        key, before = self._padding_arguments(handle, loop)
        try:
            _padding(self, key, before)
        except ScheduleError:
            return False
        return True

    def _padding_arguments(self, block: Any, loop: Any) -> tuple[BlockKey, Var]:
        action = "decompose_padding"
        return self.block_key(block, action), self.loop_key(loop, action)


@dataclass(frozen=True, slots=True)
class _Padding:
    """A block that pads.

    `ranges` has the values of the iterators where the condition holds, `alone` the loops with
    nothing but the block, and `moved` those of them whose range becomes that of their iterator.
    """

    condition: list[Expr]
    value: Expr
    constant: Expr
    store: BufferStore
    ranges: dict[Var, Range]
    alone: list[Var]
    moved: dict[Var, Var]


def _padding(schedule: ScheduleBase, key: BlockKey, before: Var) -> _Padding:
    """What a block pads, and how its loops change.

    Raises
    ------
    ScheduleError if it does not pad, or elements would have other values.
    """

    def refused(why: str, help: str) -> ScheduleError:
        fault = f"cannot decompose the padding of block {key.name} before loop {before.name}"
        return ScheduleError(fault, why, help, [of_block(key.name), of_loop(before.name)])

    check_not_root(schedule, key, "apply decompose_padding to")
    realize, above = schedule.realize(key), schedule.loops_above(key)
    block = realize.block
    if before not in above:
        names = ", ".join([loop.name for loop in above])
        raise refused(f"{before.name} is not a loop around it", f"give one of {names}")
    why = why_not_complete(schedule, key)
    if why:
        raise refused(f"it is not complete: {why}", "use a block that writes each element once")
    body = block.body
    if (
        type(body) is not BufferStore
        or body.predicate is not None
        or block.init is not None
        or block.alloc_buffers
        or block.match_buffers
    ):
        raise refused("it is not one store to an element", _HELP)
    choice = body.value
    if type(choice) is not Call or choice.op != "tir.if_then_else":
        raise refused(f"it stores {choice}, which no condition chooses", _HELP)
    analyzer = Analyzer()
    condition, value, constant = choice.args[0], choice.args[1], analyzer.simplify(choice.args[2])
    if not isinstance(constant, IntImm | FloatImm):
        raise refused(f"the value of its padding is {constant}, and not a constant", _HELP)
    loops = {loop: from_range(range_of(schedule.loop(loop))) for loop in above}
    for axis, bound in zip(block.iter_vars, realize.iter_values, strict=True):
        if not any(isinstance(node, E.FloorDiv | E.FloorMod) for node in walk(bound)):
            analyzer.bind(axis.var, _reached(axis, eval_set(bound, loops)))
    conditions = [*conjuncts(analyzer.simplify(condition))]
    ranges = _ranges(block, conditions, analyzer, refused)
    _check_distinct(block, body, refused)
    _check_readers(schedule, key, before, body.buffer, refused)
    alone = _alone(schedule, key, above[above.index(before) :])
    moved = _moved(schedule, realize, alone, ranges)
    return _Padding(conditions, value, constant, body, ranges, alone, moved)


def _reached(axis: IterVar, values: IntervalSet) -> Range:
    """The values that loops give to an iterator, also those outside of its domain."""
    low, high = values.min, values.max
    if not isinstance(low, IntImm) or not isinstance(high, IntImm):
        return _dom(axis)
    dtype = axis.var.dtype
    return Range(IntImm(low.value, dtype), IntImm(high.value - low.value + 1, dtype))


_HELP = "use a block such as B[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], 0.0)"


def _ranges(
    block: Block, conditions: list[Expr], analyzer: Analyzer, refused: _Refusal
) -> dict[Var, Range]:
    """The values of the iterators for which conditions hold."""
    axes = {axis.var: axis for axis in block.iter_vars}
    sets: dict[Var, IntervalSet] = {axis.var: from_range(_dom(axis)) for axis in block.iter_vars}
    for condition in conditions:
        if isinstance(condition, IntImm):
            raise refused(f"its condition {'always' if condition.value else 'never'} holds", _HELP)
        used = variables_of(condition) & axes.keys()
        if not used:
            continue
        (var, *others) = used
        interval = IntervalSet(None, None)
        if not others and type(condition) in (E.LT, E.LE, E.GT, E.GE):
            interval = deduce_bound(var, condition, {})
        with analyzer.constraint(condition):
            is_bound = (
                (interval.min is not None or interval.max is not None)
                and (interval.min is None or analyzer.can_prove(var >= interval.min))
                and (interval.max is None or analyzer.can_prove(var <= interval.max))
            )
        if not is_bound:
            raise refused(f"its condition {condition} does not bound an iterator", _HELP)
        sets[var] = intersect([sets[var], interval])
    ranges = {}
    plain = Analyzer()
    for var, values in sets.items():
        low, high = values.min, values.max
        if low is None or high is None or plain.can_prove(high < low):
            raise refused(f"its condition does not bound iterator {var.name}", _HELP)
        low = ops.cast(var.dtype, plain.simplify(low))
        ranges[var] = Range(low, ops.cast(var.dtype, plain.simplify(high - low + 1)))
    return ranges


def _check_distinct(block: Block, store: BufferStore, refused: _Refusal) -> None:
    """Refuse a block that may write an element several times, with other values."""
    ranges = {axis.var: _dom(axis) for axis in block.iter_vars}
    iter_map = detect_iter_map(store.indices, ranges, None, IterMapLevel.BIJECTIVE)
    if iter_map.errors:
        names = ", ".join(map(str, store.indices))
        raise refused(
            f"it may write an element several times: the indices {names} are not a one-to-one map "
            "of its iterators",
            "decompose the padding before the buffer is folded",
        )


def _check_readers(
    schedule: ScheduleBase, key: BlockKey, before: Var, buffer: E.Buffer, refused: _Refusal
) -> None:
    """Refuse statements in a loop that read elements before the block writes them."""
    if buffer in accessed_outside(schedule, before):
        raise refused(
            f"a statement in loop {before.name} accesses {buffer.name} outside of blocks",
            "make a block of it",
        )
    for reader in schedule.blocks_of(before):
        if reader is not key and not all(
            covers(schedule, key, reader, region)
            for region in accessed(schedule, reader, writes=False)
            if region.buffer is buffer
        ):
            raise refused(
                f"block {reader.name} may read elements before they are written",
                "compute it in loops of its own",
            )


def _alone(schedule: ScheduleBase, key: BlockKey, inside: list[Var]) -> list[Var]:
    """The innermost of some loops that have nothing but a block in them."""
    loops: list[Var] = []
    inner: Key = key
    for loop in reversed(inside):
        if schedule.loop(loop).body is not schedule.nodes[inner]:
            break
        loops.insert(0, loop)
        inner = loop
    return loops


def _moved(
    schedule: ScheduleBase,
    realize: BlockRealize,
    loops: list[Var],
    ranges: Mapping[Var, Range],
) -> dict[Var, Var]:
    """The loops that are iterators of a block, and give all values of these in some ranges."""
    iterators: dict[Var, Var] = {}
    analyzer = Analyzer()
    values = realize.iter_values
    bounds = [range_of(schedule.loop(loop)) for loop in loops]
    for axis, value in zip(realize.block.iter_vars, values, strict=True):
        if not isinstance(value, Var) or value not in {*loops}:
            continue
        own, wanted = range_of(schedule.loop(value)), ranges[axis.var]
        is_whole = analyzer.can_prove(own.min <= wanted.min) and analyzer.can_prove(
            wanted.min + wanted.extent <= own.min + own.extent
        )
        uses = [binding for binding in values if value in variables_of(binding)]
        if is_whole and len(uses) == 1 and value not in variables_of(realize.block, *bounds):
            iterators[value] = axis.var
    return iterators


def _constant(
    schedule: ScheduleBase,
    key: BlockKey,
    padding: _Padding,
    outside: list[Var],
    inside: list[Var],
) -> Stmt:
    """Loops around a block that writes the constant to all elements."""
    realize = schedule.realize(key)
    block, store = realize.block, padding.store
    loops: dict[Var, Expr] = {loop_var: Var(loop_var.name, loop_var.dtype) for loop_var in inside}
    axes = [
        IterVar(axis.dom, Var(axis.var.name, axis.var.dtype), axis.kind) for axis in block.iter_vars
    ]
    own: dict[Var, Expr] = {a.var: b.var for a, b in zip(block.iter_vars, axes, strict=True)}
    analyzer = bound_loops(schedule, outside, Analyzer())
    body = Block(
        tuple(axes),
        (),
        tuple([substitute(region, own) for region in block.writes]),
        f"{block.name_hint}_pad_const",
        None,
        replace(
            store,
            value=padding.constant,
            indices=tuple([substitute(index, own) for index in store.indices]),
        ),
    )
    values = [analyzer.simplify(substitute(value, loops)) for value in realize.iter_values]
    predicate = analyzer.simplify(substitute(realize.predicate, loops))
    statement: Stmt = BlockRealize(tuple(values), predicate, body)
    for loop in reversed(inside):
        node = schedule.loop(loop)
        var = loops[loop]
        assert isinstance(var, Var)
        low, extent = substitute(node.min, loops), substitute(node.extent, loops)
        statement = For(var, low, extent, "serial", statement)
    return statement


def _bounded(
    schedule: ScheduleBase, key: BlockKey, padding: _Padding
) -> tuple[Stmt, Mapping[Block, Block]]:
    """The loops with nothing but a block, and the block, where its condition holds."""
    realize = schedule.realize(key)
    block = realize.block
    ranges = padding.ranges
    moved: dict[Var, Expr] = {loop: loop + ranges[var].min for loop, var in padding.moved.items()}
    outer_loops = [
        outer_loop for outer_loop in schedule.loops_above(key) if outer_loop not in moved
    ]
    analyzer = bound_loops(schedule, outer_loops, Analyzer())
    for loop, var in padding.moved.items():
        analyzer.bind(loop, Range(IntImm(0, loop.dtype), ranges[var].extent))
    values: list[Expr] = []
    bindings: dict[Var, Expr] = {}
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        is_moved = isinstance(value, Var) and value in moved
        bindings[axis.var] = substitute(value, moved)
        low = ranges[axis.var].min
        values.append(value if is_moved else analyzer.simplify(bindings[axis.var] - low))
    predicate: Expr = ops.const(True)
    conditions = [substitute(condition, bindings) for condition in padding.condition]
    for expr in (*conditions, *conjuncts(substitute(realize.predicate, moved))):
        predicate = ops.logical_and(predicate, analyzer.simplify(expr))
    shifted = {var: var + bound.min for var, bound in ranges.items() if not is_const(bound.min, 0)}
    mapper = _Shifted(shifted)
    axes = [
        replace(axis, dom=Range(IntImm(0, axis.var.dtype), ranges[axis.var].extent))
        for axis in block.iter_vars
    ]
    new = replace(
        mapper.generic(replace(block, body=replace(padding.store, value=padding.value))),
        iter_vars=tuple(axes),
        annotations={},
    )
    loops = []
    for expr in padding.alone:
        node = schedule.loop(expr)
        if expr in padding.moved:
            extent = ranges[padding.moved[expr]].extent
            node = replace(node, min=IntImm(0, expr.dtype), extent=extent)
        loops.append(node)
    nest = nested(
        loops, replace(realize, iter_values=tuple(values), predicate=predicate, block=new)
    )
    return nest, {new: block}


class _Shifted(Values):
    """Replaces iterators by values, and simplifies indices."""

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new, analyzer = self.generic(node), Analyzer()
        return replace(new, indices=tuple([analyzer.simplify(index) for index in new.indices]))

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_Range(self, node: Range) -> Range:
        new = self.generic(node)
        return new if new is node else replace(new, min=Analyzer().simplify(new.min))


def _dom(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom
