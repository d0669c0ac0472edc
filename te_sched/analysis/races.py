"""Whether iterations that run at once keep out of each other's way.

For each parallel or vectorized loop, and for the axes of blocks and threads, two different
iterations must not touch one element of memory that lives outside of the loop when one of them
writes. Proof: an element that two iterations touch has equal indices, and the axes are digits of
these (`_Apart`). Refutation: two iterations and an element, found by executing the indices
(`_meeting`). Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from te_sched.analysis.accesses import Access, Loop, Program
from te_sched.analysis.evaluate import (
    Points,
    TooMany,
    Unevaluable,
    Values,
    as_arrays,
    evaluate,
    held,
    points_of,
    samples_of,
)
from te_sched.analysis.facts import conjuncts, forms_for
from te_sched.analysis.findings import PROVED, RACE, REFUTED, UNPROVED, Finding
from te_sched.analysis.forms import (
    Form,
    Part,
    constant,
    factors,
    number_of,
    plus,
    rank,
    split,
    times,
)
from te_sched.arith.same import same
from te_sched.ir.expr import (
    EQ,
    LT,
    BufferLoad,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Var,
)
from te_sched.ir.stmt import BufferStore
from te_sched.ir.visitor import walk

_VERBS = {"parallel": "parallel", "vectorized": "vectorize"}
_LIMIT = 1 << 15  # iterations that are executed


def judge_races(program: Program) -> list[Finding]:
    """What is to be said of the loops of a program whose iterations run at once."""
    found: list[Finding] = []
    for loops in _at_once(program):
        found.extend(_Judge(program, loops).findings())
    return found


def _at_once(program: Program) -> Iterator[tuple[Loop, ...]]:
    """The loops whose iterations run at once, those of one grid of blocks together.

    A parallel loop inside of another one runs serially.
    """
    grids: dict[Loop, list[Loop]] = {}
    serial = {
        loop
        for access in program.accesses
        for loop in [one for one in access.loops if one.kind == "parallel"][1:]
    }
    for loop in program.loops:
        if loop not in serial and loop.kind in ("parallel", "vectorized", "virtual"):
            yield (loop,)
    for access in program.accesses:
        blocks = [loop for loop in access.loops if loop.kind == "block"]
        if blocks:
            grid = grids.setdefault(blocks[0], [])
            grid.extend(loop for loop in blocks if loop not in grid)
    for grid in grids.values():
        yield tuple(grid)


class _Judge:
    """Judges one loop, or the axes of one grid of blocks."""

    def __init__(self, program: Program, loops: tuple[Loop, ...]) -> None:
        self.program, self.loops = program, loops
        self.is_grid = loops[0].kind == "block"

    def findings(self) -> Iterator[Finding]:
        for data, accesses in self._shared().items():
            yield self._finding(data, accesses)

    def _shared(self) -> dict[Var, list[Access]]:
        """The accesses below the loops to memory outside of them that somebody writes there."""
        first = self.loops[0]
        touched: dict[Var, list[Access]] = {}
        for access in self.program.accesses:
            if first in access.loops:
                memory = self.program.memory.get(access.data)
                if memory is None or first not in memory.loops:
                    touched.setdefault(access.data, []).append(access)
        return {
            data: accesses
            for data, accesses in touched.items()
            if any(access.writes for access in accesses) and self._is_common(data)
        }

    def _is_common(self, data: Var) -> bool:
        """Whether the memory is one for all iterations."""
        memory = self.program.memory.get(data)
        if memory is None:
            return False  # not declared: nobody knows
        return not self.is_grid or memory.scope == "global"

    def _finding(self, data: Var, accesses: list[Access]) -> Finding:
        unique = _unique(accesses)
        name = self.program.memory[data].name
        names = " and ".join(loop.name for loop in self.loops)
        subject = f"{self._verb()} {names}"
        if all(
            _Apart(self.program, self.loops, a, b).is_proved()
            for place, a in enumerate(unique)
            for b in unique[place:]
            if a.writes or b.writes
        ):
            what = f"{subject}: no two iterations touch the same element of {name}"
            return Finding(RACE, PROVED, what, name, names, name)
        verdict = _meeting(self.program, self.loops, unique)
        if isinstance(verdict, _Meeting):
            return self._refusal(name, names, verdict)
        what = f"{subject}: iterations may touch the same element of {name}"
        if verdict is True:
            what = f"{subject}: no two iterations touch the same element of {name}"
        why = "" if verdict is True else "it is not known which elements they touch"
        return Finding(RACE, PROVED if verdict else UNPROVED, what, name, names, name, why)

    def _verb(self) -> str:
        loop = self.loops[0]
        return _VERBS.get(loop.kind, "run at once the iterations of")

    def _refusal(self, name: str, names: str, meeting: _Meeting) -> Finding:
        loop = self.loops[0]
        how = f'bind to "{loop.tag}"' if loop.tag else self._verb()
        cure = "let each iteration write elements of its own"
        if meeting.is_update:
            cure = (
                "reorder the loops and take one over elements of the result, or make the partial "
                "results a stage of their own (rfactor)"
            )
        cure += f", or {how} another axis"
        return Finding(
            RACE,
            REFUTED,
            f"{how} axis {names}, whose iterations meet in {name}",
            name,
            names,
            name,
            meeting.text(name),
            cure,
        )


def _unique(accesses: Iterable[Access]) -> list[Access]:
    """Accesses without those that say the same, as a store and a load of one element."""
    kept: list[Access] = []
    for access in sorted(accesses, key=lambda one: not one.writes):
        if not any(
            access.index is not None
            and other.index is not None
            and other.is_sure == access.is_sure
            and (other.loops == access.loops)
            and (other.index is access.index or _all_same(other.index, access.index))
            and _all_same(other.sizes, access.sizes)
            and len(other.conditions) == len(access.conditions)
            and all(a is b for a, b in zip(other.conditions, access.conditions, strict=True))
            for other in kept
        ):
            kept.append(access)
    return kept


def _all_same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


# -- proof -----------------------------------------------------------------------------------------


class _Apart:
    """Proves that two accesses touch one element only in one iteration of the loops.

    Say that iteration x of the first and y of the second touch one element. Then each index of the
    first equals that of the second, and the difference is a sum over what differs: factor *
    (value in x - value in y). The part with the largest factor must be equal in both when its
    factor is larger than all that the others can add up to, and then the next one.
    """

    def __init__(self, program: Program, loops: tuple[Loop, ...], a: Access, b: Access) -> None:
        self.program, self.loops, self.a, self.b = program, loops, a, b
        self.forms = forms_for(program, a, b)
        outside = a.loops[: a.loops.index(loops[0])]
        self.fixed = {loop.var for loop in outside}
        self.equal: set[Any] = set()
        self.resolved: set[Part] = set()  # parts whose wholes are equal too

    def is_proved(self) -> bool:
        """Whether the loops have the same values where both touch one element."""
        a, b = self.a, self.b
        if a.index is None or b.index is None or len(a.index) != len(b.index):
            return False
        self._note_single_values()
        of, one = self.forms.of, constant(1)
        equations = [
            (of(x), of(y), of(p), of(q))
            for x, y, p, q in zip(a.index, b.index, a.sizes, b.sizes, strict=True)
        ]
        wanted = {loop.var for loop in self.loops}
        known = -1
        while known < len(self.equal):
            known = len(self.equal)
            equations.extend((whole, whole, one, one) for whole in self._wholes())
            if any(self._use(*equation) for equation in equations):
                return True
            if wanted <= self.equal:
                return True
        return False

    def _note_single_values(self) -> None:
        """Axes of which a condition leaves one value, as threadIdx.x == 0 does."""
        first, second = _single_values(self.a.conditions), _single_values(self.b.conditions)
        self.equal |= {var for var, value in first.items() if second.get(var) == value}

    def _wholes(self) -> Iterator[Form]:
        """What is equal because its quotient and its remainder are."""
        parts = [part for part in self.equal if type(part) is Part]
        for part in parts:
            if part.kind is FloorDiv and part not in self.resolved:
                for other in parts:
                    is_rest = other.kind is FloorMod and other.divisor == part.divisor
                    if is_rest and other.whole == part.whole:
                        self.resolved.add(part)
                        yield part.whole

    def _use(self, x: Form, y: Form, size_x: Form, size_y: Form) -> bool:
        """Draw conclusions from x == y; gives whether they never are equal."""
        shared: list[tuple[Form, Any]] = []
        step = 0  # all that differs is a multiple of it
        low, high = plus(constant(1), size_y, -1), plus(size_x, constant(-1))
        is_point = not low and not high
        for factor in self._differing(x) | self._differing(y):
            scale_x, x = self._split(x, factor)
            scale_y, y = self._split(y, factor)
            if scale_x is None or scale_y is None:
                return False
            step = gcd(step, _step(scale_x), _step(scale_y))
            if scale_x == scale_y:
                shared.append((scale_x, factor))
                continue
            for scale, sign in ((scale_x, 1), (scale_y, -1)):
                span = self._span(factor, scale, sign)
                if span is None:
                    return False
                low, high = plus(low, span[0]), plus(high, span[1])
        rest = plus(x, y, -1)
        number = number_of(rest)
        if is_point and number is not None and step > 1 and number % step:
            return True
        low, high = plus(low, rest), plus(high, rest)
        if self._never(shared, low, high):
            return True
        self._find_equal(shared, low, high)
        return False

    def _split(self, a: Form, factor: Any) -> tuple[Form | None, Form]:
        scale, rest = split(a, factor)
        if scale is None or any(self._differs(one) for one in factors(scale)):
            return None, rest
        return scale, rest

    def _differing(self, a: Form) -> set[Any]:
        return {factor for factor in factors(a) if self._differs(factor)}

    def _differs(self, factor: Any) -> bool:
        """Whether a factor may have different values in the two iterations."""
        if factor in self.equal:
            return False
        if type(factor) is Part:
            inner = factor.variables & self.forms.ranges.keys()
            is_read = factor.kind is None and bool(factor.variables & self.program.memory.keys())
            return is_read or not inner <= self.fixed
        return factor in self.forms.ranges and factor not in self.fixed

    def _span(self, factor: Any, scale: Form, sign: int) -> tuple[Form, Form] | None:
        """The least and the greatest value of scale * factor, times sign."""
        if not scale:
            return {}, {}
        ends = self._ends(factor)
        if ends is None:
            return None
        scale = scale if sign > 0 else plus({}, scale, -1)
        first, second = times(scale, ends[0]), times(scale, ends[1])
        if self.forms.is_nonnegative(scale):
            return first, second
        if self.forms.is_nonnegative(plus({}, scale, -1)):
            return second, first
        return None

    def _ends(self, factor: Any) -> tuple[Form, Form] | None:
        bounds = self.forms.bounds({(factor,): 1}, self.fixed)
        if bounds.low is None or bounds.high is None:
            return None
        return bounds.low, bounds.high

    def _never(self, shared: Iterable[tuple[Form, Any]], low: Form, high: Form) -> bool:
        """Whether the difference is never zero."""
        for scale, factor in shared:
            width = self._width(factor, scale)
            if width is None:
                return False
            low, high = plus(low, width, -1), plus(high, width)
        return self.forms.is_less({}, low) or self.forms.is_less(high, {})

    def _find_equal(self, shared: Iterable[tuple[Form, Any]], low: Form, high: Form) -> None:
        """Note the parts with large factors, which must be equal."""
        digits = sorted(shared, key=lambda one: rank(one[0]))
        reaches: list[tuple[Form, Form]] = []  # of what is below each digit
        for scale, factor in digits:
            reaches.append((low, high))
            width = self._width(factor, scale)
            if width is None:
                break
            low, high = plus(low, width, -1), plus(high, width)
        if len(reaches) < len(digits):
            return
        is_less = self.forms.is_less
        for (scale, factor), (low, high) in zip(reversed(digits), reversed(reaches), strict=True):
            size = scale if self.forms.is_nonnegative(scale) else plus({}, scale, -1)
            if not is_less(high, size) or not is_less(plus({}, low, -1), size):
                return
            self.equal.add(factor)

    def _width(self, factor: Any, scale: Form) -> Form | None:
        """How much scale * factor can differ by."""
        ends = self._ends(factor)
        if ends is None:
            return None
        width = times(scale, plus(ends[1], ends[0], -1))
        for one in (width, plus({}, width, -1)):
            if self.forms.is_nonnegative(one):
                return one
        return None


def _step(scale: Form) -> int:
    """The number that a factor is multiplied by; 1 where it is more than a number."""
    number = number_of(scale)
    return 1 if number is None else abs(number)


def _single_values(conditions: Iterable[Expr]) -> dict[Var, int]:
    """Variables that have one value under conditions: of a == 3, and of a thread's a < 1."""
    found: dict[Var, int] = {}
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, EQ | LT) and type(part.a) is Var and isinstance(part.b, IntImm):
                if isinstance(part, EQ):
                    found[part.a] = part.b.value
                elif part.b.value == 1:
                    found[part.a] = 0
    return found


