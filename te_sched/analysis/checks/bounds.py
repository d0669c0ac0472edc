"""Whether every access is within its memory: proved, certainly not, or not known.

An index is judged by the ranges of the loops round it and the conditions that lead to it. What is
certainly outside in some iteration is refuted, and that iteration is named; where it depends on the
sizes of a call alone, the call has to fulfil a condition (`Size`). The rest stays unproved:
`guard_accesses` puts it under a check. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from te_sched.analysis.checks.guarded_sums import joined
from te_sched.analysis.findings import BOUNDS, PROVED, REFUTED, UNPROVED, Finding
from te_sched.analysis.programs.accesses import Loop, Memory
from te_sched.analysis.programs.evaluate import (
    Points,
    TooMany,
    Unevaluable,
    evaluate,
    held,
    points_of,
)
from te_sched.analysis.schedules.sizes import Size
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import plain
from te_sched.arith.forms import Form, Forms, constant, expr_of, linear_form, number_of, plus
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, Ramp, Range, Var
from te_sched.ir.occurrences import Occurrence
from te_sched.ir.stmt import Allocate, AttrStmt, BufferRealize, PrimFunc
from te_sched.ir.visitor import substitute, variables_of, walk

_LIMIT = 1 << 16  # iterations that are executed
_ONE, _ZERO = IntImm(1), IntImm(0)


# The first and the last of the values that a variable takes, all of them.
Span = tuple[Form, Form]


class Need(NamedTuple):
    """What an access needs of one of its indices: low <= at < low + extent."""

    number: int
    at: Expr
    low: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class View:
    """A buffer that stands for a region of another: how far its elements reach, its offset."""

    buffer: Buffer
    extents: tuple[Expr, ...]


class Bounds:
    """Judges accesses, at the place of a program at which its caller, who walks it, has arrived.

    `sizes` collects what a call must fulfil, `findings` what was judged.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.analyzer = Analyzer()
        self.memory: dict[Var, Memory] = {}
        self.bytes: dict[Var, int] = {}  # of an element
        self.views: dict[Var, View] = {}
        self.loops: list[Loop] = []
        self.ranges: dict[Var, Span] = {}
        self.conditions: list[Expr] = []
        self.values: dict[Var, Expr] = {}
        self.is_sure = True
        self.stage = ""  # what is stored to
        self.extern = ""  # the extern operation whose body this is
        self.sizes: list[Size] = []
        self.findings: list[Finding] = []
        self.proved = self.unproved = 0
        self.symbols = {param for param in func.params if param.dtype != "handle"}
        for buffer in func.buffer_map.values():
            self.symbols.update(variables_of(*buffer.shape, *buffer.strides))
            region = tuple((_ZERO, extent) for extent in buffer.shape)
            self.add_memory(
                buffer.data,
                Memory(buffer.name, region, buffer.shape, is_argument=True),
                buffer.dtype,
            )
            if buffer.strides:
                self.views[buffer.data] = View(buffer, buffer.shape)

    # -- the place -------------------------------------------------------------------------------

    def add_memory(self, data: Var, memory: Memory, dtype: str) -> None:
        """Note what a pointer points to."""
        self.memory[data] = memory
        self.bytes[data] = dtypes.storage_bytes(dtype)

    def add_realized(self, node: BufferRealize) -> None:
        """Note a temporary; arguments are known."""
        buffer = node.buffer
        if buffer.data not in self.memory:
            region = tuple((bound.min, bound.extent) for bound in node.bounds)
            self.add_memory(buffer.data, Memory(buffer.name, region, buffer.shape), buffer.dtype)

    def add_allocated(self, node: Allocate) -> None:
        """Note flat memory."""
        region = tuple((_ZERO, extent) for extent in node.extents)
        memory = Memory(node.buffer_var.name, region, tuple(node.extents))
        self.add_memory(node.buffer_var, memory, node.dtype)

    def add_view(self, node: AttrStmt) -> set[Var]:
        """Note what a buffer stands for; gives the variables that it gives a meaning."""
        view, buffer = node.node
        extents = node.value.args[1::2] if isinstance(node.value, Call) else ()
        kept = tuple(extents)[len(extents) - len(view.shape) :]
        region = tuple((_ZERO, extent) for extent in kept)
        name = self.memory[buffer.data].name if buffer.data in self.memory else buffer.name
        self.add_memory(view.data, Memory(name, region, view.shape), view.dtype)
        self.views[view.data] = View(view, kept)
        return {view.data} | variables_of(view.elem_offset, *view.shape, *view.strides)

    def enter_attribute(self, node: AttrStmt) -> None:
        """Note the body of an extern operation: its outputs are the last views that it declares."""
        if node.key == "extern_scope" and self.views:
            self.extern = self.memory[next(reversed(self.views))].name

    def leave_attribute(self, node: AttrStmt) -> None:
        """Leave what `enter_attribute` noted."""
        if node.key == "extern_scope":
            self.extern = ""

    def place_name(self) -> str:
        """The stage that this is."""
        return self.extern or self.stage

    def enter(self, loop: Loop) -> None:
        """Go into a loop."""
        self.loops.append(loop)
        self.analyzer.bind(loop.var, Range(loop.min, loop.extent))
        self._note_range(loop)

    def _note_range(self, loop: Loop) -> None:
        start, count = linear_form(loop.min), linear_form(loop.extent)
        if start is not None and count is not None and self._is_size(count):
            self.ranges[loop.var] = (start, plus(plus(start, count), constant(-1)))

    def leave(self) -> None:
        """Leave the innermost loop."""
        self.ranges.pop(self.loops.pop().var, None)

    def bind(self, var: Var, value: Expr) -> None:
        """Note what a variable stands for; of what memory held, which may change, its ends."""
        if not _reads_memory(value):
            self.analyzer.bind(var, value)
            return
        low, high = self.analyzer.const_bounds(value)
        if low is not None and high is not None:
            extent = IntImm(high - low + 1, "int64")
            self.analyzer.bind(var, Range(IntImm(low, "int64"), extent))

    @contextmanager
    def assuming(self, condition: Expr) -> Iterator[None]:
        """A scope in which a condition holds."""
        known = plain(condition)
        simple = self.analyzer.simplify(known)
        with self.analyzer.constraint(known):
            if simple is known or type(simple) is IntImm:
                yield
            else:
                with self.analyzer.constraint(simple):
                    yield

    # -- judging ---------------------------------------------------------------------------------

    def judge(self, occurrence: Occurrence) -> list[Need]:
        """What is not proved of an access, and needs a check; findings and sizes are noted.

        Raises
        ------
        BuildError, as a refuted finding, is for the caller to raise.
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
        left = [need for need in left if not self._is_product(need)]
        for need in self._declared(occurrence):
            if not self._is_proved(need):
                self._is_settled(occurrence, need)
        self.proved += len(needs) - len(left)
        self.unproved += len(left)
        return left

    def needs(self, occurrence: Occurrence) -> Iterator[Need]:
        """What must hold for an access to be within its memory."""
        memory = self.memory.get(occurrence.data)
        if memory is None:
            return  # a pointer from elsewhere: nobody knows
        if occurrence.buffer is None and occurrence.extent is None:
            return  # a function gets all of it
        whole = occurrence.data, memory, occurrence.buffer
        if occurrence.extent is not None:  # it may be declared to reach farther than it does
            yield Need(0, self._offset(occurrence), _ZERO, self.reach(occurrence.data, memory))
        elif self._is_beyond_a_row(occurrence, memory):
            yield Need(0, self._flat_index(occurrence, memory), _ZERO, self.reach(*whole))
        elif len(occurrence.indices) == len(memory.region):
            pairs = zip(occurrence.indices, memory.region, strict=True)
            for number, (index, (low, extent)) in enumerate(pairs):
                if len(memory.region) == 1 and self._is_flat(occurrence):
                    extent = self.reach(*whole)
                yield Need(number, index, low, extent)
        elif len(occurrence.indices) == 1:
            yield Need(0, occurrence.indices[0], _ZERO, self.reach(*whole))

    def _is_beyond_a_row(self, occurrence: Occurrence, memory: Memory) -> bool:
        """Whether a vector is longer than a row, and goes on in the next."""
        if len(occurrence.indices) < 2 or len(occurrence.indices) != len(memory.region):
            return False
        last, extent = occurrence.indices[-1], memory.region[-1][1]
        is_row = type(last) is Ramp and ops.is_const(last.stride, 1)
        return is_row and type(extent) is IntImm and dtypes.lanes(last.dtype) > extent.value

    def _flat_index(self, occurrence: Occurrence, memory: Memory) -> Expr:
        """The index of an element, counted from the first of all."""
        *outer, last = occurrence.indices
        assert type(last) is Ramp
        strides = (
            self.views[occurrence.data].buffer.strides if occurrence.data in self.views else ()
        )
        flat: Expr = _ZERO
        for number, (low, extent) in enumerate(memory.region):
            place = ops.sub((*outer, last.base)[number], low)
            if strides:
                flat = ops.add(flat, ops.mul(place, strides[number]))
            else:
                flat = ops.add(ops.mul(flat, extent), place)
        return Ramp(flat, last.stride, last.lanes)

    def _declared(self, occurrence: Occurrence) -> Iterator[Need]:
        """What reads need by the declared shape of a tensor of which there is a region alone.

        Where it is not known, nothing has to be checked: memory is safe by its region.
        """
        memory = self.memory.get(occurrence.data)
        if memory is None or memory.is_argument or occurrence.buffer is None:
            return
        if self._is_beyond_a_row(occurrence, memory):
            return
        if occurrence.reads and len(occurrence.indices) == len(memory.shape):
            for number, index in enumerate(occurrence.indices):
                whole = memory.shape[number]
                if memory.region[number][1] is not whole:
                    yield Need(number, index, _ZERO, whole)

    def is_strided(self, data: Var) -> bool:
        """Whether the elements of an argument do not lie side by side."""
        view = self.views.get(data)
        return view is not None and bool(view.buffer.strides)

    def _is_flat(self, occurrence: Occurrence) -> bool:
        """Whether an index counts elements of memory, not of a declared buffer."""
        view = self.views.get(occurrence.data)
        return view is None or occurrence.buffer is not view.buffer

    def _offset(self, occurrence: Occurrence) -> Expr:
        """Where a pointer points, from the first element."""
        view = self.views.get(occurrence.data)
        offset = occurrence.indices[0]
        if view is None:
            return offset
        return self.analyzer.simplify(ops.sub(offset, view.buffer.elem_offset))

    def reach(self, data: Var, memory: Memory, buffer: Buffer | None = None) -> Expr:
        """How many elements there are from the first to the last."""
        extents = [extent for _, extent in memory.region]
        whole: Expr = _ONE
        view = self.views.get(data)
        if view is not None and view.buffer.strides:
            for extent, stride in zip(extents, view.buffer.strides, strict=False):
                whole = ops.add(whole, ops.mul(ops.sub(extent, _ONE), stride))
        else:
            for extent in extents:
                whole = ops.mul(whole, extent)
        if buffer is not None and data in self.bytes:
            own, other = self.bytes[data], dtypes.storage_bytes(buffer.dtype)
            if own != other:
                whole = ops.floordiv(ops.mul(whole, own), other)
        return whole

    # -- proof -----------------------------------------------------------------------------------

    def _is_proved(self, need: Need) -> bool:
        index, low, extent = need.at, need.low, need.extent
        if type(low) is IntImm and type(extent) is IntImm:
            least, most = self.analyzer.const_bounds(index)
            is_low = least is not None and least >= low.value
            is_high = most is not None and most < low.value + extent.value
            if is_low and is_high:
                return True
        if dtypes.lanes(index.dtype) > 1:
            return type(index) is Ramp and all(
                self._is_proved(Need(need.number, end, low, extent)) for end in _ends(index)
            )
        if self._is_spanned(need):
            return True
        place = self.analyzer.simplify(ops.sub(index, low))
        prove = self.analyzer.can_prove
        if not prove(ops.less_equal(IntImm(0, place.dtype), place)):
            return False
        return prove(ops.less(place, extent)) or prove(ops.less(index, ops.add(low, extent)))

    def _is_spanned(self, need: Need) -> bool:
        ends = self._span(need)
        return ends is not None and not any(
            number_of(end) is None or _is_negative(end) for end in ends
        )

    def _is_product(self, need: Need) -> bool:
        """Whether sums of products of variables are within bounds, as i * stride is."""
        if dtypes.lanes(need.at.dtype) > 1:
            return type(need.at) is Ramp and all(
                self._is_product(need._replace(at=end)) for end in _ends(need.at)
            )
        forms = Forms(self._least_values(), self.values)
        for loop in self.loops:
            forms.bind(loop.var, forms.of(loop.min), forms.of(loop.extent))
        place = plus(forms.of(need.at), forms.of(need.low), -1)
        return forms.is_nonnegative(place) and forms.is_less(place, forms.of(need.extent))

    def _least_values(self) -> dict[Var, int]:
        """Extents and strides are never negative."""
        declared = [view.buffer for view in self.views.values()]
        parts = [part for buffer in declared for part in buffer.strides]
        for memory in self.memory.values():
            parts += memory.shape if memory.is_argument else ()
        return {part: 0 for part in parts if type(part) is Var}

    def _span(self, need: Need) -> Span | None:
        """How far the smallest index is above the first element, the largest below the last."""
        span = self._extremes(need.at)
        low, extent = linear_form(need.low), linear_form(need.extent)
        if span is None or low is None or extent is None:
            return None
        if not self._is_size(low) or not self._is_size(extent):
            return None
        last = plus(plus(low, extent), constant(-1))
        return plus(span[0], low, -1), plus(last, span[1], -1)

    def _extremes(self, index: Expr) -> Span | None:
        """The smallest and the largest value of a sum of variables; None of what is no such sum."""
        total = linear_form(index)
        if total is None:
            return None
        low: Form = {}
        high: Form = {}
        for term, scale in total.items():
            ends = self.ranges.get(term[0]) if term else None
            if ends is None:
                if term and term[0] not in self.symbols:
                    return None
                ends = {term: 1}, {term: 1}
            low, high = plus(low, ends[scale < 0], scale), plus(high, ends[scale > 0], scale)
        return low, high

    def _is_size(self, form: Form) -> bool:
        """Whether a form depends on the sizes of a call alone."""
        return all(not term or term[0] in self.symbols for term in form)

    # -- the opposite ----------------------------------------------------------------------------

    def _is_settled(self, occurrence: Occurrence, need: Need) -> bool:
        """Whether an index is judged by executing it, or by the sizes of a call."""
        if type(need.at) is Ramp:
            ends = [need._replace(at=end) for end in _ends(need.at)]
            return all([self._is_settled(occurrence, end) for end in ends])
        conditions = [
            *self.conditions,
            *[one for one in occurrence.guards if isinstance(one, Expr) and one.dtype == "bool"],
        ]
        if _reads_memory(need.at):
            return False
        known = [one for one in conditions if not _reads_memory(one)]
        guards = len(self.conditions) + len(occurrence.guards)  # lets and vectors are not known
        is_sure = self.is_sure and len(known) == guards
        try:
            found = self._outside(need, known)
        except Unevaluable as reason:
            if isinstance(reason, TooMany) and self._is_inside_at_ends(need, known):
                return True
            if not is_sure:
                return False
            with self._joined(need, known) as whole:
                found = whole and self._always_outside(whole, need.at)
                if found is None:
                    return whole is not None and self._require(occurrence, whole, need.at)
        if found is None:
            return True
        if is_sure:
            self.findings.append(self._finding(occurrence, need, *found))
        return is_sure

    def _outside(self, need: Need, conditions: Sequence[Expr]) -> tuple[str, str] | None:
        """An index that is outside, and how that comes about; None where all are inside.

        Raises
        ------
        Unevaluable where it is not known which indices there are.
        """
        points = self._points(need, conditions)
        values, low, extent = (
            np.broadcast_to(evaluate(part, points.values, self.values), (points.count,))
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
            for loop in self.loops
        )
        text = f"the index {need.at!s} runs from {values.min()} to {values.max()}"
        if where:
            text = f"the index {need.at!s} is {values[first]} where {where}; it runs " + (
                f"from {values.min()} to {values.max()}"
            )
        return str(values[first]), text

    def _is_inside_at_ends(self, need: Need, conditions: Sequence[Expr]) -> bool:
        """Whether all is well where those variables have their least and greatest values of which
        an index is a sum and that nothing else depends on.
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
        others = [part for loop in self.loops for part in (loop.min, loop.extent)]
        bound = self._named(*conditions, need.low, need.extent, *others)
        free = [
            (var, scale, [number_of(end) for end in self.ranges[var]])
            for (var,), scale in ((term, scale) for term, scale in total.items() if term)
            if var in self.ranges and var not in bound
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
        """The iterations that reach an access; of loops that do not matter, one."""
        known = self._named(need.at, *conditions)
        for loop in reversed(self.loops):
            if loop.var in known:
                known |= self._named(loop.min, loop.extent)
        most = {loop: 1 for loop in self.loops if loop.var not in known}
        points = points_of(self.loops, {}, self.values, most, _LIMIT)
        return held(points, conditions, self.values)

    def _named(self, *expressions: Expr) -> set[Var]:
        """The variables that expressions depend on."""
        found: set[Var] = set()
        left = list(expressions)
        while left:
            for var in variables_of(left.pop()) - found:
                found.add(var)
                if var in self.values:
                    left.append(self.values[var])
        return found

    def _always_outside(self, need: Need, shown: Expr) -> tuple[str, str] | None:
        """Of symbolic sizes: what is outside whatever they are, as an index that is shown."""
        gaps = self._span(need)
        span = self._extremes(need.at)
        if gaps is None or span is None or not self._are_loops_known():
            return None
        below, above = map(_is_negative, gaps)
        if not below and not above:
            return None
        low, high = (expr_of(end, need.at.dtype) for end in span)
        text = f"the index {shown!s} runs from {low} to {high}"
        return str(low if below else high), text

    @contextmanager
    def _joined(self, need: Need, conditions: Sequence[Expr]) -> Iterator[Need | None]:
        """A scope without conditions, whose loops are what they leave; None where they are more."""
        if not conditions:
            yield need
            return
        found = joined(need.at, self.loops, conditions, self.symbols)
        if found is None:
            yield None
            return
        loops, ranges = self.loops, self.ranges
        self.loops, self.ranges = found.loops, dict(ranges)
        for loop in found.loops:
            self._note_range(loop)
        yield need._replace(at=found.total)
        self.loops, self.ranges = loops, ranges

    def _are_loops_known(self) -> bool:
        return all(loop.var in self.ranges for loop in self.loops)

    def _require(self, occurrence: Occurrence, need: Need, shown: Expr) -> bool:
        """Note what a call must fulfil, where an access depends on its sizes alone."""
        gaps = self._span(need)
        span = self._extremes(need.at)
        if gaps is None or span is None or not self._are_loops_known():
            return False
        if any(map(_is_negative, gaps)):
            return False
        extents = tuple(loop.extent for loop in self.loops if type(loop.extent) is not IntImm)
        name = self.name_of(occurrence)
        index, number = need.at, need.number
        low, high = span
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
            self.sizes.append(Size(f"dimension {number} of {name}", end, least, why, extents))
        return True

    # -- words -----------------------------------------------------------------------------------

    def name_of(self, occurrence: Occurrence) -> str:
        """What messages call the memory of an access."""
        if occurrence.buffer is not None and occurrence.data not in self.views:
            return occurrence.buffer.name
        return self.memory[occurrence.data].name

    def _finding(self, occurrence: Occurrence, need: Need, wrong: str, text: str) -> Finding:
        name = self.name_of(occurrence)
        does = "reads" if occurrence.reads else "writes"
        has = f"{name} has {need.extent} elements there"
        if type(need.low) is not IntImm or need.low.value:
            has = f"{name} exists from {need.low} on, {need.extent} elements"
        return Finding(
            BOUNDS,
            REFUTED,
            f"build a program that {does} {name} at {wrong} in dimension {need.number}",
            name,
            stage=self.place_name(),
            why=f"{text}, and {has}",
            cure="declare the tensor larger or the computation smaller, or guard the "
            f"{does.removesuffix('s')}: te.if_then_else(te.all(...), {name}[...], 0.0)",
        )

    def summary(self) -> Iterator[Finding]:
        """The findings; what was proved, or is under a check, counted."""
        yield from self.findings
        if self.unproved:
            what = f"{self.unproved} indices of accesses are checked when they are used"
            yield Finding(BOUNDS, UNPROVED, what, why="what they are is known to the call alone")
        if self.proved:
            yield Finding(BOUNDS, PROVED, f"{self.proved} indices of accesses are within bounds")


def _is_negative(form: Form) -> bool:
    """Whether a form is a number below 0."""
    return (number_of(form) or 0) < 0


def _reads_memory(e: Expr) -> bool:
    return any(type(part) is BufferLoad for part in walk(e))


def _ends(index: Any) -> tuple[Expr, Expr]:
    """The first and the last lane."""
    last = IntImm(index.lanes - 1, index.base.dtype)
    return index.base, ops.add(index.base, ops.mul(index.stride, last))
