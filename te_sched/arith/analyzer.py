"""The Analyzer: simplifying, bounding and proving index expressions where variables have ranges and conditions hold.

Its face is TVM's `tvm.arith.Analyzer`, its canonical forms are TVM's: terms of a sum by falling scale, constants last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from te_sched.arith import build
from te_sched.arith.canonical import Canonicalizer
from te_sched.arith.const_bounds import INFINITY
from te_sched.arith.facts import Facts
from te_sched.arith.rewrite import INDEX_TYPES, Rewriter
from te_sched.arith.same import same
from te_sched.ir.expr import Add, Expr, FloatImm, IntImm, Mul, Range, StringImm, Sub, Var

_LEAVES = frozenset((IntImm, FloatImm, StringImm))


class Analyzer:
    """What is known at a place of a program, and simplification under it."""

    def __init__(self) -> None:
        self._facts = Facts()
        self._rewriter = Rewriter(self._facts)
        self._canonicalizer = Canonicalizer(self._facts)
        self._memo: dict[Expr, Expr] = {}

    # -- facts -----------------------------------------------------------------------------------------------------

    def bind(self, var: Var, value: Range | Expr, allow_override: bool = False) -> None:
        """Note the range of a variable, or the value that it stands for.

        A range of one value is that value. Binding a variable a second time needs no `allow_override`: the last
        binding holds; the flag is there because TVM's callers pass it.
        """
        self._forget()
        facts = self._facts
        if isinstance(value, Range) and type(value.extent) is IntImm and value.extent.value == 1:
            value = value.min
        facts.bounds.bind(var, value)
        facts.modular.bind(var, value)
        facts.unbind(var)
        if isinstance(value, Range):
            facts.assume_range(var, value)
        else:
            facts.values[var] = self._canonicalizer.visit(value)
        self._forget()

    def mark_nonnegative(self, var: Var) -> None:
        """Note that a variable is never negative."""
        low, high = self._facts.bounds.of(var)
        self._facts.bounds.variables[var] = (max(low, 0), high)
        self._forget()

    def _forget(self) -> None:
        """Drop remembered results: they were found with other facts."""
        if self._memo:
            self._memo = {}
        self._rewriter.memo = {}
        self._canonicalizer.memo = {}
        self._facts.bounds.memo = {}
        self._facts.modular.memo = {}

    @contextmanager
    def constraint(self, condition: Expr) -> Iterator[None]:
        """A scope inside of which a condition is known to hold."""
        simplifiers = (self._rewriter, self._canonicalizer)
        saved = [simplifier.memo for simplifier in simplifiers]
        bounds_memo, modular_memo, memo = (
            self._facts.bounds.memo,
            self._facts.modular.memo,
            self._memo,
        )
        mark = self._facts.mark()
        self._facts.assume(condition)
        self._forget()
        self._memo = {}
        try:
            yield
        finally:
            self._facts.undo(mark)
            for simplifier, old in zip(simplifiers, saved, strict=True):
                simplifier.memo = old
            self._facts.bounds.memo, self._facts.modular.memo, self._memo = (
                bounds_memo,
                modular_memo,
                memo,
            )

    # -- simplifying -----------------------------------------------------------------------------------------------

    def simplify(self, e: Expr) -> Expr:
        """The expression in TVM's simplified form; the same object when it already is."""
        if type(e) in _LEAVES:
            return e
        done = self._memo.get(e)
        if done is None:
            done = self._affine(e) if e.dtype in INDEX_TYPES else None
            if done is None:
                done = self._simplify(e)
            if done is not e and same(done, e):
                done = e
            self._memo[e] = done
        return done

    def _simplify(self, e: Expr) -> Expr:
        e = self._canonicalizer.visit(e)
        if type(e) is IntImm:
            return e
        e = self._rewriter.visit(e)
        return e if type(e) is IntImm else self._canonicalizer.visit(e)

    def _affine(self, e: Expr) -> Expr | None:
        """The simplified sum of scaled variables, or None when e is not one."""
        scales: dict[Var, int] = {}
        try:
            base = _collect(e, 1, scales, self._facts.values)
        except TypeError:
            return None
        if base == 0 and len(scales) == 1 and _is_negated(e):
            return Mul(next(iter(scales)), build.imm(-1, e.dtype))
        return _sum(scales, base, e.dtype)

    def rewrite_simplify(self, e: Expr) -> Expr:
        """The expression rewritten by rules alone."""
        return self._rewriter.visit(e)

    def canonical_simplify(self, e: Expr) -> Expr:
        """The expression in canonical form: sums as linear forms."""
        return self._canonicalizer.visit(e)

    # -- questions -------------------------------------------------------------------------------------------------

    def const_bounds(self, e: Expr) -> tuple[int | None, int | None]:
        """The smallest and the largest value; None where there is no bound."""
        low, high = self._facts.bounds.of(e)
        return (None if low == -INFINITY else low), (None if high == INFINITY else high)

    def modular_set(self, e: Expr) -> tuple[int, int]:
        """(coeff, base): e is coeff * k + base for some integer k."""
        return self._facts.modular.of(e)

    def can_prove(self, condition: Expr) -> bool:
        """Whether the condition is known to hold."""
        done = self.simplify(condition)
        return type(done) is IntImm and done.value != 0

    def can_prove_equal(self, a: Expr, b: Expr) -> bool:
        """Whether a and b are known to be equal."""
        if a is b:
            return True
        if type(a) is IntImm and type(b) is IntImm:
            return a.value == b.value
        done = self.simplify(build.sub(a, b))
        return type(done) is IntImm and done.value == 0

    def can_prove_greater_equal(self, e: Expr, limit: int) -> bool:
        """Whether e >= limit is known."""
        return self._facts.bounds.of(self.rewrite_simplify(e))[0] >= limit

    def can_prove_less(self, e: Expr, limit: int) -> bool:
        """Whether e < limit is known."""
        return self._facts.bounds.of(self.rewrite_simplify(e))[1] < limit


