"""Structural equality: up to names and identities of what is bound."""

from __future__ import annotations

import re

import pytest

from te_sched.ir import expr as E
from te_sched.ir import ops, structural
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.structural import assert_structural_equal, structural_difference, structural_equal
from te_sched.ir.structural_hash import structural_hash


def loop(name: str, offset: int = 1, extent: int = 4) -> S.For:
    """for i in range(extent): i + offset"""
    var = Var(name)
    return S.For(var, IntImm(0), IntImm(extent), "serial", S.Evaluate(ops.add(var, offset)))


def copy(name: str) -> S.PrimFunc:
    """A function that doubles a buffer in place."""
    handle, buffer = Var(name, "handle"), decl_buffer((8,), "float32", name)
    index = Var("i")
    store = S.BufferStore(buffer, E.BufferLoad(buffer, (index,)) * 2.0, (index,))
    body = S.For(index, IntImm(0), IntImm(8), "serial", store)
    return S.PrimFunc((handle,), body, {handle: buffer})


def test_names_of_bound_variables_do_not_matter() -> None:
    assert structural_equal(loop("i"), loop("j"))
    assert structural_equal(copy("A"), copy("B"))


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (loop("i", offset=2), r"<root>\.body\.value\.b\.value: 1 != 2"),
        (loop("i", extent=8), r"<root>\.extent\.value: 4 != 8"),
        (S.Evaluate(IntImm(0)), r"<root>: For != Evaluate"),
    ],
)
def test_the_first_difference_is_named(other: S.Stmt, difference: str) -> None:
    found = structural_difference(loop("i"), other)
    assert found is not None
    assert re.fullmatch(difference, found), found


def test_free_variables_are_themselves_unless_mapped() -> None:
    a, b, c = Var("a"), Var("b"), Var("c")
    assert not structural_equal(a + b, a + c)
    assert structural_equal(a + b, a + c, map_free_vars=True)
    assert not structural_equal(a + a, a + b, map_free_vars=True)


def test_a_bound_variable_is_not_a_free_one() -> None:
    free, bound = Var("i"), Var("i")
    a = S.For(bound, IntImm(0), IntImm(4), "serial", S.Evaluate(bound))
    b = S.For(bound, IntImm(0), IntImm(4), "serial", S.Evaluate(free))
    assert not structural_equal(a, b)
    assert structural_difference(a, b, map_free_vars=True) == "<root>.body.value: variable i != i"


def test_types_and_zeros_of_floats_differ() -> None:
    assert not structural_equal(IntImm(1), IntImm(1, "int64"))
    assert not structural_equal(E.FloatImm(0.0), E.FloatImm(-0.0))
    assert structural_equal(E.FloatImm(float("nan")), E.FloatImm(float("nan")))


def test_reductions_bind_their_axes() -> None:
    def total(name: str) -> E.Expr:
        x, y, k = Var("x"), Var("y"), Var(name)
        reducer = E.CommReducer((x,), (y,), (x + y,), (IntImm(0),))
        axis = E.IterVar(E.Range(IntImm(0), IntImm(4)), k, "CommReduce")
        return E.Reduce(reducer, (k * 2,), (), (axis,), IntImm(1, "bool"), 0)

    assert structural_equal(total("k"), total("r"))


def test_difference_is_an_assertion_and_a_value_error() -> None:
    for kind in (AssertionError, ValueError):
        with pytest.raises(kind, match=r"the programs differ at <root>\.value: 1 != 2\n"):
            assert_structural_equal(IntImm(1), IntImm(2))


def test_parts_of_programs_may_name_buffers_otherwise() -> None:
    a, b, other = (decl_buffer((8,), name=name) for name in ("A", "B", "O"))
    assert structural_equal(a[0] + a[1], b[0] + b[1])
    assert not structural_equal(a[0] + other[1], b[0] + b[1])
    assert not structural_equal(a[0], decl_buffer((9,), name="A")[0])


def test_views_of_the_same_memory_are_equal() -> None:
    whole = decl_buffer((8,), "int32", "A")
    view = decl_buffer((8,), "int32", "view", whole.data)
    one, two = (
        S.PrimFunc(
            (handle := Var("A", "handle"),),
            S.BufferStore(to, whole[1], (IntImm(0),)),
            {handle: whole},
        )
        for to in (whole, view)
    )
    assert structural_equal(one, two)
    assert structural_equal(two, one)
    assert structural_hash(one) == structural_hash(two)
    short = decl_buffer((4,), "int32", "view", whole.data)
    handle = Var("A", "handle")
    other = S.PrimFunc((handle,), S.BufferStore(short, whole[1], (IntImm(0),)), {handle: whole})
    assert not structural_equal(one, other)


def test_a_difference_keeps_no_frames() -> None:
    difference = structural._first_difference(loop("i"), loop("j", 2), False)
    assert difference is not None
    assert str(difference) == "1 != 2"
    assert difference.__traceback__ is None
