"""Relations between sizes that inference needs and cannot prove.

    x: (n,)                  z = reshape(x, (4, 5))    n == 20
    a: (4, k), b: (m, 4)     z = matmul(a, b)          k == m
    x: (n,)                  z = zeros((n - 5,))       n - 5 >= 0

`transform.collect_size_relations` infers a function once more with a builder that collects them
(`BlockBuilder.require`), and attaches them to it as an attribute, which is neither printed nor
compared. `VMShapeLower` checks them when the function is entered. Must not know operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Expr, ExprLike, Var
from te_sched.ir.graph import SIZE_RELATIONS, GraphFunction
from te_sched.ir.stmt import Attributes
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.core.sizes import tensor_sizes, variables_in

Kind = Literal["equal", "at least"]


class SizeRelation(NamedTuple):
    """A size that must be equal to another one, or at least as large; `subject` says which it is.

    >>> from te_sched import tir
    >>> SizeRelation("at least", tir.Var("n", "int64"), 3, "the size of x").condition
    n >= T.int64(3)
    """

    kind: Kind
    size: Expr
    other: Expr
    subject: str

    @property
    def condition(self) -> Expr:
        """The relation as an expression of bool."""
        compare = ops.equal if self.kind == "equal" else ops.greater_equal
        return compare(self.size, self.other)


class SizeRelations:
    """Collects the relations that are not proved by what is known of sizes: those of tensors are
    not negative.
    """

    def __init__(self) -> None:
        self.items: list[SizeRelation] = []
        self._analyzer = Analyzer()

    def add_sizes(self, info: StructInfo) -> None:
        """Know that the sizes of a tensor are not negative."""
        for size in tensor_sizes(info):
            if type(size) is Var:
                self._analyzer.mark_nonnegative(size)

    def require(self, kind: Kind, size: ExprLike, other: ExprLike, subject: str) -> None:
        """Add a relation unless it is proved."""
        simple_size, two = [
            self._analyzer.simplify(ops.cast("int64", side)) for side in (size, other)
        ]
        is_proved = (
            self._analyzer.can_prove_equal(simple_size, two)
            if kind == "equal"
            else self._analyzer.can_prove(ops.greater_equal(simple_size, two))
        )
        if not is_proved:
            self.items.append(SizeRelation(kind, simple_size, two, subject))


def without_repeated(relations: Iterable[SizeRelation]) -> list[SizeRelation]:
    """Relations, each one once."""
    different: dict[tuple[object, ...], SizeRelation] = {}
    for relation in relations:
        variables = [
            id(var) for side in (relation.size, relation.other) for var in variables_in(side)
        ]
        different.setdefault(
            (relation.kind, str(relation.size), str(relation.other), *variables), relation
        )
    return list(different.values())


def relations_of(func: GraphFunction) -> list[SizeRelation]:
    """The relations that are attached to a function."""
    return [SizeRelation(*relation) for relation in func.attrs.get(SIZE_RELATIONS, ())]


def map_relations(attrs: Attributes, map_size: Callable[[Expr], Expr]) -> Attributes:
    """The attributes of a function with the sizes of its relations mapped, as those of its body."""
    relations = attrs.get(SIZE_RELATIONS)
    if not relations:
        return attrs
    new = [
        SizeRelation(kind, map_size(size), map_size(other), subject)
        for kind, size, other, subject in relations
    ]
    return {**attrs, SIZE_RELATIONS: tuple(new)}
