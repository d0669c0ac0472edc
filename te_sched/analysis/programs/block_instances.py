"""Check the instances of blocks: their iterators have values in their domains, and a reduction adds
each value once to a result that is initialized once.

Primitives transform programs under these conditions; without them a program computes something
else than it says. Loops that have nothing in common are evaluated apart with numpy. Must not know
primitives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from math import prod
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.findings import (
    REFUTED,
    RULE,
    Finding,
    broken_rule,
    broken_rule_of_block,
)
from te_sched.analysis.programs.first_instances import judge_first_instances
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import Execution, connected, distinct_rows
from te_sched.arith.int_set import eval_set, from_range
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import BufferStore, PrimFunc, Stmt
from te_sched.ir.visitor import variables_of, walk
from te_sched.lowering.blocks.unify_threads import (
    EQUAL_EXTENTS,
    ONE_LAUNCH,
    differing_threads,
    is_unified,
)
from te_sched.tensorir.blocks import (
    accessed,
    buffers_of,
    loops_around,
    predicate_of,
    range_of,
)
from te_sched.tensorir.insertion import common_parent
from te_sched.tensorir.relaxation import bound_loops
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.tensorir.stage_pipeline import written_box
from te_sched.tensorir.state import BlockIndex, BlockKey
from te_sched.tensorir.updates import may_be_repeated
from te_sched.trace.observing import unobserved

_LIMIT = 1 << 20  # number of iterations to evaluate


def judge_blocks(func: PrimFunc) -> list[Finding]:
    """Findings about the instances of the blocks of a function, and about the extents of its
    threads: those that are not proved.
    """
    threads = [_of_threads(*mismatch) for mismatch in differing_threads(func.body)]
    if type(func.body) is not BlockRealize:
        return threads
    with unobserved():
        index = BlockSchedule(func)
    results = [_Instances(index, key).finding() for key in index.keys.values()]
    results += [_of_nested_threads(index, key) for key in index.keys.values()]
    results += [_initialized_inside(index, key) for key in index.keys.values()]
    own = [result for result in results if result is not None]
    return [*threads, *own, *_overwritten(index), *judge_first_instances(func)]


def _of_threads(tag: str, extents: tuple[Expr, Expr]) -> Finding:
    extent, other = extents
    return Finding(
        RULE,
        REFUTED,
        f"thread axis {tag} has extents {extent} and {other} in one kernel",
        axis=tag,
        why=ONE_LAUNCH,
        help=EQUAL_EXTENTS,
    )


def _of_nested_threads(index: BlockIndex, key: BlockKey) -> Finding | None:
    """The fault of a block that depends on two loops over the threads of one axis, one loop inside
    of the other: both have the number of the thread, so that only equal iterations meet.
    """
    around = [key, *index.around(key)]
    values = [
        index.realize(block_key).iter_values
        for block_key in around
        if isinstance(block_key, BlockKey)
    ]
    used = variables_of(*[value for some in values for value in some])
    outer: dict[str, Var] = {}
    for var in reversed(around):
        if not isinstance(var, Var) or var not in used:
            continue
        loop = index.loop(var)
        thread = loop.thread_binding
        if thread is None or _number(loop.extent) == 1:
            continue
        first = outer.setdefault(thread.thread_tag, var)
        if first is not var and is_unified(thread.thread_tag):
            return broken_rule_of_block(
                key.name,
                f"loops {first.name} and {var.name} around block {key.name} are bound to the same "
                f"threads, {thread.thread_tag}",
                "a thread would execute only those iterations in which both are its number",
                "bind one of the loops to another thread axis, or fuse them",
            )
    return None


def _initialized_inside(index: BlockIndex, key: BlockKey) -> Finding | None:
    """The fault of a block that initializes, in every iteration of a reduction around it, the
    elements which that reduction has initialized.
    """
    block = index.block(key)
    if block.init is None or not ops.is_const(predicate_of(index, key), 1):
        return None
    stores = _stores(block.init)
    used = variables_of(*[subscript for store in stores for subscript in store.indices])
    inner = key
    for outer in [block_key for block_key in index.around(key) if isinstance(block_key, BlockKey)]:
        realize, around = index.realize(inner), index.block(outer)
        values = zip(realize.block.iter_vars, realize.iter_values, strict=True)
        used = variables_of(*[value for axis, value in values if axis.var in used])
        reduced = [axis for axis in around.iter_vars if axis.kind == "CommReduce"]
        repeated = [axis for axis in reduced if axis.dom and _number(axis.dom.extent) != 1]
        begun = {store.buffer for store in _stores(around.init)}
        buffer = next((store.buffer for store in stores if store.buffer in begun), None)
        if buffer is not None and repeated and not {axis.var for axis in reduced} & used:
            axis = repeated[0].var.name
            return broken_rule_of_block(
                key.name,
                f"block {key.name} sets what the reduction {outer.name} has accumulated",
                f"its T.init() stores to {buffer.name} for each value of {axis}, over which "
                f"block {outer.name} accumulates: all but the last value of {axis} are lost",
                f"remove the T.init() of block {key.name}: that of block {outer.name} is enough",
            )
        inner = outer
    return None


def _stores(statement: Stmt | None) -> list[BufferStore]:
    """The stores in a statement."""
    return [node for node in walk(statement) if type(node) is BufferStore] if statement else []


class _Part(NamedTuple):
    """Loops with the iterators and conditions that depend on them, and on no other loops."""

    loops: list[Var]
    bindings: list[tuple[IterVar, Expr]]
    conditions: list[Expr]


class _Instances:
    """The instances of one block."""

    def __init__(self, index: BlockIndex, key: BlockKey) -> None:
        self.index, self.key, self.realize = index, key, index.realize(key)
        self.loops = loops_around(index, key)
        is_reduction = any(axis.kind == "CommReduce" for axis, _ in self._bindings())
        self.counts = is_reduction and not may_be_repeated(self.realize.block)
        self.counted: set[Var] = set()  # the loops whose iterations were counted

    def _bindings(self) -> Iterator[tuple[IterVar, Expr]]:
        return zip(self.realize.block.iter_vars, self.realize.iter_values, strict=True)

    def finding(self) -> Finding | None:
        """The fault, or None."""
        for part in self._parts():
            if not self._is_plain(part):
                finding = self._of_part(part)
                if finding is not None:
                    return finding
        return self._repeated_inside() if self.realize.block.init is not None else None

    def _parts(self) -> list[_Part]:
        pairs: list[tuple[IterVar | None, Expr]] = [*self._bindings()]
        pairs += [(None, condition) for condition in conjuncts(predicate_of(self.index, self.key))]
        own = frozenset(self.loops)
        return [
            _Part(
                [loop for loop in self.loops if loop in loops],
                [(axis, value) for axis, value in together if axis is not None],
                [value for axis, value in together if axis is None],
            )
            for loops, together in connected(
                [(pair, own & variables_of(pair[1])) for pair in pairs]
            )
        ]

    def _is_plain(self, part: _Part) -> bool:
        """Whether an iterator is a loop with the same values."""
        if len(part.bindings) != 1 or part.conditions:
            return False
        ((axis, value),) = part.bindings
        if type(value) is not Var or value not in {*part.loops} or axis.dom is None:
            return False
        loop, dom = self.index.loop(value), axis.dom
        return all(
            bound is other or _number(bound) == _number(other) is not None
            for bound, other in ((loop.min, dom.min), (loop.extent, dom.extent))
        )

    def _are_inside(self, part: _Part) -> bool:
        """Whether the bounds of loops prove that iterators do not leave their domains."""
        analyzer = Analyzer()
        for var in part.loops:
            loop = self.index.loop(var)
            analyzer.bind(var, Range(loop.min, loop.extent))
        for axis, value in part.bindings:
            assert axis.dom is not None
            low, extent = _number(axis.dom.min), _number(axis.dom.extent)
            least, most = analyzer.const_bounds(value)
            if low is None or extent is None or least is None or most is None:
                return False
            if least < low or most >= low + extent:
                return False
        return True

    def _of_part(self, part: _Part) -> Finding | None:
        if not self.counts and self._are_inside(part):
            return None
        try:
            values, begun = self._evaluated(part)
        except Unevaluable:
            return self._crowded(part)
        instances = []
        for (axis, _), own in zip(part.bindings, values, strict=True):
            assert axis.dom is not None
            low, extent = _number(axis.dom.min), _number(axis.dom.extent)
            if low is not None and extent is not None:
                outside = own[(own < low) | (own >= low + extent)]
                if outside.size:
                    return self._outside(axis, int(outside[0]), low, extent)
            instances.append(own)
        has_axes = bool(instances) or self.realize.block.init is not None
        if not self.counts or not part.loops or not has_axes:
            return None
        self.counted |= {*part.loops}
        count, different = len(begun[0]), len(distinct_rows([*instances, *begun]))
        return None if different == count else self._repeated(part, count, different)

    @cached_property
    def reduced(self) -> set[Var]:
        """The loops of reduction iterators."""
        return {
            var
            for axis, value in self._bindings()
            if axis.kind == "CommReduce"
            for var in variables_of(value)
        }

    @cached_property
    def beginning(self) -> set[Var]:
        """The loops whose iterations compute a reduction from its begin: those outside of its
        loops, and around what initializes it.
        """
        outside = {*takewhile(lambda var: var not in self.reduced, self.loops)}
        block = self.realize.block
        if block.init is not None:
            return outside
        written = {*buffers_of(block.writes)}
        around = [
            outer_key
            for key in self.index.keys.values()
            if key is not self.key and written & {*buffers_of(self.index.block(key).writes)}
            for outer_key in self.index.around(key)
        ]
        return outside & {*around}

    def _evaluated(self, part: _Part) -> tuple[list[Any], list[Any]]:
        """The values of iterators in all iterations of loops in which the conditions hold, and
        the numbers of the begins of a reduction, from loops around these.
        """
        loops = [loop for var in part.loops if (loop := loop_of(self.index.loop(var)))]
        points = Execution({}, {}, _LIMIT).points(loops).held(part.conditions)
        begun = [digit for loop, digit in points.digits.items() if loop.var in self.beginning]
        values = [points.of(value) for _, value in part.bindings]
        return (
            [np.broadcast_to(value, (points.count,)) for value in values],
            [np.zeros(points.count, np.int64), *begun],
        )

    def _crowded(self, part: _Part) -> Finding | None:
        """The fault of a reduction with more iterations than instances."""
        repeated = [var for var in part.loops if var not in self.beginning]
        loops = [_number(self.index.loop(var).extent) for var in repeated]
        domains = [_number(axis.dom.extent) for axis, _ in part.bindings if axis.dom is not None]
        if part.conditions or not self.counts or None in loops or None in domains:
            return None
        count, instances = prod(loops), prod(domains)  # type: ignore[arg-type]
        return self._repeated(part, count, instances) if count > instances else None

    def _outside(self, axis: IterVar, value: int, low: int, extent: int) -> Finding:
        name, end = axis.var.name, low + extent - 1
        return broken_rule_of_block(
            self.key.name,
            f"iterator {name} of block {self.key.name} leaves its domain",
            f"the loops around the block give it the value {value}, and its domain is {low} to "
            f"{end}",
            f"give {name} a domain with this value, or exclude the iterations with T.where, as a "
            "split without disable_predication does",
        )

    def _repeated(self, part: _Part, count: int, instances: int) -> Finding:
        names = ", ".join([axis.var.name for axis, _ in part.bindings])
        return broken_rule_of_block(
            self.key.name,
            f"block {self.key.name} adds some values of its reduction several times",
            f"{count} iterations of the loops {', '.join([var.name for var in part.loops])} give "
            + (f"{instances} values of {names}" if names else "the same values of its iterators"),
            "use split factors whose product is the extent of the loop, or exclude iterations with "
            "T.where",
        )

    def _repeated_inside(self) -> Finding | None:
        """The fault of a loop inside of those of a reduction that repeats the same instances."""
        used = {variable for _, value in self._bindings() for variable in variables_of(value)}
        outer = ""
        for var in self.loops:
            loop = self.index.loop(var)
            if _number(loop.extent) == 1 or loop.thread_binding is not None:
                continue
            if var in self.reduced:
                outer = outer or var.name
            elif var not in used and var not in self.counted and outer:
                return broken_rule_of_block(
                    self.key.name,
                    f"block {self.key.name} adds some values of its reduction several times",
                    f"loop {var.name} repeats it in loop {outer}, and no iterator depends on "
                    f"{var.name}",
                    f"reorder the loops: {var.name} outside of {outer}",
                )
        return None


def _number(value: Expr) -> int | None:
    return value.value if isinstance(value, IntImm) else None


def _overwritten(index: BlockSchedule) -> Iterator[Finding]:
    """Reductions whose results another block overwrites before anything reads them, where they
    were written or where blocks have copied them.
    """
    last: dict[Buffer, tuple[BlockKey, BlockKey]] = {}  # the writer, and the reduction
    outer = [key for func in index.functions.values() for key in index.blocks_in(func.body)]
    leaves = [*_leaves(index, outer)]
    for number, key in enumerate(leaves, 1):
        block = index.block(key)
        # what T.init() reads is not among the reads
        copied = [last.pop(buffer) for buffer in buffers_of(block.reads) if buffer in last]
        reduces = _reduces(block)
        for buffer in buffers_of(block.writes):
            before = last.pop(buffer, None)
            # A block that neither begins a reduction nor copies a result writes others on purpose.
            if (
                before is not None
                and (reduces or copied or _is_reduced(buffer, map(index.block, leaves[number:])))
                and _starts(index, key)
                and _meet(index, before[0], key, buffer)
            ):
                yield broken_rule(
                    buffer.name,
                    f"block {key.name} overwrites the results of the reduction {before[1].name}",
                    f"both write the same elements of {buffer.name}, and nothing reads the first",
                    "decompose_reduction before loop_partition: one initialization for all parts",
                )
            if reduces or copied:
                last[buffer] = (key, key if reduces else copied[0][1])


def _reduces(block: Block) -> bool:
    return any(axis.kind == "CommReduce" for axis in block.iter_vars)


def _is_reduced(buffer: Buffer, blocks: Iterable[Block]) -> bool:
    """Whether one of the blocks is a reduction that reads a buffer."""
    return any(_reduces(block) and buffer in buffers_of(block.reads) for block in blocks)


def _starts(index: BlockIndex, key: BlockKey) -> bool:
    """Whether a block sets elements: it is not a reduction, or has the first values of one."""
    realize = index.realize(key)
    loops = {var: from_range(range_of(index.loop(var))) for var in loops_around(index, key)}
    analyzer = Analyzer()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        low = eval_set(value, loops).min
        domain = axis.dom if axis.kind == "CommReduce" else None
        if domain is not None and low is not None and analyzer.can_prove(low > domain.min):
            return False
    return True


def _leaves(index: BlockSchedule, keys: Sequence[BlockKey]) -> Iterator[BlockKey]:
    """The blocks without inner blocks, and those that initialize for theirs, in program order."""
    for key in keys:
        inner = () if index.block(key).init is not None else index.blocks_of(key)
        yield from _leaves(index, inner) if inner else (key,)


def _meet(index: BlockSchedule, block: BlockKey, other: BlockKey, buffer: Buffer) -> bool:
    """Whether two blocks write a common element in the same iteration of the loops around both."""
    scope = index.scope(block)
    if scope is None:
        return False
    while scope is not None and scope not in {*index.around(other)}:
        scope = index.scope(scope)
    assert scope is not None
    parent = common_parent(index, scope, [block, other])
    above = [*index.loops_above(parent), parent] if isinstance(parent, Var) else []
    boxes = []
    for key in (block, other):
        region = next(each for each in accessed(index, key, True) if each.buffer is buffer)
        loops = [each for each in loops_around(index, key) if each not in {*above}]
        box = written_box(index, key, region, loops)
        if box is None:
            return False
        boxes.append(box)
    analyzer = bound_loops(index, above, Analyzer())
    return all(
        analyzer.can_prove(a.min <= b.max) and analyzer.can_prove(b.min <= a.max)
        for a, b in zip(*boxes, strict=True)
    )
