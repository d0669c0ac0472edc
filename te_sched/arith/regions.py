"""The regions of buffers that a block reads and writes, in terms of its iterators.

Loops inside of the block are relaxed: the region is the union over their iterations. Inner blocks
contribute the regions that they declare. Must not know its users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.deduce import COMPARISONS, deduce_bound, opposite
from te_sched.arith.int_set import (
    EVERYTHING,
    NOTHING,
    IntervalSet,
    cover_range,
    eval_set,
    from_range,
    intersect,
    single_point,
    union,
)
from te_sched.arith.iter_expr import Factor, IterSplitExpr, IterSumExpr
from te_sched.arith.iter_map import detect_iter_map, normalize_iter_map_to_expr
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.blocks import (
    AllocateConst,
    Block,
    BlockRealize,
    MatchBufferRegion,
)
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.stmt import Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import children, parts_of, replace, substitute, variables_of, walk

_Regions = tuple[BufferRegion, ...]


def access_regions(
    block: Block, buffers: Mapping[Var, Buffer]
) -> tuple[_Regions, _Regions, _Regions]:
    """The regions that a block reads, writes, and accesses in an unknown way (by a pointer).

    Parameters
    ----------
    buffers : the buffers that exist around the block and in it, by their data.

    Buffers that the block allocates are omitted, views are replaced by their sources. A buffer that
    is written in a block with an initialization is not read. The buffers that indices of regions
    read which the block declares come first.
    """
    accesses = _Accesses(buffers, block.alloc_buffers, block.match_buffers)
    for region in (*block.reads, *block.writes):
        for bound in region.region:
            accesses.expression(bound.min)
            accesses.expression(bound.extent)
    if block.init is not None:
        accesses.statement(block.init)
    accesses.statement(block.body)
    reads = accesses.reads
    if block.init is not None:
        reads = {
            buffer: region for buffer, region in reads.items() if buffer not in accesses.writes
        }
    return (
        accesses.regions(reads),
        accesses.regions(accesses.writes),
        accesses.regions(accesses.opaque),
    )


def inner_accesses(
    statement: S.Stmt, buffers: Mapping[Var, Buffer]
) -> tuple[_Regions, _Regions, _Regions]:
    """The regions that a statement reads, writes, and accesses by a pointer, found in the bodies of
    its blocks: the regions that blocks declare are ignored. `buffers` as in `access_regions`.
    """
    accesses = _Accesses(buffers, is_inside=True)
    accesses.statement(statement)
    return tuple(
        [accesses.regions(sets) for sets in (accesses.reads, accesses.writes, accesses.opaque)]
    )  # type: ignore[return-value]


_Sets = dict[Buffer, list[IntervalSet]]


class _Accesses:
    """Collects the accesses of statements; `domains` has the values of the loops in them.

    `own` buffers and memory that statements allocate are omitted; with `is_inside`, nested blocks
    are visited. With `is_exact`, the conditions in `joint`, on several loops or of symbols, bound
    indices too; `analyzer` knows the values of outer variables.
    """

    def __init__(
        self,
        buffers: Mapping[Var, Buffer],
        own: Iterable[Buffer] = (),
        views: Iterable[MatchBufferRegion] = (),
        is_inside: bool = False,
        is_exact: bool = False,
        analyzer: Analyzer | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.buffers, self.is_inside, self.is_exact = dict(buffers), is_inside, is_exact
        self.own = set(own)
        self.views: dict[Buffer, BufferRegion] = {}
        self.view(views)
        self.domains: dict[Var, IntervalSet] = {}
        self.sets: dict[Expr, IntervalSet] = {}  # of indices, in the loops and conditions around
        self.joint: list[Expr] = []
        self.is_joint = True  # whether all other conditions are described by `domains` and `joint`
        self.lets: dict[Var, Expr] = {}
        self.declared: tuple[BufferRegion, ...] = ()  # by the block around
        self.pointed: set[Buffer] = set()  # accessed by a pointer, in declared regions
        self.inner: set[Var] = set()  # memory that statements allocate
        self.reads: _Sets = {}
        # All accesses in their order, if they are not separated.
        self.writes: _Sets = self.reads if is_exact else {}
        self.opaque: _Sets = {}

    def regions(self, sets: _Sets) -> _Regions:
        """The collected regions."""
        regions = []
        for buffer, per_dimension in sets.items():
            if buffer in self.own:
                continue
            ranges = [
                cover_range(*both) for both in zip(per_dimension, _whole(buffer), strict=True)
            ]
            analyzer = Analyzer()
            simplified = tuple([_simplified(r, analyzer) for r in ranges])
            regions.append(BufferRegion(buffer, simplified))
        return tuple(regions)

    def update(self, sets: _Sets, buffer: Buffer, region: list[IntervalSet]) -> None:
        """Add a region of a buffer, or of the source of a view."""
        while (source := self.views.get(buffer)) is not None:
            buffer, region = source.buffer, self.of_view(source, region)
        if buffer.data in self.inner:
            return
        old_region = sets.get(buffer)
        if old_region is None:
            sets[buffer] = region
        else:
            sets[buffer] = [_united(*both) for both in zip(old_region, region, strict=True)]

    def element(self, sets: _Sets, node: E.BufferLoad | S.BufferStore) -> None:
        """Add the elements of an access in all iterations; with `is_exact`, of `buffers` alone."""
        if not self.is_exact or node.buffer.data in self.buffers:
            self.update(sets, node.buffer, [self.relaxed(index) for index in node.indices])

    def of_view(self, source: BufferRegion, region: list[IntervalSet]) -> list[IntervalSet]:
        """The region of the source of a view; a view may have only its last dimensions."""
        first = len(source.region) - len(region)
        intervals = [self._relaxed_range(outer_range) for outer_range in source.region[:first]]
        for index_range, own in zip(source.region[first:], region, strict=True):
            begin = self.relaxed(index_range.min)
            if begin.min is None or begin.max is None or own.min is None or own.max is None:
                intervals.append(self._relaxed_range(index_range))
            else:
                low, high = ops.add(begin.min, own.min), ops.add(begin.max, own.max)
                intervals.append(IntervalSet(low, high))
        return intervals

    def relaxed(self, e: Expr) -> IntervalSet:
        """The values of an index in all iterations of the inner loops."""
        if type(e) is IntImm:
            return single_point(e)
        interval = self.sets.get(e)
        if interval is None:
            interval = self.sets[e] = self._relaxed(e)
        return interval

    def _relaxed(self, e: Expr) -> IntervalSet:
        e = substitute(e, self.lets)
        if self._reads_inside(e):
            return EVERYTHING
        if not self.domains.keys() & variables_of(e) and not _is_unknown(e):
            return IntervalSet(e.base, _last(e)) if type(e) is E.Ramp else single_point(e)
        interval = self._jointly(e) if self.is_exact else None
        return interval or eval_set(e, self.domains)

    def _reads_inside(self, e: Expr) -> bool:
        """Whether an index is read from memory that exists inside of the statements only."""
        if not (self.inner or self.own) or type(e) in (Var, IntImm):
            return False
        return any(
            type(node) is E.BufferLoad
            and (node.buffer in self.own or node.buffer.data in self.inner)
            for node in walk(e)
        )

    def _jointly(self, e: Expr) -> IntervalSet | None:
        """The values of an index that is a sum of loops under conditions on several loops, or of
        loops of symbolic extents.
        """
        variables = self.domains.keys() & variables_of(e)
        conditions = [
            condition
            for condition in self.joint
            if not variables.isdisjoint(variables_of(condition))
        ]
        used = variables.union(variables_of(*conditions)) & self.domains.keys()
        loops = {var: domain for var in used if (domain := _range(self.domains[var])) is not None}
        if len(loops) < len(used):
            return None
        symbols = variables_of(
            *[part for loop_range in loops.values() for part in (loop_range.min, loop_range.extent)]
        )
        is_constant = not conditions and not symbols
        if is_constant or not self.is_joint or not symbols.isdisjoint(self.domains):
            return None
        inner = [
            condition for condition in conditions if variables_of(condition) <= self.domains.keys()
        ]
        for some in (conditions, inner):  # without conditions the region is only larger
            holds = reduce(ops.logical_and, some) if some else None
            result = detect_iter_map([e], loops, holds, analyzer=self.analyzer)
            if not result.errors:
                return _values(result.indices[0], e.dtype)
            if len(inner) == len(conditions):
                return None
        return None

    # Statements

    def statement(self, node: Any) -> None:
        """Collect the accesses of a statement."""
        _STATEMENTS.get(type(node), _Accesses._other)(self, node)

    def _other(self, node: Any) -> None:
        parts = parts_of(node)
        for child in children(node):
            if not any(child is part for part in parts):
                self.part(child)
        for part in parts:
            self.statement(part)

    def part(self, node: Any) -> None:
        """Collect the reads of an expression or range."""
        for child in children(node) if isinstance(node, Range) else (node,):
            self.expression(child)

    def _loop(self, node: S.For) -> None:
        self.expression(node.min)
        self.expression(node.extent)
        values = Range(self.lets_of(node.min), self.lets_of(node.extent))
        self._within(node.loop_var, values, node.body)

    def _attribute(self, node: S.AttrStmt) -> None:
        if node.key not in ("thread_extent", "virtual_thread"):
            self._other(node)
            return
        self._within(node.node.var, Range(IntImm(0), node.value), node.body)

    def _within(self, var: Var, values: Range, body: Stmt) -> None:
        """Collect the accesses of a body in which a variable has these values."""
        outside = dict(self.domains)
        self.domains[var] = from_range(values)
        sets, self.sets = self.sets, {}
        self.statement(body)
        self.domains, self.sets = outside, sets

    def lets_of(self, e: Expr) -> Expr:
        """An expression with variables of lets replaced by their values."""
        return substitute(e, self.lets)

    def _let(self, node: S.LetStmt) -> None:
        self.expression(node.value)
        self.lets[node.var] = self.lets_of(node.value)
        self.statement(node.body)

    def _store(self, node: S.BufferStore) -> None:
        self.element(self.writes, node)
        self.expression(node.value)
        for index in node.indices:
            self.expression(index)

    def _condition(self, node: S.IfThenElse) -> None:
        self.expression(node.condition)
        self.where(node.condition, True, lambda: self.statement(node.then_case))
        if node.else_case is not None:
            other = node.else_case
            self.where(node.condition, False, lambda: self.statement(other))

    def _realize(self, node: BlockRealize) -> None:
        block = node.block
        for value in (*node.iter_values, node.predicate):
            self.expression(value)
        if self.is_inside:
            self.view(block.match_buffers)
            self.where(node.predicate, True, lambda: self._inside(block))
            return
        values = {
            axis.var: value for axis, value in zip(block.iter_vars, node.iter_values, strict=True)
        }
        for sets, regions in ((self.reads, block.reads), (self.writes, block.writes)):
            for region in regions:
                mapped = substitute(region, values)
                self.update(sets, region.buffer, [self._relaxed_range(r) for r in mapped.region])

    def _inside(self, block: Block) -> None:
        around, self.declared = self.declared, (*block.reads, *block.writes)
        for part in (block.init, block.body):
            if part is not None:
                self.statement(part)
        self.declared = around

    def _relaxed_range(self, index_range: Range) -> IntervalSet:
        low = self.relaxed(index_range.min)
        last = ops.sub(ops.add(index_range.min, index_range.extent), 1)
        high = low if ops.is_const(index_range.extent, 1) else self.relaxed(last)
        return IntervalSet(low.min, high.max)

    def where(self, condition: Expr, holds: bool, action: Any) -> None:
        """Collect accesses under a condition on the inner loops, or under its negation."""
        outside = dict(self.domains), self.joint, self.is_joint, self.sets
        for conjunct in _conjuncts(self.lets_of(condition), holds):
            comparison = _unlikely(conjunct)
            is_about_values = self.is_exact and variables_of(comparison)
            if not self._limit(comparison) and is_about_values:
                is_bound = comparison is conjunct and type(comparison) in _BOUNDS
                self.is_joint = self.is_joint and is_bound
                self.joint = [*self.joint, comparison] if is_bound else self.joint
        self.sets = {}
        action()
        self.domains, self.joint, self.is_joint, self.sets = outside

    def _limit(self, comparison: Expr) -> bool:
        """Narrow the domain of the only loop in a comparison, if constants bound it, or if its
        first or last value is excluded. Returns whether the comparison is thereby described.
        """
        loops = variables_of(comparison) & self.domains.keys()
        if len(loops) != 1 or type(comparison) not in COMPARISONS:
            return False
        (var,) = loops
        domain = self.domains[var]
        is_constant = type(domain.min) is type(domain.max) is IntImm
        if isinstance(comparison, E.NE):
            return (is_constant or self.is_exact) and self._exclude(var, comparison)
        if not is_constant or len(variables_of(comparison)) > 1:
            return False
        bound = deduce_bound(var, comparison, {})
        if bound is not NOTHING:
            self.domains[var] = intersect([domain, bound])
        return True

    def _exclude(self, var: Var, comparison: E.NE) -> bool:
        """Exclude a value at an end of a domain; whether it was one."""
        domain = self.domains[var]
        value = deduce_bound(var, E.EQ(comparison.a, comparison.b), {}).min
        if value is None:
            return False
        if domain.min is not None and same(value, domain.min):
            self.domains[var] = IntervalSet(ops.add(value, 1), domain.max)
        elif domain.max is not None and same(value, domain.max):
            self.domains[var] = IntervalSet(domain.min, ops.sub(value, 1))
        else:
            return False
        return True

    # Expressions

    def expression(self, node: Any) -> None:
        """Collect the reads of an expression."""
        kind = type(node)
        if kind is E.BufferLoad:
            self.element(self.reads, node)
        elif kind is Var:
            self._pointer(node)
        elif kind is E.Call and node.op == "tir.tvm_access_ptr":
            self._access_pointer(node)
            return
        elif kind is E.Call and node.op == "tir.if_then_else":
            condition, then, other = node.args
            self.expression(condition)
            self.where(condition, True, lambda: self.expression(then))
            self.where(condition, False, lambda: self.expression(other))
            return
        elif kind is E.Let:
            self.expression(node.value)
            self.lets[node.var] = self.lets_of(node.value)
            self.expression(node.body)
            return
        for child in children(node):
            self.part(child)

    def view(self, matches: Iterable[MatchBufferRegion]) -> None:
        """Add views of regions."""
        for match in matches:
            self.views[match.buffer] = match.source
            if self.is_exact:
                self.buffers[match.buffer.data] = match.buffer

    def _pointer(self, var: Var) -> None:
        buffer = self.buffers.get(var)
        if buffer is None or self._of_view(buffer):
            return
        declared = [declaration for declaration in self.declared if declaration.buffer is buffer]
        if not declared or not self.is_exact:
            self.update(self.opaque, buffer, _all_elements(buffer))
            return
        self.pointed.add(buffer)
        for region in declared:
            self.update(self.reads, buffer, [self._relaxed_range(r) for r in region.region])

    def _of_view(self, buffer: Buffer) -> bool:
        """Add the region of a view that is accessed by a pointer; whether it is one."""
        source = self.views.get(buffer) if self.is_exact else None
        if source is not None:
            region = [self._relaxed_range(index_range) for index_range in source.region]
            self.update(self.reads, source.buffer, region)
        return source is not None

    def _access_pointer(self, node: E.Call) -> None:
        data, mask = node.args[1], node.args[4]
        buffer = self.buffers.get(data) if type(data) is Var else None
        if buffer is not None and not self._of_view(buffer) and type(mask) is IntImm:
            for sets, bits in ((self.reads, 1), (self.writes, 2), (self.opaque, 3)):
                if mask.value & 3 == bits:
                    self.update(sets, buffer, _all_elements(buffer))
        for argument in node.args[2:]:
            self.expression(argument)

    def _allocate(self, node: S.Allocate | AllocateConst) -> None:
        """Memory inside of the block: the block itself does not access it."""
        for size in node.extents:
            self.expression(size)
        outside = self.inner
        self.inner = {*outside, node.buffer_var}
        self.statement(node.body)
        self.inner = outside


_STATEMENTS: dict[type, Any] = {
    S.For: _Accesses._loop,
    S.LetStmt: _Accesses._let,
    S.AttrStmt: _Accesses._attribute,
    S.BufferStore: _Accesses._store,
    S.IfThenElse: _Accesses._condition,
    S.Allocate: _Accesses._allocate,
    AllocateConst: _Accesses._allocate,
    BlockRealize: _Accesses._realize,
}


def _is_unknown(index: Expr) -> bool:
    """Whether an index has calls, choices, or elements that are not integers: it is more than one
    value, or any.
    """
    if type(index) in (Var, IntImm):
        return False
    return any(
        isinstance(node, E.Call | E.Select)
        or (isinstance(node, E.BufferLoad) and not dtypes.is_integral(node.dtype))
        for node in walk(index)
    )


def _simplified(index_range: Range, analyzer: Analyzer) -> Range:
    """A range, simplified; the index of one element is kept as it is written."""
    extent = analyzer.simplify(index_range.extent)
    return Range(
        index_range.min if ops.is_const(extent, 1) else analyzer.simplify(index_range.min), extent
    )


def _united(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """The union of sets of indices, which may have different types."""
    numbers = [end for end in (*a, *b) if isinstance(end, IntImm)]
    if len(numbers) == 4 and len({end.dtype for end in numbers}) == 1:
        return IntervalSet(*[choose(numbers, key=lambda end: end.value) for choose in (min, max)])
    pairs = [
        (x, y) if x is None or y is None or x.dtype == y.dtype else ops.match_types(x, y)
        for x, y in zip(a, b, strict=True)
    ]
    return union([IntervalSet(*ends) for ends in zip(*pairs, strict=True)])


def _last(ramp: E.Ramp) -> Expr:
    return ops.add(ramp.base, ops.mul(ramp.stride, ops.sub(ramp.lanes, 1)))


def _whole(buffer: Buffer) -> list[Range]:
    """The ranges of all elements; as TVM's, they begin at a zero of 32 bits."""
    return [Range(IntImm(0), size) for size in buffer.shape]