# -- refutation ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Meeting:
    """An element that two iterations touch."""

    first: Access
    second: Access
    place: tuple[int, ...]
    iterations: tuple[tuple[int, ...], tuple[int, ...]]
    names: tuple[str, ...]
    sizes: str

    @property
    def is_update(self) -> bool:
        """Whether both are one statement that changes what is there."""
        store = self.first.store
        return store is not None and reads_own(store)

    def text(self, name: str) -> str:
        """What happens, in words."""
        one, other = (
            ", ".join(f"{axis} = {value}" for axis, value in zip(self.names, values, strict=True))
            for values in self.iterations
        )
        element = f"{name}[{', '.join(map(str, self.place))}]"
        if self.second.writes:
            text = f"iterations {one} and {other} both write {element}"
        else:
            text = f"iteration {one} writes {element}, and iteration {other} reads it"
        if (index := _written(self.first)) != (index_of_other := _written(self.second)):
            text += f" (at [{index}] and [{index_of_other}])"
        elif index:
            text += f" (at [{index}])"
        return text + (f", where {self.sizes}" if self.sizes else "")


def reads_own(store: BufferStore) -> bool:
    """Whether a store changes what is there: its value is made from the element it replaces."""
    return any(
        type(part) is BufferLoad
        and part.buffer.data is store.buffer.data
        and _all_same(part.indices, store.indices)
        for part in walk(store.value)
    )


