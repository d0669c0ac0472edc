"""Guards of loops, and the iterations of a loop in which they have known values.

    for i in range(13):
        for j in range(8):
            if likely(i * 8 + j < 100): ...     ->  the guard holds for i in [0, 12), whatever j is

A guard is a condition marked `likely`; under the pragma `loop_partition_hint` each comparison is
one. Must not know how the result is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.deduce import COMPARISONS, deduce_bound, opposite
from te_sched.arith.int_set import NOTHING, IntervalSet
from te_sched.config import Lowering
from te_sched.ir import expr as E
from te_sched.ir.expr import Call, Expr, IntImm, Let, Range, Var
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import AttrStmt, For, LetStmt, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import variables_of, walk

_HINT = "pragma_loop_partition_hint"
_DIVISIONS = frozenset((E.Div, E.Mod, E.FloorDiv, E.FloorMod))
_READS = frozenset((Call, E.BufferLoad, E.ProducerLoad, Let, E.Reduce))
_Iterations = tuple[Expr, Expr]  # from the first to before the second


class Cut(NamedTuple):
    """In the iterations from `begin` to before `end`, within `whole`, the conditions are `known`.
    Its three parts, some of which may be empty, are all iterations for all values of variables.
    """

    begin: Expr
    end: Expr
    whole: Range
    known: Mapping[Expr, bool]

    @property
    def stop(self) -> Expr:
        """The end of the last part."""
        return _sum(self.whole.min, self.whole.extent)

    @property
    def is_whole(self) -> bool:
        """Whether the cut certainly contains all iterations."""
        return self.begin is self.whole.min and same(self.end, self.stop)

    @property
    def is_fixed(self) -> bool:
        """Whether the cut is the same for all values of outer variables."""
        return type(self.begin) is IntImm and type(self.end) is IntImm

    def has(self, var: Var) -> Expr:
        """The condition that an iteration is in the cut."""
        condition: Expr = build.truth(True)
        if self.begin is not self.whole.min:
            condition = build.less_equal(self.begin, var)
        if not same(self.end, self.stop):
            condition = build.both(condition, build.less(var, self.end))
        return condition


def is_mark(node: Any) -> bool:
    """Whether an expression marks a condition as a guard."""
    return type(node) is Call and node.op == "tir.likely"


def is_hint(node: Any) -> bool:
    """Whether a statement makes guards of the comparisons in a loop."""
    return type(node) is AttrStmt and node.key == _HINT


def values(bound: Range) -> IntervalSet:
    """The set of the values of a range, from the first to the last."""
    last = build.sub(_sum(bound.min, bound.extent), build.imm(1, bound.min.dtype))
    return IntervalSet(bound.min, last)


def find_cut(
    var: Var,
    whole: Range,
    body: Stmt,
    is_hinted: bool,
    outside: Mapping[Var, IntervalSet],
    analyzer: Analyzer,
) -> Cut | None:
    """The iterations of a loop in which all its guards hold, or else none of them does.

    `analyzer` knows the variables outside. None where there are no such iterations.
    """
    scope = _Scope(body, is_hinted, outside)
    if not scope.conditions or any(map(_depends_on_memory, (whole.min, whole.extent))):
        return None
    bounds = _Bounds(var, whole, scope, analyzer)
    holding: dict[Expr, _Iterations] = {}
    failing: dict[Expr, _Iterations] = {}
    for condition in scope.conditions:
        for intervals, wanted in ((holding, condition), (failing, opposite(condition))):
            interval = bounds.of(wanted)
            if interval is not None:
                intervals[condition] = interval
    for truth, intervals, others in ((True, holding, failing), (False, failing, holding)):
        if is_hinted and intervals and bounds.common(intervals.values()) is None:
            intervals = bounds.compatible(intervals)
        if intervals and (cut := bounds.common(intervals.values())) is not None:
            truths = dict.fromkeys(intervals, truth)
            for condition, interval in others.items():
                if condition not in truths and bounds.contains(interval, cut):
                    truths[condition] = not truth
            return Cut(*cut, whole, truths)
    return None


def is_guarded(
    var: Var, body: Stmt, outside: Mapping[Var, IntervalSet], settings: Lowering
) -> bool:
    """Whether a comparison in a loop bounds its variable."""
    scope = _Scope(body, True, outside)
    intervals = [
        deduce_bound(var, condition, scope.domains, settings)
        for condition in scope.conditions
        if var in variables_of(condition) and not _depends_on_memory(condition)
    ]
    return any(interval is not NOTHING and interval != (None, None) for interval in intervals)


class _Scope:
    """The contents of a loop: guards, the variables of loops and threads, and other variables."""

    def __init__(self, body: Stmt, is_hinted: bool, outside: Mapping[Var, IntervalSet]) -> None:
        self.conditions: dict[Any, None] = {}
        self.domains = dict(outside)
        self.others: set[Var] = set()
        for node in walk(body):
            kind = type(node)
            if is_mark(node):
                self.conditions[node.args[0]] = None
            elif kind is For:
                self.domains[node.loop_var] = values(Range(node.min, node.extent))
            elif kind is LetStmt or kind is Let:
                self.others.add(node.var)
            elif kind is AttrStmt:
                if (axis := loop_of(node)) is not None:
                    self.domains[axis.var] = values(axis.range)
            elif is_hinted and kind in COMPARISONS:
                self.conditions[node] = None


class _Bounds:
    """Intervals of one loop's iterations."""

    def __init__(self, var: Var, whole: Range, scope: _Scope, analyzer: Analyzer) -> None:
        self.var, self.scope, self.analyzer = var, scope, analyzer
        self.first, self.stop = whole.min, _sum(whole.min, whole.extent)

    def of(self, condition: Any) -> _Iterations | None:
        """The interval in which a condition holds."""
        if condition is None or _depends_on_memory(condition):
            return None
        if type(condition) is E.NE:
            return (self.first, self.stop) if self.analyzer.can_prove(condition) else None
        settings = self.analyzer.settings
        interval = deduce_bound(self.var, condition, self.scope.domains, settings)
        if interval is NOTHING or any(map(self._is_unknown, interval)):
            return None
        begin, end = self.first, self.stop
        if interval.min is not None:
            begin = self._most(begin, interval.min)
        if interval.max is not None:
            end = self._least(end, _sum(interval.max, build.imm(1, interval.max.dtype)))
        return None if self._are_ordered(end, begin) else (begin, end)

    def common(self, intervals: Iterable[_Iterations]) -> _Iterations | None:
        """The intersection of intervals, with ends within the loop."""
        begin, end = self.first, self.stop
        for low, high in intervals:
            begin, end = self._most(begin, low), self._least(end, high)
        if self._are_ordered(end, begin):
            return None
        begin = self._least(begin, self.stop)
        return begin, self._most(end, begin)

    def compatible(self, intervals: Mapping[Expr, _Iterations]) -> dict[Expr, _Iterations]:
        """The conditions, from the first on, whose intervals have a common iteration."""
        kept: dict[Expr, _Iterations] = {}
        for condition, interval in intervals.items():
            if self.common([*kept.values(), interval]) is not None:
                kept[condition] = interval
        return kept

    def contains(self, interval: _Iterations, other: _Iterations) -> bool:
        """Whether an interval is known to have all iterations of another."""
        return self._are_ordered(interval[0], other[0]) and self._are_ordered(other[1], interval[1])

    def _are_ordered(self, a: Expr, b: Expr) -> bool:
        return self.analyzer.can_prove(build.less_equal(a, b))

    def _most(self, a: Expr, b: Expr) -> Expr:
        return self.analyzer.simplify(build.maximum(a, b))

    def _least(self, a: Expr, b: Expr) -> Expr:
        return self.analyzer.simplify(build.minimum(a, b))

    def _is_unknown(self, end: Expr | None) -> bool:
        """Whether an end cannot be computed before the loop."""
        return end is not None and (
            _depends_on_memory(end) or not self.scope.others.isdisjoint(variables_of(end))
        )


def _depends_on_memory(e: Expr) -> bool:
    """Whether an expression reads memory, calls a function, or may divide by zero."""
    for part in walk(e):
        kind = type(part)
        if kind in _READS:
            return True
        if kind in _DIVISIONS and not (type(part.b) is IntImm and part.b.value):
            return True
    return False


def _sum(a: Expr, b: Expr) -> Expr:
    done: Expr = build.add(a, b)
    return done
