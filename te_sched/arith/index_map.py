"""Application and inversion of index maps.

A map that is not onto its new indices has padding: `i // 4, i % 4` of 14 values of i has 4 * 4 new
indices. Its inverse is that of the map of 16 values, and a condition states which are padding.
Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import eval_set, from_range
from te_sched.arith.iter_detect import IterMapLevel, expr_of, is_number
from te_sched.arith.iter_expr import IterSumExpr
from te_sched.arith.iter_map import detect_iter_map, inverse_affine_iter_map
from te_sched.errors import DeclarationError, counted
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, FloorDiv, FloorMod, IntImm, Range, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Substitute, replace, substitute, variables_of

Domains = Sequence[Range]


class Indices(Substitute):
    """Replaces variables by expressions that may have other types."""

    def visit_Expr(self, node: Expr) -> Expr:
        build = ops.BUILDERS.get(type(node))
        if build is None:
            return self.generic(node)
        return build(self.visit(node.a), self.visit(node.b))  # type: ignore[attr-defined]


class _Retyped(Indices):
    """Gives integer constants another type, too."""

    def __init__(self, mapping: dict[Var, Expr], dtype: str) -> None:
        super().__init__(mapping)
        self.dtype = dtype

    def visit_IntImm(self, node: IntImm) -> Expr:
        return node if node.dtype == "bool" else ops.const(node.value, self.dtype)


def map_indices(index_map: IndexMap, indices: Sequence[Expr]) -> tuple[Expr, ...]:
    """The new indices of old ones, simplified.

    Raises
    ------
    DeclarationError for another number of indices.
    """
    _check_count(index_map, len(indices), "index", "indices")
    analyzer = Analyzer()
    return tuple([analyzer.simplify(index) for index in substituted(index_map, indices)])


def substituted(index_map: IndexMap, indices: Sequence[Expr]) -> tuple[Expr, ...]:
    """The new indices of old ones, not simplified."""
    mapper = Indices(dict(zip(index_map.initial_indices, indices, strict=True)))
    return tuple([mapper.visit(index) for index in index_map.final_indices])


def map_shape(index_map: IndexMap, shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The sizes of the new dimensions of a buffer, with padding.

    Raises
    ------
    DeclarationError if a new index does not begin at 0, or has unknown bounds.
    """
    _check_count(index_map, len(shape), "dimension", "dimensions")
    retyped = with_types_of(index_map, shape)
    domains = tuple(
        [
            Range(IntImm(0, var.dtype), ops.cast(var.dtype, size))
            for var, size in zip(retyped.initial_indices, shape, strict=True)
        ]
    )
    try:
        ranges = _Detected(retyped, domains, is_padded=True, has_gaps=True).ranges()
    except DeclarationError:
        ranges = _bounds(retyped, domains)
    analyzer = Analyzer()
    for new_range, index in zip(ranges, index_map.final_indices, strict=True):
        if not analyzer.can_prove_equal(new_range.min, ops.const(0, new_range.min.dtype)):
            raise _error(
                f"new index {index} begins at {new_range.min}, expected 0",
                "the indices of a buffer begin at 0",
                "subtract the minimum in the map",
            )
    return tuple([analyzer.simplify(index_range.extent) for index_range in ranges])


def map_ranges(index_map: IndexMap, region: Domains) -> tuple[Range, ...]:
    """Ranges of the new indices that hold those of a region of old ones.

    Raises
    ------
    DeclarationError if they have unknown bounds.
    """
    analyzer = Analyzer()
    return tuple(
        [
            Range(analyzer.simplify(new_range.min), analyzer.simplify(new_range.extent))
            for new_range in _bounds(index_map, _typed(index_map, region))
        ]
    )