def _all_elements(buffer: Buffer) -> list[IntervalSet]:
    return [from_range(index_range) for index_range in _whole(buffer)]


def _conjuncts(condition: Any, holds: bool) -> Iterator[Any]:
    """The conditions that all hold if a condition holds, or does not hold."""
    kind = type(condition)
    if kind is E.Not:
        yield from _conjuncts(condition.a, not holds)
    elif kind is (E.And if holds else E.Or):
        yield from _conjuncts(condition.a, holds)
        yield from _conjuncts(condition.b, holds)
    elif _is_likely(condition):
        for conjunct in _conjuncts(condition.args[0], holds):
            yield replace(condition, args=(conjunct,))
    elif kind is E.Cast and condition.dtype == "bool":
        zero = E.NE if holds else E.EQ
        yield zero(condition.value, ops.const(0, condition.value.dtype))
    elif kind in COMPARISONS:
        yield condition if holds else opposite(condition)
    else:
        yield condition if holds else E.Not(condition)


def _is_likely(condition: Any) -> bool:
    return type(condition) is E.Call and condition.op == "tir.likely"


def _unlikely(condition: Any) -> Any:
    """A condition without the hint that it is likely."""
    return condition.args[0] if _is_likely(condition) else condition


# Comparisons that bound an index.
_BOUNDS = (E.LT, E.LE, E.GT, E.GE)