def _written(access: Access) -> str:
    return ", ".join(map(str, access.index or ()))


def _meeting(
    program: Program, loops: tuple[Loop, ...], accesses: Sequence[Access]
) -> _Meeting | bool:
    """Where two iterations certainly meet, for whatever sizes; or whether they certainly do not."""
    found: _Meeting | bool = False
    try:
        for sizes in samples_of(program):
            found = _Execution(program, loops, accesses, sizes).meeting()
            if isinstance(found, bool):
                return found and not sizes
    except Unevaluable:
        return False
    return found


class _Execution:
    """All iterations of loops for given sizes, and the elements that they touch."""

    def __init__(
        self,
        program: Program,
        loops: tuple[Loop, ...],
        accesses: Sequence[Access],
        sizes: Values,
    ) -> None:
        self.program, self.loops, self.sizes = program, loops, sizes
        self.accesses = [one for one in accesses if one.index is not None and one.is_sure]
        self.is_complete = len(self.accesses) == len(accesses)
        self.iterates_once = loops[0].kind in ("parallel", "vectorized")

    def meeting(self) -> _Meeting | bool:
        """Two iterations that meet; else whether all of them were looked at."""
        rows = [row for access in self.accesses if (row := self._row(access)) is not None]
        if not any(row.access.writes for row in rows):
            return self.is_complete
        width = {row.elements.shape[1] for row in rows}
        if len(width) != 1:
            return False
        keys = _numbered([row.elements for row in rows])
        owner = np.full(int(max(key.max(initial=-1) for key in keys)) + 1, -1, np.int64)
        wrote = np.full(len(owner), -1, np.int64)
        for number, (row, key) in enumerate(zip(rows, keys, strict=True)):
            if row.access.writes:
                owner[key] = row.iteration
                wrote[key] = number
        for row, key in zip(rows, keys, strict=True):
            others = owner[key]
            clash = (others >= 0) & (others != row.iteration)
            if self.loops[0].kind == "vectorized" and not row.access.writes:
                # lanes read before they write, in one statement
                same = np.array([one.access.store is row.access.store for one in rows])
                clash &= ~(same[wrote[key]] & (others > row.iteration))
            if clash.any():
                place = int(np.argmax(clash))
                first = rows[int(wrote[key[place]])]
                if not self._is_harmless(first.access, row.access):
                    return self._found(first, row, place, int(others[place]))
                self.is_complete = False
        return self.is_complete

    def _found(self, first: _Row, second: _Row, place: int, other: int) -> _Meeting:
        numbers = (other, int(second.iteration[place]))
        element = second.elements[place]
        outside = len(self._outside(second.access))
        if second.access.writes and numbers[0] > numbers[1]:
            first, second, numbers = second, first, (numbers[1], numbers[0])
        sizes = ", ".join(f"{var.name} = {int(value)}" for var, value in self.sizes.items())
        return _Meeting(
            first.access,
            second.access,
            tuple(int(one) for one in element[outside:]),
            (self._values(numbers[0]), self._values(numbers[1])),
            tuple(loop.name for loop in self.loops),
            sizes,
        )

    def _values(self, number: int) -> tuple[int, ...]:
        """The values of the loops in an iteration."""
        values = []
        for radix in reversed(self.radices):
            number, digit = divmod(number, radix)
            values.append(digit)
        lows = (evaluate(loop.min, dict(self.sizes), self.program.values) for loop in self.loops)
        try:
            return tuple(
                int(low) + digit for low, digit in zip(lows, reversed(values), strict=True)
            )
        except Unevaluable:  # it begins where an outer loop says
            return tuple(reversed(values))

    def _is_harmless(self, first: Access, second: Access) -> bool:
        """Whether blocks store the same value into the same element."""
        if self.iterates_once or first.store is not second.store or first.store is None:
            return False
        if not second.writes or reads_own(first.store):
            return False
        depends = {loop.var for loop in self.loops}
        return not any(part in depends for part in walk(first.store.value) if type(part) is Var)

    def _outside(self, access: Access) -> tuple[Loop, ...]:
        return access.loops[: access.loops.index(self.loops[0])]

    def _row(self, access: Access) -> _Row | None:
        assert access.index is not None
        lets = self.program.values
        points = self._points(access)
        try:
            points = held(points, access.conditions, lets)
        except Unevaluable:
            self.is_complete = False
            return None
        if not points.count:
            return None
        try:
            index = [evaluate(one, points.values, lets) for one in access.index]
            sizes = [int(evaluate(one, dict(self.sizes), lets)) for one in access.sizes]
        except Unevaluable:
            self.is_complete = False
            return None
        outside = [points.digits[loop] for loop in self._outside(access)]
        columns = as_arrays([*outside, *index], points.count)
        self.radices = [
            int(evaluate(loop.extent, dict(points_first(points)), lets)) for loop in self.loops
        ]
        number: Any = np.zeros(points.count, np.int64)
        for loop, radix in zip(self.loops, self.radices, strict=True):
            digit = points.digits.get(loop)
            number = number * radix + (0 if digit is None else digit)
        elements = np.stack(columns, axis=1) if columns else np.zeros((points.count, 0), np.int64)
        first = len(outside)
        for place, size in enumerate(sizes):
            if size != 1:
                if len(elements) * size > _LIMIT * 4:
                    raise TooMany
                elements = np.repeat(elements, size, axis=0)
                elements[:, first + place] += np.tile(np.arange(size), len(number))
                number = np.repeat(number, size)
        return _Row(access, elements, number)

    def _points(self, access: Access) -> Points:
        lets = self.program.values
        try:
            return points_of(access.loops, self.sizes, lets, {}, _LIMIT)
        except TooMany:
            self.is_complete = False
        outside = dict.fromkeys(self._outside(access), 1)
        judged = dict.fromkeys(self.loops, 16 if len(self.loops) == 1 else 4)
        for inner in (16, 4, 2):
            most = {**dict.fromkeys(access.loops, inner), **outside, **judged}
            try:
                return points_of(access.loops, self.sizes, lets, most, _LIMIT)
            except TooMany:
                continue
        raise TooMany


@dataclass(frozen=True, slots=True)
class _Row:
    """The elements that an access touches (outer loops first), and in which iteration."""

    access: Access
    elements: Any
    iteration: Any


def points_first(points: Points) -> Values:
    """The values in the first iteration."""
    return {
        var: value[0] if np.ndim(value) else value
        for var, value in points.values.items()
        if np.size(value)
    }


def _numbered(tables: Sequence[Any]) -> list[Any]:
    """Rows of tables as numbers, equal ones alike."""
    whole = np.concatenate(tables)
    low, high = whole.min(axis=0), whole.max(axis=0)
    number: Any = np.zeros(len(whole), np.int64)
    for column in range(whole.shape[1]):
        number = number * (high[column] - low[column] + 1) + (whole[:, column] - low[column])
    if len(number) and number.max() > 8 * len(number) + 1024:
        number = np.unique(number, return_inverse=True)[1].reshape(-1)
    return np.split(number, np.cumsum([len(table) for table in tables])[:-1])
