"""Relations between sizes; `tests/relax/transform/test_collect_size_relations.py` runs them."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax, tir
from te_sched.ir.graph import SIZE_RELATIONS
from te_sched.relax.size_relations import (
    SizeRelation,
    SizeRelations,
    map_relations,
    relations_of,
    without_repeated,
)

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        (SizeRelation("equal", N, M, "s"), "n == m"),
        (
            SizeRelation("at least", N - 5, M, "s"),
            "n - T.int64(5) >= m",
        ),
    ],
)
def test_conditions(relation: SizeRelation, text: str) -> None:
    assert str(relation.condition) == text


# The kind, the sizes, and whether they are proved.
REQUIRED: list[tuple[Any, Any, Any, bool]] = [
    ("equal", N * 2, N + N, True),
    ("equal", N, M, False),
    ("equal", 3, 3, True),
    ("equal", 3, 4, False),
    ("at least", N, 0, True),  # it is a size of a tensor
    ("at least", M, 0, False),
    ("at least", N + 2, 1, True),
    ("at least", N - 5, 0, False),
]


@pytest.mark.parametrize(("kind", "size", "other", "is_proved"), REQUIRED)
def test_relations_that_are_proved_are_left_out(
    kind: Any, size: Any, other: Any, is_proved: bool
) -> None:
    relations = SizeRelations()
    relations.add_sizes(relax.TupleStructInfo([relax.TensorStructInfo([N, 4], "float32")]))
    relations.require(kind, size, other, "the sizes")
    assert bool(relations.items) is not is_proved
    for relation in relations.items:
        assert (relation.kind, relation.subject) == (kind, "the sizes")
        assert relation.size.dtype == relation.other.dtype == "int64"


def test_a_relation_is_listed_once() -> None:
    other = tir.Var("n", "int64")  # of the same name
    relations = [SizeRelation("equal", size, M, str(at)) for at, size in enumerate([N, N, other])]
    relations.append(SizeRelation("at least", N, M, "3"))
    assert [relation.subject for relation in without_repeated(relations)] == ["0", "2", "3"]


def test_relations_of_a_function_are_mapped() -> None:
    x = relax.Var("x", relax.TensorStructInfo([N], "float32"))
    function = relax.Function([x], relax.SeqExpr([], x), x.struct_info)
    assert relations_of(function) == []
    assert map_relations(function.attrs, lambda size: size) is function.attrs
    relation = SizeRelation("equal", N, M, "the sizes")
    attrs = map_relations({SIZE_RELATIONS: (relation,), "a": 1}, lambda size: size + 1)
    (new,) = relations_of(function.with_attrs(attrs))
    assert (str(new.size), str(new.other)) == ("n + T.int64(1)", "m + T.int64(1)")
    assert (new.kind, new.subject) == ("equal", "the sizes")