def _range(domain: IntervalSet) -> Range | None:
    """The range of a domain that has both ends."""
    low, high = domain
    if low is None or high is None:
        return None
    extent = ops.add(ops.sub(high, low), 1)
    is_number = type(low) is IntImm and type(high) is IntImm
    return Range(low, extent if is_number else Analyzer().simplify(extent))


def _values(index: IterSumExpr, dtype: str) -> IntervalSet | None:
    """The values of a detected index: those of its only part. None where TVM finds no part, or one
    with gaps and a symbolic extent.
    """
    low = ops.convert(normalize_iter_map_to_expr(index._replace(args=())))
    if not index.args:
        return single_point(ops.cast(dtype, low))
    (part,) = index.args
    if type(part.scale) is not int or _is_decreasing_sum(part):
        return None
    if type(part.extent) is not int and part.scale > 1:
        return None
    reach = (_steps(part) - 1) * part.scale
    if type(reach) is int:
        return IntervalSet(ops.add(low, min(reach, 0)), ops.add(low, max(reach, 0)))
    ends = low, ops.add(low, reach)
    return IntervalSet(*(ends if part.scale > 0 else reversed(ends)))


def _is_decreasing_sum(split: IterSplitExpr) -> bool:
    """Whether a part is a sum of iterators with negative numbers as scales, which TVM does not
    detect.
    """
    source = split.source.source
    is_first = type(split.lower_factor) is int and split.lower_factor == 1
    is_whole = is_first and split.extent is split.source.extent
    is_sum = isinstance(source, IterSumExpr) and len(source.args) > 1
    return (
        type(split.scale) is int
        and split.scale < 0
        and is_whole
        and is_sum
        and all(type(part.scale) is int for part in source.args)
    )


