"""Regions over all iterations of loops. Must not know any primitive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

import numpy as np

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.arith.deduce import COMPARISONS, deduce_bound
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.int_set import IntervalSet, eval_set, from_range, intersect, is_nothing, union
from te_sched.arith.prove import OF_TVM, prove
from te_sched.ir import ops
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import substitute, variables_of
from te_sched.tensorir.blocks import iterations_of, loops_around, predicate_of
from te_sched.tensorir.state import BlockIndex, BlockKey, Key

Sets = list[IntervalSet]


def relaxed(index: BlockIndex, key: BlockKey, region: BufferRegion, loops: Iterable[Var]) -> Sets:
    """A region of a block over all iterations of loops, in terms of the other loops around it."""
    realize = index.realize(key)
    domains: dict[Var, IntervalSet] = {
        loop: from_range(Range(index.loop(loop).min, index.loop(loop).extent)) for loop in loops
    }
    for condition in conjuncts(predicate_of(index, key)):
        limit(condition, domains)
    return region_sets(substitute(region, binding_of(realize)), domains)


def region_sets(region: BufferRegion, domains: Mapping[Var, IntervalSet]) -> Sets:
    """A region over all values of variables, by dimension."""
    sets = []
    for bound in region.region:
        low = eval_set(bound.min, domains)
        high = eval_set(bound.min + bound.extent - 1, domains)
        sets.append(IntervalSet(low.min, high.max))
    return sets


def limit(condition: Expr, domains: dict[Var, IntervalSet]) -> None:
    """Narrow the domains of variables to constants that a condition on one of them allows."""
    if type(condition) not in COMPARISONS:
        return
    for var in variables_of(condition) & domains.keys():
        interval = deduce_bound(var, condition, {})
        is_constant = all(end is None or isinstance(end, IntImm) for end in interval)
        if is_constant and not is_nothing(interval):
            domains[var] = intersect([domains[var], interval])


def always_holds(condition: Expr, ranges: Mapping[Var, Range], are_positive: bool = False) -> bool:
    """Whether a condition `value >= bound` or `value < bound` is proven for all iterations of loops
    with symbolic extents.

        k * 32 + i < n * 32, of k in [0, n), i in [0, 32)

    Parameters
    ----------
    are_positive : use that extents are positive in an iteration. TVM does where it moves blocks.
    """
    analyzer = Analyzer()
    for var, bounds in ranges.items():
        analyzer.bind(var, bounds)
    sizes = [
        value_range.extent
        for value_range in ranges.values()
        if not isinstance(value_range.extent, IntImm)
    ]
    with ExitStack() as facts:
        for size in sizes if are_positive else ():
            facts.enter_context(analyzer.constraint(Analyzer().simplify(size > 0)))
        return prove(condition, analyzer, OF_TVM) is not None


def covers(index: BlockIndex, key: BlockKey, other: BlockKey, region: BufferRegion) -> bool:
    """Whether a block writes what another one accesses, in each iteration of their common loops."""
    common = {*index.around(key)} & {*index.around(other)}
    analyzer = bound_loops(index, loops_around(index, key), Analyzer())
    needed = _inside(index, other, region, common)
    for own in index.block(key).writes:
        if own.buffer is region.buffer:
            written = _inside(index, key, own, common)
            return all(
                a.min is not None
                and a.max is not None
                and b.min is not None
                and b.max is not None
                and analyzer.can_prove(a.min <= b.min)
                and analyzer.can_prove(b.max <= a.max)
                for a, b in zip(written, needed, strict=True)
            )
    return False


def exceeds(index: BlockIndex, key: BlockKey, other: BlockKey, region: BufferRegion) -> bool:
    """Whether a block accesses elements that another one, `key`, provably does not write, in some
    iterations of their common loops.
    """
    common = {*index.around(key)} & {*index.around(other)}
    analyzer = bound_loops(index, loops_around(index, key), Analyzer())
    needed = _inside(index, other, region, common)
    return all(
        any(
            (a.min is not None and b.min is not None and analyzer.can_prove(b.min < a.min))
            or (a.max is not None and b.max is not None and analyzer.can_prove(b.max > a.max))
            for a, b in zip(_inside(index, key, own, common), needed, strict=True)
        )
        for own in index.block(key).writes
        if own.buffer is region.buffer
    )


def _inside(index: BlockIndex, key: BlockKey, region: BufferRegion, common: set[Key]) -> Sets:
    """A region of a block over all iterations of the loops that are not common ones."""
    return relaxed(index, key, region, [v for v in loops_around(index, key) if v not in common])


def binding_of(realize: BlockRealize) -> dict[Var, Expr]:
    """The values of the iterators of a block."""
    return {
        axis.var: value
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    }


def joined(sets: Iterable[Sets]) -> Sets:
    """The union of regions, by dimension."""
    return [union(intervals) for intervals in zip(*sets, strict=True)]


def ranges_of(
    sets: Sets, shape: Iterable[Expr], analyzer: Analyzer, is_within: bool = True
) -> list[Range]:
    """Regions as ranges, by default within a shape; unbounded ones are of the whole shape."""
    ranges = []
    for interval, size in zip(sets, shape, strict=True):
        low, high = interval.min, interval.max
        if low is None or high is None:
            ranges.append(Range(size * 0, size))
            continue
        if is_within and isinstance(low, IntImm) and low.value < 0:
            low = IntImm(0, low.dtype)
        if is_within and isinstance(high, IntImm) and analyzer.can_prove(high >= size):
            high = size - 1
        low = ops.cast(size.dtype, analyzer.simplify(low))
        ranges.append(Range(low, ops.cast(size.dtype, analyzer.simplify(high - low + 1))))
    return ranges


def bound_loops(index: BlockIndex, loops: Iterable[Var], analyzer: Analyzer) -> Analyzer:
    """An analyzer that knows the ranges of loops."""
    for loop in loops:
        node = index.loop(loop)
        analyzer.bind(loop, Range(node.min, node.extent))
    return analyzer


WITHIN = "split the loop without disable_predication, or exclude iterations with T.where"


def why_outside(index: BlockIndex, key: BlockKey) -> str:
    """Which iterator of a block leaves its domain, in loops that its condition says nothing of; ""
    if none is known to.

    A primitive that makes iterators of such loops would lose the domain, and repeat instances.
    """
    conditions = variables_of(predicate_of(index, key))
    realize, around = index.realize(key), loops_around(index, key)
    analyzer = bound_loops(index, around, Analyzer())
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        used = variables_of(value)
        if axis.dom is None or used & conditions or not used <= {*around}:
            continue
        last = _largest(index, value, [loop for loop in around if loop in used], analyzer)
        _, end = analyzer.const_bounds(ops.add(axis.dom.min, axis.dom.extent))
        if last is not None and end is not None and last >= end:
            name = axis.var.name
            return f"iterator {name} has values up to {last}, and its domain ends at {end - 1}"
    return ""


def _largest(
    index: BlockIndex, value: Expr, loops: Sequence[Var], analyzer: Analyzer
) -> int | None:
    """The largest value of an expression in loops; None if it is unknown."""
    try:
        points = iterations_of(index, loops)
    except Unevaluable:
        return analyzer.const_bounds(analyzer.simplify(value))[1]
    try:
        return int(np.max(points.of(value), initial=-1))
    except Unevaluable:
        return None


def sharing(index: BlockIndex, loops: Iterable[Var], scope: str) -> list[Var]:
    """Those of some loops that are threads which have memory of a scope in common; none for global
    memory, whose accesses by other threads do not count.
    """
    storage = storage_scope(scope)
    if storage.owner == "device":
        return []
    threads = [(loop, index.loop(loop).thread_binding) for loop in loops]
    return [
        loop
        for loop, thread in threads
        if thread is not None and storage.is_common(thread.thread_tag)
    ]
