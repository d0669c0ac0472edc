"""Reductions."""

import pydoc

import pytest

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import expr as E


@pytest.fixture
def A():
    return te.placeholder((4, 5), name="A")


@pytest.fixture
def k():
    return te.reduce_axis((0, 5), name="k")


def test_sum_is_a_reduce_over_the_axis(A, k):
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k, where=k > 1))
    body = C.op.body[0]
    assert type(body) is E.Reduce
    assert C.op.reduce_axis == (k,)
    assert body.combiner.identity[0].value == 0.0
    assert type(body.condition) is E.GT


@pytest.mark.parametrize(("name", "identity"), [("max", -128), ("min", 127), ("prod", 1)])
def test_identities(k, name, identity):
    X = te.placeholder((5,), "int8")
    assert getattr(te, name)(X[k], axis=k).combiner.identity[0].value == identity


def test_reducer_without_axis_combines(A):
    made = te.max(A[0, 0], A[0, 1], 3)
    assert type(made) is E.Max
    assert type(made.a) is E.Max


def test_tuple_reduction(A, k):
    argmax = te.comm_reducer(
        lambda x, y: tuple(te.if_then_else(x[1] >= y[1], x[n], y[n]) for n in (0, 1)),
        lambda index, value: (te.const(-1, index), te.min_value(value)),
    )
    place, largest = te.compute((4,), lambda i: argmax((k, A[i, k]), axis=k), name="T")
    assert (place.dtype, largest.dtype) == ("int32", "float32")
    assert [v.name for v in place.op.body[0].combiner.lhs] == ["x_0", "x_1"]
    other = te.placeholder((4, 5))
    assert largest.op.replace_inputs({A: other}).body[1].value_index == 1


def test_two_reductions_in_a_tuple_are_refused(A, k):
    with pytest.raises(DeclarationError, match="different reductions"):
        te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), te.sum(A[i, k], axis=k)))


def test_reduction_over_a_spatial_axis_is_refused(A):
    C = te.compute((4,), lambda i: A[i, 0])
    with pytest.raises(DeclarationError, match="the DataPar axis i"):
        te.sum(A[0, 0], axis=C.op.axis[0])
    with pytest.raises(DeclarationError, match=r"te\.sum cannot reduce over i"):
        te.compute((4,), lambda i: te.sum(A[i, 0], axis=i))


def test_combiner_must_give_all_values(A, k):
    bad = te.comm_reducer(lambda x, y: (x[0],), lambda a, b: (te.const(0, a),), name="bad")
    with pytest.raises(DeclarationError, match="one value for each reduced value"):
        bad((k, A[0, k]), axis=k)


def test_help_and_repr_say_how_it_is_called() -> None:
    text = pydoc.render_doc(te.sum, renderer=pydoc.plaintext)
    assert "sum(expr, axis, where=None, init=None)" in text
    assert "The sum of the values" in text
    assert repr(te.max) == "<te.max(expr, axis, where=None, init=None)>"


def test_names_are_strings() -> None:
    with pytest.raises(DeclarationError, match="name of a reducer must be a string"):
        te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(0, dtype), 10**5000)
