"""Sets of integer points: unions of systems of linear inequalities.

    { i, x : x == 4 * i + 1, 0 <= i < 8 }    without i ->    { x : 1 <= x <= 29, ... }

Owns intersection, difference, emptiness, and the elimination of variables by Fourier and Motzkin,
with Pugh's dark shadow where a projection is not exact (The Omega Test, 1991). A result that is not
exact is a superset if `over` is true, and otherwise a subset. The terms of an inequality are those
of `forms`; a product, or an expression that is not linear, counts as a variable of its own. Must
not know programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from operator import is_
from typing import Any

from te_sched.arith.forms import Form, Part, constant, plus, times
from te_sched.ir.expr import Var

Terms = frozenset[tuple[tuple[Any, ...], int]]  # a form without its constant
System = Mapping[Terms, int]  # terms + constant >= 0, for each
Union = tuple[System, ...]

EVERYTHING: Union = ({},)
NOTHING: Union = ()
_MOST_SYSTEMS = 16
_MOST_INEQUALITIES = 40


class WorkLimit(Exception):
    """Raised where an analysis has used up its work."""


class Budget:
    """The work that an analysis may still do, in inequalities that are looked at."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.empty: dict[frozenset[tuple[Terms, int]], bool] = {}  # known results of `is_empty`

    def spend(self, amount: int) -> None:
        """Subtract an amount; raises WorkLimit if nothing is left."""
        self.left -= amount
        if self.left < 0:
            raise WorkLimit


def form_of(terms: Terms, base: int) -> Form:
    """The form of terms and a constant."""
    return {**dict(terms), **constant(base)}


def _negated(terms: Terms) -> Terms:
    return frozenset([(term, -scale) for term, scale in terms])


