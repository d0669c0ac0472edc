"""Operations: their inputs, axes and texts."""

import pytest

from te_sched import te, tir
from te_sched.errors import PositionError


def test_parts_of_a_computation():
    a = te.placeholder((3, 4), name="a")
    k = te.reduce_axis((0, 4), name="k")
    b = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="b")
    assert str(b.op.axis) == '[T.iter_var(i, T.Range(0, 3), "DataPar", "")]'
    assert str(b.op.reduce_axis) == '[T.iter_var(k, T.Range(0, 4), "CommReduce", "")]'
    assert str(b.op.body).startswith("[T.reduce(")
    assert str(b.op.input_tensors) == "[Tensor(shape=[3, 4], op.name=a)]"


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


def test_compute_input_tensors_in_order_of_use(A):
    I = te.placeholder((4,), "int32", name="I")  # noqa: E741
    C = te.compute((4,), lambda i: A[I[i], 0] + A[i, 1])
    assert C.op.input_tensors == (I, A)


def test_replace_inputs_leaves_others_alone(A):
    B, C = te.placeholder((4, 5)), te.compute((4, 5), lambda *i: A(*i))
    assert C.op.replace_inputs({B: A}) is C.op
    assert C.op.replace_inputs({A: B}).input_tensors == (B,)
