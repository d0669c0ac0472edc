"""Tensors: their elements, slices and texts."""

import pytest

from te_sched import te
from te_sched.errors import DeclarationError, PositionError
from te_sched.ir import expr as E


def test_tensors_and_shapes():
    a = te.placeholder((3, te.var("n")), name="a")
    assert str(a) == "Tensor(shape=[3, n], op.name=a)"
    assert str(a.shape) == "[3, n]"


def test_indices_out_of_range_name_what_there_is():
    a = te.placeholder((3, te.var("n")), name="a")
    b = te.compute((3, 4), lambda i, j: a[i, j], name="b")
    for values, index, why in (
        (b.op.axis, 2, "there are 2 axes: i, j"),
        (b.op.axis, -3, "there are 2 axes: i, j"),
        (a.shape, 5, "there are 2 values: 3, n"),
        (b.op.input_tensors, 1, r"there is 1 value: Tensor\(.*name=a\)"),
        (a.op.input_tensors, 0, "there are no values"),
    ):
        with pytest.raises(PositionError, match=f"index {index} is out of range(.|\n)*{why}") as at:
            values[index]
        assert isinstance(at.value, IndexError)
        assert at.value.about[-1].file == __file__
    assert [*b.op.axis] == [b.op.axis[0], b.op.axis[-1]]


def test_slices_read_elements(A):
    load = te.compute((4, 5), lambda i, j: A[i][j]).op.body[0]
    assert type(load) is E.ProducerLoad
    assert load.producer is A


def test_tensor_without_dimensions_is_its_element(A):
    s = te.compute((), lambda: A[0, 1])
    assert type(te.compute((3,), lambda i: s + 1).op.body[0].a) is E.ProducerLoad


@pytest.mark.parametrize(
    ("index", "match"),
    [
        (lambda A: A[0], "tensor A has 2 dimensions but 1 index given"),
        (lambda A: A[0, 1, 2], "tensor A has 2 dimensions but 3 indices given"),
        (lambda A: A[0.5, 1], "index 0 of tensor A has dtype "),
        (lambda A: A["i", 1], "index 0 of tensor A has dtype "),
        (lambda A: A, "index it"),
    ],
)
def test_indexing_rejects(A, index, match):
    with pytest.raises(DeclarationError, match=match):
        te.compute((4,), lambda i: index(A) + 1)
