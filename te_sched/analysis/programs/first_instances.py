"""Check that T.init() of a reduction runs in the first instance that updates an element, and in no
later one, in execution order.

`lower_init` makes T.init() a condition on the instance: the reduction iterators are at the start of
their domains. Proof: the loops of the reduction iterators are at the start together with these, and
select nothing else. Otherwise the instances are executed with numpy in their order, all of them or
the first ones. An instance with T.init() after another one of the same element refutes the program,
and so does an element of a result that no instance initializes, if no other block writes the
result: blocks that partition a reduction share one T.init(). Must not know primitives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.findings import RULE, UNPROVED, Finding, broken_rule_of_block
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.evaluate import Unevaluable, Values
from te_sched.arith.executions import (
    Execution,
    Points,
    connected,
    numbered,
    rows_of,
    sample_sizes,
    sizes_text,
)
from te_sched.arith.iter_expr import IterSplitExpr, IterSumExpr
from te_sched.arith.iter_map import detect_iter_map
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize, MatchBufferRegion
from te_sched.ir.expr import BufferLoad, Expr, IterVar, Var
from te_sched.ir.scopes import Loop, Scope, scoped
from te_sched.ir.stmt import BufferStore, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import substitute, variables_of, walk

_LIMIT = 1 << 18  # number of iterations to execute


def judge_first_instances(func: PrimFunc) -> Iterator[Finding]:
    """Findings about the blocks of a function whose T.init() runs too late or too often, and about
    those where this is not known.
    """
    values: dict[Var, Expr] = {}
    for node, scope in scoped(func.body):
        if type(node) is BlockRealize:
            axes = node.block.iter_vars
            for axis, value in zip(axes, node.iter_values, strict=True):
                values[axis.var] = substitute(value, values)
        elif type(node) is LetStmt:
            values[node.var] = substitute(node.value, values)
        elif type(node) is Block and node.init is not None:
            finding = _unindexed(node) or _Reduction.of(func, node, scope, values).finding()
            if finding is not None:
                yield finding


def _unindexed(block: Block) -> Finding | None:
    """The fault of a block that initializes the same elements for each value of an iterator that it
    does not declare as a reduction axis.
    """
    stores = _stores(block.init)
    buffers = {store.buffer for store in stores}
    loads = (part for part in walk(block.body) if type(part) is BufferLoad)
    if block.match_buffers or not any(load.buffer in buffers for load in loads):
        return None
    used = _written_with(block, [*stores, *_stores(block.body)])
    for axis in block.iter_vars:
        is_spatial = axis.kind == "DataPar" and axis.dom is not None
        if is_spatial and not ops.is_const(axis.dom.extent, 1) and axis.var not in used:  # type: ignore[union-attr]
            return _reset(block, axis, stores[0].buffer.name)
    return None


def _stores(statement: Stmt | None) -> list[BufferStore]:
    """The stores in a statement."""
    return [] if statement is None else [s for s in walk(statement) if type(s) is BufferStore]


def _written_with(block: Block, stores: Sequence[BufferStore]) -> set[Var]:
    """The variables that the written elements depend on, also those around inner blocks."""
    used = variables_of(*[index for store in stores for index in store.indices])
    for part in reversed([*walk(block)]):
        if type(part) is BlockRealize:
            pairs = zip(part.block.iter_vars, part.iter_values, strict=True)
            used |= variables_of(*[value for axis, value in pairs if axis.var in used])
    return used


def _reset(block: Block, axis: IterVar, buffer: str) -> Finding:
    name, reduced = (
        axis.var.name,
        any(iter_var.kind == "CommReduce" for iter_var in block.iter_vars),
    )
    kinds = "".join(
        "R" if iter_var is axis or iter_var.kind == "CommReduce" else "S"
        for iter_var in block.iter_vars
    )
    return broken_rule_of_block(
        block.name_hint,
        f"block {block.name_hint} resets its result for each value of {name}, which is declared "
        "as a spatial axis"
        if reduced
        else f"block {block.name_hint} has T.init() but no reduction axis",
        f"{name} indexes nothing that the block writes, so that T.init() sets {buffer} again for "
        f"each value of {name}, and only the last one is kept",
        f'declare {name} with T.axis.reduce: did you mean T.axis.remap("{kinds}", ...)?',
    )


class _Element(NamedTuple):
    """An element that is not initialized right: the iterators of its first instance and of a later
    one with T.init(), if any; and the sizes.
    """

    first: tuple[int, ...]
    later: tuple[int, ...] | None
    sizes: str


class _Trace(NamedTuple):
    """What the execution of instances showed: an element that is initialized after its first
    instance, one that never is, whether any is, and whether all instances were executed.
    """

    late: _Element | None
    missing: _Element | None
    initializes: bool
    is_whole: bool


_UNKNOWN = _Trace(None, None, True, False)


@dataclass
class _Reduction:
    """The instances of a block with T.init(), in terms of all loops around it."""

    func: PrimFunc
    block: Block
    loops: tuple[Loop, ...]
    values: tuple[Expr, ...]  # of its iterators
    lows: tuple[Expr | None, ...]  # the starts of the domains of its reduction iterators
    conditions: tuple[Expr, ...]

    @classmethod
    def of(cls, func: PrimFunc, block: Block, scope: Scope, values: dict[Var, Expr]) -> _Reduction:
        """The instances at a position of a program; `values` has those of all iterators."""
        lows = [
            substitute(axis.dom.min, values) if axis.kind == "CommReduce" and axis.dom else None
            for axis in block.iter_vars
        ]
        conditions = [part for condition in scope.conditions for part in conjuncts(condition)]
        return cls(
            func,
            block,
            scope.loops,
            tuple([values[axis.var] for axis in block.iter_vars]),
            tuple(lows),
            tuple([substitute(condition, values) for condition in conditions]),
        )

    def finding(self) -> Finding | None:
        """The fault, or that none is known; None if there is none."""
        pairs = zip(self.block.iter_vars, self.lows, strict=True)
        repeats = [axis for axis, low in pairs if low is not None and not _is_single(axis)]
        if not repeats or self._is_over_threads() or self._is_proved():
            return None
        parts = self._parts()
        traces = [self._executed(axes, conditions) for axes, conditions in parts]
        initializes = all(trace.initializes for trace in traces)
        for (axes, _), trace in zip(parts, traces, strict=True):
            if trace.late is not None and initializes:
                return self._late(axes, trace.late)
            if trace.missing is not None and self._is_only_writer():
                return self._missing(axes, trace.missing)
        outcomes = [
            trace.is_whole or self._has_own_digits(*part)
            for part, trace in zip(parts, traces, strict=True)
        ]
        return None if all(outcomes) else self._unknown()

    @cached_property
    def reduced(self) -> set[Var]:
        """The variables of the reduction iterators."""
        pairs = zip(self.values, self.lows, strict=True)
        return variables_of(*[value for value, low in pairs if low is not None])

    @cached_property
    def elements(self) -> set[int]:
        """The numbers of the iterators that determine the written element: those that are spatial,
        or indices of what the block writes.
        """
        written = _written_with(self.block, _stores(self.block.init))
        pairs = enumerate(zip(self.block.iter_vars, self.lows, strict=True))
        return {number for number, (axis, low) in pairs if low is None or axis.var in written}

    def _is_over_threads(self) -> bool:
        """Whether threads combine their values: they begin with the identity."""
        return any(loop.kind == "thread" and loop.var in self.reduced for loop in self.loops)

    def _is_proved(self) -> bool:
        """Whether the first iterations of the reduction loops are the ones with T.init(), for any
        iteration of the others.
        """
        reduced = self.reduced
        ends = [end for loop in self.loops for end in (loop.min, loop.extent)]
        lows = [low for low in self.lows if low is not None]
        elements = [self.values[number] for number in self.elements]
        if variables_of(*elements, *ends, *lows) & reduced:
            return False
        first = {loop.var: loop.min for loop in self.loops if loop.var in reduced}
        wanted = [
            ops.equal(substitute(value, first), low)
            for value, low in zip(self.values, self.lows, strict=True)
            if low is not None
        ]
        wanted += [
            substitute(condition, first)
            for condition in self.conditions
            if variables_of(condition) & reduced
        ]
        analyzer = Analyzer()
        for loop in self.loops:
            analyzer.bind(loop.var, loop.range)
        return all(ops.is_const(goal, 1) or analyzer.can_prove(goal) for goal in wanted)

    def _parts(self) -> list[tuple[list[int], list[Expr]]]:
        """The numbers of iterators with the conditions on the same loops, in groups that have no
        loops in common, if a reduction iterator is among them. The first instance is the first of
        each group.
        """
        within = {loop.var: variables_of(loop.min, loop.extent) for loop in self.loops}
        items = []
        for number, expr in enumerate((*self.values, *self.conditions)):
            used: set[Var] = set()
            pending = variables_of(expr)
            while pending:
                used |= pending
                pending = set().union(*[within.get(var, set()) for var in pending]) - used
            items.append((number, frozenset(used & within.keys())))
        parts, count = [], len(self.values)
        for _, numbers in connected(items):
            axes = sorted(number for number in numbers if number < count)
            conditions = [self.conditions[number - count] for number in numbers if number >= count]
            if any(self.lows[axis] is not None for axis in axes):
                parts.append((axes, conditions))
        return parts

    def _has_own_digits(self, axes: Sequence[int], conditions: Sequence[Expr]) -> bool:
        """Whether each iterator is made of other digits of the loops, and the reduction iterators
        begin with zeros: i = f // 8 and k = f % 8 of a loop f.
        """
        lows = [self.lows[axis] for axis in axes]
        are_elements = [axis in self.elements for axis in axes]
        if conditions or are_elements != [low is None for low in lows]:
            return False
        ranges = {loop.var: loop.range for loop in self.loops}
        digits = detect_iter_map([self.values[axis] for axis in axes], ranges)
        return not digits.errors and all(
            (low is None or _is_number(low, index.base)) and all(map(self._is_in_order, index.args))
            for low, index in zip(lows, digits.indices, strict=True)
        )

    def _is_in_order(self, part: IterSplitExpr) -> bool:
        """Whether the digits of which a part is one grow in the order of the loops."""
        source = part.source.source
        parts = source.args if type(source) is IterSumExpr else ()
        order = [loop.var for loop in self.loops]
        places = [
            order.index(split.source.source) for split in parts if split.source.source in order
        ]
        scales = [split.scale for split in (part, *parts)]
        return (
            all(type(scale) is int and scale > 0 for scale in scales)
            and all(
                split.lower_factor == 1 and split.extent == split.source.extent for split in parts
            )
            and len(places) == len(parts)
            and places == sorted({*places})
            and scales[1:] == sorted(scales[1:], reverse=True)
        )

    def _executed(self, axes: Sequence[int], conditions: Sequence[Expr]) -> _Trace:
        """What the execution of the loops of some iterators shows."""
        lows = [low for axis in axes if (low := self.lows[axis]) is not None]
        used = variables_of(*[self.values[axis] for axis in axes], *conditions, *lows)
        for loop in reversed(self.loops):
            if loop.var in used:
                used |= variables_of(loop.min, loop.extent)
        loops = [loop for loop in self.loops if loop.var in used]
        symbols = sorted(used - {loop.var for loop in loops}, key=lambda var: var.name)
        late = missing = None
        initializes, is_whole = False, not symbols
        for sizes in sample_sizes(symbols):
            try:
                points, is_complete = Execution({}, sizes, _LIMIT).first_points(loops)
                trace = self._trace(points.held(conditions), axes, _for(sizes), is_complete)
            except Unevaluable:
                return _UNKNOWN
            late, missing = late or trace.late, missing or trace.missing
            initializes = initializes or trace.initializes
            is_whole = is_whole and is_complete
        return _Trace(late, missing, initializes, is_whole)

    def _trace(self, points: Points, axes: Sequence[int], sizes: str, is_complete: bool) -> _Trace:
        count = points.count
        if not count:
            return _Trace(None, None, True, is_complete)
        values = [np.broadcast_to(points.of(self.values[axis]), (count,)) for axis in axes]
        begins = np.ones(count, bool)
        for axis, value in zip(axes, values, strict=True):
            low = self.lows[axis]
            begins &= low is None or value == points.of(low)
        outside = {*takewhile(lambda loop: loop.var not in self.reduced, self.loops)}
        keys = [digit for loop, digit in points.digits.items() if loop in outside]
        keys += [v for axis, v in zip(axes, values, strict=True) if axis in self.elements]
        (groups,), group_count = numbered([rows_of(keys, count)])
        first = np.full(max(group_count, 1), count, np.int64)
        np.minimum.at(first, groups, np.arange(count))
        firsts = first[groups]

        def element(instance: int, later: int | None) -> _Element:
            rows = [
                None if n is None else tuple(int(v[n]) for v in values) for n in (instance, later)
            ]
            assert rows[0] is not None
            return _Element(rows[0], rows[1], sizes)

        late = begins & (firsts != np.arange(count))
        initialized = np.zeros(len(first), bool)
        initialized[groups[begins]] = True
        missing = ~initialized[groups]
        number = int(np.argmax(late))
        return _Trace(
            element(int(firsts[number]), number) if late.any() else None,
            element(int(np.argmax(missing)), None) if is_complete and missing.any() else None,
            bool(begins.any()) or not is_complete,
            is_complete,
        )

    def _is_only_writer(self) -> bool:
        """Whether nothing else writes the results of the block, which are arguments: temporaries
        are judged where they are read.
        """
        data = {store.buffer.data for store in _stores(self.block.init)}
        if not data <= {buffer.data for buffer in self.func.buffer_map.values()}:
            return False
        own = {id(part) for part in walk(self.block)}
        others = (part for part in walk(self.func.body) if id(part) not in own)
        return not any(
            (type(part) is BufferStore and part.buffer.data in data)
            or (type(part) is MatchBufferRegion and part.source.buffer.data in data)
            or (type(part) is Var and part in data)
            for part in others
        )

    def _begin(self) -> str:
        pairs = zip(self.block.iter_vars, self.lows, strict=True)
        starts = [f"{axis.var.name} == {low}" for axis, low in pairs if low is not None]
        return f"T.init() is executed where {' and '.join(starts)}"

    def _instance(self, axes: Sequence[int], values: Sequence[int]) -> str:
        names = [self.block.iter_vars[axis].var.name for axis in axes]
        return ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))

    def _late(self, axes: Sequence[int], element: _Element) -> Finding:
        assert element.later is not None
        name = self.block.name_hint
        first, later = (self._instance(axes, numbers) for numbers in (element.first, element.later))
        return broken_rule_of_block(
            name,
            f"block {name} resets {_stores(self.block.init)[0].buffer.name} during its reduction",
            f"{self._begin()}, as in the instance {later}, and the instance {first} of the same "
            f"element comes before it{element.sizes}: what that adds is lost",
            "let the loops begin at the start of the reduction axes, or use decompose_reduction "
            "before the loops are reordered",
        )

    def _missing(self, axes: Sequence[int], element: _Element) -> Finding:
        name = self.block.name_hint
        buffer = _stores(self.block.init)[0].buffer.name
        first = self._instance(axes, element.first)
        return broken_rule_of_block(
            name,
            f"block {name} does not initialize all elements of {buffer}",
            f"{self._begin()}, and no instance of the element that the instance {first} writes "
            f"has these values{element.sizes}",
            "let the reduction axes begin at the start of their domains, and declare axes that "
            f"are indices of {buffer} with T.axis.spatial",
        )

    def _unknown(self) -> Finding:
        name = self.block.name_hint
        return Finding(
            RULE,
            UNPROVED,
            f"block {name} may initialize its result after its first instance",
            name,
            stage=name,
            why="it is not known whether the reduction iterators are at the start of their domains "
            "in the first instance that updates each element",
        )


def _for(sizes: Values) -> str:
    return f" (for {sizes_text(sizes)})" if sizes else ""


def _is_number(e: Expr, number: Any) -> bool:
    return type(number) is int and ops.is_const(e, number)


def _is_single(axis: IterVar) -> bool:
    """Whether the domain of an iterator has one value."""
    return axis.dom is not None and ops.is_const(axis.dom.extent, 1)
