"""Declarations of tensor intrinsics."""

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.structural import structural_equal


def declare_intrinsic(fcompute, **more):
    a, b = te.placeholder((16,), name="a"), te.placeholder((4, 16), name="b")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    return te.decl_tensor_intrin(c.op, fcompute, **more)


def gemv(ins, outs, *scalars):
    return tir.call_extern("int32", "f", outs[0].access_ptr("w"), ins[0].access_ptr("r"), *scalars)


def test_tensor_intrin_buffers_are_inputs_then_outputs():
    made = declare_intrinsic(gemv, default_buffer_params={"offset_factor": 4})
    assert [buffer.name for buffer in made.buffers] == ["a", "b", "c"]
    assert made.buffers[0].offset_factor == 4
    assert made.reduce_init is None


def test_tensor_intrin_of_three_statements():
    made = declare_intrinsic(lambda i, o: (None, gemv(i, o), gemv(i, o)))
    assert made.body is None
    assert made.reduce_init is not None
    assert structural_equal(made.reduce_init, made.reduce_update)


def test_tensor_intrin_scalars():
    s = te.var("s")
    made = declare_intrinsic(lambda i, o, scalars: gemv(i, o, *scalars), scalar_params=[s])
    assert made.scalar_params == (s,)
    assert made.body.value.args[-1] is s


@pytest.mark.parametrize(
    ("fcompute", "match"),
    [
        (lambda i, o: None, "tensor intrinsic tensor_intrin has neither a body nor both a res"),
        (lambda i, o: 3, "returns an int"),
        (
            lambda i, o: (gemv(i, o),) * 4,
            "the function of tensor intrinsic tensor_intrin returns 4 stateme",
        ),
    ],
)
def test_tensor_intrin_rejects(fcompute, match):
    with pytest.raises(DeclarationError, match=match):
        declare_intrinsic(fcompute)


def test_tensor_intrin_rejects_chains_and_placeholders():
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")
    c = te.compute((4,), lambda i: b[i] + 1)
    with pytest.raises(
        DeclarationError, match="input b of tensor intrinsic tensor_intrin is computed, expected "
    ):
        te.decl_tensor_intrin(c.op, gemv)
    with pytest.raises(
        DeclarationError, match=r"tensor intrinsic tensor_intrin needs the operation of a te\.compu"
    ):
        te.decl_tensor_intrin(a.op, gemv)