def _steps(part: IterSplitExpr) -> Factor:
    """The extent of a part. TVM divides its reach by a negative scale, which it does not undo."""
    if type(part.extent) is int or part.scale == 1:
        return part.extent
    return ops.truncdiv(Analyzer().simplify(ops.mul(part.extent, part.scale)), part.scale)


def accessed_sets(
    body: Stmt,
    buffers: Iterable[Buffer],
    relaxed: Mapping[Var, IntervalSet],
    views: Iterable[MatchBufferRegion] = (),
    analyzer: Analyzer | None = None,
) -> dict[Buffer, list[IntervalSet]]:
    """The regions of buffers that statements access, by dimension, without those that are unknown.

    Parameters
    ----------
    body : without iterators of blocks around it.
    relaxed : outer variables that take all their values.
    views : of the block around the body.
    analyzer : knows the values of variables around the body; others are taken for sizes.
    """
    wanted = {buffer.data: buffer for buffer in buffers}
    accesses = _Accesses(wanted, (), views, is_inside=True, is_exact=True, analyzer=analyzer)
    accesses.domains = dict(relaxed)
    accesses.statement(body)
    regions = {}
    for buffer in wanted.values():
        whole = accesses.reads.get(buffer)
        if whole is not None and buffer not in accesses.opaque:
            regions[buffer] = _from_begin(whole, buffer) if buffer in accesses.pointed else whole
    return regions


def _from_begin(region: list[IntervalSet], buffer: Buffer) -> list[IntervalSet]:
    """The region with all elements before it: they keep their positions after a pointer."""
    first = IntervalSet(IntImm(0, buffer.shape[0].dtype), region[0].max)
    return [first, *_all_elements(buffer)[1:]]
