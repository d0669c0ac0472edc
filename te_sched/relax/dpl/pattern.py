"""Patterns of expressions of a graph: what `relax.dpl` matches, and how.

    add = is_op("relax.add")(wildcard(), is_const())
    add.match(expr, var2val)            whether an expression has this form
    add.extract_matched_expr(...)       the expressions that its parts matched

A pattern of a value looks through variables to the value that they are bound to, if `var2val` has
it. One pattern that stands in several places matches equal expressions there. A match maps patterns
to expressions; `search` yields all matches, so that its caller can refuse one. Must not know blocks
of bindings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ElementError, GraphError, counted, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    Constant,
    DataflowVar,
    ExternFunc,
    GraphCall,
    GraphFunction,
    GraphTerm,
    GraphValue,
    GraphVar,
    SeqExpr,
    Tuple,
    TupleGetItem,
    as_struct_info,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import Attributes, GlobalVar
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import substitute
from te_sched.nested_copies import DeeplyNested
from te_sched.relax.core.sizes import are_equal_sizes, as_sizes, sizes_of, variables_in
from te_sched.relax.struct_info import is_base_of
from te_sched.signatures import is_sequence

Bindings = Mapping[GraphVar, GraphValue]
_deeply = walks_deeply("match a pattern", GraphError)
COMMUTATIVE = ("relax.add", "relax.multiply")


class FoundValue(NamedTuple):
    """What a pattern matched: the expression where it stands, and the value that it is bound to."""

    given: Any  # an expression, or a size
    value: Any


# The values that a rule is given, by pattern: it knows of which kind those of its patterns are.
Matches = dict["DFPattern", Any]
Match = Mapping["DFPattern | Var", FoundValue]  # also the values of variables in sizes


@dataclass
class BoundValues:
    """The values of variables, and what is known of sizes."""

    var2val: Bindings = field(default_factory=dict)
    analyzer: Analyzer = field(default_factory=Analyzer)

    def value_of(self, expr: object) -> object:
        """The expression to which a variable is bound, at last; others as they are."""
        while isinstance(expr, GraphVar):
            value = self.var2val.get(expr)
            if value is None:
                return expr
            expr = value
        return expr

    def is_same(self, a: object, b: object) -> bool:
        """Whether two expressions have the same value for certain."""
        a, b = self.value_of(a), self.value_of(b)
        if a is b or isinstance(a, GraphVar) or isinstance(b, GraphVar):
            return a is b
        return type(a) is type(b) and structural_equal(a, b)


@dataclass
class Relations:
    """Patterns that were made in a context, and how they are related."""

    context: object = None
    patterns: list[DFPattern] = field(default_factory=list)
    links: list[tuple[DFPattern, DFPattern, bool, int]] = field(default_factory=list)
    constraints: list[DFConstraint] = field(default_factory=list)


# The relations of the contexts that are open, innermost last.
OPEN: ContextVar[tuple[Relations, ...]] = ContextVar("te_sched_patterns", default=())


def open_relations() -> Relations:
    """The relations of the innermost context; GraphError without one."""
    relations = OPEN.get()
    if not relations:
        raise GraphError(
            "patterns are related outside of a context",
            "relations belong to a PatternContext",
            "use `with PatternContext() as context:`",
        )
    return relations[-1]


class DFPattern(DeeplyNested):
    """Base class of patterns; two patterns are the same only if they are one object.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> pattern = is_op("relax.add")(wildcard(), wildcard())
    >>> pattern.match(relax.op.add(x, x)), pattern.match(relax.op.exp(x))
    (True, False)
    >>> pattern
    Op(relax.add)(*, *)
    """

    def __init__(self) -> None:
        if OPEN.get():
            open_relations().patterns.append(self)

    def __repr__(self) -> str:
        return _TEXTS.get(type(self), object.__repr__)(self)

    # Matching

    def search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        """All matches of an expression that agree with what has been matched."""
        hit = match.get(self)
        if hit is not None:
            if values.is_same(hit.given, expr):
                yield match
            return
        for submatch in self._search(expr, match, values):
            yield {**submatch, self: self._found(expr, submatch, values)}

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        raise NotImplementedError

    def _found(self, expr: GraphTerm, match: Match, values: BoundValues) -> FoundValue:
        """What is noted for the pattern."""
        return FoundValue(expr, values.value_of(expr))

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        """The patterns of which it is made."""
        return ()

    def match(self, expr: GraphTerm, var2val: Bindings | None = None) -> bool:
        """Whether an expression has this form."""
        return self.extract_matched_expr(expr, var2val) is not None

    @_deeply
    def extract_matched_expr(
        self, expr: GraphTerm, var2val: Bindings | None = None
    ) -> Matches | None:
        """The expressions that the pattern and its parts match; None if it does not match."""
        for match in self.search(expr, {}, BoundValues(var2val or {})):
            return expressions_of(match)
        return None

    # Making patterns

    def __call__(self, *args: object, varg_default_wildcard: bool = False) -> CallPattern:
        """A call of what the pattern matches."""
        return CallPattern(self, args, varg_default_wildcard)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.divide")(self, other)

    def has_attr(self, attrs: Attributes) -> AttrPattern:
        """A call or function with these attributes."""
        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: object) -> StructInfoPattern:
        """A value of a struct info; variables in its sizes match any size, consistently."""
        return StructInfoPattern(self, as_struct_info(struct_info))

    def has_type(self, ttype: object) -> TypePattern:
        """A value of a type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """A tensor of a dtype."""
        return has_dtype(dtype, self)

    def has_shape(self, shape: Sequence[object]) -> ShapePattern:
        """A tensor of a shape."""
        return ShapePattern(self, shape)

    # Relations of patterns, in a PatternContext

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """State that another pattern uses this one, as its argument `index` or any."""
        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """State that another pattern, and nothing else, uses this one."""
        return PatternSeq([self]).only_used_by(other, index)

    __xor__ = used_by
    __rshift__ = only_used_by

    def fork_to(self, *args: DFPattern | PatternSeq) -> None:
        """State that several patterns use this one."""
        PatternSeq([self]).fork_to(*args)

    def same_shape_as(self, *args: DFPattern) -> SameShapeConstraint:
        """State that the values of patterns have the same shape."""
        return SameShapeConstraint(self, *args)

    @_deeply
    def dup(self) -> DFPattern:
        """Another pattern of the same form, which may match something else."""
        return _copied(self, {})


