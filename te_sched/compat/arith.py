"""tvm.arith: the Analyzer, with TVM's types of results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from te_sched import config
from te_sched.arith import analyzer, detect, int_set, iter_detect, iter_map
from te_sched.arith.conditions import conjuncts
from te_sched.arith.iter_expr import IterMark, IterSplitExpr, IterSumExpr
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Range, Var
from te_sched.ir.visitor import variables_of
from te_sched.signatures import checked

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntervalSet",
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "detect_iter_map",
    "detect_linear_equation",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "subspace_divide",
]

IntervalSet = int_set.IntervalSet


@dataclass(frozen=True)
class ConstIntBound:
    """The minimum and maximum of an expression.

    >>> from te_sched import te
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.const_int_bound(i % 4)
    ConstIntBound(min_value=0, max_value=3)
    """

    min_value: int
    max_value: int

    POS_INF, NEG_INF = (1 << 63) - 1, -((1 << 63) - 1)


@dataclass(frozen=True)
class ModularSet:
    """The set of integers coeff * k + base.

    >>> from te_sched import te
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.modular_set(i * 4 + 1)
    ModularSet(coeff=4, base=1)
    """

    coeff: int
    base: int


_deeply = walks_deeply("analyze an expression", DeclarationError)


class Analyzer(analyzer.Analyzer):
    """tvm.arith.Analyzer: uses the current settings and converts numbers to expressions.

    >>> from te_sched import te, tir
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.bind(i, tir.Range(0, 8))
    >>> analyzer.simplify(i // 8)
    0
    """

    def __init__(self) -> None:
        super().__init__(config.current().lowering)

    @checked
    @_deeply
    def bind(self, var: Var, expr: Any) -> None:
        """Assume the range or the value of a variable."""
        super().bind(var, expr if isinstance(expr, Range) else ops.convert(expr))

    @_deeply
    def simplify(self, e: Any, steps: int = 2) -> Expr:
        """The expression in simplified form; `steps` is ignored."""
        del steps
        return super().simplify(ops.convert(e))

    @_deeply
    def rewrite_simplify(self, e: Any) -> Expr:
        """The expression simplified by the rewrite rules only."""
        return super().rewrite_simplify(ops.convert(e))

    @_deeply
    def canonical_simplify(self, e: Any) -> Expr:
        """The expression in canonical form."""
        return super().canonical_simplify(ops.convert(e))

    @checked
    @_deeply
    def can_prove_greater_equal(self, e: Any, limit: int) -> bool:
        """Whether e >= limit is known."""
        return super().can_prove_greater_equal(ops.convert(e), limit)

    @checked
    @_deeply
    def can_prove_less(self, e: Any, limit: int) -> bool:
        """Whether e < limit is known."""
        return super().can_prove_less(ops.convert(e), limit)

    @_deeply
    def const_bounds(self, e: Any) -> tuple[int | None, int | None]:
        """The minimum and maximum of the expression; None where it is unbounded."""
        return super().const_bounds(ops.convert(e))

    def mark_nonnegative(self, e: Any) -> None:
        """Assume that a variable, or the sum of a variable and constants, is at least 0."""
        super().mark_nonnegative(ops.convert(e))

    @_deeply
    def const_int_bound(self, e: Any) -> ConstIntBound:
        """The minimum and maximum of the expression.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.const_int_bound(i + 1)
        ConstIntBound(min_value=1, max_value=8)
        """
        low, high = self.const_bounds(e)
        return ConstIntBound(
            ConstIntBound.NEG_INF if low is None else low,
            ConstIntBound.POS_INF if high is None else high,
        )

    @_deeply
    def modular_set(self, e: Any) -> Any:
        """The values of the expression as coeff * k + base.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.modular_set(i * 4 + 1)
        ModularSet(coeff=4, base=1)
        """
        return ModularSet(*super().modular_set(ops.convert(e)))

    @checked
    def constraint_scope(self, constraint: Expr) -> AbstractContextManager[None]:
        """A context manager inside which a condition is assumed.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> with analyzer.constraint_scope(i > 3):
        ...     print(analyzer.can_prove(i >= 2))
        True
        """
        return self.constraint(constraint)

    @_deeply
    def can_prove(self, condition: Any, strength: int = 0) -> bool:
        """Whether the condition is known to hold; `strength` is ignored."""
        del strength
        return super().can_prove(ops.convert(condition))

    @_deeply
    def can_prove_equal(self, a: Any, b: Any) -> bool:
        """Whether two values are known to be equal."""
        return super().can_prove_equal(*ops.operands(a, b))


@checked
@_deeply
def detect_linear_equation(expr: Any, var_list: Sequence[Var]) -> list[Expr]:
    """Coefficients of the variables and the rest; [] if the expression is not linear in them.

    >>> from te_sched import te
    >>> i, j, n = te.var("i"), te.var("j"), te.var("n")
    >>> detect_linear_equation(i * n + j * 2 + 1, [i, j])
    [n, 2, 1]
    """
    return list(detect.detect_linear_equation(ops.convert(expr), var_list) or ())


# -- iterator maps ---------------------------------------------------------------------------------


IterMapExpr = IterSumExpr | IterSplitExpr  # for isinstance


class IterMapLevel(IntEnum):
    """The property that a map of iterators must have.

    >>> IterMapLevel.from_str("bijective")
    <IterMapLevel.Bijective: 0>
    """

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """The level of a name in lower case."""
        levels = {level.name.lower(): level for level in IterMapLevel}
        if name not in levels:
            raise DeclarationError(
                f"check_level is {name!r}, expected one of {', '.join(levels)}",
                "",
                "give one of these, or an arith.IterMapLevel",
            )
        return levels[name]


@dataclass(frozen=True)
class IterMapResult:
    """The detected indices, or none and the reasons; `padding_predicate` is false, since detection
    does not pad.
    """

    indices: list[IterSumExpr]
    errors: list[str]
    padding_predicate: Expr


@dataclass
class _Detection:
    """The arguments of a detection."""

    given: Sequence[Any]
    input_iters: Mapping[Var, Range]
    predicate: Any
    check_level: Any
    marks: dict[IterMark, IterMark] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.indices = [ops.convert(index) for index in self.given]
        level = self.check_level
        member = IterMapLevel.from_str(level) if isinstance(level, str) else IterMapLevel(level)
        self.level = iter_detect.IterMapLevel(int(member))
        self.condition = self._about_iterators(ops.convert(self.predicate))

    def _about_iterators(self, predicate: Expr) -> Expr | None:
        """The part of the predicate that depends on iterators; None if there is none."""
        parts = [
            condition
            for condition in conjuncts(predicate)
            if variables_of(condition) & self.input_iters.keys()
        ]
        return functools.reduce(ops.logical_and, parts) if parts else None

    def shown(self, e: Any) -> Any:
        """A detected sum or mark with expressions for numbers."""
        analysis = analyzer.Analyzer()

        def shown(factor: Any) -> Expr:
            return analysis.simplify(ops.convert(factor))

        return _with_factors(e, shown, self.marks)


def _with_factors(e: Any, change: Callable[[Any], Any], marks: dict[IterMark, IterMark]) -> Any:
    """A sum, part or mark with other numbers; marks are kept apart as they were."""
    if isinstance(e, IterSumExpr):
        args = tuple([_with_factors(part, change, marks) for part in e.args])
        return e._replace(args=args, base=change(e.base))
    if isinstance(e, IterSplitExpr):
        return e._replace(
            source=_with_factors(e.source, change, marks),
            lower_factor=change(e.lower_factor),
            extent=change(e.extent),
            scale=change(e.scale),
        )
    if isinstance(e, IterMark):
        if e not in marks:
            marks[e] = IterMark(_with_factors(e.source, change, marks), change(e.extent))
        return marks[e]
    return e


def _number(factor: Any) -> Any:
    return factor.value if isinstance(factor, IntImm) else factor


@checked
@_deeply
def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Mapping[Var, Range],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """The indices as sums of parts of iterators; no indices, and errors, if they are not such sums.

    >>> from te_sched import te, tir
    >>> x, y = te.var("x"), te.var("y")
    >>> found = detect_iter_map([x * 4 + y], {x: tir.Range(0, 3), y: tir.Range(0, 4)})
    >>> found.indices[0].args[0].extent
    12
    """
    detection = _Detection(indices, input_iters, predicate, check_level)
    result = iter_map.detect_iter_map(
        detection.indices,
        detection.input_iters,
        detection.condition,
        detection.level,
        keeps_units=not simplify_trivial_iterators,
    )
    shown = [] if result.errors else [detection.shown(iter_sum) for iter_sum in result.indices]
    return IterMapResult(shown, list(result.errors), ops.const(False))


@checked
@_deeply
def iter_map_simplify(
    indices: Sequence[Any],
    input_iters: Mapping[Var, Range],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[Expr]:
    """The indices as `detect_iter_map` finds them; unchanged if it finds none.

    >>> from te_sched import te, tir
    >>> x = te.var("x")
    >>> iter_map_simplify([x // 4 * 4 + x % 4], {x: tir.Range(0, 12)})
    [x]
    """
    detection = _Detection(indices, input_iters, predicate, check_level)
    result = iter_map.iter_map_simplify(
        detection.indices,
        detection.input_iters,
        detection.condition,
        detection.level,
        keeps_units=not simplify_trivial_iterators,
    )
    return [*map(ops.convert, result)]


@checked
@_deeply
def normalize_iter_map_to_expr(expr: Any) -> Expr:
    """A sum, a part or a mark as an expression of the iterators.

    >>> from te_sched import te, tir
    >>> x = te.var("x")
    >>> found = detect_iter_map([x * 2 + 1], {x: tir.Range(0, 3)})
    >>> normalize_iter_map_to_expr(found.indices[0])
    x * 2 + 1
    """
    return iter_map.normalize_iter_map_to_expr(_with_factors(expr, _number, {}))


@checked
@_deeply
def normalize_to_iter_sum(index: Any, input_iters: Mapping[Var, Range]) -> IterSumExpr:
    """The index as a sum of parts of iterators; other terms are part of the base.

    >>> from te_sched import te, tir
    >>> x, n = te.var("x"), te.var("n")
    >>> found = normalize_to_iter_sum(x * 4 + n, {x: tir.Range(0, 3)})
    >>> found.args[0].scale, found.base
    (4, n)
    """
    result = iter_map.normalize_to_iter_sum(ops.convert(index), input_iters)
    shown: IterSumExpr = _with_factors(result, ops.convert, {})
    return shown


@checked
@_deeply
def inverse_affine_iter_map(
    iter_map_: Sequence[IterSumExpr], outputs: Sequence[Any]
) -> dict[Var, Expr]:
    """The iterators of a bijective map as expressions of the outputs.

    >>> from te_sched import te, tir
    >>> x, a, b = te.var("x"), te.var("a"), te.var("b")
    >>> found = detect_iter_map([x // 4, x % 4], {x: tir.Range(0, 12)})
    >>> inverse_affine_iter_map(found.indices, [a, b])
    {x: b + a * 4}
    """
    marks: dict[IterMark, IterMark] = {}
    indices = [_with_factors(iter_sum, _number, marks) for iter_sum in iter_map_]
    return iter_map.inverse_affine_iter_map(indices, [ops.convert(output) for output in outputs])


@checked
@_deeply
def subspace_divide(
    bindings: Sequence[Any],
    input_iters: Mapping[Var, Range],
    sub_iters: Sequence[Var],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Each binding as outer * extent of inner + inner; iterators of the subspace are in inner. The
    last pair has the predicates of both spaces as extents. [] if there is no such division.

    >>> from te_sched import te, tir
    >>> x, y = te.var("x"), te.var("y")
    >>> domains = {x: tir.Range(0, 3), y: tir.Range(0, 4)}
    >>> (outer, inner), _ = subspace_divide([x * 4 + y], domains, [y])
    >>> normalize_iter_map_to_expr(outer), normalize_iter_map_to_expr(inner), inner.extent
    (x, y, 4)
    """
    detection = _Detection(bindings, input_iters, predicate, check_level)
    result = iter_map.subspace_divide(
        detection.indices,
        detection.input_iters,
        sub_iters,
        detection.condition,
        detection.level,
        keeps_units=not simplify_trivial_iterators,
    )
    if result is None:
        return []
    pairs = [[detection.shown(mark) for mark in pair] for pair in result.bindings]
    nothing = IterSumExpr((), ops.const(0))
    return [*pairs, [IterMark(nothing, predicate) for predicate in result.predicates]]
