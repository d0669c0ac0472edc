"""The values of a variable for which a comparison holds, for all values of other variables.

    deduce_bound(i, i*32 + j < n, {j: [0, 31]})  ->  i in (-inf, n//32 - 1]

The comparison is solved for the variable one operation at a time. Other terms are moved to the
other side, where they are replaced by their least favorable bound. (TVM's name:
arith.deduce_bound.) Must not know programs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.facts import NEGATION
from te_sched.arith.int_set import NOTHING, Domains, IntervalSet, eval_set
from te_sched.config import AS_TVM, Lowering
from te_sched.ir.expr import EQ, GT, LE, LT, NE, Add, Expr, FloorDiv, IntImm, Mul, Sub, Var
from te_sched.ir.visitor import variables_of, walk


class _Goal(NamedTuple):
    """The comparison `expr` <= `bound` ("most"), >= ("least") or == ("exact")."""

    expr: Expr
    bound: Expr
    kind: str


_MOST, _LEAST, _EXACT = "most", "least", "exact"
_TURNED = {_MOST: _LEAST, _LEAST: _MOST, _EXACT: _EXACT}
COMPARISONS = frozenset(NEGATION)


def deduce_bound(
    var: Var, condition: Expr, relaxed: Domains, settings: Lowering = AS_TVM
) -> IntervalSet:
    """The interval of `var` in which the condition holds for all values of the variables in
    `relaxed`, with simplified ends; NOTHING if none is known.
    """
    goal = _goal(var, condition)
    while goal is not None and goal.expr is not var:
        goal = _step(goal, var, relaxed, settings)
        goal = None if goal is None else _relax(goal, relaxed, settings)
    if goal is None or not variables_of(goal.bound).isdisjoint((var, *relaxed)):
        return NOTHING
    bound = Analyzer(settings).simplify(goal.bound)
    return IntervalSet(
        None if goal.kind == _MOST else bound, None if goal.kind == _LEAST else bound
    )


def opposite(condition: Any) -> Expr | None:
    """The negated comparison; None if the condition is not a comparison."""
    kind: Any = NEGATION.get(type(condition))
    return None if kind is None else kind(condition.a, condition.b)


def _goal(var: Var, condition: Any) -> _Goal | None:
    """The comparison with the variable on its left side."""
    kind = type(condition)
    if kind not in NEGATION or kind is NE or condition.a.dtype not in ("int32", "int64"):
        return None
    if sum(part is var for part in walk(condition)) != 1:
        return None
    expr, bound = condition.a, condition.b
    if kind is EQ:
        way = _EXACT
    else:
        way = _MOST if kind in (LT, LE) else _LEAST
        if kind in (LT, GT):
            unit = build.imm(1, bound.dtype)
            if var in variables_of(bound):
                expr = build.add(expr, unit) if kind is LT else build.sub(expr, unit)
            else:
                bound = build.sub(bound, unit) if kind is LT else build.add(bound, unit)
    if var in variables_of(bound):
        expr, bound, way = bound, expr, _TURNED[way]
    return _Goal(expr, bound, way)


def _relax(goal: _Goal, relaxed: Domains, settings: Lowering) -> _Goal | None:
    """The goal with the least favorable end of its bound."""
    if variables_of(goal.bound).isdisjoint(relaxed):
        return goal
    values = eval_set(goal.bound, relaxed, settings)
    bound = values.min if goal.kind == _MOST else values.max
    if values is NOTHING or bound is None or goal.kind == _EXACT:
        return None
    return _Goal(goal.expr, bound, goal.kind)


def _step(goal: _Goal, var: Var, relaxed: Domains, settings: Lowering) -> _Goal | None:
    """The goal after solving for one operation around the variable."""
    expr: Any = goal.expr
    if type(expr) in (Add, Sub, Mul, FloorDiv):
        is_first = var in variables_of(expr.a)
        inner, other = (expr.a, expr.b) if is_first else (expr.b, expr.a)
        if type(expr) is Add:
            return _Goal(inner, build.sub(goal.bound, other), goal.kind)
        if type(expr) is Sub and is_first:
            return _Goal(inner, build.add(goal.bound, other), goal.kind)
        if type(expr) is Sub:
            return _Goal(inner, build.sub(other, goal.bound), _TURNED[goal.kind])
        goal_of_bound = _relax(goal, relaxed, settings)
        if goal_of_bound is None or type(other) is not IntImm or other.value == 0:
            return None
        if type(expr) is Mul:
            return _divided(inner, goal_of_bound, other, settings)
        return _multiplied(inner, goal_of_bound, other) if is_first else None
    return None


def _divided(inner: Expr, goal: _Goal, factor: IntImm, settings: Lowering) -> _Goal | None:
    """inner * factor compared with the bound."""
    way = goal.kind if factor.value > 0 else _TURNED[goal.kind]
    analyzer = Analyzer(settings)
    goal = goal._replace(bound=analyzer.simplify(goal.bound))
    quotient = build.floordiv(goal.bound, factor)
    if way == _MOST:
        return _Goal(inner, quotient, way)
    remainder = build.floormod(goal.bound, factor)
    if analyzer.can_prove_equal(remainder, build.imm(0, remainder.dtype)):
        return _Goal(inner, quotient, way)
    if way == _EXACT:
        return None
    return _Goal(inner, build.add(quotient, build.imm(1, quotient.dtype)), way)


def _multiplied(inner: Expr, goal: _Goal, divisor: IntImm) -> _Goal | None:
    """inner // divisor compared with the bound."""
    if goal.kind == _EXACT:
        return None
    product = build.mul(goal.bound, divisor)
    room = build.imm(abs(divisor.value) - 1, product.dtype)
    if divisor.value > 0:
        bound = build.add(product, room) if goal.kind == _MOST else product
        return _Goal(inner, bound, goal.kind)
    bound = build.sub(product, room) if goal.kind == _MOST else product
    return _Goal(inner, bound, _TURNED[goal.kind])
