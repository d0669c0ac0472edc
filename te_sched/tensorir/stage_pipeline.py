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
            one, accesses = index.keys[realize.block], accesses_of(realize)
            for buffer in accesses.written:
                if readers.get(buffer, one) is not one:
                    return (
                        f"block {one.name} writes {buffer.name} after {readers[buffer].name} "
                        "reads it"
                    )
            for buffer in accesses.read:
                readers.setdefault(buffer, one)
                if buffer not in makers or filled.get(buffer, statement) is not statement:
                    continue
                if not _is_covered(index, one, buffer, makers[buffer]):
                    return (
                        f"block {one.name} reads more of {buffer.name} than is written before in "
                        "the loops around it"
                    )
            for buffer in accesses.written:
                makers.setdefault(buffer, []).append(one)
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
    known = (buffer, *above, *[part for one in (key, *writers) for part in _place(index, one)])
    found = _COVERED.get(known)
    if found is None:
        if len(_COVERED) >= _MOST_KNOWN:
            _COVERED.clear()
        found = _COVERED[known] = _is_written(index, key, buffer, writers, above)
    return found


_COVERED: dict[tuple[Any, ...], bool] = {}
_MOST_KNOWN = 4096
_MOST_CASES = 64


class _Case(NamedTuple):
    """Values of loops, which may depend on new variables with ranges."""

    values: dict[Var, Expr]
    ranges: dict[Var, Range]

    def analyzer(self) -> Analyzer:
        """An analyzer that knows the ranges of the new variables."""
        found = Analyzer()
        for var, bound in self.ranges.items():
            found.bind(var, bound)
        return found

    def of(self, one: Expr) -> Expr:
        """An expression in this case."""
        return self.analyzer().simplify(substitute(one, self.values)) if self.values else one


_GENERAL = _Case({}, {})


def _place(index: BlockIndex, key: BlockKey) -> list[Any]:
    """What tells which elements a block accesses: its instance, its loops, and its groups."""
    found: list[Any] = [index.realize(key)]
    for one in index.around(key):
        if isinstance(one, Var):
            loop = index.loop(one)
            found += [one, loop.min, loop.extent, loop.thread_binding]
        elif is_group(index, one):
            found.append(index.realize(one).predicate)
        else:
            break
    return found


def _is_written(
    index: BlockIndex,
    key: BlockKey,
    buffer: Buffer,
    writers: Sequence[BlockKey],
    above: Sequence[Var],
) -> bool:
    threads = {*sharing(index, above, buffer.scope())}
    above = [one for one in above if one not in threads]
    if _is_written_for(index, key, buffer, writers, above, _GENERAL):
        return True
    regions = [one for one in accessed(index, key, writes=False) if one.buffer is buffer]
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

    def key_of(one: tuple[BlockKey, BufferRegion], around: list[Var]) -> list[Any]:
        key, region = one
        nodes = [index.loop(loop) for loop in around]
        values = binding_of(index.realize(key))
        found = [part for node in nodes for part in (node.min, node.extent)]
        found += [substitute(end, values) for r in region.region for end in (r.min, r.extent)]
        numbered: dict[Var, Expr] = dict(zip(around, loops, strict=True))
        return [term_key(substitute(part, numbered)) for part in (*found, predicate_of(index, key))]

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
    rest = [one for one in above if one not in case.values]
    analyzer = bound_loops(index, rest, case.analyzer())
    box = joined(written)
    left = [*range(len(box))]
    for sets in _read(index, key, buffer, above, case):
        left = [
            place
            for place in left
            if not _contains(analyzer, box[place], sets[place], buffer.shape[place])
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
    parts = [_parts(one, index.loop(one), extents) for one in above if one in used]
    if not parts or not 0 < math.prod([len(one) for one in parts]) <= _MOST_CASES:
        return []
    return [
        _Case(
            {var: value for one in chosen for var, value in one.values.items()},
            {var: bound for one in chosen for var, bound in one.ranges.items()},
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
    step = max([one for one in divisors if one > 0 and size % one == 0], default=1)
    rest = Var("rest", loop.dtype)
    ranges = {rest: Range(IntImm(0, loop.dtype), IntImm(step, loop.dtype))}
    found = [
        _Case({loop: node.min + number * step + rest}, ranges) for number in range(size // step)
    ]
    if found and not any(rest in variables_of(found[0].of(one)) for one in extents):
        return found
    return [_Case({loop: node.min + number}, {}) for number in range(size)]


def _number(extent: Expr) -> int:
    return extent.value if isinstance(extent, IntImm) else 0


def _below(index: BlockIndex, key: BlockKey, above: Sequence[Var]) -> list[Var]:
    return [one for one in loops_around(index, key) if one not in {*above}]


def _read(
    index: BlockIndex, key: BlockKey, buffer: Buffer, above: Sequence[Var], case: _Case
) -> Iterator[Sets]:
    """Sets of all that a block reads of a buffer in one iteration of the loops above: with all
    conditions, if that is known, and without conditions on several loops.
    """
    loops = _below(index, key, above)
    regions = [one for one in accessed(index, key, writes=False) if one.buffer is buffer]
    predicate = predicate_of(index, key)
    boxes = [_box(index, key, one, loops, predicate, case) for one in regions]
    if None not in boxes:
        yield joined([one for one in boxes if one])
    sets = [relaxed(index, key, one, loops) for one in regions]
    yield joined([[_given(bound, case) for bound in one] for one in sets])


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
    return [substitute(one.min, values) for one in region.region]


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
        mins, predicate = [case.of(one) for one in mins], case.of(predicate)
        ranges = {var: Range(case.of(one.min), case.of(one.extent)) for var, one in ranges.items()}
    found = detect_iter_map(mins, ranges, predicate, IterMapLevel.SURJECTIVE)
    if found.errors:
        return None
    sets = []
    for one, bound in zip(found.indices, region.region, strict=True):
        low = high = ops.convert(one.base)
        if one.args:
            (part,) = one.args
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
    first = {one: index.loop(one).min for one in loops if one not in used}
    given = conjuncts(predicate_of(index, key))
    if not given:
        return ops.const(True)
    analyzer = bound_loops(index, loops_around(index, key), Analyzer())
    func = index.functions[index.function_of(key)]
    for size in {one for buffer in func.buffer_map.values() for one in buffer.shape}:
        if type(size) is Var:
            analyzer.bind(size, Range(IntImm(1, size.dtype), IntImm(2**31 - 2, size.dtype)))
    found: Expr = ops.const(True)
    for condition in given:
        condition = substitute(condition, first)
        is_known = analyzer.can_prove(condition) or any(
            _follows(analyzer, condition, one, size)
            for one, size in zip(indices, shape, strict=True)
        )
        if not is_known:
            found = ops.logical_and(found, condition)
    return found


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