def inverse(index_map: IndexMap, domains: Domains) -> IndexMap:
    """The inverse of a one-to-one map of the values `domains` of its indices; or the one that the
    map states.

    Raises
    ------
    DeclarationError if the map is not one to one, and onto the values of the new indices.
    """
    if index_map.inverse_index_map is not None:
        return index_map.inverse_index_map
    inverse_map, ranges = bijection(index_map, domains)
    analyzer = Analyzer()
    try:
        padded = _Detected(index_map, _typed(index_map, domains), is_padded=True).ranges()
    except DeclarationError:  # the divisions of several sums, none of which needs padding
        return inverse_map
    for index, new_range, other in zip(index_map.final_indices, ranges, padded, strict=True):
        if not analyzer.can_prove_equal(new_range.extent, other.extent):
            raise _error(
                "the index map has no inverse: it adds padding",
                f"new index {index} has {other.extent} values, of which {new_range.extent} are "
                "used",
                "call non_surjective_inverse, or map sizes that are multiples of the divisors",
            )
    return inverse_map


def bijection(index_map: IndexMap, domains: Domains) -> tuple[IndexMap, tuple[Range, ...]]:
    """The inverse of a one-to-one map, and the values of the new indices.

    Raises
    ------
    DeclarationError as `inverse`, which also returns inverses that are stated.
    """
    detection = _Detected(index_map, _typed(index_map, domains), is_padded=False)
    return detection.inverse(), detection.ranges()


def non_surjective_inverse(index_map: IndexMap, domains: Domains) -> tuple[IndexMap, Expr]:
    """The inverse of a map that adds padding, and the condition for new indices to be padding, on
    the variables of the inverse.

    Raises
    ------
    DeclarationError if the map is not one to one.
    """
    if index_map.inverse_index_map is not None:
        return index_map.inverse_index_map, ops.const(False)
    detection = _Detected(index_map, _typed(index_map, domains), is_padded=True)
    inverse_map = detection.inverse()
    return inverse_map, detection.padding(inverse_map.initial_indices)


def is_equivalent(a: IndexMap, b: IndexMap) -> bool:
    """Whether two maps are known to give equal indices."""
    if len(a.initial_indices) != len(b.initial_indices):
        return False
    if len(a.final_indices) != len(b.final_indices):
        return False
    analyzer = Analyzer()
    mapped = map_indices(a, b.initial_indices)
    return all(
        analyzer.can_prove_equal(*ops.operands(left, right))
        for left, right in zip(mapped, b.final_indices, strict=True)
    )


def _check_count(index_map: IndexMap, count: int, singular: str, several: str) -> None:
    expected = len(index_map.initial_indices)
    if count != expected:
        raise _error(
            f"the index map takes {counted(expected, singular, several)}, got {count}",
            "",
            "give one for each of its initial indices",
        )


def _error(fault: str, why: str, help: str) -> DeclarationError:
    return DeclarationError(fault, why, help)


def _typed(index_map: IndexMap, domains: Domains) -> Domains:
    """The domains with the types of the variables."""
    _check_count(index_map, len(domains), "index", "indices")
    return tuple(
        [
            Range(ops.cast(var.dtype, domain.min), ops.cast(var.dtype, domain.extent))
            for var, domain in zip(index_map.initial_indices, domains, strict=True)
        ]
    )


def with_types_of(index_map: IndexMap, shape: Sequence[Expr]) -> IndexMap:
    """The map computed in the type of the sizes of a shape; wider constants keep theirs."""
    if not shape:
        return index_map
    dtype = max((size.dtype for size in shape), key=dtypes.bits)
    variables = tuple([replace(var, dtype=dtype) for var in index_map.initial_indices])
    mapper = _Retyped(dict(zip(index_map.initial_indices, variables, strict=True)), dtype)
    finals = [
        index
        if type(index) is IntImm and dtypes.bits(index.dtype) > dtypes.bits(dtype)
        else mapper.visit(index)
        for index in index_map.final_indices
    ]
    return IndexMap(variables, tuple(finals))


def _bounds(index_map: IndexMap, domains: Domains) -> tuple[Range, ...]:
    """The bounds of new indices that are not parts of iterators."""
    sets = dict(zip(index_map.initial_indices, map(from_range, domains), strict=True))
    analyzer = Analyzer()
    for var in variables_of(*index_map.final_indices) - sets.keys():  # sizes are positive
        analyzer.bind(var, Range(IntImm(1, var.dtype), IntImm(2**31 - 2, var.dtype)))
    bounds = []
    for index in index_map.final_indices:
        values = eval_set(index, sets)
        if values.min is None or values.max is None:
            raise _error(
                f"the bounds of new index {index} are unknown",
                "",
                "write an index that splits, fuses or permutes the old ones",
            )
        low, high = analyzer.simplify(values.min), analyzer.simplify(values.max)
        bounds.append(Range(low, ops.add(ops.sub(high, low), 1)))
    return tuple(bounds)


