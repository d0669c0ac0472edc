"""What print shows of tensors and of their parts: TVM's text."""

import pytest

from te_sched import te
from te_sched.errors import PositionError


def test_tensors_and_shapes():
    a = te.placeholder((3, te.var("n")), name="a")
    assert str(a) == "Tensor(shape=[3, n], op.name=a)"
    assert str(a.shape) == "[3, n]"


def test_parts_of_a_computation():
    a = te.placeholder((3, 4), name="a")
    k = te.reduce_axis((0, 4), name="k")
    b = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="b")
    assert str(b.op.axis) == '[T.iter_var(i, T.Range(0, 3), "DataPar", "")]'
    assert str(b.op.reduce_axis) == '[T.iter_var(k, T.Range(0, 4), "CommReduce", "")]'
    assert str(b.op.body).startswith("[T.reduce(")
    assert str(b.op.input_tensors) == "[Tensor(shape=[3, 4], op.name=a)]"


def test_indices_out_of_range_name_what_there_is():
    a = te.placeholder((3, te.var("n")), name="a")
    b = te.compute((3, 4), lambda i, j: a[i, j], name="b")
    for values, index, why in (
        (b.op.axis, 2, "there are 2 axes: i, j"),
        (b.op.axis, -3, "there are 2 axes: i, j"),
        (a.shape, 5, "there are 2 values: 3, n"),
        (b.op.input_tensors, 1, r"there is 1 value: Tensor\(.*name=a\)"),
        (b.op.reduce_axis, 0, "there are no values"),
        (a.op.input_tensors, 0, "there are no values"),
        (a.op.axis, 0, "there are no values"),
        (a.op.reduce_axis, 0, "there are no values"),
    ):
        with pytest.raises(PositionError, match=f"index {index} is out of range(.|\n)*{why}") as at:
            values[index]
        assert isinstance(at.value, IndexError)
        assert at.value.about[-1].file == __file__
    assert [*b.op.axis] == [b.op.axis[0], b.op.axis[-1]]
