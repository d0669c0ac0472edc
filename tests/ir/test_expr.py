"""The nodes of expressions: their types, and what they are as Python objects."""

from __future__ import annotations

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir import PrimType, TupleType
from te_sched.ir import expr as E
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import FloatImm, IntImm, Var

x, y = Var("x"), Var("y")


f = Var("f", "float32")


ONE = IntImm(1)


@pytest.mark.parametrize(
    ("made", "dtype"),
    [
        (E.Add(f, f), "float32"),
        (E.LT(f, f), "bool"),
        (E.EQ(E.Ramp(x, ONE, 4), E.Broadcast(y, 4)), "uint1x4"),
        (E.Not(E.LT(x, y)), "bool"),
        (E.Select(E.LT(x, y), f, f), "float32"),
        (E.Ramp(x, ONE, 8), "int32x8"),
        (E.Shuffle((E.Broadcast(f, 2), E.Broadcast(f, 2)), (IntImm(3), IntImm(0))), "float32x2"),
        (E.Shuffle((E.Broadcast(f, 2),), (ONE,)), "float32"),
        (E.Let(x, ONE, f), "float32"),
        (E.Cast("int8", f), "int8"),
    ],
)
def test_the_type_follows_from_the_operands(made: E.Expr, dtype: str) -> None:
    assert made.dtype == dtype


def test_a_load_has_the_lanes_of_its_last_index_and_of_the_elements() -> None:
    pairs = decl_buffer((8, 8), "float32x2", "P")
    assert E.BufferLoad(pairs, (x, y)).dtype == "float32x2"
    assert E.BufferLoad(pairs, (x, E.Ramp(y, ONE, 4))).dtype == "float32x8"


def test_a_reduction_has_the_type_of_its_component() -> None:
    a, b = Var("a"), Var("b", "float32")
    reducer = E.CommReducer((a, b), (x, f), (E.Add(a, x), E.Add(b, f)), (ONE, FloatImm(0.0)))
    both = [E.Reduce(reducer, (x, f), (), (), IntImm(1, "bool"), at).dtype for at in range(2)]
    assert both == ["int32", "float32"]


def test_nodes_are_equal_to_themselves_alone() -> None:
    assert x.same_as(x)
    assert not x.same_as(Var("x"))
    assert len({x, Var("x"), E.Add(x, y), E.Add(x, y)}) == 4


def test_constants_are_numbers_of_python() -> None:
    assert ([*range(9)][IntImm(3)], int(IntImm(-2)), float(FloatImm(0.5))) == (3, -2, 0.5)
    assert bool(IntImm(2))
    assert not IntImm(0, "bool")


def test_scopes_of_pointers_and_buffers() -> None:
    shared = Var("p", "handle", E.PointerType("float32", "shared"))
    assert (shared.scope, Var("q", "handle").scope) == ("shared", "")
    assert decl_buffer((4,), data=shared).scope() == "shared"
    assert decl_buffer((4,)).scope() == "global"


@pytest.mark.parametrize("name", [3, "a\ud800", None])
def test_names_and_strings_have_a_text(name: object) -> None:
    for kind in (Var, E.StringImm):
        with pytest.raises(DeclarationError, match="give a str that has a text"):
            kind(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vectors", "lane", "message"),
    [
        ((E.Broadcast(f, 2), E.Broadcast(f, 2)), 4, "a Shuffle takes lane 4 of 4"),
        ((f,), -1, "a Shuffle takes lane -1 of 1"),
        ((f, x), 0, "vectors of a Shuffle have types float32 and int32"),
    ],
)
def test_lanes_of_a_shuffle_exist_and_have_one_type(
    vectors: tuple[E.Expr, ...], lane: int, message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        E.Shuffle(vectors, (IntImm(lane),))


def test_variables_have_a_type() -> None:
    assert te.var("x", "int8").type_annotation == PrimType("int8")
    pointer = tir.PointerType(PrimType("float32"), "shared")
    for var in (te.var("p", pointer), tir.Var("p", pointer)):
        assert var.dtype == "handle"
        assert var.type_annotation == pointer
        assert var.type_annotation.element_type.dtype == "float32"
        assert var.type_annotation.storage_scope == "shared"
    assert pointer.script() == 'T.handle("float32", "shared")'
    assert PrimType("int32").script() == "T.int32"


def test_constants_of_literals() -> None:
    assert te.const(3.4e39).dtype == te.const(-3.4e39).dtype == "float64"
    assert te.const(float("inf")).dtype == te.const(3.4e38).dtype == "float32"
    assert str(te.exp(2)) == "T.exp(T.float32(2))"


def test_expressions_have_no_truth_as_in_numpy() -> None:
    with pytest.raises(ValueError, match=r"n > 0 has no truth value in Python"):
        bool(te.var("n") > 0)


def test_types_of_several_values() -> None:
    pair = TupleType([PrimType("float32"), tir.PointerType("int8", "shared")])
    assert str(pair) == pair.script() == 'T.Tuple(T.float32, T.handle("int8", "shared"))'
    assert (str(TupleType([])), pair.fields[0]) == ("None", PrimType("float32"))
