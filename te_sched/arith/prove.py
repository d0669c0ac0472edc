"""Whether a condition is true, and within which bounds an expression lies, by several engines.

    prove(i * 32 + j < n * 32, facts)   ->   Proof("forms"),  i in [0, n) and j in [0, 32)
    bounds(i * 32 + j, facts)           ->   [0, n * 32 - 1]

The facts are those of an `Analyzer`. Engines are asked in the order of `ENGINES`, from the
cheapest. Those that TVM has, too, are `OF_TVM`: who decides what TVM prints asks no others. Must
not know programs, nor what the answer is for; the simplifier must not ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts, gap_of
from te_sched.arith.deduce import opposite
from te_sched.arith.facts import NEGATION, ORDERS
from te_sched.arith.forms import Ends, Form, Forms
from te_sched.arith.int_set import eval_set, from_range
from te_sched.ir import dtypes
from te_sched.ir.expr import EQ, GE, GT, LE, LT, NE, Expr, IntImm, Not, Or, Var
from te_sched.ir.visitor import reads_data, replace, variables_of

CONST_BOUNDS, FORMS, SIMPLIFIER, INT_SETS = "const_bounds", "forms", "simplifier", "int_sets"
OF_TVM = (SIMPLIFIER, INT_SETS)


class Proof(NamedTuple):
    """A proof, by an engine."""

    engine: str


def prove(condition: Expr, facts: Analyzer, engines: Iterable[str] | None = None) -> Proof | None:
    """A proof of a condition by the first engine that has one, or None.

    >>> from te_sched import te, tir
    >>> i, n, facts = te.var("i"), te.var("n"), Analyzer()
    >>> facts.bind(i, tir.Range(0, n))
    >>> prove(i < 8, facts), prove(i * 4 + 3 < n * 4, facts)
    (None, Proof(engine='forms'))
    """
    for engine in ENGINES if engines is None else engines:
        if engine != CONST_BOUNDS and facts.is_exact and facts.may_wrap(condition):
            return None  # the others assume that there is no overflow
        if ENGINES[engine](condition, facts):
            return Proof(engine)
    return None


def bounds(expression: Expr, facts: Analyzer) -> Ends:
    """The least and the greatest value as forms without variables that have a range, or None."""
    if facts.is_exact and facts.may_wrap(expression):
        return Ends(None, None)
    forms = forms_of(facts, expression)
    return forms.bounds(forms.of(expression))


def forms_of(facts: Analyzer, *expressions: Expr) -> Forms:
    """Forms in which the variables of some expressions have the ranges, values and least values
    of the facts.
    """
    forms = Forms({}, {})
    _describe(forms, facts, expressions)
    return forms


def _describe(
    forms: Forms, facts: Analyzer, expressions: Iterable[Expr], outer: frozenset[Var] = frozenset()
) -> None:
    """Add the facts about the variables of some expressions, after those that they depend on;
    `outer` are the variables that these facts are about.
    """
    for var in sorted(variables_of(*expressions), key=lambda var: var.name):
        if var in forms.ranges or var in forms.values or var in forms.least:
            continue
        domain, value = facts.ranges.get(var), facts.value_of(var)
        parts = [value] if value is not None else []
        parts = parts if domain is None else [domain.min, domain.extent]
        around = outer | {var}
        is_used = around.isdisjoint(variables_of(*parts)) and not any(map(reads_data, parts))
        if parts and is_used:
            _describe(forms, facts, parts, around)
            if domain is not None:
                forms.bind(var, domain.min, domain.extent)
            elif value is not None:
                forms.values[var] = value
        elif (low := facts.const_bounds(var)[0]) is not None:
            forms.least[var] = low


# -- engines -----------------------------------------------------------------------------------


def _by_const_bounds(condition: Any, facts: Analyzer) -> bool:
    kind = type(condition)
    if kind not in ORDERS:
        return False
    small, large = condition.a, condition.b
    if kind is GT or kind is GE:
        small, large = large, small
    most, least = facts.const_bounds(small)[1], facts.const_bounds(large)[0]
    if most is None or least is None:
        return False
    return most < least if kind is LT or kind is GT else most <= least


def _by_forms(condition: Expr, facts: Analyzer) -> bool:
    forms = forms_of(facts, condition)
    return all(_holds(part, forms, facts) for part in conjuncts(condition))


def _holds(condition: Any, forms: Forms, facts: Analyzer) -> bool:
    kind = type(condition)
    if kind is Or:
        return any(_holds(part, forms, facts) for part in (condition.a, condition.b))
    if kind is Not and type(condition.a) in NEGATION:
        return _holds(opposite(condition.a), forms, facts)
    if not _compares_numbers(condition):
        return False
    if kind is NE:
        return any(_holds(order(condition.a, condition.b), forms, facts) for order in (LT, GT))
    return all(_is_nonnegative(gap, forms, facts) for gap in _gaps(condition, forms))


def _compares_numbers(condition: Any) -> bool:
    return type(condition) in NEGATION and dtypes.counts(condition.a.dtype)


def _gaps(condition: Any, forms: Forms) -> Iterator[Form]:
    """Forms that are not negative exactly where a comparison holds; none of other conditions."""
    a, b = condition.a, condition.b
    for part in (LE(a, b), GE(a, b)) if type(condition) is EQ else (condition,):
        gap = gap_of(part, forms)
        if gap is not None:
            yield gap


def _is_nonnegative(gap: Form, forms: Forms, facts: Analyzer) -> bool:
    """Whether a form is known not to be negative, possibly because of conditions."""
    if forms.is_nonnegative(gap):
        return True
    conditions = list(filter(_compares_numbers, facts.assumed))
    _describe(forms, facts, conditions)
    gaps = [other for condition in conditions for other in _gaps(condition, forms)]
    return any(map(forms.is_nonnegative, forms.where(gap, gaps)[1:]))


def _by_simplifier(condition: Expr, facts: Analyzer) -> bool:
    return facts.can_prove(condition)


def _by_int_sets(condition: Any, facts: Analyzer) -> bool:
    """By the end of the left side, over loops of symbolic extents."""
    ranges = facts.ranges
    if type(condition) not in (GE, LT) or all(
        type(domain.extent) is IntImm for domain in ranges.values()
    ):
        return False
    domains = {var: from_range(domain) for var, domain in ranges.items()}
    ends = eval_set(condition.a, domains)
    end = ends.min if type(condition) is GE else ends.max
    return end is not None and facts.can_prove(replace(condition, a=end))


ENGINES: dict[str, Callable[[Expr, Analyzer], bool]] = {
    CONST_BOUNDS: _by_const_bounds,
    FORMS: _by_forms,
    SIMPLIFIER: _by_simplifier,
    INT_SETS: _by_int_sets,
}