def conjoined(system: System, forms: Iterable[Form]) -> System | None:
    """A system with the inequalities form >= 0; None if two of its inequalities exclude each other.

    >>> from te_sched import te
    >>> i = te.var("i")
    >>> conjoined({}, [{(i,): 1}, {(i,): -1, (): -1}])
    """
    new = dict(system)
    for form in forms:
        base = form.get((), 0)
        common = gcd(*[scale for term, scale in form.items() if term])
        if common == 0:
            if base < 0:
                return None
            continue
        terms = frozenset([(term, scale // common) for term, scale in form.items() if term])
        base //= common
        least = new[terms] = min(base, new.get(terms, base))
        opposite = new.get(_negated(terms))
        if opposite is not None and least + opposite < 0:
            return None
    return new


def equal(a: Form, b: Form) -> list[Form]:
    """The inequalities that say a == b."""
    gap = plus(a, b, -1)
    return [gap, plus({}, gap, -1)]


def below(a: Var, b: Var) -> Union:
    """The points with a < b."""
    return ({frozenset({((b,), 1), ((a,), -1)}): -1},)


def _scale_in(terms: Terms, term: tuple[Any, ...]) -> int:
    for other, scale in terms:  # `==` of variables would build a condition
        if len(other) == len(term) and all(map(is_, other, term)):
            return scale
    return 0


def has_variable(term: tuple[Any, ...], var: Var) -> bool:
    """Whether a term depends on a variable."""
    return any(f is var or (type(f) is Part and var in f.variables) for f in term)


def mentions(union: Union, var: Var) -> bool:
    """Whether a set depends on a variable."""
    return any(has_variable(term, var) for system in union for terms in system for term, _ in terms)


def _without_term(system: System, term: tuple[Any, ...], over: bool) -> System | None:
    """The projection of a system along a term."""
    lower: list[tuple[int, Form]] = []
    upper: list[tuple[int, Form]] = []
    rest: dict[Terms, int] = {}
    for terms, base in system.items():
        scale = _scale_in(terms, term)
        if not scale:
            rest[terms] = base
            continue
        form = form_of(terms, base)
        del form[term]
        (lower if scale > 0 else upper).append((abs(scale), form))
    shadows = []
    for a, low in lower:
        for b, high in upper:
            slack = 0 if over else (a - 1) * (b - 1)
            shadows.append(plus(plus(plus({}, high, a), low, b), constant(slack), -1))
    return conjoined(rest, shadows)


def is_empty(system: System, work: Budget) -> bool:
    """Whether a system is known to have no integer points."""
    work.spend(1)
    if len(system) < 2:
        return False
    key = frozenset(system.items())
    answer = work.empty.get(key)
    if answer is None:
        answer = work.empty[key] = _is_empty(system, work)
    return answer


def _is_empty(system: System, work: Budget) -> bool:
    current: System = system
    while current:
        work.spend(len(current))
        counts: dict[tuple[Any, ...], list[int]] = {}
        for terms in current:
            for term, scale in terms:
                counts.setdefault(term, [0, 0])[scale > 0] += 1
        open_ended = {term for term, (below, above) in counts.items() if not below or not above}
        if open_ended:  # some value of it satisfies all its inequalities
            current = {
                terms: base
                for terms, base in current.items()
                if not any(term in open_ended for term, _ in terms)
            }
            continue
        term = min(
            counts,
            key=lambda candidate: (
                counts[candidate][0] * counts[candidate][1] - sum(counts[candidate])
            ),
        )
        projected = _without_term(current, term, over=True)
        if projected is None:
            return True
        if len(projected) > _MOST_INEQUALITIES:
            return False
        current = projected
    return False


def union_of(pieces: Iterable[System], work: Budget, over: bool) -> Union:
    """The union of systems, without those that repeat others; approximated if there are many."""
    kept: list[System] = []
    for piece in pieces:
        if any(_is_within(piece, other) for other in kept):
            continue
        kept = [other for other in kept if not _is_within(other, piece)]
        kept.append(piece)
    work.spend(len(kept))
    if len(kept) > _MOST_SYSTEMS:
        return EVERYTHING if over else tuple(kept[:_MOST_SYSTEMS])
    return tuple(kept)


def _is_within(system: System, other: System) -> bool:
    """Whether each inequality of the other follows from the same one of the first."""
    return all(system.get(terms, base + 1) <= base for terms, base in other.items())


def intersection(a: Union, b: Union, work: Budget, over: bool) -> Union:
    """The points in both of two sets.

    >>> from te_sched import te
    >>> i = te.var("i")
    >>> low, high = conjoined({}, [{(i,): 1}]), conjoined({}, [{(i,): -1, (): -1}])
    >>> intersection((low,), (high,), Budget(100), over=True)
    ()
    """
    systems = []
    for system in a:
        for other in b:
            both = conjoined(system, [form_of(*inequality) for inequality in other.items()])
            if both is not None and not is_empty(both, work):
                systems.append(both)
    return union_of(systems, work, over)


def difference(a: Union, b: Union, work: Budget, over: bool) -> Union:
    """The points of a set that are not in another.

    >>> from te_sched import te
    >>> i = te.var("i")
    >>> high = conjoined({}, [{(i,): 1, (): -5}])
    >>> len(difference(EVERYTHING, (high,), Budget(100), over=True))
    1
    """
    pieces = list(a)
    for taken in b:
        pieces = [left for piece in pieces for left in _minus(piece, taken, work)]
        if len(pieces) > 2 * _MOST_SYSTEMS:
            return a if over else NOTHING
    return union_of(pieces, work, over)


def _minus(piece: System, taken: System, work: Budget) -> list[System]:
    """The largest systems within a system without another; they overlap."""
    inequalities = [form_of(*inequality) for inequality in taken.items()]
    both = conjoined(piece, inequalities)
    if both is None or is_empty(both, work):
        return [piece]
    pieces = []
    for form in inequalities:
        outside = conjoined(piece, [plus(constant(-1), form, -1)])
        if outside is not None and not is_empty(outside, work):
            pieces.append(outside)
    return pieces


def is_subset(a: Union, b: Union, work: Budget) -> bool:
    """Whether all points of a set are known to be in another."""
    return not difference(a, b, work, over=True)


def without(union: Union, var: Var, work: Budget, over: bool) -> Union:
    """The points that some value of a variable completes to a point of a set.

    >>> from te_sched import te
    >>> i, x = te.var("i"), te.var("x")
    >>> system = conjoined({}, [*equal({(x,): 1}, {(i,): 1}), {(i,): 1, (): -2}])
    >>> without((system,), i, Budget(100), over=False) == (conjoined({}, [{(x,): 1, (): -2}]),)
    True
    """
    systems = []
    for system in union:
        projected = _without_variable(system, var, over)
        if projected is not None and not is_empty(projected, work):
            systems.append(projected)
    return union_of(systems, work, over)


def _without_variable(system: System, var: Var, over: bool) -> System | None:
    current: System | None = system
    others = {
        term
        for terms in system
        for term, _ in terms
        if has_variable(term, var) and not (len(term) == 1 and term[0] is var)
    }
    if others and not over:
        return None
    for term in (*others, (var,)):
        if current is not None:
            current = _without_term(current, term, over)
            if current is not None and len(current) > _MOST_INEQUALITIES:
                return {} if over else None
    return current


def determined(system: System, var: Var) -> tuple[Form, int] | None:
    """The form and the divisor whose floor quotient a variable is in a system, or None.

    >>> from te_sched import te
    >>> i, x = te.var("i"), te.var("x")
    >>> form, divisor = determined(conjoined({}, equal({(x,): 1}, {(i,): 2})), i)
    >>> form == {(x,): 1}, divisor
    (True, 2)
    """
    lower: list[tuple[int, Form]] = []
    upper: list[tuple[int, Form]] = []
    for terms, base in system.items():
        scale = _scale_in(terms, (var,))
        if not scale:
            continue
        form = form_of(terms, base)
        del form[var,]
        if not any(has_variable(term, var) for term in form):
            (lower if scale > 0 else upper).append((abs(scale), form))
    solution = None
    for divisor, low in lower:
        for other, high in upper:
            width = plus(low, high)
            if divisor == other and width.keys() <= {()} and 0 <= width.get((), 0) < divisor:
                if divisor == 1:
                    return high, 1
                solution = high, divisor
    return solution


def replaced(union: Union, values: Mapping[Var, Form], over: bool) -> Union:
    """A set with variables replaced by forms."""
    systems = []
    for system in union:
        new: System | None = {}
        for terms, base in system.items():
            form = _replaced(form_of(terms, base), values)
            if form is None and not over:
                new = None
            if form is not None and new is not None:
                new = conjoined(new, [form])
        if new is not None:
            systems.append(new)
    return tuple(systems)


def _replaced(form: Form, values: Mapping[Var, Form]) -> Form | None:
    """A form with variables replaced; None if one of its opaque terms depends on them."""
    if not any(has_variable(term, var) for term in form for var in values):
        return form
    total: Form = {}
    for term, scale in form.items():
        product = constant(scale)
        for factor in term:
            if type(factor) is Part and not factor.variables.isdisjoint(values):
                return None
            product = times(product, values.get(factor, {(factor,): 1}))
        total = plus(total, product)
    return total
