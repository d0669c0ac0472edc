"""What print shows of tensors and of their parts: TVM's text."""

import pytest

from te_sched import te, tir
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
        (a.op.input_tensors, 0, "there are no values"),
    ):
        with pytest.raises(PositionError, match=f"index {index} is out of range(.|\n)*{why}") as at:
            values[index]
        assert isinstance(at.value, IndexError)
        assert at.value.about[-1].file == __file__
    assert [*b.op.axis] == [b.op.axis[0], b.op.axis[-1]]


def test_operations_without_axes_tell_the_reason():
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((), lambda: te.sum(b[k], axis=k), name="c")
    d = te.extern((4,), [a], lambda ins, outs: tir.call_packed("d", ins[0], outs[0]), name="d")
    zero = te.compute((1, 4), lambda _, i: 0.0, name="zero")
    state = te.placeholder((8, 4), name="state")
    step = te.compute((8, 4), lambda t, i: state[t - 1, i] + 1.0, name="step")
    e = te.scan(zero, step, state, name="e")
    for axes, what, why, help in (
        (
            b.op.reduce_axis,
            "operation b",
            "not a reduction; its axes are i",
            "use b.op.axis; te.su",
        ),
        (a.op.axis, "placeholder a", "it is an input", "an operation that reads a; a.shape"),
        (a.op.reduce_axis, "placeholder a", "it is an input", "an operation that reads a"),
        (c.op.axis, "operation c", "it has no dimensions", "use c.op.reduce_axis"),
        (d.op.axis, "operation d", "a statement computes it", "te.compute"),
        (e.op.axis, "operation e", "it is a scan", "use its scan_axis"),
        (te.compute((), lambda: 1.0).op.axis, "operation compute", "no dim", "no loops"),
    ):
        assert len(axes) == 0
        with pytest.raises(PositionError, match=f"^{what} has no (reduction )?axes") as caught:
            axes[0]
        assert why in caught.value.why
        assert help in caught.value.help
        assert f"{what} (declared at {__file__}:" in caught.value.where
