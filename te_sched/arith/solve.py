"""Solves systems of index equations for axes, to sum over fewer of them.

    i * 2 + r == t             of i in [0, 8), r in [0, 2)    ->  i = t // 2, r = t % 2
    i * 2 + k == t             of i in [0, 8), k in [0, 3)    ->  i = (t - k) // 2, (t - k) % 2 == 0
    j // 5 == s, j % 5 == t    of j in [0, 50)                ->  j = s * 5 + t

An equation that does not determine an axis remains a condition. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_map import detect_iter_map, inverse_affine_iter_map
from te_sched.ir import ops
from te_sched.ir.expr import Add, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, Range, Sub, Var
from te_sched.ir.visitor import Mapper, reads_data, substitute, variables_of, walk

Equation = tuple[Expr, Expr]


class Solution(NamedTuple):
    """Values of axes in terms of the free ones, and the conditions under which they exist.

    The values are within the domains of the axes where all `conditions` hold. `unsolved` are the
    equations that determine no axis. Conditions that read data come after those that do not.
    `free` may have axes that the system does not.
    """

    values: dict[Var, Expr]
    free: dict[Var, Range]
    conditions: tuple[Expr, ...]
    unsolved: tuple[Expr, ...]


def solve(
    equations: Iterable[Equation], axes: Mapping[Var, Range], domains: Mapping[Var, Range]
) -> Solution:
    """Solve equations for as many of the axes as possible, those with large extents first.

    Parameters
    ----------
    axes : the unknowns, with their domains.
    domains : those of other variables.

    >>> from te_sched import te, tir
    >>> j, s, t = te.var("j"), te.var("s"), te.var("t")
    >>> known = {s: tir.Range(0, 10), t: tir.Range(0, 5)}
    >>> solve([(j // 5, s), (j % 5, t)], {j: tir.Range(0, 50)}, known).values
    {j: s * 5 + t}
    """
    system = _System(equations, axes, domains)
    system.invert()
    while any(system.apply(rule) for rule in _RULES):
        pass
    return system.solution()


class _Floors(Mapper):
    """Divisions of nonnegative integers, which round down."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def division(self, node: Div | Mod) -> Expr:
        new: Div | Mod = self.generic(node)
        is_positive = type(new.b) is IntImm and new.b.value > 0
        if not is_positive or not self.analyzer.can_prove_greater_equal(new.a, 0):
            return new
        return FloorDiv(new.a, new.b) if type(new) is Div else FloorMod(new.a, new.b)

    visit_Div = visit_Mod = division


class _Sum(NamedTuple):
    """scale * var for each of `linear`, plus the unknown `rest`, which has other axes, == `value`.

    Each term is an unknown expression with its scale.
    """

    linear: dict[Var, int]
    rest: list[tuple[Expr, int]]
    value: Expr


class _RuleResult(NamedTuple):
    """The result of a rule: the equations and conditions that replace an equation, an axis with its
    value, and a new axis with its domain.
    """

    equations: tuple[Equation, ...] = ()
    conditions: tuple[Expr, ...] = ()
    solved: tuple[Var, Expr] | None = None
    new: tuple[Var, Range] | None = None


class _System:
    """Equations from which rules eliminate one axis after another."""

    def __init__(
        self, equations: Iterable[Equation], axes: Mapping[Var, Range], domains: Mapping[Var, Range]
    ) -> None:
        self.analyzer = Analyzer()
        for var, domain in domains.items():
            self.analyzer.bind(var, domain)
        self.free: dict[Var, Range] = {}
        self.added: set[Var] = set()  # by rules
        self.values: dict[Var, Expr] = {}
        self.conditions: list[Expr] = []
        for var, domain in axes.items():
            self.add_axis(var, domain)
        floors = _Floors(self.analyzer)
        self.equations = [(floors.visit(a), b) for a, b in equations]
        for var, domain in axes.items():
            if isinstance(domain.extent, IntImm) and domain.extent.value == 1:
                self.assign(var, domain.min)

    def invert(self) -> None:
        """Solve a system of quotients and remainders that is a bijection, as of reshaping.

        The equations are kept: they are proved at the end, or remain conditions.
        """
        indices = [index for index, _ in self.equations]
        if any(type(part) is FloorDiv for index in indices for part in walk(index)):
            result = detect_iter_map(indices, self.free, level=IterMapLevel.BIJECTIVE)
            if not result.errors:
                values = [value for _, value in self.equations]
                for var, value in inverse_affine_iter_map(result.indices, values).items():
                    self.assign(var, Analyzer().simplify(value))

    def add_axis(self, var: Var, domain: Range) -> None:
        self.free[var] = domain
        self.analyzer.bind(var, domain)

    def apply(self, rule: Any) -> bool:
        """Apply a rule to the first equation that it matches."""
        for position, equation in enumerate(self.equations):
            step = rule(self.sum_of(equation), self)
            if step is None or (step.solved is not None and self.is_circular(*step.solved)):
                continue
            self.equations[position : position + 1] = step.equations
            self.conditions += step.conditions
            if step.new is not None:
                self.add_axis(*step.new)
                self.added.add(step.new[0])
            if step.solved is not None:
                self.assign(*step.solved)
            return True
        return False

    def is_circular(self, var: Var, value: Expr) -> bool:
        """Whether a value has an axis whose domain depends on the variable."""
        return any(
            axis in self.free and var in variables_of(self.free[axis])
            for axis in variables_of(value)
        )

    def assign(self, var: Var, value: Expr) -> None:
        """Replace an axis by its value, which must be in its domain."""
        domain = self.free.pop(var)
        value = self.analyzer.simplify(ops.cast(var.dtype, value))
        self.conditions += [value >= domain.min, value < domain.min + domain.extent]
        mapping = {var: value}
        self.values = {old: substitute(e, mapping) for old, e in self.values.items()} | mapping
        self.conditions = [substitute(e, mapping) for e in self.conditions]
        self.free = {old: substitute(e, mapping) for old, e in self.free.items()}
        self.equations = [
            (substitute(a, mapping), substitute(b, mapping)) for a, b in self.equations
        ]

    def sum_of(self, equation: Equation) -> _Sum:
        """An equation with its unknown terms on the left side."""
        a, b = equation
        linear: dict[Var, int] = {}
        rest: list[tuple[Expr, int]] = []
        value: Any = ops.const(0, a.dtype)
        for term, scale in _terms(self.analyzer.simplify(a - b), 1):
            if isinstance(term, Var) and term in self.free:
                linear[term] = scale
            elif variables_of(term).isdisjoint(self.free):
                value = value - term * scale
            else:
                rest.append((term, scale))
        for var in variables_of(*[term for term, _ in rest]):
            if var in linear:
                rest.append((var, linear.pop(var)))
        return _Sum(linear, rest, self.analyzer.simplify(value))

    def solution(self) -> Solution:
        """The values and conditions, simplified."""
        simplify = self.analyzer.simplify
        asked = {var: value for var, value in self.values.items() if var not in self.added}
        return Solution(
            {var: simplify(value) for var, value in asked.items()},
            self.free,
            self.unproved(self.conditions),
            self.unproved([ops.equal(a, b) for a, b in self.equations]),
        )

    def unproved(self, conditions: Iterable[Expr]) -> tuple[Expr, ...]:
        """The conditions that are not known to hold, simplified, those that read data last."""
        simple_conditions = [self.analyzer.simplify(condition) for condition in conditions]
        return tuple(
            sorted(
                [condition for condition in simple_conditions if not ops.is_const(condition, 1)],
                key=reads_data,
            )
        )


def _terms(e: Any, scale: int) -> Iterator[tuple[Expr, int]]:
    """The terms of a sum with their scales; a constant is a term."""
    if type(e) is Add or type(e) is Sub:
        yield from _terms(e.a, scale)
        yield from _terms(e.b, scale if type(e) is Add else -scale)
    elif type(e) is Mul and type(e.b) is IntImm:
        yield from _terms(e.a, scale * e.b.value)
    else:
        yield e, scale


def _total(terms: Iterable[tuple[Expr, int]], start: Expr, sign: int = 1) -> Expr:
    """start + sign * the sum of terms"""
    for term, scale in terms:
        start = start + term * (sign * scale)
    return start


def _peeled(equation: _Sum, system: _System) -> _RuleResult | None:
    """scale * var + others == value, where others < scale: var is a quotient, others the remainder.

    `others` begin at their minimum, which is subtracted.
    """
    for var, scale in sorted(equation.linear.items(), key=lambda item: -abs(item[1])):
        sign, size = (1 if scale > 0 else -1), abs(scale)
        terms = [term for term in (*equation.linear.items(), *equation.rest) if term[0] is not var]
        others = _total(terms, ops.const(0, equation.value.dtype), sign)
        low, high = system.analyzer.const_bounds(others)
        if low is None or high is None or high - low >= size:
            continue
        value = equation.value * sign - low
        left = ((others - low, value % size),) if terms or size > 1 else ()
        return _RuleResult(left, (), (var, value // size))
    return None


def _undivided(equation: _Sum, system: _System) -> _RuleResult | None:
    """x // c == value: x is c * value + r, of a new axis r; x % c == value: c * q + value."""
    if not system.added.issuperset(equation.linear) or len(equation.rest) != 1:
        return None
    ((part, scale),) = equation.rest
    if not isinstance(part, FloorDiv | FloorMod):
        return None
    if not isinstance(part.b, IntImm) or part.b.value < 1:
        return None
    divisor = part.b
    value, must = _divided(_total(equation.linear.items(), equation.value, -1), scale)
    if isinstance(part, FloorDiv):
        new = Var("r", part.dtype)
        domain = Range(IntImm(0, part.dtype), divisor)
        return _RuleResult(((part.a, value * divisor + new),), must, new=(new, domain))
    low, high = system.analyzer.const_bounds(part.a // divisor)
    if low is None or high is None:
        return None
    new = Var("q", part.dtype)
    domain = Range(IntImm(low, part.dtype), IntImm(high - low + 1, part.dtype))
    return _RuleResult(
        ((part.a, new * divisor + value),),
        (*must, value >= 0, value < divisor),
        new=(new, domain),
    )


def _isolated(equation: _Sum, system: _System) -> _RuleResult | None:
    """scale * var + others == value: var is (value - others) // scale, of the longest axis."""
    given_axes = [var for var in equation.linear if var not in system.added]
    return _isolated_one(equation, system, given_axes)


def _isolated_any(equation: _Sum, system: _System) -> _RuleResult | None:
    """As `_isolated`, also of axes that rules added."""
    return _isolated_one(equation, system, [*equation.linear])


def _isolated_one(equation: _Sum, system: _System, axes: list[Var]) -> _RuleResult | None:
    if not axes:
        return None

    def extent(var: Var) -> float:
        length = system.free[var].extent
        return length.value if isinstance(length, IntImm) else float("inf")

    var = max(axes, key=extent)
    others = [term for term in (*equation.linear.items(), *equation.rest) if term[0] is not var]
    value, must = _divided(_total(others, equation.value, -1), equation.linear[var])
    return _RuleResult((), must, (var, value))


def _divided(value: Expr, scale: int) -> tuple[Expr, tuple[Expr, ...]]:
    """value / scale, and the condition under which it is an integer."""
    value, size = (value if scale > 0 else value * -1), abs(scale)
    return (value, ()) if size == 1 else (value // size, (ops.equal(value % size, 0),))


_RULES = (_peeled, _isolated, _undivided, _isolated_any)
