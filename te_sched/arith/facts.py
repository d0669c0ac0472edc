"""Facts about variables, conditions that hold, and differences of expressions.

Owns the bookkeeping (adding facts, and removing them at the end of a scope) and the search for
x - y <= k through known inequalities. Must not know how expressions are rewritten.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import ref

from te_sched.arith import build
from te_sched.arith.const_bounds import EVERYTHING, INFINITY, ConstBounds
from te_sched.arith.modular import ANYTHING, ModularSets
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Expr,
    FloorMod,
    IntImm,
    Not,
    Range,
    Sub,
    Var,
)
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.occurrences import data_read_by
from te_sched.ir.term_keys import same

MIRROR: dict[type, type] = {LT: GT, LE: GE, GT: LT, GE: LE, EQ: EQ, NE: NE}
ORDERS = frozenset((LT, LE, GT, GE))
NEGATION: dict[type, type] = {LT: GE, LE: GT, GT: LE, GE: LT, EQ: NE, NE: EQ}


@dataclass(slots=True)
class Difference:
    """A known inequality: a - b <= limit."""

    a: Expr
    b: Expr
    limit: int
    owner: Var | None = None  # the variable whose range implies it


class Memo(Protocol):
    """An object that caches results."""

    memo: dict[Expr, Any]


@dataclass(slots=True)
class Facts:
    """The facts at a point of the program.

    `is_exact` means that floats follow IEEE 754 (for NaN neither x < y nor y <= x holds, and x - x
    is not always 0), and that arithmetic with integers in memory wraps around, as in programs to
    run; in the text that TVM prints, floats are real numbers and integers do not overflow.
    """

    settings: Lowering = AS_TVM
    is_exact: bool = field(init=False)
    bounds: ConstBounds = field(init=False)
    modular: ModularSets = field(default_factory=ModularSets)
    values: dict[Var, Expr] = field(default_factory=dict)
    ranges: dict[Var, Range] = field(default_factory=dict)
    true: list[Any] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    holders: list[ref[Memo]] = field(default_factory=list)  # most of them refer to the facts
    on_memory: int = 0  # the number of conditions that depend on memory
    changes: int = 0  # how often memory was written under such a condition

    def __post_init__(self) -> None:
        self.is_exact = self.settings.to_run
        self.bounds = ConstBounds(self.is_exact)
        self.holders += (ref(self.bounds), ref(self.modular))

    def keep(self, holder: Memo) -> None:
        """Register an object whose cache is cleared when the facts change, while it exists."""
        self.holders.append(ref(holder))

    def forget(self) -> None:
        """Clear the caches of registered objects."""
        for reference in self.holders:
            holder = reference()
            if holder is not None and holder.memo:
                holder.memo = {}

    @contextmanager
    def under(self, condition: Expr) -> Iterator[None]:
        """A context manager inside which a condition holds."""
        lengths = tuple(map(len, self._lists()))
        memos = [(holder, holder.memo) for reference in self.holders if (holder := reference())]
        on_memory, changes = self.on_memory, self.changes
        for holder, _ in memos:
            holder.memo = {}
        try:
            self.assume(condition)
            yield
        finally:
            self.on_memory = on_memory
            for facts, length in zip(self._lists(), lengths, strict=True):
                del facts[length:]
            self.forget()  # also what is new
            if changes == self.changes:
                for holder, memo in memos:
                    holder.memo = memo

    def _lists(self) -> tuple[list[Any], ...]:
        return self.true, self.differences, self.bounds.facts, self.modular.facts

    def change_memory(self, data: Container[Var] | None) -> None:
        """Remove the facts about elements of some memory, or of all of it, which is written."""
        for facts, nothing in ((self.bounds.facts, EVERYTHING), (self.modular.facts, ANYTHING)):
            for position, (e, *_) in enumerate(facts):
                if any(data is None or pointer in data for pointer in data_read_by(e)):
                    facts[position] = (e, *nothing)
                    self.changes += 1
        self.forget()

    def unbind(self, var: Var) -> None:
        """Remove the value and the bounds of a variable."""
        self.values.pop(var, None)
        self.ranges.pop(var, None)
        if self.differences:
            self.differences = [
                difference for difference in self.differences if difference.owner is not var
            ]

    def assume_range(self, var: Var, bound: Range) -> None:
        """Add the symbolic bounds of a range: min <= var < min + extent."""
        self.ranges[var] = bound
        if type(bound.min) is not IntImm:
            first, offset = split_offset(bound.min)
            self.differences.append(Difference(first, var, -offset, var))
        if type(bound.extent) is not IntImm or type(bound.min) is not IntImm:
            last, offset = split_offset(build.add(bound.min, bound.extent))
            self.differences.append(Difference(var, last, offset - 1, var))

    def assume(self, condition: Any) -> None:
        """Add the fact that a condition holds."""
        kind = type(condition)
        if kind is And:
            self.assume(condition.a)
            self.assume(condition.b)
            return
        is_pure = effect_of(condition) <= Effect.PURE
        if is_pure:  # memory may change while a condition on it is assumed
            self.true.append(condition)
        else:
            self.on_memory += 1
        if kind is Not and type(condition.a) in NEGATION:
            return  # known literally; TVM derives no bounds from a negation that is not rewritten
        if kind in NEGATION:
            self._assume_comparison(kind, condition.a, condition.b, is_pure)

    def may_be_unordered(self, e: Any) -> bool:
        """Whether e compares floats by order, so that neither it nor its reverse holds for NaN."""
        return self.is_exact and type(e) in ORDERS and dtypes.is_float(e.a.dtype)

    def _assume_comparison(self, kind: type, a: Expr, b: Expr, is_pure: bool) -> None:
        if a.dtype not in ("int32", "int64"):
            return
        if type(a) is IntImm and type(b) is not IntImm:
            kind, a, b = MIRROR[kind], b, a
        if kind is NE:
            return
        if type(b) is IntImm:
            self._assume_limit(kind, a, b.value)
        if not is_pure:
            return
        if kind in (LT, LE, EQ):
            self._assume_difference(a, b, -1 if kind is LT else 0)
        if kind in (GT, GE, EQ):
            self._assume_difference(b, a, -1 if kind is GT else 0)

    def _assume_limit(self, kind: type, e: Expr, limit: int) -> None:
        low, high = -INFINITY, INFINITY
        if kind in (LT, LE, EQ):
            high = limit - 1 if kind is LT else limit
        if kind in (GT, GE, EQ):
            low = limit + 1 if kind is GT else limit
        self.bounds.facts.append((e, low, high))
        if kind is EQ and type(e) is FloorMod and type(e.b) is IntImm and e.b.value:
            coeff = abs(e.b.value)
            self.modular.facts.append((e.a, coeff, limit % coeff))

    def _assume_difference(self, a: Expr, b: Expr, limit: int) -> None:
        (a, plus_a), (b, plus_b) = split_offset(a), split_offset(b)
        self.differences.append(Difference(a, b, limit - plus_a + plus_b))

    def differ(self, x: Expr, y: Expr) -> bool:
        """Whether x != y follows from a known inequality of two expressions, or of their equals."""
        for fact in self.true:
            if type(fact) is NE:
                a, b = fact.a, fact.b
                if (same(a, x) and same(b, y)) or (same(a, y) and same(b, x)):
                    return True
                if self.settings.prove_transitively and (
                    (self._are_equal(a, x) and self._are_equal(b, y))
                    or (self._are_equal(a, y) and self._are_equal(b, x))
                ):
                    return True
        return False

    def _are_equal(self, x: Expr, y: Expr) -> bool:
        if same(x, y):
            return True
        return self.highest_difference(x, y) == 0 == self.highest_difference(y, x)

    def highest_difference(self, x: Expr, y: Expr) -> int:
        """The least k for which x - y <= k follows from the known inequalities, or INFINITY."""
        if not self.differences:
            return INFINITY
        (x, plus_x), (y, plus_y) = split_offset(x), split_offset(y)
        limit = self._shortest(x, y)
        return limit if limit == INFINITY else limit + plus_x - plus_y

    def _shortest(self, start: Expr, goal: Expr) -> int:
        reached: list[tuple[Expr, int]] = [(start, 0)]
        best = INFINITY
        for _ in range(len(self.differences) + 1):
            fresh = []
            for node, distance in reached:
                for difference in self.differences:
                    if type(difference.a) is not type(node) or not same(difference.a, node):
                        continue
                    limit = distance + difference.limit
                    if same(difference.b, goal):
                        best = min(best, limit)
                    elif self.settings.prove_transitively is not False:
                        fresh.append((difference.b, limit))
            if not fresh or len(fresh) > 32:
                break
            reached = fresh
        return best


def split_offset(e: Any) -> tuple[Expr, int]:
    """(x, c) of an expression x + c; constants are 0 + c."""
    kind = type(e)
    if kind is IntImm:
        return build.imm(0, e.dtype), e.value
    if kind is Add and type(e.b) is IntImm:
        return e.a, e.b.value
    if kind is Sub and type(e.b) is IntImm:
        return e.a, -e.b.value
    return e, 0
