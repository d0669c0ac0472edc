"""Stage pipelines: whether the blocks of a scope may be moved, merged and removed as long as each
reads what earlier ones write.

A scope is a stage pipeline if no block writes what another read before, and if all that a block
reads of others is written in the same iteration of the loops around both (TVM calls this region
cover). Must not know any primitive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.int_set import IntervalSet
from te_sched.arith.iter_detect import IterMapLevel, is_number
from te_sched.arith.iter_map import detect_iter_map
from te_sched.ir import ops
from te_sched.ir.expr import (
    GE,
    LE,
    LT,
    Buffer,
    BufferRegion,
    Expr,
    FloorDiv,
    IntImm,
    Range,
    Var,
)
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import substitute, variables_of, walk
from te_sched.tensorir.blocks import (
    accessed,
    is_group,
    loop_ranges,
    loops_around,
    predicate_of,
    stated_blocks,
)
from te_sched.tensorir.dependences import (
    accesses_of,
    filled_buffers,
    nests_of_scope,
    outermost_blocks,
)
from te_sched.tensorir.insertion import common_parent
from te_sched.tensorir.relaxation import Sets, binding_of, bound_loops, joined, relaxed, sharing
from te_sched.tensorir.state import BlockIndex, BlockKey, Key

# The advice of primitives which require it.
PIPELINE_HELP = "write each buffer before it is read, all that is read there, and not after that"


def why_not_pipeline(index: BlockIndex, key: Key) -> str:
    """The reason why the scope of a block is not a stage pipeline; "" if it is one."""
    scope = index.scope(key)
    if scope is None:
        return ""
    readers: dict[Buffer, BlockKey] = {}
    makers: dict[Buffer, list[BlockKey]] = {}
    filled: dict[Buffer, Stmt] = {}  # by a block of this statement of the scope
    for statement in nests_of_scope(index.realize(scope)):
        for realize in outermost_blocks(statement):
            block_key, accesses = index.keys[realize.block], accesses_of(realize)
            for buffer in accesses.written:
                if readers.get(buffer, block_key) is not block_key:
                    return (
                        f"block {block_key.name} writes {buffer.name} after {readers[buffer].name} "
                        "reads it"
                    )
            for buffer in accesses.read:
                readers.setdefault(buffer, block_key)
                if buffer not in makers or filled.get(buffer, statement) is not statement:
                    continue
                if not _is_covered(index, block_key, buffer, makers[buffer]):
                    return (
                        f"block {block_key.name} reads more of {buffer.name} than is written "
                        "before in the loops around it"
                    )
            for buffer in accesses.written:
                makers.setdefault(buffer, []).append(block_key)
        for buffer in filled_buffers(statement):
            filled.setdefault(buffer, statement)
    return ""


def _is_covered(
    index: BlockIndex, key: BlockKey, buffer: Buffer, makers: Sequence[BlockKey]
) -> bool:
    """Whether blocks write all that one reads of a buffer, in each iteration of the loops around
    all of them. Nodes do not change: what was found of them holds in other schedules, too.
    """
    scope = index.scope(key)
    assert scope is not None
    parent = common_parent(index, scope, [key, *makers])
    above = [*index.loops_above(parent), parent] if isinstance(parent, Var) else []
    writers = stated_blocks(index, makers)
    cache_key = (
        buffer,
        *above,
        *[part for block_key in (key, *writers) for part in _place(index, block_key)],
    )
    is_covered = _COVERED.get(cache_key)
    if is_covered is None:
        if len(_COVERED) >= _MOST_KNOWN:
            _COVERED.clear()
        is_covered = _COVERED[cache_key] = _is_written(index, key, buffer, writers, above)
    return is_covered


_COVERED: dict[tuple[Any, ...], bool] = {}
_MOST_KNOWN = 4096
_MOST_CASES = 64


class _Case(NamedTuple):
    """Values of loops, which may depend on new variables with ranges."""

    values: dict[Var, Expr]
    ranges: dict[Var, Range]

    def analyzer(self) -> Analyzer:
        """An analyzer that knows the ranges of the new variables."""
        analyzer = Analyzer()
        for var, bound in self.ranges.items():
            analyzer.bind(var, bound)
        return analyzer

    def of(self, expr: Expr) -> Expr:
        """An expression in this case."""
        return self.analyzer().simplify(substitute(expr, self.values)) if self.values else expr


_GENERAL = _Case({}, {})


def _place(index: BlockIndex, key: BlockKey) -> list[Any]:
    """What tells which elements a block accesses: its instance, its loops, and its groups."""
    parts: list[Any] = [index.realize(key)]
    for outer_key in index.around(key):
        if isinstance(outer_key, Var):
            loop = index.loop(outer_key)
            parts += [outer_key, loop.min, loop.extent, loop.thread_binding]
        elif is_group(index, outer_key):
            parts.append(index.realize(outer_key).predicate)
        else:
            break
    return parts


def _is_written(
    index: BlockIndex,
    key: BlockKey,
    buffer: Buffer,
    writers: Sequence[BlockKey],
    above: Sequence[Var],
) -> bool:
    threads = {*sharing(index, above, buffer.scope())}
    above = [loop for loop in above if loop not in threads]
    if _is_written_for(index, key, buffer, writers, above, _GENERAL):
        return True
    regions = [region for region in accessed(index, key, writes=False) if region.buffer is buffer]
    if len(regions) == 1 and any(
        _are_alike(index, (key, regions[0]), (maker, region), above)
        for maker in writers
        for region in index.block(maker).writes
        if region.buffer is buffer
    ):
        return True
    cases = _cases(index, writers, above)
    return bool(cases) and all(
        _is_written_for(index, key, buffer, writers, above, case) for case in cases
    )


def _are_alike(
    index: BlockIndex,
    read: tuple[BlockKey, BufferRegion],
    written: tuple[BlockKey, BufferRegion],
    above: Sequence[Var],
) -> bool:
    """Whether a block reads in each iteration of its loops what another one writes in its own."""
    loops, others = [_below(index, key, above) for key, _ in (read, written)]
    if len(loops) != len(others):
        return False

    def key_of(access: tuple[BlockKey, BufferRegion], around: list[Var]) -> list[Any]:
        key, region = access
        nodes = [index.loop(loop) for loop in around]
        values = binding_of(index.realize(key))
        exprs = [part for node in nodes for part in (node.min, node.extent)]
        exprs += [substitute(end, values) for r in region.region for end in (r.min, r.extent)]
        numbered: dict[Var, Expr] = dict(zip(around, loops, strict=True))
        return [term_key(substitute(part, numbered)) for part in (*exprs, predicate_of(index, key))]

    return key_of(read, loops) == key_of(written, others)


def _is_written_for(
    index: BlockIndex,
    key: BlockKey,
    buffer: Buffer,
    writers: Sequence[BlockKey],
    above: Sequence[Var],
    case: _Case,
) -> bool:
    """Whether blocks write all that one reads, for some values of loops above."""
    written = [
        sets
        for maker in writers
        for region in index.block(maker).writes
        if region.buffer is buffer
        if (sets := written_box(index, maker, region, _below(index, maker, above), case))
        is not None
    ]
    if not written:
        return False
    rest = [loop for loop in above if loop not in case.values]
    analyzer = bound_loops(index, rest, case.analyzer())
    box = joined(written)
    left = [*range(len(box))]
    for sets in _read(index, key, buffer, above, case):
        left = [
            dimension
            for dimension in left
            if not _contains(analyzer, box[dimension], sets[dimension], buffer.shape[dimension])
        ]
        if not left:
            return True
    return False


def _cases(index: BlockIndex, writers: Sequence[BlockKey], above: Sequence[Var]) -> list[_Case]:
    """Cases of the values of the loops above on which extents of loops of the writers depend; none
    if there are no such loops, or too many cases.
    """
    below = [loop for maker in writers for loop in _below(index, maker, above)]
    extents = [index.loop(loop).extent for loop in below]
    used = variables_of(*extents)
    parts = [_parts(loop, index.loop(loop), extents) for loop in above if loop in used]
    if not parts or not 0 < math.prod([len(cases) for cases in parts]) <= _MOST_CASES:
        return []
    return [
        _Case(
            {var: value for case in chosen for var, value in case.values.items()},
            {var: bound for case in chosen for var, bound in case.ranges.items()},
        )
        for chosen in itertools.product(*parts)
    ]


def _parts(loop: Var, node: For, extents: Sequence[Expr]) -> list[_Case]:
    """Cases of the values of a loop: each value, or each quotient by the largest number by which
    extents divide it, if they depend on that alone; the remainder is then a new variable.
    """
    size = _number(node.extent)
    divisors = [
        _number(part.b)
        for extent in extents
        for part in walk(extent)
        if type(part) is FloorDiv and loop in variables_of(part.a)
    ]
    step = max([divisor for divisor in divisors if divisor > 0 and size % divisor == 0], default=1)
    rest = Var("rest", loop.dtype)
    ranges = {rest: Range(IntImm(0, loop.dtype), IntImm(step, loop.dtype))}
    cases = [
        _Case({loop: node.min + number * step + rest}, ranges) for number in range(size // step)
    ]
    if cases and not any(rest in variables_of(cases[0].of(extent)) for extent in extents):
        return cases
    return [_Case({loop: node.min + number}, {}) for number in range(size)]


def _number(extent: Expr) -> int:
    return extent.value if isinstance(extent, IntImm) else 0


def _below(index: BlockIndex, key: BlockKey, above: Sequence[Var]) -> list[Var]:
    return [loop for loop in loops_around(index, key) if loop not in {*above}]


def _read(
    index: BlockIndex, key: BlockKey, buffer: Buffer, above: Sequence[Var], case: _Case
) -> Iterator[Sets]:
    """Sets of all that a block reads of a buffer in one iteration of the loops above: with all
    conditions, if that is known, and without conditions on several loops.
    """
    loops = _below(index, key, above)
    regions = [region for region in accessed(index, key, writes=False) if region.buffer is buffer]
    predicate = predicate_of(index, key)
    boxes = [_box(index, key, region, loops, predicate, case) for region in regions]
    if None not in boxes:
        yield joined([box for box in boxes if box])
    sets = [relaxed(index, key, region, loops) for region in regions]
    yield joined([[_given(bound, case) for bound in intervals] for intervals in sets])


def _given(bound: IntervalSet, case: _Case) -> IntervalSet:
    return IntervalSet(*[end if end is None else case.of(end) for end in bound])


def written_box(
    index: BlockIndex,
    key: BlockKey,
    region: BufferRegion,
    loops: Sequence[Var],
    case: _Case = _GENERAL,
) -> Sets | None:
    """A box that a block writes completely over all iterations of loops, in some case; None if
    unknown.
    """
    mins = _begins(index, key, region)
    predicate = _selection(index, key, mins, region.buffer.shape, loops)
    return _box(index, key, region, loops, predicate, case)


def _begins(index: BlockIndex, key: BlockKey, region: BufferRegion) -> list[Expr]:
    """The first element of a region, by dimension, in terms of loops."""
    values = binding_of(index.realize(key))
    return [substitute(bound.min, values) for bound in region.region]


def _box(
    index: BlockIndex,
    key: BlockKey,
    region: BufferRegion,
    loops: Sequence[Var],
    predicate: Expr,
    case: _Case,
) -> Sets | None:
    """The elements of a region over all iterations of loops with a condition, if they are a box."""
    if not region.region and not is_const(predicate, 1):
        return None  # no index says in which iterations the condition holds
    ranges = loop_ranges(index, loops)
    mins = _begins(index, key, region)
    if case.values:
        mins, predicate = [case.of(begin) for begin in mins], case.of(predicate)
        ranges = {
            var: Range(case.of(loop_range.min), case.of(loop_range.extent))
            for var, loop_range in ranges.items()
        }
    iter_map = detect_iter_map(mins, ranges, predicate, IterMapLevel.SURJECTIVE)
    if iter_map.errors:
        return None
    sets = []
    for index_sum, bound in zip(iter_map.indices, region.region, strict=True):
        low = high = ops.convert(index_sum.base)
        if index_sum.args:
            (part,) = index_sum.args
            if is_number(part.scale, -1):
                low = low - (part.extent - 1)
            elif is_number(part.scale, 1) or is_const(bound.extent - part.scale, 0):
                high = high + (part.extent - 1) * part.scale
            else:
                return None
        sets.append(IntervalSet(low, high + bound.extent - 1))
    return sets


def _selection(
    index: BlockIndex,
    key: BlockKey,
    indices: Sequence[Expr],
    shape: Sequence[Expr],
    loops: Sequence[Var],
) -> Expr:
    """The conditions of a block that exclude elements of a buffer. Of loops on which no index
    depends one iteration is enough; sizes of buffers are positive, as those of loops.
    """
    used = variables_of(*indices)
    first = {loop: index.loop(loop).min for loop in loops if loop not in used}
    conditions = conjuncts(predicate_of(index, key))
    if not conditions:
        return ops.const(True)
    analyzer = bound_loops(index, loops_around(index, key), Analyzer())
    func = index.functions[index.function_of(key)]
    for size in {extent for buffer in func.buffer_map.values() for extent in buffer.shape}:
        if type(size) is Var:
            analyzer.bind(size, Range(IntImm(1, size.dtype), IntImm(2**31 - 2, size.dtype)))
    predicate: Expr = ops.const(True)
    for condition in conditions:
        condition = substitute(condition, first)
        is_known = analyzer.can_prove(condition) or any(
            _follows(analyzer, condition, index_expr, size)
            for index_expr, size in zip(indices, shape, strict=True)
        )
        if not is_known:
            predicate = ops.logical_and(predicate, condition)
    return predicate


def _follows(analyzer: Analyzer, condition: Expr, index: Expr, size: Expr) -> bool:
    """Whether a condition follows from the fact that an index is within a dimension: x < 20 does
    if the index is x * 2 + y, and the size is 40.
    """
    if type(condition) is LT:
        low, high = condition.a, condition.b
        scale = 1
        if isinstance(high, IntImm) and isinstance(size, IntImm) and high.value > 0:
            scale = max(size.value // high.value, 1)
        return analyzer.can_prove((low - high) * scale <= index - size)
    if type(condition) in (LE, GE):
        low, high = condition.a, condition.b  # type: ignore[attr-defined]
        if type(condition) is GE:
            low, high = high, low
        return analyzer.can_prove(high - low >= index) or analyzer.can_prove(
            low - high < index - size + 1
        )
    return False


def _contains(analyzer: Analyzer, written: IntervalSet, wanted: IntervalSet, size: Expr) -> bool:
    """Whether an interval has another one in it, as far as that is in a dimension."""
    if written.min is None or written.max is None:
        return False
    begins = wanted.min is not None and analyzer.can_prove(written.min <= wanted.min)
    ends = wanted.max is not None and analyzer.can_prove(written.max >= wanted.max)
    return (begins or analyzer.can_prove(written.min <= 0)) and (
        ends or analyzer.can_prove(written.max >= size - 1)
    )