def expressions_of(match: Match) -> Matches:
    """The value that a match found for each pattern."""
    return {pattern: hit.value for pattern, hit in match.items() if isinstance(pattern, DFPattern)}


def _copied(pattern: DFPattern, copies: dict[DFPattern, DFPattern]) -> DFPattern:
    duplicate = copies.get(pattern)
    if duplicate is None:
        duplicate = copies[pattern] = object.__new__(type(pattern))
        for name, value in vars(pattern).items():
            if isinstance(value, DFPattern):
                value = _copied(value, copies)
            elif isinstance(value, tuple) and any(
                isinstance(element, DFPattern) for element in value
            ):
                value = tuple([_copied(element, copies) for element in value])
            setattr(duplicate, name, value)
        DFPattern.__init__(duplicate)
    return duplicate


class _Leaf(DFPattern):
    """A pattern that matches an expression itself, without looking at its value."""

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        if self._accepts(expr):
            yield match

    def _found(self, expr: GraphTerm, match: Match, values: BoundValues) -> FoundValue:
        return FoundValue(expr, expr)

    def _accepts(self, expr: GraphTerm) -> bool:
        raise NotImplementedError


class _OfValue(DFPattern):
    """A pattern of a value: it looks through variables."""

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        yield from self._search_value(values.value_of(expr), match, values)

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        raise NotImplementedError


class WildcardPattern(_Leaf):
    """Any expression."""

    def _accepts(self, expr: GraphTerm) -> bool:
        return True


class VarPattern(_Leaf):
    """A variable, of a name if one is given."""

    kind: type = GraphVar

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.name = name

    def _accepts(self, expr: GraphTerm) -> bool:
        name = getattr(expr, "name_hint", None)
        return isinstance(expr, self.kind) and self.name in ("", name)


class DataflowVarPattern(VarPattern):
    """A variable of a dataflow block."""

    kind = DataflowVar


class GlobalVarPattern(VarPattern):
    """The name of a function of the module."""

    kind = GlobalVar


class ExprPattern(_OfValue):
    """An expression that is equal to one."""

    def __init__(self, expr: object) -> None:
        super().__init__()
        self.expr = expr

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        if values.is_same(self.expr, expr):
            yield match


class ExternFuncPattern(_OfValue):
    """A function of a library."""

    def __init__(self, global_symbol: str) -> None:
        super().__init__()
        self.global_symbol = global_symbol

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if isinstance(value, ExternFunc) and value.global_symbol == self.global_symbol:
            yield match


