"""The nodes of index maps: text, equality, JSON, substitution."""

from __future__ import annotations

from te_sched import tir
from te_sched.ir import load_json, save_json
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import substitute


def rows(size: int = 4, name: str = "i") -> IndexMap:
    i = Var(name)
    return IndexMap((i,), (tir.floordiv(i, size), tir.floormod(i, size)))


def test_text_of_a_map() -> None:
    assert str(rows()) == "T.index_map(lambda i: (i // 4, i % 4))"
    i = Var("i")
    assert str(IndexMap((i,), (i,))) == "T.index_map(lambda i: (i,))"
    assert str(IndexMap((), (IntImm(0),))) == "T.index_map(lambda: (0,))"


def test_text_of_a_stated_inverse() -> None:
    i, a, b = Var("i"), Var("a"), Var("b")
    made = IndexMap((i,), rows().final_indices, IndexMap((a, b), (a * 4 + b,)))
    assert str(made).endswith("inverse_index_map=lambda a, b: (a * 4 + b,))")


def test_equality_is_up_to_names() -> None:
    assert structural_equal(rows(), rows(name="k"))
    assert not structural_equal(rows(), rows(8))
    i = Var("i")
    assert not structural_equal(rows(), IndexMap((i,), rows().final_indices, rows()))


def test_map_survives_json() -> None:
    i = Var("i")
    made = IndexMap((i,), (i + 1,), IndexMap((i,), (i - 1,)))
    assert structural_equal(load_json(save_json(made)), made)


def test_free_variables_of_a_map_are_substituted() -> None:
    i, n = Var("i"), Var("n")
    made = substitute(IndexMap((i,), (i * n,)), {n: IntImm(5)})
    assert str(made) == "T.index_map(lambda i: (i * 5,))"
