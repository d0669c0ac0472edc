"""Conditions as conjunctions of disjunctions (clauses).

    a or (b and c)                          ->   (a or b) and (a or c)
    k == 20 and (i == 0 or j == 10) and k != 30   ->   (i == 0 or j == 10) and k == 20

Two literals of a clause that simplify to one are replaced by it, and so are two clauses that
differ in one literal; the result stands at the place of the later one, as in TVM. Literals change
their order only if they do not read memory, since a condition may guard an access in the next one.
Must not know statements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import And, Expr, IntImm, Or
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Mapper

_Clause = list[Expr]
_MOST_CLAUSES = 32


class Clauses(Mapper):
    """Rewrites the conditions in values; `simplify` is applied to whole values."""

    def __init__(self, analyzer: Analyzer, simplify: Callable[[Expr], Expr]) -> None:
        self.analyzer, self.simplify = analyzer, simplify

    def value(self, e: Expr) -> Expr:
        """The simplified expression with its conditions as conjunctions of disjunctions."""
        return self.visit(self.simplify(e))

    def visit_And(self, node: And | Or) -> Expr:
        clauses = _clauses(node)
        if clauses is None:
            return node
        clauses = [self.shortened(clause) for clause in clauses]
        clauses = self.joined([clause for clause in clauses if not _is_constant(clause, True)])
        result: Expr = build.truth(True)
        for clause in clauses:
            either: Expr = build.truth(False)
            for literal in clause:
                either = build.either(either, literal)
            result = build.both(result, either)
        return result

    visit_Or = visit_And

    def shortened(self, clause: _Clause) -> _Clause:
        """A clause without literals that others imply."""
        kept = _distinct(clause)
        if not all(map(_is_pure, kept)):
            return kept
        return _reduced(kept, self.one_of_either)

    def one_of_either(self, a: Expr, b: Expr) -> Expr | None:
        """a or b as one literal, or None."""
        disjunction = self.analyzer.rewrite_simplify(build.either(a, b))
        return None if type(disjunction) is Or else disjunction

    def joined(self, clauses: list[_Clause]) -> list[_Clause]:
        """Clauses without those that others imply, and with those joined that differ little."""
        kept: list[_Clause] = []
        for number, clause in enumerate(clauses):
            is_later = [other for other in clauses[number + 1 :] if _is_within(other, clause)]
            if any(_is_within(other, clause) for other in kept):
                continue
            if any(len(other) < len(clause) for other in is_later):
                continue
            kept.append(clause)
        if not all(_is_pure(literal) for clause in kept for literal in clause):
            return kept
        return _reduced(kept, self.one_of_both)

    def one_of_both(self, first: _Clause, second: _Clause) -> _Clause | None:
        """Two clauses that differ in one literal as one clause, in the order of the second."""
        mine = [literal for literal in first if not _has(second, literal)]
        others = [literal for literal in second if not _has(first, literal)]
        if len(first) != len(second) or len(mine) != 1 or len(others) != 1:
            return None
        conjunction = self.analyzer.rewrite_simplify(build.both(mine[0], others[0]))
        if type(conjunction) is And:
            return None
        return [conjunction if literal is others[0] else literal for literal in second]


def _clauses(e: Any) -> list[_Clause] | None:
    """The clauses of a condition; None if there are too many."""
    if type(e) not in (And, Or):
        return [[e]]
    a, b = _clauses(e.a), _clauses(e.b)
    if a is None or b is None:
        return None
    clauses = [*a, *b] if type(e) is And else [[*clause, *other] for clause in a for other in b]
    return clauses if len(clauses) <= _MOST_CLAUSES else None


def _reduced(items: list[Any], join: Callable[[Any, Any], Any]) -> list[Any]:
    """Items, with pairs that `join` makes one of replaced by it at the place of the later one."""
    done = False
    while not done:
        done = True
        for later in range(len(items)):
            for earlier in range(later):
                replacement = join(items[earlier], items[later])
                if replacement is not None:
                    items = [
                        *items[:earlier],
                        *items[earlier + 1 : later],
                        replacement,
                        *items[later + 1 :],
                    ]
                    done = False
                    break
            if not done:
                break
    return items


def _is_pure(e: Expr) -> bool:
    return effect_of(e) <= Effect.PURE


def _has(clause: _Clause, literal: Expr) -> bool:
    return any(same(member, literal) for member in clause)


def _is_within(clause: _Clause, other: _Clause) -> bool:
    return all(_has(other, literal) for literal in clause)


def _distinct(clause: _Clause) -> _Clause:
    kept: _Clause = []
    for literal in clause:
        if not _has(kept, literal):
            kept.append(literal)
    return kept


def _is_constant(clause: _Clause, value: bool) -> bool:
    return any(type(literal) is IntImm and bool(literal.value) == value for literal in clause)