class ConstantPattern(_OfValue):
    """A constant."""

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if isinstance(value, Constant):
            yield match


class CallPattern(_OfValue):
    """A call: what is called, and each argument. The terms of a sum and the factors of a product
    may stand in either order.

    Parameters
    ----------
    varg_default_wildcard : whether further arguments may follow.
    """

    def __init__(
        self, op: DFPattern, args: Sequence[object], varg_default_wildcard: bool = False
    ) -> None:
        super().__init__()
        self.op = op
        self.args = tuple([_as_pattern(arg) for arg in args])
        self.varg_default_wildcard = varg_default_wildcard

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return (self.op, *self.args)

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if not isinstance(value, GraphCall):
            return
        is_long = len(value.args) > len(self.args) and not self.varg_default_wildcard
        if is_long or len(value.args) < len(self.args):
            return
        for submatch in self.op.search(value.op, match, values):
            yield from _search_all(self.args, value.args, submatch, values)
            if value.op in COMMUTATIVE and len(self.args) == 2:
                yield from _search_all(self.args, value.args[::-1], submatch, values)


class FunctionPattern(_OfValue):
    """A function: its parameters and its result."""

    def __init__(self, params: Sequence[DFPattern], body: DFPattern) -> None:
        super().__init__()
        self.params, self.body = tuple(params), body

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return (*self.params, self.body)

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if not isinstance(value, GraphFunction) or len(value.params) != len(self.params):
            return
        body = value.body
        if isinstance(body, SeqExpr) and not body.blocks:
            body = body.body
        for submatch in _search_all(self.params, value.params, match, values):
            yield from self.body.search(body, submatch, values)


class TuplePattern(_OfValue):
    """A tuple: each element."""

    def __init__(self, fields: Sequence[object]) -> None:
        super().__init__()
        self.fields = tuple([_as_pattern(element) for element in fields])

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return self.fields

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        if index is not None:
            if not -len(self.fields) <= index < len(self.fields):
                raise ElementError(
                    f"a pattern of a tuple of {counted(len(self.fields), 'value')} has no element "
                    f"{index}",
                    "",
                    "give an index of a value",
                    in_tvm="tuple index out of range",
                )
            index %= len(self.fields)
        return is_tuple_get_item(self, index)

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if isinstance(value, Tuple) and len(value.fields) == len(self.fields):
            yield from self._search_fields(value.fields, match, values)

    def _search_fields(
        self, fields: Sequence[GraphTerm], match: Match, values: BoundValues
    ) -> Iterator[Match]:
        yield from _search_all(self.fields, fields, match, values)


class UnorderedTuplePattern(TuplePattern):
    """A tuple of these elements in any order."""

    def _search_fields(
        self, fields: Sequence[GraphTerm], match: Match, values: BoundValues
    ) -> Iterator[Match]:
        for order in permutations(fields):
            yield from _search_all(self.fields, order, match, values)


class TupleGetItemPattern(_OfValue):
    """An element of a tuple; any if the index is None."""

    def __init__(self, tup: DFPattern, index: int | None = None) -> None:
        super().__init__()
        self.tuple, self.index = tup, index

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return (self.tuple,)

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if isinstance(value, TupleGetItem) and self.index in (None, value.index):
            yield from self.tuple.search(value.tuple_value, match, values)


class OrPattern(DFPattern):
    """What one of two patterns matches; the left one is tried first."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        super().__init__()
        self.left, self.right = left, right

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return (self.left, self.right)

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        for part in self.parts:
            yield from part.search(expr, match, values)

    def _found(self, expr: GraphTerm, match: Match, values: BoundValues) -> FoundValue:
        return match[self.left] if self.left in match else match[self.right]


class AndPattern(DFPattern):
    """What both patterns match."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        super().__init__()
        self.left, self.right = left, right

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return (self.left, self.right)

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        for submatch in self.left.search(expr, match, values):
            yield from self.right.search(expr, submatch, values)

    def _found(self, expr: GraphTerm, match: Match, values: BoundValues) -> FoundValue:
        return match[self.left]


class NotPattern(DFPattern):
    """What a pattern does not match."""

    def __init__(self, to_reject: DFPattern) -> None:
        super().__init__()
        self.reject = to_reject

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        if next(self.reject.search(expr, match, values), None) is None:
            yield match

    def _found(self, expr: GraphTerm, match: Match, values: BoundValues) -> FoundValue:
        return FoundValue(expr, expr)