# -- padding ---------------------------------------------------------------------------------------

Step = int | Expr  # a number, or a symbol, which is positive as sizes are


@dataclass(frozen=True, slots=True, eq=False)
class _Base:
    """What the divisions of a map divide: `value`, with the values of `own`, in units of `step`.

    `var` stands for a sum of several variables.
    """

    value: Expr
    step: Step
    own: Range
    var: Var | None


class _Divisions(Substitute):
    """Finds the dividends of divisions by constants and symbols, which are not the `own` variables,
    and the numbers of which the counts of their values must be multiples.
    """

    def __init__(self, own: Collection[Var]) -> None:
        super().__init__({})
        self.own = own
        self.steps: list[tuple[Expr, Step]] = []

    def visit_FloorDiv(self, node: FloorDiv) -> Expr:
        return self.division(node)

    def visit_FloorMod(self, node: FloorMod) -> Expr:
        return self.division(node)

    def division(self, node: FloorDiv | FloorMod) -> Expr:
        step: Step
        if type(node.b) is Var and node.b not in self.own:
            base, step = node.a, node.b
        else:
            base, _, step = _dividend(node)
        if is_number(step, 1):
            return self.generic(node)
        base = Analyzer().simplify(base)
        for position, (step_base, other) in enumerate(self.steps):
            if same(step_base, base):
                self.steps[position] = (step_base, _multiple(other, step))
                break
        else:
            self.steps.append((base, step))
        return node


def _multiple(a: Step, b: Step) -> Step:
    """A multiple of two steps."""
    if isinstance(a, int) and isinstance(b, int):
        return lcm(a, b)
    return a if a is b else ops.mul(a, b)


def _excess(total: Expr, step: Step) -> Expr:
    """The number that is missing to the next multiple of a step."""
    if isinstance(step, int):
        return ops.sub(0, ops.floormod(total, -step))
    return ops.floormod(ops.sub(0, total), step)


def _dividend(e: Expr) -> tuple[Expr, int, int]:
    """The dividend of nested divisions, the product of their divisors so far, and the number that
    the dividend must be a multiple of for divisions without a rest.
    """
    if isinstance(e, FloorDiv | FloorMod) and isinstance(e.b, IntImm) and e.b.value > 0:
        base, unit, step = _dividend(e.a)
        whole = unit * e.b.value
        return base, whole if isinstance(e, FloorDiv) else unit, lcm(step, whole)
    return e, 1, 1


class _Replaced(Substitute):
    """Replaces dividends by the variables that stand for them."""

    def __init__(self, bases: Sequence[_Base]) -> None:
        super().__init__({})
        self.bases = [base for base in bases if base.var is not None]

    def visit_Add(self, node: Expr) -> Expr:
        return self.dividend(node)

    visit_Sub = visit_Mul = visit_Add

    def dividend(self, node: Expr) -> Expr:
        """A sum, or the variable for it."""
        simple = Analyzer().simplify(node)
        for base in self.bases:
            if base.var is not None and same(simple, base.value):
                return base.var
        return self.generic(node)


