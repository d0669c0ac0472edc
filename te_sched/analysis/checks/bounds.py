"""Bounds analysis of accesses: proved in bounds, certainly out of bounds, or unknown.

Proofs use the ranges of the loops around an index and the conditions that guard it. An index
that is certainly out of bounds in some iteration is refuted, with that iteration; if it depends
only on the sizes of a call, the call checks a condition (`Size`). `guard_accesses` inserts checks
for the unproved ones. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from te_sched.analysis.checks.access_context import AccessContext, Need, guard_of, is_index_operator
from te_sched.analysis.checks.guarded_sums import joined
from te_sched.analysis.findings import BOUNDS, PROVED, REFUTED, UNPROVED, Finding
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.evaluate import Unevaluable
from te_sched.arith.executions import Execution, Points, TooMany, variables_in
from te_sched.arith.forms import Form, constant, expr_of, linear_form, number_of, plus
from te_sched.arith.prove import bounds, prove
from te_sched.config import TO_RUN
from te_sched.ir import ops
from te_sched.ir.argument_sizes import Size
from te_sched.ir.expr import Expr, FloorDiv, FloorMod, IntImm, Ramp, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.occurrences import Occurrence
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import reads_data, substitute

_LIMIT = 1 << 16  # iterations that are executed
_ONE, _ZERO = IntImm(1), IntImm(0)


# The minimum and the maximum of the values of a variable.
Span = tuple[Form, Form]


class Bounds(AccessContext):
    """Checks the bounds of accesses at the current place of a walk through a program.

    `sizes` collects the conditions on calls, `findings` the results.
    """

    def __init__(self, func: PrimFunc) -> None:
        super().__init__(func)
        self.sizes: list[Size] = []
        self.findings: list[Finding] = []
        self.proved = self.unproved = 0

    # -- analysis --------------------------------------------------------------------------------

    def judge(self, occurrence: Occurrence) -> list[Need]:
        """The unproved conditions of an access, which need a check.

        Findings and sizes are recorded; the caller raises errors for refuted findings.
        """
        needs = list(self.needs(occurrence))
        left = [need for need in needs if not self._is_proved(need)]
        if left and occurrence.guards:
            with ExitStack() as inside:
                for guard in occurrence.guards:
                    if isinstance(guard, tuple):
                        self.bind(*guard)
                    elif guard.dtype == "bool":
                        inside.enter_context(self.assuming(guard))
                left = [need for need in left if not self._is_proved(need)]
        left = [need for need in left if not self._is_settled(occurrence, need)]
        for need in self.declared(occurrence):
            if not self._is_proved(need):
                self._is_settled(occurrence, need)
        self.proved += len(needs) - len(left)
        self.unproved += len(left)
        return left

    # -- proof -----------------------------------------------------------------------------------

    def _is_proved(self, need: Need) -> bool:
        index, low, extent = need.at, need.low, need.extent
        is_inside = prove(ops.less_equal(low, index), self.analyzer) and prove(
            ops.less(index, ops.add(low, extent)), self.analyzer
        )
        if is_inside is None and type(index) is Ramp:
            return all(self._is_proved(need._replace(at=end)) for end in _ends(index))
        return is_inside is not None

    def _span(self, need: Need) -> tuple[Span, Span] | None:
        """The minimum and maximum of the index, and their distances to the first and the last
        element.
        """
        span = self._extremes(need.at)
        low, extent = linear_form(need.low), linear_form(need.extent)
        if span is None or low is None or extent is None:
            return None
        if not self._is_size(low) or not self._is_size(extent):
            return None
        last = plus(plus(low, extent), constant(-1))
        return span, (plus(span[0], low, -1), plus(last, span[1], -1))

    def _extremes(self, index: Expr) -> Span | None:
        """The minimum and the maximum of a sum of variables; None for other expressions."""
        if linear_form(index) is None or self.analyzer.data.of(index):
            return None
        low, high = bounds(index, self.analyzer)
        if low is None or high is None or not (self._is_size(low) and self._is_size(high)):
            return None
        return low, high

    def _is_size(self, form: Form) -> bool:
        """Whether a form depends only on the sizes of a call."""
        return all(not term or term[0] in self.symbols for term in form)

    # -- refutation ------------------------------------------------------------------------------

    def _is_settled(self, occurrence: Occurrence, need: Need) -> bool:
        """Whether an index is decided by evaluation, or by the sizes of a call."""
        if type(need.at) is Ramp:
            ends = [need._replace(at=end) for end in _ends(need.at)]
            return all([self._is_settled(occurrence, end) for end in ends])
        conditions = [
            *self.scope.conditions,
            *[
                guard
                for guard in occurrence.guards
                if isinstance(guard, Expr) and guard.dtype == "bool"
            ],
        ]
        if reads_data(need.at):
            return False
        static_conditions = [condition for condition in conditions if not reads_data(condition)]
        # lets and vectors are unknown
        guards = len(self.scope.conditions) + len(occurrence.guards)
        is_sure = self.scope.is_sure and len(static_conditions) == guards
        try:
            violation = self._outside(need, static_conditions)
        except Unevaluable as reason:
            if isinstance(reason, TooMany) and self._is_inside_at_ends(need, static_conditions):
                return True
            if not is_sure:
                return False
            with self._joined(need, static_conditions) as whole:
                violation = whole and self._always_outside(whole, need.at)
                if violation is None:
                    return whole is not None and self._require(occurrence, whole, need.at)
        if violation is None:
            return True
        if is_sure:
            self.findings.append(self._finding(occurrence, need, *violation))
        return is_sure

    def _outside(self, need: Need, conditions: Sequence[Expr]) -> tuple[str, str] | None:
        """An index that is out of bounds, with its iteration; None if there is none.

        Raises
        ------
        Unevaluable if the indices are unknown.
        """
        points = self._points(need, conditions)
        values, low, extent = (
            np.broadcast_to(points.of(part), (points.count,))
            for part in (need.at, need.low, need.extent)
        )
        if not points.count:
            return None
        wrong = (values < low) | (values >= low + extent)
        if not wrong.any():
            return None
        first = int(np.argmax(wrong))
        where = " and ".join(
            f"{loop.name} = {int(np.broadcast_to(points.values[loop.var], (points.count,))[first])}"
            for loop in self.scope.loops
        )
        text = f"the index {spelled(need.at)} runs from {values.min()} to {values.max()}"
        if where:
            text = f"the index {spelled(need.at)} is {values[first]} where {where}; it runs " + (
                f"from {values.min()} to {values.max()}"
            )
        return str(values[first]), text

    def _is_inside_at_ends(self, need: Need, conditions: Sequence[Expr]) -> bool:
        """Whether all accesses are in bounds for the extreme values of independent variables of
        which an index is a sum.
        """
        index = need.at
        for _ in range(len(self.values)):
            expanded = substitute(index, self.values)
            if expanded is index:
                break
            index = expanded
        total = linear_form(index)
        if total is None:
            return False
        others = [part for loop in self.scope.loops for part in (loop.min, loop.extent)]
        bound = variables_in(self.values, *conditions, need.low, need.extent, *others)
        free = [
            (var, scale, self.analyzer.const_bounds(var))
            for (var,), scale in ((term, scale) for term, scale in total.items() if term)
            if var in self.analyzer.ranges and var not in bound
        ]
        if not free or any(None in numbers for _, _, numbers in free):
            return False
        for highest in (False, True):
            ends: dict[Var, Expr] = {
                var: IntImm(numbers[(scale > 0) == highest] or 0, var.dtype)
                for var, scale, numbers in free
            }
            try:
                if self._outside(need._replace(at=substitute(index, ends)), conditions):
                    return False
            except Unevaluable:
                return False
        return True

    def _points(self, need: Need, conditions: Sequence[Expr]) -> Points:
        """The iterations that reach an access, with one iteration of irrelevant loops."""
        variables = variables_in(self.values, need.at, *conditions)
        for loop in reversed(self.scope.loops):
            if loop.var in variables:
                variables |= variables_in(self.values, loop.min, loop.extent)
        most = {loop: 1 for loop in self.scope.loops if loop.var not in variables}
        run = Execution(self.values, {}, _LIMIT)
        return run.points(self.scope.loops, most).held(conditions)

    def _always_outside(self, need: Need, shown: Expr) -> tuple[str, str] | None:
        """An index that is out of bounds for all symbolic sizes, and its description."""
        extremes = self._span(need)
        if extremes is None or not self._are_loops_known():
            return None
        below, above = map(_is_negative, extremes[1])
        if not below and not above:
            return None
        low, high = (_shown(expr_of(end, need.at.dtype)) for end in extremes[0])
        text = f"the index {spelled(shown)} runs from {low} to {high}"
        return low if below else high, text

    @contextmanager
    def _joined(self, need: Need, conditions: Sequence[Expr]) -> Iterator[Need | None]:
        """A scope with the conditions merged into loops; None if that is impossible."""
        if not conditions:
            yield need
            return
        fusion = joined(need.at, self.scope.loops, conditions, self.symbols)
        if fusion is None:
            yield None
            return
        scope, analyzer = self.scope, self.analyzer
        self.scope, self.analyzer = scope._replace(loops=tuple(fusion.loops)), Analyzer(TO_RUN)
        for loop in fusion.loops:
            self.enter(loop)
        yield need._replace(at=fusion.total)
        self.scope, self.analyzer = scope, analyzer

    def _are_loops_known(self) -> bool:
        """Whether the numbers of iterations depend only on the sizes of a call, and the first ones
        on outer loops at most: so the ends of an index are reached.
        """
        return all(
            self._is_told(loop.extent) and (self._is_told(loop.min) or self._extremes(loop.min))
            for loop in self.scope.loops
        )

    def _is_told(self, e: Expr) -> bool:
        """Whether the sizes of a call determine a number."""
        total = linear_form(e)
        if total is not None:
            return self._is_size(total)
        if not is_index_operator(e):
            return False
        if isinstance(e, FloorDiv | FloorMod) and not (type(e.b) is IntImm and e.b.value > 0):
            return False
        return self._is_told(e.a) and self._is_told(e.b)

    def _require(self, occurrence: Occurrence, need: Need, shown: Expr) -> bool:
        """Record the condition on a call for an access that depends on its sizes only."""
        extremes = self._span(need)
        if extremes is None or not self._are_loops_known():
            return False
        (low, high), gaps = extremes
        if any(map(_is_negative, gaps)):
            return False
        extents = tuple(loop.extent for loop in self.scope.loops if type(loop.extent) is not IntImm)
        name = self.name_of(occurrence)
        index, number = need.at, need.number
        does = "reads" if occurrence.reads else "writes"
        if number_of(gaps[0]) is None:
            what = f"the least index {shown} in dimension {number} of {name}"
            self.sizes.append(
                Size(what, expr_of(low, index.dtype), need.low, "an index is 0 or more", extents)
            )
        if number_of(gaps[1]) is None:
            least = expr_of(plus(high, constant(1)), index.dtype)
            end = ops.add(need.low, need.extent)
            why = f"the program {does} it at {shown}"
            if need.repeats:  # no check if the extent differs from 1 by 0
                unit = IntImm(1, need.extent.dtype)
                more, fewer = ops.sub(need.extent, unit), ops.sub(unit, need.extent)
                extents = (*extents, ops.maximum(more, fewer))
            self.sizes.append(Size(f"dimension {number} of {name}", end, least, why, extents))
        return True

    # -- messages --------------------------------------------------------------------------------

    def _finding(self, occurrence: Occurrence, need: Need, wrong: str, text: str) -> Finding:
        name = self.name_of(occurrence)
        does = "read" if occurrence.reads else "write"
        has = f"{name} has {_shown(need.extent)} elements there"
        if type(need.low) is not IntImm or need.low.value:
            has = f"{name} exists from {_shown(need.low)} on, {_shown(need.extent)} elements"
        return Finding(
            BOUNDS,
            REFUTED,
            f"program {does}s {name} at {wrong} in dimension {need.number}, which is out of bounds",
            name,
            stage=self.place_name(),
            why=f"{text}, and {has}",
            help=f"declare {name} larger or the computation smaller, or guard the "
            f"{does}: {guard_of(name, occurrence)}",
        )

    def summary(self) -> Iterator[Finding]:
        """The findings, with counts of the proved and the checked accesses."""
        yield from self.findings
        if self.unproved:
            what = f"{self.unproved} indices of accesses are checked at run time"
            yield Finding(BOUNDS, UNPROVED, what, why="their values are known only in a call")
        if self.proved:
            yield Finding(BOUNDS, PROVED, f"{self.proved} indices of accesses are within bounds")


def _shown(e: Expr) -> str:
    """An expression for messages; a number without its type."""
    return str(e.value if isinstance(e, IntImm) else e)


def _is_negative(form: Form) -> bool:
    """Whether a form is a negative constant."""
    return (number_of(form) or 0) < 0


def _ends(index: Any) -> tuple[Expr, Expr]:
    """The first and the last lane."""
    last = IntImm(index.lanes - 1, index.base.dtype)
    return index.base, ops.add(index.base, ops.mul(index.stride, last))
