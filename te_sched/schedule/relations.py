"""Relations between axes: Split, Fuse, Rebase, Transform, Singleton.

A relation owns everything that follows from it: the ranges of the new axes (`ranges_down`), the
values of the old axes in terms of the new ones (`indices_up`), sets of values (`sets_up`), whether
a bound check is needed (`guards_up`) and the propagation of marks to related axes (`flags_down`,
`flags_up`). The relations of a stage are applied in the order of their creation (down), or in
reverse (up). Must not know stages or statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet
from te_sched.config import Lowering
from te_sched.errors import LoweringError, Subject, Where
from te_sched.ir import ops
from te_sched.ir.expr import Expr, FloorDiv, FloorMod, IntImm, IterVar, Range, Var
from te_sched.ir.term_keys import same
from te_sched.schedule.layouts import LayoutMap

Ranges = dict[IterVar, Range]
Values = dict[IterVar, Expr]
Sets = dict[IterVar, IntervalSet]
Flags = dict[IterVar, int]


def range_of(minimum: Expr | int, extent: Expr | int) -> Range:
    """The range of `extent` integers from `minimum`."""
    return Range(ops.convert(minimum), ops.convert(extent))


def _zero_based(extent: Expr) -> Range:
    return Range(IntImm(0, extent.dtype), extent)


def ceil_div(a: Expr, b: Expr, analyzer: Analyzer) -> Expr:
    """The quotient a / b, rounded up."""
    if isinstance(a, IntImm) and isinstance(b, IntImm) and b.value > 0:
        return IntImm(-(-a.value // b.value), a.dtype)
    return analyzer.simplify(ops.floordiv(a + (b - 1), b))


def set_range(
    ranges: Ranges, axis: IterVar, new: Range, analyzer: Analyzer, where: Where = ()
) -> None:
    """Record the range of an axis.

    Raises
    ------
    LoweringError, with `where`, if the axis has a range of another extent.
    """
    old = ranges.get(axis)
    if old is None:
        ranges[axis] = new
        analyzer.bind(axis.var, new)
    elif not (ops.is_const(old.min, 0) and analyzer.can_prove_equal(old.extent, new.extent)):
        raise LoweringError(
            f"axis {axis.var.name} has conflicting extents {old.extent} and {new.extent}",
            "the axes bound to one thread axis give it their extent",
            "give the axes that are bound to one thread axis the same extent, or bind them "
            "to thread axes of their own",
            where=where or Subject("axis", axis.var.name),
        )


class Relation:
    """Some axes (`inputs`) replaced by others (`outputs`)."""

    __slots__ = ()

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        """The axes that were consumed."""
        raise NotImplementedError

    @property
    def outputs(self) -> tuple[IterVar, ...]:
        """The axes that took their place."""
        raise NotImplementedError

    def ranges_down(
        self, ranges: Ranges, analyzer: Analyzer, fixed: frozenset[IterVar] | None
    ) -> None:
        """Ranges of the outputs from those of the inputs.

        `fixed` are axes that keep the requested length because a thread depends on them; None
        fixes all axes.
        """
        raise NotImplementedError

    def indices_up(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """Values of the inputs from those of the outputs."""
        raise NotImplementedError

    def indices_down(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """Values of the outputs from those of the inputs, which start at zero."""
        raise NotImplementedError

    def sets_up(self, sets: Sets, ranges: Mapping[IterVar, Range], settings: Lowering) -> None:
        """Sets of values of the inputs from those of the outputs."""
        raise NotImplementedError

    def guards_up(
        self, guarded: dict[IterVar, bool], ranges: Mapping[IterVar, Range], analyzer: Analyzer
    ) -> None:
        """Whether the inputs may run beyond their range and need a bound check."""
        needed = any([guarded[axis] for axis in self.outputs])
        for axis in self.inputs:
            guarded[axis] = needed

    def flags_down(self, flags: Flags) -> None:
        """Propagate marks from inputs to outputs (by or)."""
        _spread(flags, self.inputs, self.outputs)

    def flags_up(self, flags: Flags) -> None:
        """Propagate marks from outputs to inputs (by or)."""
        _spread(flags, self.outputs, self.inputs)


def spread_down(relations: Sequence[Relation], marks: Flags) -> Flags:
    """The marks, propagated to all axes derived from marked ones."""
    flags = dict(marks)
    for relation in relations:
        relation.flags_down(flags)
    return flags


def spread_up(relations: Sequence[Relation], marks: Flags) -> Flags:
    """The marks, propagated to all axes that marked ones derive from."""
    flags = dict(marks)
    for relation in reversed(relations):
        relation.flags_up(flags)
    return flags


def _spread(flags: Flags, sources: tuple[IterVar, ...], targets: tuple[IterVar, ...]) -> None:
    marks = [flags[axis] for axis in sources if axis in flags]
    if not marks:
        return
    union = 0
    for mark in marks:
        union |= mark
    for axis in targets:
        flags[axis] = flags.get(axis, 0) | union


@dataclass(frozen=True, slots=True, eq=False)
class Split(Relation):
    """parent = outer * extent(inner) + inner, for a given `factor` (of inner) or `nparts`."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Expr | None
    nparts: Expr | None
    disable_predication: bool = False  # the user asserts an exact split

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        """The split axis."""
        return (self.parent,)

    @property
    def outputs(self) -> tuple[IterVar, ...]:
        """The outer and the inner axis."""
        return (self.outer, self.inner)

    def ranges_down(
        self, ranges: Ranges, analyzer: Analyzer, fixed: frozenset[IterVar] | None
    ) -> None:
        """The given length, at most that of the parent, for one axis, and the quotient rounded up
        for the other.
        """
        parent = ranges.get(self.parent)
        if parent is None:
            return
        length = self.factor if self.factor is not None else self.nparts
        assert length is not None  # the primitive gives one of them
        axis, other = (
            (self.inner, self.outer) if self.factor is not None else (self.outer, self.inner)
        )
        rest = ceil_div(parent.extent, length, analyzer)
        set_range(
            ranges,
            axis,
            _zero_based(self._tightened(axis, length, parent, fixed, analyzer)),
            analyzer,
        )
        set_range(ranges, other, _zero_based(rest), analyzer)

    @staticmethod
    def _tightened(
        axis: IterVar,
        length: Expr,
        parent: Range,
        fixed: frozenset[IterVar] | None,
        analyzer: Analyzer,
    ) -> Expr:
        if fixed is None or axis in fixed or ops.is_const(parent.extent, 0):
            return length
        if isinstance(length, IntImm) and isinstance(parent.extent, IntImm):
            return length if length.value <= parent.extent.value else parent.extent
        return parent.extent if analyzer.can_prove(parent.extent < length) else length

    def indices_up(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """parent = inner + outer * extent(inner) + min(parent)"""
        if self.outer not in values or self.inner not in values:
            return
        factor, minimum = ranges[self.inner].extent, ranges[self.parent].min
        outer, inner = values[self.outer], values[self.inner]
        value = _fused_value(outer, inner, factor)
        if value is None:
            value = inner + outer * factor
        values[self.parent] = value if ops.is_const(minimum, 0) else value + minimum

    def indices_down(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """outer = parent // extent(inner), inner = parent % extent(inner)"""
        if self.parent in values:
            value, factor = values[self.parent], ranges[self.inner].extent
            values[self.outer] = ops.floordiv(value, factor)
            values[self.inner] = ops.floormod(value, factor)

    def sets_up(self, sets: Sets, ranges: Mapping[IterVar, Range], settings: Lowering) -> None:
        """The whole parent where both are whole, else interval arithmetic."""
        if self.outer not in sets or self.inner not in sets:
            return
        outer, inner = sets[self.outer], sets[self.inner]
        if all(
            int_set.matches_range(domain, ranges[axis], settings)
            for domain, axis in ((outer, self.outer), (inner, self.inner))
        ):
            sets[self.parent] = int_set.from_range(ranges[self.parent])
            return
        factor = ranges[self.inner].extent
        if int_set.is_single_point(outer) and int_set.is_single_point(inner):
            whole = _fused_value(outer.min, inner.min, factor)
            if whole is not None:
                sets[self.parent] = int_set.single_point(_shifted(whole, ranges[self.parent].min))
                return
        value = self.outer.var * factor + self.inner.var + ranges[self.parent].min
        child_sets = {self.outer.var: outer, self.inner.var: inner}
        sets[self.parent] = int_set.eval_set(value, child_sets, settings)

    def guards_up(
        self, guarded: dict[IterVar, bool], ranges: Mapping[IterVar, Range], analyzer: Analyzer
    ) -> None:
        """A check is needed unless the product of the two lengths is that of the parent."""
        if guarded[self.outer] or guarded[self.inner]:
            guarded[self.parent] = True
            return
        guarded[self.parent] = not (self.disable_predication or self.is_exact(ranges, analyzer))

    def is_exact(self, ranges: Mapping[IterVar, Range], analyzer: Analyzer) -> bool:
        """Whether the product of the two lengths is proved to be that of the parent."""
        outer, inner, parent = (
            ranges[axis].extent for axis in (self.outer, self.inner, self.parent)
        )
        if isinstance(outer, IntImm) and isinstance(inner, IntImm) and isinstance(parent, IntImm):
            return parent.value == outer.value * inner.value
        return analyzer.can_prove_equal(parent, inner * outer)


def _divisor(inner: Range) -> Expr:
    """The length of an inner axis as a divisor: 1 for 0, where no loop runs."""
    return IntImm(1, inner.extent.dtype) if ops.is_const(inner.extent, 0) else inner.extent


@dataclass(frozen=True, slots=True, eq=False)
class Fuse(Relation):
    """fused = outer * extent(inner) + inner, with outer and inner counted from their minimum."""

    outer: IterVar
    inner: IterVar
    fused: IterVar

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        """The outer and the inner axis."""
        return (self.outer, self.inner)

    @property
    def outputs(self) -> tuple[IterVar, ...]:
        """The fused axis."""
        return (self.fused,)

    def ranges_down(
        self, ranges: Ranges, analyzer: Analyzer, fixed: frozenset[IterVar] | None
    ) -> None:
        """The product of the lengths."""
        outer, inner = ranges.get(self.outer), ranges.get(self.inner)
        if outer is not None and inner is not None:
            # As in TVM, the analyzer does not learn the range of a fused axis.
            ranges[self.fused] = _zero_based(outer.extent * inner.extent)

    def indices_up(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """outer = fused // extent(inner), inner = fused % extent(inner)"""
        if self.fused not in values:
            return
        value, factor = values[self.fused], _divisor(ranges[self.inner])
        values[self.outer] = _shifted(ops.floordiv(value, factor), ranges[self.outer].min)
        values[self.inner] = _shifted(ops.floormod(value, factor), ranges[self.inner].min)

    def indices_down(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """fused = outer * extent(inner) + inner"""
        if self.outer in values and self.inner in values:
            row = values[self.outer] * ranges[self.inner].extent
            values[self.fused] = row + values[self.inner]

    def sets_up(self, sets: Sets, ranges: Mapping[IterVar, Range], settings: Lowering) -> None:
        """Both whole where fused is whole; otherwise the rows, and the columns only where fused
        stays within one row.
        """
        fused = sets.get(self.fused)
        if fused is None:
            return
        outer, inner = ranges[self.outer], ranges[self.inner]
        low, high = fused
        if (
            low is None
            or high is None
            or int_set.matches_range(fused, ranges[self.fused], settings)
        ):
            sets[self.outer], sets[self.inner] = (
                int_set.from_range(outer),
                int_set.from_range(inner),
            )
            return
        if int_set.is_single_point(fused):
            row = _shifted(ops.floordiv(low, _divisor(inner)), outer.min)
            column = _shifted(ops.floormod(low, _divisor(inner)), inner.min)
            sets[self.outer], sets[self.inner] = (
                int_set.single_point(row),
                int_set.single_point(column),
            )
            return
        rows = [outer.min + ops.floordiv(end, _divisor(inner)) for end in (low, high)]
        sets[self.outer] = IntervalSet(rows[0], rows[1])
        sets[self.inner] = self._columns(low, high, inner, settings)

    @staticmethod
    def _columns(low: Expr, high: Expr, inner: Range, settings: Lowering) -> IntervalSet:
        analyzer = Analyzer(settings)
        extent = analyzer.simplify(high - low + 1)
        if ops.is_const(extent, 0) or ops.is_const(inner.extent, 0):
            return int_set.from_range(inner)
        within_a_row = all(
            ops.is_const(analyzer.simplify(ops.floormod(a, extent)), 0) for a in (inner.extent, low)
        )
        if not within_a_row:
            return int_set.from_range(inner)
        columns = [inner.min + ops.floormod(end, inner.extent) for end in (low, high)]
        return IntervalSet(columns[0], columns[1])


@dataclass(frozen=True, slots=True, eq=False)
class Rebase(Relation):
    """parent = rebased + min(parent): the same axis, counted from zero."""

    parent: IterVar
    rebased: IterVar

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        """The axis whose minimum is not zero."""
        return (self.parent,)

    @property
    def outputs(self) -> tuple[IterVar, ...]:
        """The axis that starts at zero."""
        return (self.rebased,)

    def ranges_down(
        self, ranges: Ranges, analyzer: Analyzer, fixed: frozenset[IterVar] | None
    ) -> None:
        """The same length from zero."""
        if self.parent in ranges:
            set_range(ranges, self.rebased, _zero_based(ranges[self.parent].extent), analyzer)

    def indices_up(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """parent = rebased + min(parent)"""
        if self.rebased in values:
            values[self.parent] = _shifted(values[self.rebased], ranges[self.parent].min)

    def indices_down(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """The same value, counted from the minimum."""
        if self.parent in values:
            values[self.rebased] = values[self.parent] - ranges[self.parent].min

    def sets_up(self, sets: Sets, ranges: Mapping[IterVar, Range], settings: Lowering) -> None:
        """The same set, moved."""
        rebased = sets.get(self.rebased)
        if rebased is None:
            return
        parent = ranges[self.parent]
        if int_set.matches_range(rebased, ranges[self.rebased], settings):
            sets[self.parent] = int_set.from_range(parent)
        else:
            sets[self.parent] = int_set.eval_set(
                self.rebased.var + parent.min, {self.rebased.var: rebased}, settings
            )


@dataclass(frozen=True, slots=True, eq=False)
class Transform(Relation):
    """targets = layout(sources): iteration over a tensor in the order of its layout."""

    sources: tuple[IterVar, ...]
    targets: tuple[IterVar, ...]
    layout: LayoutMap

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        """The axes of the tensor as it was declared."""
        return self.sources

    @property
    def outputs(self) -> tuple[IterVar, ...]:
        """The axes of its layout."""
        return self.targets

    def ranges_down(
        self, ranges: Ranges, analyzer: Analyzer, fixed: frozenset[IterVar] | None
    ) -> None:
        """The whole tensor."""
        for target, extent in zip(self.targets, self.layout.extents, strict=True):
            set_range(ranges, target, _zero_based(extent), analyzer)

    def indices_up(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """The inverse layout."""
        if all(target in values for target in self.targets):
            old = self.layout.backward([values[target] for target in self.targets])
            values.update(zip(self.sources, old, strict=True))

    def indices_down(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """The layout."""
        if all(source in values for source in self.sources):
            new = self.layout.forward([values[source] for source in self.sources])
            values.update(zip(self.targets, new, strict=True))

    def sets_up(self, sets: Sets, ranges: Mapping[IterVar, Range], settings: Lowering) -> None:
        """The inverse layout, evaluated on the sets."""
        target_sets = {target.var: sets[target] for target in self.targets if target in sets}
        old = self.layout.backward([target.var for target in self.targets])
        for source, value in zip(self.sources, old, strict=True):
            sets[source] = int_set.eval_set(value, target_sets, settings)


@dataclass(frozen=True, slots=True, eq=False)
class Singleton(Relation):
    """An axis of one iteration, derived from no axis (by `fuse` without arguments)."""

    iter: IterVar

    @property
    def inputs(self) -> tuple[IterVar, ...]:
        """Nothing."""
        return ()

    @property
    def outputs(self) -> tuple[IterVar, ...]:
        """The new axis."""
        return (self.iter,)

    def ranges_down(
        self, ranges: Ranges, analyzer: Analyzer, fixed: frozenset[IterVar] | None
    ) -> None:
        """One iteration."""
        set_range(ranges, self.iter, range_of(0, 1), analyzer)

    def indices_up(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """Nothing depends on it."""

    def indices_down(self, values: Values, ranges: Mapping[IterVar, Range]) -> None:
        """Zero."""
        values[self.iter] = IntImm(0, self.iter.var.dtype)

    def sets_up(self, sets: Sets, ranges: Mapping[IterVar, Range], settings: Lowering) -> None:
        """Nothing depends on it."""


def _fused_value(outer: Any, inner: Any, factor: Expr) -> Expr | None:
    """The fused value whose quotient and remainder by a factor are outer and inner, or None.

    It equals inner + outer * factor, which would double with each split of a fused axis. A variable
    does not grow; for it, None keeps the text of TVM.
    """
    if type(outer) is not FloorDiv or type(inner) is not FloorMod or type(outer.a) is Var:
        return None
    is_one = outer.a is inner.a and same(outer.b, inner.b) and same(outer.b, factor)
    return outer.a if is_one else None


def _shifted(value: Expr, minimum: Expr) -> Expr:
    return value if ops.is_const(minimum, 0) else value + minimum
