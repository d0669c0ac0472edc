"""Facts about the elements of buffers: sets of elements with values in terms of their indices.

    { a : 0 <= a < 16 }: A[a] == a * 2

Owns what happens to facts if elements are written, if variables go out of scope, and if branches
meet, and what they say about an expression. Each result is true where its facts are. Must not know
statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import plain
from te_sched.arith.forms import Form, Part, constant, expr_of, plus
from te_sched.arith.linear_sets import (
    EVERYTHING,
    NOTHING,
    System,
    Union,
    conjoined,
    determined,
    difference,
    intersection,
    is_empty,
    replaced,
    union_of,
    without,
)
from te_sched.config import Lowering
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, Var
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.stmt import BufferStore
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Mapper, substitute, variables_of, walk
from te_sched.tir.passes.dataflow.elements import Elements

_MOST_FACTS = 24
_MOST_CASES = 8
_LARGEST_VALUE = 40


class Fact(NamedTuple):
    """The elements of a buffer in a set have a value, in terms of their indices."""

    buffer: Buffer
    elements: Union
    value: Expr


class Point(NamedTuple):
    """What is known before a statement: facts, and a set that has all values of the variables."""

    facts: tuple[Fact, ...] = ()
    within: Union = EVERYTHING


class Case(NamedTuple):
    """An expression with known elements replaced, for the values of variables in a set."""

    within: Union
    value: Expr


def is_value(e: Expr) -> bool:
    """Whether an expression has the same value at any time, and is small enough to be kept."""
    return effect_of(e) <= Effect.PURE and sum(1 for _ in walk(e)) <= _LARGEST_VALUE


class Knowledge:
    """Operations on facts."""

    def __init__(self, elements: Elements, settings: Lowering) -> None:
        self.elements, self.work = elements, elements.work
        self.analyzer = Analyzer(settings)

    # -- changes -----------------------------------------------------------------

    def collected(self, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        """Facts, those of a buffer with the same value joined."""
        kept: list[Fact] = []
        for fact in facts:
            if not fact.elements:
                continue
            position = next((n for n, old in enumerate(kept) if _is_alike(old, fact)), None)
            if position is None:
                kept.append(fact)
            elif kept[position] is not fact:
                both = (*kept[position].elements, *fact.elements)
                elements = union_of(both, self.work, over=False)
                if elements != kept[position].elements:
                    kept[position] = fact._replace(elements=elements)
        return tuple(kept[-_MOST_FACTS:])

    def written(
        self, facts: Iterable[Fact], data: Var, buffer: Buffer | None, elements: Union
    ) -> list[Fact]:
        """The facts that hold after elements of a buffer, or of all of a pointer, are written."""
        kept = []
        for fact in facts:
            if fact.buffer.data is not data:
                kept.append(fact)
            elif fact.buffer is buffer:
                kept.append(self.except_for(fact, elements))
        return kept

    def except_for(self, fact: Fact, elements: Union) -> Fact:
        """A fact without some elements."""
        left = difference(fact.elements, elements, self.work, over=False)
        return fact if left == fact.elements else fact._replace(elements=left)

    def leaving(self, facts: Iterable[Fact], var: Var, within: Union) -> list[Fact]:
        """Facts that hold for some value of a variable in a set, in terms of other variables."""
        new_facts = []
        for fact in facts:
            for system in intersection(fact.elements, within, self.work, over=False):
                value = self._value_without(fact.value, system, var)
                if value is not None:
                    elements = without((system,), var, self.work, over=False)
                    new_facts.append(Fact(fact.buffer, elements, value))
        return new_facts

    def _value_without(self, value: Expr, system: System, var: Var) -> Expr | None:
        if var not in variables_of(value):
            return value
        solution = determined(system, var)
        if solution is None or any(type(factor) is Part for term in solution[0] for factor in term):
            return None
        form, divisor = solution
        as_expr = expr_of(form, var.dtype)
        as_expr = as_expr if divisor == 1 else as_expr // divisor
        new = self.analyzer.simplify(substitute(value, {var: as_expr}))
        return None if var in variables_of(new) else new

    def joined(
        self, first: Sequence[Fact], second: Sequence[Fact], where: tuple[Union, Union]
    ) -> tuple[Fact, ...]:
        """The facts after one of two branches, which are taken for values of variables in `where`
        at least.
        """
        in_both = [fact for fact in first if any(fact is other for other in second)]
        mine = [fact for fact in first if not any(fact is other for other in in_both)]
        others = [fact for fact in second if not any(fact is other for other in in_both)]
        new_facts = list(in_both)
        for a in mine:
            for b in others:
                if _is_alike(a, b):
                    both = intersection(a.elements, b.elements, self.work, over=False)
                    new_facts.append(a._replace(elements=both))
        for facts, region in zip((mine, others), where, strict=True):
            for fact in facts:
                elements = intersection(fact.elements, region, self.work, over=False)
                new_facts.append(fact._replace(elements=elements))
        return self.collected(new_facts)

    # -- questions ---------------------------------------------------------------

    def agrees(self, fact: Fact, other: Fact) -> Union:
        """The elements in the set of the second fact for which it has the value of the first."""
        if fact.buffer is not other.buffer:
            return NOTHING
        if same(fact.value, other.value):
            return other.elements
        a, b = self.elements.form(fact.value), self.elements.form(other.value)
        if a is None or b is None:
            return NOTHING
        gap = plus(a, b, -1)
        return tuple([system for system in other.elements if self._is_zero(gap, system)])

    def _is_zero(self, gap: Form, system: System) -> bool:
        for sign in (1, -1):
            different = conjoined(system, [plus(constant(-1), gap, sign)])
            if different is not None and not is_empty(different, self.work):
                return False
        return True

    def at(self, fact: Fact, indices: tuple[Expr, ...]) -> Union:
        """The values of variables for which the element with some indices is in a fact."""
        axes = self.elements.axes(fact.buffer)
        forms = [self.elements.form(index) for index in indices]
        if len(forms) != len(axes):
            return NOTHING
        known_forms = [form for form in forms if form is not None]
        if len(known_forms) == len(forms):
            return replaced(fact.elements, dict(zip(axes, known_forms, strict=True)), over=False)
        element, lanes = self.elements.at(fact.buffer, indices, over=False)
        if lanes is not None:
            return NOTHING
        points = intersection(element, fact.elements, self.work, over=False)
        for axis in axes:
            points = without(points, axis, self.work, over=False)
        return points

    def cases(self, e: Expr, point: Point) -> list[Case]:
        """The values of an expression: those of its loads that facts give, for each combination."""
        cases: list[Case] = []
        stack: list[tuple[Expr, Union, tuple[Expr, ...]]] = [(e, point.within, ())]
        while stack:
            value, within, unknown = stack.pop()
            load = next(
                (candidate for candidate in _loads(value) if not _has(unknown, candidate)), None
            )
            if load is None or len(cases) + len(stack) >= _MOST_CASES:
                new = value if value is e else self.analyzer.simplify(value)
                cases.append(Case(within, new))
                continue
            rest = within
            for fact in point.facts:
                if fact.buffer is not load.buffer or not rest:
                    continue
                here = self.at(fact, load.indices)
                hit = intersection(rest, here, self.work, over=False)
                if not hit:
                    continue
                axes = self.elements.axes(fact.buffer)
                element_value = substitute(fact.value, dict(zip(axes, load.indices, strict=True)))
                left = difference(rest, here, self.work, over=True)
                stack.append(
                    (_Put(load, element_value).visit(value), hit if left else rest, unknown)
                )
                rest = left
            if rest:
                stack.append((value, rest, (*unknown, load)))
        return cases

    def known(self, e: Expr, point: Point) -> Expr:
        """The expression with its known elements replaced, where one value is known for each."""
        if effect_of(e) > Effect.READ_STATE:
            return e
        for load in list(_loads(e)):
            values = [case.value for case in self.cases(load, point)]
            if values and all(same(values[0], other) for other in values):
                e = _Put(load, values[0]).visit(e)
        return e

    def keeps(self, store: BufferStore, point: Point) -> bool:
        """Whether a store writes the value that its element is known to have."""
        if store.predicate is not None:
            return False
        load = BufferLoad(store.buffer, store.indices)
        old, new = self.known(load, point), self.known(store.value, point)
        if not is_value(old) or not is_value(new):
            return False
        if same(old, new):
            return True
        a, b = self.elements.form(old), self.elements.form(new)
        if a is None or b is None:
            return False
        return all(self._is_zero(plus(a, b, -1), system) for system in point.within)

    def decided(self, condition: Expr, point: Point) -> bool | None:
        """Whether a condition holds, or None if this is not known."""
        condition = plain(self.analyzer.simplify(condition))
        if type(condition) is IntImm:
            return bool(condition.value)
        for truth in (True, False):
            where = self.elements.where(condition, over=True, holds=not truth)
            if not intersection(point.within, where, self.work, over=True):
                return truth
        return None


def _is_alike(a: Fact, b: Fact) -> bool:
    return a.buffer is b.buffer and same(a.value, b.value)


def _loads(e: Expr) -> Iterable[Any]:
    """The loads of scalars whose indices do not depend on memory."""
    for part in walk(e):
        if type(part) is not BufferLoad or part.predicate is not None:
            continue
        is_scalar = part.dtype == part.buffer.dtype
        if is_scalar and all(effect_of(index) <= Effect.PURE for index in part.indices):
            yield part


def _has(loads: tuple[Expr, ...], load: Expr) -> bool:
    return any(same(load, other) for other in loads)


class _Put(Mapper):
    """Replaces a load by a value."""

    def __init__(self, load: BufferLoad, value: Expr) -> None:
        self.load, self.value = load, value

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return self.value if same(node, self.load) else self.generic(node)