@dataclass(slots=True)
class _Detected:
    """The new indices of a map as parts of iterators, padded or not. They may skip values if the
    map `has_gaps`.
    """

    index_map: IndexMap
    domains: Domains
    is_padded: bool
    has_gaps: bool = False
    bases: list[_Base] = field(default_factory=list)
    sizes: dict[Var, Expr] = field(default_factory=dict)  # of symbols for padded sizes
    indices: tuple[IterSumExpr, ...] = ()
    units: set[Var] = field(default_factory=set)  # symbols for iterators of one value
    keeps_units: bool = True

    def __post_init__(self) -> None:
        try:
            self._detect()
        except DeclarationError:
            if not self.units:
                raise
            self.keeps_units = False  # `i % 16` of 16 values has no place for i // 16
            self.bases, self.sizes = [], {}
            self._detect()

    def _detect(self) -> None:
        ranges = dict(zip(self.index_map.initial_indices, self.domains, strict=True))
        finals = self._pad(ranges)
        for index in finals:  # an iterator of one value is a part of the inverse nevertheless
            if isinstance(index, Var) and ops.is_const(ranges[index].extent, 1):
                ranges[index] = Range(ranges[index].min, self._unit(index.dtype))
        self.indices = _one_to_one(finals, ranges, self.has_gaps)

    def _unit(self, dtype: str) -> Expr:
        """The number 1, as a symbol if iterators of one value are kept."""
        if not self.keeps_units:
            return IntImm(1, dtype)
        unit = self._symbol(IntImm(1, dtype))
        self.units.add(unit)
        return unit

    def _symbol(self, size: Expr) -> Var:
        """A variable for a size, whose other properties detection need not know."""
        var = Var("blocks", size.dtype)
        self.sizes[var] = size
        return var

    def _pad(self, ranges: dict[Var, Range]) -> tuple[Expr, ...]:
        """Pad the ranges of iterators; returns the new indices in terms of these."""
        divisions = _Divisions(ranges.keys())
        for index in self.index_map.final_indices:
            divisions.visit(index)
        owners: set[Var] = set()
        for value, step in divisions.steps:
            variables = variables_of(value) & ranges.keys()
            if variables & owners and self.is_padded:
                raise _error(
                    f"the divisions of {value} and of other sums of its indices cannot be padded "
                    "together",
                    "",
                    "divide the same sum everywhere",
                )
            if variables and not variables & owners:
                self._pad_one(value, step, variables, ranges)
            owners |= variables
        replaced = _Replaced(self.bases)
        return tuple([replaced.visit(index) for index in self.index_map.final_indices])

    def _pad_one(
        self, value: Expr, step: Step, variables: set[Var], ranges: dict[Var, Range]
    ) -> None:
        """Pad the range of the variable of a dividend, or of one that stands for it."""
        analyzer = Analyzer()
        first = next(iter(variables))
        offset = analyzer.simplify(value - first)
        if len(variables) == 1 and first not in variables_of(offset):
            old = ranges[first]
            own = Range(analyzer.simplify(old.min + offset), old.extent)
            self.bases.append(_Base(value, step, own, None))
            padded = self._rounded(own, step)
            ranges[first] = Range(analyzer.simplify(padded.min - offset), padded.extent)
        elif self.is_padded:
            (index,) = _one_to_one((value,), {var: ranges.pop(var) for var in variables})
            own = _range_of(index, value.dtype)
            var = Var("fused", value.dtype)
            self.bases.append(_Base(value, step, own, var))
            ranges[var] = self._rounded(own, step)

    def _rounded(self, own: Range, step: Step) -> Range:
        """The range, grown to multiples of a number at both ends."""
        analyzer = Analyzer()
        zero = ops.const(0, own.min.dtype)
        left = analyzer.simplify(ops.floormod(own.min, step))
        total = analyzer.simplify(left + own.extent)
        low = analyzer.simplify(own.min - left)
        is_whole = analyzer.can_prove_equal(ops.floormod(total, step), zero)
        if not self.is_padded and not (is_whole and ops.is_const(left, 0)):
            return own
        if isinstance(total, IntImm) and isinstance(step, int):
            total = ops.ceildiv(total, step) * step
        elif not is_whole:
            padded = ops.floordiv(total + _excess(total, step), step)
            total = self._symbol(analyzer.simplify(padded)) * step
        if isinstance(step, int) and ops.is_const(total, step):
            total = self._unit(total.dtype) * step
        return Range(low, total)

    def ranges(self) -> tuple[Range, ...]:
        """The values of the new indices."""
        dtypes_of = [index.dtype for index in self.index_map.final_indices]
        ranges = [
            _range_of(index, dtype) for index, dtype in zip(self.indices, dtypes_of, strict=True)
        ]
        sizes: dict[Var, Expr] = {**self.sizes}
        return tuple([substitute(domain, sizes) for domain in ranges])

    def inverse(self) -> IndexMap:
        """The inverse map, of variables axis0, axis1, ..."""
        outputs = tuple(
            [
                Var(f"axis{axis}", index.dtype)
                for axis, index in enumerate(self.index_map.final_indices)
            ]
        )
        values = self.values(outputs)
        return IndexMap(outputs, tuple([values[var] for var in self.index_map.initial_indices]))

    def values(self, outputs: tuple[Var, ...]) -> dict[Var, Expr]:
        """The old indices, and the dividends with variables, in terms of the new indices."""
        analyzer = Analyzer()
        values = {
            var: substitute(value, {**self.sizes})
            for var, value in inverse_affine_iter_map(self.indices, outputs).items()
        }
        inner = dict(zip(self.index_map.initial_indices, self.domains, strict=True))
        for base in self.bases:
            if base.var is not None:
                whole = values.setdefault(base.var, base.own.min)
                own = {var: inner[var] for var in variables_of(base.value) & inner.keys()}
                values |= inverse_affine_iter_map(_one_to_one((base.value,), own), (whole,))
        for var, domain in inner.items():
            values[var] = analyzer.simplify(ops.cast(var.dtype, values.get(var, domain.min)))
        return values

    def padding(self, outputs: tuple[Var, ...]) -> Expr:
        """The condition for new indices to be padding."""
        analyzer = Analyzer()
        for var, domain in zip(outputs, self.ranges(), strict=True):
            analyzer.bind(var, domain)
        values = self.values(outputs)
        condition: Expr = ops.const(False)
        for base in self.bases:
            value = base.value if base.var is None else base.var
            condition = ops.logical_or(condition, _padding_of(base, substitute(value, values)))
        return analyzer.simplify(condition)


