"""The reducer of an update: B[i] = B[i] + A[i, k] sums up A[i, k].

Must not know statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    BufferLoad,
    Call,
    CommReducer,
    Expr,
    Max,
    Min,
    Mul,
    Or,
    Select,
    Var,
)
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Mapper, walk

_COMMUTATIVE = (Add, Mul, Min, Max, And, Or)
_COMPARISONS = (LT, LE, GT, GE)


def find_reducer(
    results: Sequence[BufferLoad], identities: Sequence[Expr], values: Sequence[Expr]
) -> tuple[CommReducer, tuple[Expr, ...]] | None:
    """The reducer that updates results to values, and what it combines them with, or None.

    Results may be combined by sums, products, minima, maxima, conjunctions and disjunctions, or be
    chosen by a comparison, as in argmax.

    >>> from te_sched import tir
    >>> A, B = tir.decl_buffer((8,), name="A"), tir.decl_buffer((1,), name="B")
    >>> k = tir.Var("k")
    >>> find_reducer([B[0]], [tir.const(0.0, "float32")], [B[0] + A[k]])
    (T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0)]), (A[k],))
    """
    updated = {load.buffer for load in results}
    sources = []
    for result, value in zip(results, values, strict=True):
        source = _source(result, value)
        if source is None or any(
            type(expr) is BufferLoad and expr.buffer in updated for expr in walk(source)
        ):
            return None
        sources.append(source)
    lhs = tuple([Var(f"x{number}", load.dtype) for number, load in enumerate(results)])
    rhs = tuple([Var(f"y{number}", source.dtype) for number, source in enumerate(sources)])
    pairs = [*zip(results, lhs, strict=True), *zip(sources, rhs, strict=True)]
    mapper = _Replace(pairs)
    combined = tuple([mapper.visit(value) for value in values])
    parameters = {*lhs, *rhs}
    for node in chain.from_iterable(map(walk, combined)):
        if isinstance(node, BufferLoad | Call) or (type(node) is Var and node not in parameters):
            return None
    return CommReducer(lhs, rhs, combined, tuple(identities)), tuple(sources)


def _source(result: BufferLoad, value: Expr) -> Expr | None:
    """What a value combines with a result."""
    if type(value) in _COMMUTATIVE:
        pair = value.a, value.b  # type: ignore[attr-defined]
    elif type(value) is Select and _chooses(value.condition):
        pair = value.true_value, value.false_value
    else:
        return None
    others = [operand for operand in pair if not same(operand, result)]
    return others[0] if len(others) == 1 else None


def _chooses(condition: Expr) -> bool:
    """Whether a condition compares two values, by others if they are equal: a > b or (a == b and
    i < j).
    """
    if type(condition) is not Or:
        return type(condition) in _COMPARISONS
    first, rest = condition.a, condition.b
    if type(first) not in (LT, GT) or type(rest) is not And or type(rest.a) is not EQ:
        return False
    is_tie = same(first.a, rest.a.a) and same(first.b, rest.a.b)  # type: ignore[attr-defined]
    return is_tie and type(rest.b) in _COMPARISONS


class _Replace(Mapper):
    """Replaces expressions that are structurally equal to some."""

    def __init__(self, pairs: Sequence[tuple[Expr, Expr]]) -> None:
        self.pairs = pairs

    def visit_Expr(self, node: Expr) -> Expr:
        for old, new in self.pairs:
            if same(node, old):
                return new
        return self.generic(node)