def _collect(e: Any, factor: int, scales: dict[Var, int], values: dict[Var, Expr]) -> int:
    """Add e * factor to the scales; returns its constant part. A TypeError says that e is not affine."""
    kind = type(e)
    if kind is Var:
        if e in values:
            return _collect(values[e], factor, scales, values)
        scales[e] = scales.get(e, 0) + factor
        return 0
    if kind is IntImm:
        return e.value * factor  # type: ignore[no-any-return]
    if kind is Add:
        return _collect(e.a, factor, scales, values) + _collect(e.b, factor, scales, values)
    if kind is Mul and type(e.b) is IntImm:
        return _collect(e.a, factor * e.b.value, scales, values)
    if kind is Sub:
        return _collect(e.a, factor, scales, values) + _collect(e.b, -factor, scales, values)
    if kind is Mul and type(e.a) is IntImm:
        return _collect(e.b, factor * e.a.value, scales, values)
    raise TypeError


def _is_negated(e: Any) -> bool:
    """Whether e is written x * -1: TVM keeps that, and writes 0 - x for what comes of a sum."""
    factor = 1
    while type(e) is Mul:
        e, factor = e.a, factor * (e.b.value if type(e.b) is IntImm else 0)
    return factor == -1 and type(e) is Var


def _sum(scales: dict[Var, int], base: int, dtype: str) -> Expr:
    """The canonical sum of scaled variables and a constant."""
    terms = [(scale, var) for var, scale in scales.items() if scale]
    if not terms:
        return build.imm(base, dtype)
    terms.sort(key=itemgetter(0), reverse=True)
    if len(terms) == 1 and base == 0:
        scale, var = terms[0]
        if scale == -1:
            return Sub(build.imm(0, dtype), var)
        return var if scale == 1 else Mul(var, IntImm(scale, dtype))
    e: Any = None
    place = 0
    for scale, var in terms:
        if scale < 0:
            break
        part: Expr = var if scale == 1 else Mul(var, IntImm(scale, dtype))
        e = part if e is None else Add(e, part)
        place += 1
    if base > 0 or e is None:
        constant = build.imm(max(base, 0), dtype)
        e = constant if e is None else Add(e, constant)
    for scale, var in terms[place:]:
        e = Sub(e, var if scale == -1 else Mul(var, IntImm(-scale, dtype)))
    return Sub(e, build.imm(-base, dtype)) if base < 0 else e