class _Restricted(DFPattern):
    """What a pattern matches, if it has a property."""

    def __init__(self, pattern: DFPattern) -> None:
        super().__init__()
        self.pattern = pattern

    @property
    def parts(self) -> tuple[DFPattern, ...]:
        return (self.pattern,)

    def _search(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        for submatch in self.pattern.search(expr, match, values):
            yield from self._restrict(expr, submatch, values)

    def _restrict(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        raise NotImplementedError

    def _found(self, expr: GraphTerm, match: Match, values: BoundValues) -> FoundValue:
        return match[self.pattern]


class StructInfoPattern(_Restricted):
    """A value of a struct info; variables in its sizes match any size, consistently."""

    def __init__(self, pattern: DFPattern, struct_info: StructInfo) -> None:
        super().__init__(pattern)
        self.struct_info = struct_info

    def _restrict(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        info = getattr(expr, "struct_info_", None)
        if info is None:
            return
        new_match = dict(match)
        for size, other in _pairs_of_sizes(self.struct_info, info):
            if type(size) is Var and size not in new_match:
                new_match[size] = FoundValue(other, other)
        own = {var for var in variables_in(self.struct_info) if var in new_match}
        expected = substitute(self.struct_info, {var: new_match[var].value for var in own})
        if is_base_of(expected, info):
            yield new_match


def _pairs_of_sizes(pattern: StructInfo, info: StructInfo) -> Iterator[tuple[Expr, Expr]]:
    if type(pattern) is not type(info):
        return
    if isinstance(pattern, TupleStructInfo) and isinstance(info, TupleStructInfo):
        for element, other in zip(pattern.fields, info.fields, strict=False):
            yield from _pairs_of_sizes(element, other)
        return
    yield from zip(sizes_of(pattern) or (), sizes_of(info) or (), strict=False)


class TypePattern(_Restricted):
    """A value of a type."""

    def __init__(self, pattern: DFPattern, ttype: object) -> None:
        super().__init__(pattern)
        self.type = ttype

    def _restrict(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        if structural_equal(getattr(expr, "checked_type", None), self.type):
            yield match


class DataTypePattern(_Restricted):
    """A tensor of a dtype."""

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        super().__init__(pattern)
        self.dtype = dtypes.spelled(dtype)

    def _restrict(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        info = getattr(expr, "struct_info_", None)
        if isinstance(info, TensorStructInfo) and info.dtype == self.dtype:
            yield match


class ShapePattern(_Restricted):
    """A tensor of a shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[object]) -> None:
        super().__init__(pattern)
        self.shape = as_sizes(shape)

    def _restrict(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        info = getattr(expr, "struct_info_", None)
        if isinstance(info, TensorStructInfo) and are_equal_sizes(
            self.shape, sizes_of(info), values.analyzer
        ):
            yield match


class PrimArrPattern(_OfValue):
    """A shape of these sizes."""

    def __init__(self, shape: Sequence[object]) -> None:
        super().__init__()
        self.fields = as_sizes(shape)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def _search_value(self, value: object, match: Match, values: BoundValues) -> Iterator[Match]:
        if isinstance(value, ShapeExpr) and are_equal_sizes(
            self.fields, value.values, values.analyzer
        ):
            yield match


class AttrPattern(_Restricted):
    """A call or function with attributes."""

    def __init__(self, pattern: DFPattern, attrs: Attributes) -> None:
        super().__init__(pattern)
        self.attrs = dict(attrs)

    def _restrict(self, expr: GraphTerm, match: Match, values: BoundValues) -> Iterator[Match]:
        value = values.value_of(expr)
        if isinstance(value, Op):
            attrs = {name: value.get_attr(name) for name in self.attrs}
        else:
            attrs = getattr(value, "attrs", None) or {}
        if all(_is_equal(attrs.get(name), wanted) for name, wanted in self.attrs.items()):
            yield match


def _is_equal(value: object, wanted: object) -> bool:
    if value is None or is_sequence(value) != is_sequence(wanted):
        return False
    if is_sequence(value) and is_sequence(wanted):
        pairs = zip(value, wanted, strict=False)
        return len(value) == len(wanted) and all(
            _is_equal(element, other) for element, other in pairs
        )
    return bool(getattr(value, "value", value) == getattr(wanted, "value", wanted))


class DFConstraint:
    """Base class of what relates the values of several patterns of a context."""

    patterns: tuple[DFPattern, ...]

    def holds(self, infos: Sequence[StructInfo], analyzer: Analyzer) -> bool:
        """Whether it holds for what is known of the values."""
        raise NotImplementedError


class SameShapeConstraint(DFConstraint):
    """The values of patterns have the same shape."""

    def __init__(self, *args: DFPattern) -> None:
        self.patterns = args
        open_relations().constraints.append(self)

    def holds(self, infos: Sequence[StructInfo], analyzer: Analyzer) -> bool:
        """Whether the shapes are known to be equal."""
        shapes = [sizes_of(info) for info in infos]
        return all(are_equal_sizes(shapes[0], shape, analyzer) for shape in shapes)


class PatternSeq:
    """Patterns of which each is used by the next one; a context has the relations."""

    def __init__(
        self, patterns: Sequence[DFPattern], links: Sequence[tuple[bool, int]] = ()
    ) -> None:
        self.patterns = list(patterns)
        self.links = list(links)  # between neighbors: whether it is the only use, the index

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """State that the first pattern of `other` uses the last one."""
        return self._linked(other, False, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """State that the first pattern of `other`, and nothing else, uses the last one."""
        return self._linked(other, True, index)

    __xor__ = used_by
    __rshift__ = only_used_by

    def _linked(self, other: DFPattern | PatternSeq, is_only: bool, index: int) -> PatternSeq:
        following = other if isinstance(other, PatternSeq) else PatternSeq([other])
        link = (self.patterns[-1], following.patterns[0], is_only, index)
        open_relations().links.append(link)
        links = [*self.links, (is_only, index), *following.links]
        return PatternSeq([*self.patterns, *following.patterns], links)

    @_deeply
    def dup(self) -> PatternSeq:
        """A sequence of other patterns of the same form, with the same relations."""
        copies: dict[DFPattern, DFPattern] = {}
        sequence = PatternSeq([_copied(self.patterns[0], copies)])
        for pattern, (is_only, index) in zip(self.patterns[1:], self.links, strict=True):
            sequence = sequence._linked(_copied(pattern, copies), is_only, index)
        return sequence

    def fork_to(self, *args: DFPattern | PatternSeq) -> None:
        """State that several patterns use the last one."""
        for consumer in args:
            self.used_by(consumer)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]


def _search_all(
    patterns: Sequence[DFPattern], exprs: Sequence[GraphTerm], match: Match, values: BoundValues
) -> Iterator[Match]:
    """All matches of expressions with patterns, one each; further expressions match anything."""
    if not patterns:
        yield match
        return
    for submatch in patterns[0].search(exprs[0], match, values):
        yield from _search_all(patterns[1:], exprs[1:], submatch, values)


def _as_pattern(value: object) -> DFPattern:
    if isinstance(value, DFPattern):
        return value
    if is_sequence(value):
        try:
            return TuplePattern(value)
        except RecursionError:
            raise GraphError(
                "a list of patterns contains itself", "", "give a list that ends"
            ) from None
    raise GraphError(
        f"{repr_of(value)} is given as a pattern",
        f"it is {kind_of(value)}",
        "give patterns: wildcard(), is_const(), is_expr(value), ...",
    )


def is_var(name: str = "") -> VarPattern:
    """A variable, of a name if one is given."""
    return VarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """The name of a function of the module."""
    return GlobalVarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """A variable of a dataflow block."""
    return DataflowVarPattern(name)


def is_const() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: object) -> ExprPattern:
    """An expression that is equal to one."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """An operator; call it with patterns for a call of it."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[object], unordered: bool = False) -> TuplePattern:
    """A tuple of these elements."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """An element of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def wildcard() -> WildcardPattern:
    """Any expression."""
    return WildcardPattern()


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """A tensor of a dtype."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_attr(attrs: Attributes, pattern: DFPattern | None = None) -> AttrPattern:
    """A call or function with these attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def is_shape(shape: Sequence[object]) -> PrimArrPattern:
    """A shape of these sizes, as a value."""
    return PrimArrPattern(shape)


def reject(pattern: DFPattern) -> NotPattern:
    """What a pattern does not match."""
    return NotPattern(pattern)


def is_call_tir(
    func_name: str, args: object = None, tir_vars: DFPattern | None = None
) -> CallPattern:
    """A call of a function of blocks by its name."""
    further = () if tir_vars is None else (tir_vars,)
    return is_op("relax.call_tir")(GlobalVarPattern(func_name), _arguments(args), *further)


def is_call_dps_packed(func_name: str, args: object = None) -> CallPattern:
    """A call by `call_dps_packed` of a function of a library by its name."""
    return is_op("relax.call_dps_packed")(ExternFuncPattern(func_name), _arguments(args))


def is_call_packed(func_name: str, args: Sequence[object] | None = None) -> CallPattern:
    """A call of a function of a library by its name."""
    if args is None:
        return ExternFuncPattern(func_name)(varg_default_wildcard=True)
    return ExternFuncPattern(func_name)(*args)


def _arguments(args: object) -> DFPattern:
    return wildcard() if args is None else _as_pattern(args)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """An operator of two arguments, perhaps with a bias added and an activation applied.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4, 4], "float32"))
    >>> pattern = make_fused_bias_activation_pattern("relax.matmul", activation="relax.nn.relu")
    >>> pattern.match(relax.op.nn.relu(relax.op.matmul(x, x)))
    True
    """
    out = is_op(op_name)(wildcard(), wildcard())
    return with_bias_and_activation(out, wildcard() if with_bias else None, activation)


def with_bias_and_activation(
    out: DFPattern, bias: DFPattern | None, activation: str | None
) -> DFPattern:
    """A pattern to which a bias is added, if there is one, and an activation is applied."""
    if bias is not None:
        out = is_op("relax.add")(out, bias)
    return out if activation is None else is_op(activation)(out)


def _call_text(pattern: CallPattern) -> str:
    args = [*map(repr, pattern.args), *(["..."] if pattern.varg_default_wildcard else [])]
    return f"{pattern.op}({', '.join(args)})"


def _expr_text(pattern: ExprPattern) -> str:
    return f"Op({pattern.expr})" if isinstance(pattern.expr, Op) else str(pattern.expr)


# How patterns print, as TVM's do.
_TEXTS: dict[type, Callable[[Any], str]] = {
    WildcardPattern: lambda pattern: "*",
    VarPattern: lambda pattern: f"VarPattern({pattern.name})",
    DataflowVarPattern: lambda pattern: f"DataflowVarPattern({pattern.name})",
    GlobalVarPattern: lambda pattern: f"GlobalVarPattern({pattern.name})",
    ExprPattern: _expr_text,
    ExternFuncPattern: lambda pattern: f"ExternFuncPattern({pattern.global_symbol})",
    ConstantPattern: lambda pattern: "ConstantPattern()",
    CallPattern: _call_text,
    FunctionPattern: lambda pattern: f"FunctionPattern({list(pattern.params)}, {pattern.body})",
    TuplePattern: lambda pattern: f"TuplePattern({list(pattern.fields)})",
    UnorderedTuplePattern: lambda pattern: f"UnorderedTuplePattern({list(pattern.fields)})",
    TupleGetItemPattern: lambda pattern: (
        f"TupleGetItemPattern({pattern.tuple}, {-1 if pattern.index is None else pattern.index})"
    ),
    OrPattern: lambda pattern: f"OrPattern({pattern.left} | {pattern.right})",
    AndPattern: lambda pattern: f"AndPattern({pattern.left} & {pattern.right})",
    NotPattern: lambda pattern: f"!({pattern.reject})",
    StructInfoPattern: lambda pattern: (
        f"StructInfoPattern({pattern.pattern} has relax StructInfo {pattern.struct_info})"
    ),
    TypePattern: lambda pattern: f"TypePattern({pattern.pattern} has type {pattern.type})",
    DataTypePattern: lambda pattern: (
        f"DataTypePattern({pattern.pattern} has dtype {pattern.dtype})"
    ),
    ShapePattern: lambda pattern: (
        f"ShapePattern({pattern.pattern} has shape {_sizes_text(pattern.shape)})"
    ),
    PrimArrPattern: lambda pattern: f"PrimArrPattern({_sizes_text(pattern.fields)})",
    AttrPattern: lambda pattern: (
        f"AttrPattern({pattern.pattern} has attributes {_attrs_text(pattern.attrs)})"
    ),
}


def _sizes_text(sizes: Sequence[Expr]) -> str:
    return f"[{', '.join(str(getattr(size, 'value', size)) for size in sizes)}]"


def _attrs_text(attrs: Attributes) -> str:
    texts = (f"{json.dumps(key)}: {json.dumps(value, default=str)}" for key, value in attrs.items())
    return f"{{{', '.join(texts)}}}"