def _padding_of(base: _Base, value: Expr) -> Expr:
    """The condition for a value of a padded dividend to be padding."""
    analyzer = Analyzer()
    step = base.step
    left = analyzer.simplify(ops.floormod(base.own.min, step))
    total = analyzer.simplify(left + base.own.extent)
    position = analyzer.simplify(value - (base.own.min - left))
    block, rest = ops.floordiv(position, step), ops.floormod(position, step)
    zero = ops.const(0, position.dtype)
    before: Expr = ops.const(False)
    if not ops.is_const(left, 0):
        before = ops.logical_and(ops.equal(block, zero), ops.less(rest, left))
    last = ops.equal(block, ops.floordiv(total, step))
    after = ops.logical_and(last, ops.greater_equal(rest, ops.floormod(total, step)))
    is_padded = ops.not_equal(_excess(total, step), zero)
    return ops.logical_or(before, ops.logical_and(is_padded, after))


def _one_to_one(
    indices: Sequence[Expr], ranges: Mapping[Var, Range], has_gaps: bool = False
) -> tuple[IterSumExpr, ...]:
    detection = detect_iter_map(indices, ranges, None, IterMapLevel.BIJECTIVE)
    why = detection.errors[0] if detection.errors else ""
    if not (detection.errors or has_gaps) and any(
        _distance(index) != 1 for index in detection.indices
    ):
        why = "a new index skips values"
    if why:
        raise _error(
            f"the index map has no inverse: ({', '.join(map(str, indices))})",
            why,
            "map each value of the indices to new ones, and give all values of the new indices",
        )
    return detection.indices


def _distance(index: IterSumExpr) -> object:
    """The distance of neighboring values of a detected index."""
    scale = index.args[0].scale if index.args else 1
    return abs(scale) if isinstance(scale, int) else scale


def _range_of(index: IterSumExpr, dtype: str) -> Range:
    """The values of a detected index, with those that it skips."""
    base = ops.cast(dtype, ops.convert(expr_of(index.base)))
    if not index.args:
        return Range(base, IntImm(1, dtype))
    extent = ops.cast(dtype, ops.convert(expr_of(index.args[0].extent)))
    if index.args[0].scale == -1:
        base = ops.sub(base, ops.sub(extent, 1))
    else:
        extent = ops.mul(extent, ops.cast(dtype, ops.convert(expr_of(index.args[0].scale))))
    return Range(base, extent)
