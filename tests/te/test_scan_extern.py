"""Scans, operations made by statements, tensor intrinsics."""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import DeclarationError, ScheduleError
from te_sched.ir.structural import structural_equal


def declare_scan(**changes):
    m, n = te.size_var("m"), te.size_var("n")
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    parts = {
        "init": te.compute((1, n), lambda _, i: X[0, i]),
        "update": te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i]),
        "state_placeholder": state,
    }
    return te.scan(**{**parts, **changes}, inputs=[X])


def test_scan_axes():
    op = declare_scan().op
    assert op.scan_axis.var.name == "scan.idx"
    assert (op.scan_axis.kind, op.scan_axis.dom.min.value) == ("Ordered", 1)
    assert [axis.var.name for axis in op.spatial_axis_] == ["scan.out0.i1"]
    assert op.root_iter_vars() == (op.scan_axis, *op.spatial_axis_)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"init": []}, "scan scan has 0 initial tensors, 1 updates and 1 placeholders"),
        ({"init": te.placeholder((1, 2, 3), name="Z")}, "it has 3 dimensions, the state 2"),
        (
            {"init": te.placeholder((1, 2), "int8", name="Z")},
            r"initial tensor Z\(1, 2\) int8(.|\n)*its type is not float32 state\(m, n\) float32",
        ),
        ({"init": te.placeholder((1, 7), name="Z")}, r"not those of the state state\(m, n\)"),
        (
            {"update": te.placeholder((9, 7), name="Z")},
            r"update Z\(9, 7\) float32 of scan(.|\n)*after the first are .* state\(m, n\) float32",
        ),
        ({"update": te.placeholder((9, 7, 2), name="Z")}, "it has 3 dimensions, the state 2"),
        (
            {"update": te.placeholder((9, 7), "int8", name="Z")},
            r"the update Z\(9, 7\) int8 of scan scan does not match its state",
        ),
        ({"update": [te.placeholder((9, 7), name="Z")] * 2}, "2 updates and 1 placeholders"),
        ({"update": 3}, "a state of scan scan must be a tensor with dimensions, got 3"),
    ],
)
def test_scan_rejects(changes, match):
    with pytest.raises(DeclarationError, match=match):
        declare_scan(**changes)


def test_scan_rejects_an_update_of_another_time():
    state = te.placeholder((5, 4), name="state")
    init = te.compute((1, 4), lambda t, i: te.const(0.0), name="init")
    update = te.compute((6, 4), lambda t, i: state[t - 1, i], name="update")
    match = r"update update\(6, 4\) .*\n.*\n.*the time, is not that of the state state\(5, 4\)"
    with pytest.raises(DeclarationError, match=match):
        te.scan(init, update, state)


def packed(ins, outs):
    return tir.call_packed("f", *ins, *outs)


def test_extern_makes_buffers_for_its_tensors():
    A = te.placeholder((4, 5), name="A")
    E = te.extern((4,), [A], packed, name="E")
    assert (E.dtype, E.op.input_tensors) == ("float32", (A,))
    assert E.op.output_placeholders[0].elem_offset.name == "elem_offset"


def test_extern_of_several_outputs():
    A = te.placeholder((4, 5))
    E = te.extern([(4,), (5,)], [A], packed, dtype=["float32", "int8"], name="E")
    assert [tensor.name for tensor in E] == ["E.v0", "E.v1"]
    assert E[1].dtype == "int8"


def test_extern_with_declared_buffers():
    A = te.placeholder((4, 5))
    Ab = tir.decl_buffer(A.shape, A.dtype, strides=[te.var("s"), 1])
    E = te.extern((4,), [A], packed, in_buffers=[Ab])
    assert E.op.input_placeholders == (Ab,)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"inputs": []}, "cannot infer the dtype of extern E"),
        ({"dtype": ["int8", "int8"]}, "extern E has 1 output but 2 dtypes"),
        (
            {"fcompute": lambda ins, outs: None},
            "the function of extern E must return a call or a statement,",
        ),
        (
            {"in_buffers": [tir.decl_buffer((3,), name="Ab")]},
            "the tensor has 2 dimensions, the buffer 1",
        ),
        ({"inputs": [3]}, "an input of extern E must be a tensor, got 3"),
        ({"shape": (-4,)}, "an extent of extern E must not be negative, got -4"),
    ],
)
def test_extern_rejects(arguments, match):
    given = {"shape": (4,), "inputs": [te.placeholder((4, 5), name="A")], "fcompute": packed}
    with pytest.raises(DeclarationError, match=match):
        te.extern(**{**given, **arguments}, name="E")


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
        (lambda i, o: None, "without a body"),
        (lambda i, o: 3, "the function of tensor intrinsic tensor_intrin must return a"),
        (lambda i, o: (gemv(i, o),) * 4, "body, reset and update"),
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
        DeclarationError, match="tensor intrinsic tensor_intrin reads tensor b, which is not a"
    ):
        te.decl_tensor_intrin(c.op, gemv)
    with pytest.raises(
        DeclarationError, match="tensor intrinsic tensor_intrin takes a compute operation, got"
    ):
        te.decl_tensor_intrin(a.op, gemv)


def scan_of(read, first=1):
    state = te.placeholder((8, 4), name="state")
    init = te.compute((first, 4), lambda t, i: 0.0, name="init")
    return te.scan(init, te.compute((8, 4), lambda t, i: read(state, t, i), name="up"), state)


def test_an_update_reads_the_past():
    with pytest.raises(
        DeclarationError, match="update up of scan scan reads a value not computed yet"
    ):
        scan_of(lambda state, t, i: state[t, i] + 1)


def test_an_update_reads_the_past_also_through_others():
    def read(state, t, i):
        mid = te.compute((8, 4), lambda u, j: state[u - 1, j], name="mid")
        return mid[t + 1, i]

    with pytest.raises(DeclarationError, match="mid reads state"):
        scan_of(read)


def test_a_scan_begins_within_its_state():
    with pytest.raises(
        DeclarationError, match=r"has 9 entries, the state up\(8, 4\) float32 only 8"
    ):
        scan_of(lambda state, t, i: state[t - 1, i], first=9)


def test_an_update_reads_the_state():
    total = scan_of(lambda state, t, i: 1.0)
    with pytest.raises(ScheduleError, match="update up of scan scan does not read the state"):
        te.create_schedule(total)


def test_a_scan_has_room_for_its_first_step_where_no_step_is_read() -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    state = te.placeholder((n, m), name="state")
    first = te.compute((1, m), lambda _, j: A[0, j], name="first")
    update = te.compute((n, m), lambda t, j: state[t - 1, j] + A[t, j], name="update")
    sums = te.scan(first, update, state, inputs=[A], name="sums")
    padded = te.compute(
        (n + 2, m),
        lambda i, j: te.if_then_else(te.all(i >= 1, i < n + 1), sums[i - 1, j], 0.0),
        name="padded",
    )
    i, j = te.reduce_axis((0, n + 2), "i"), te.reduce_axis((0, m), "j")
    B = te.compute((1,), lambda _: te.sum(padded[i, j], axis=[i, j]), name="B")
    s = te.create_schedule(B.op)
    group = s.create_group(outputs=padded, inputs=sums, include_inputs=True)
    group.compute_at(s[B], i)
    a, b = np.random.default_rng(0).random((3, 4), "float32"), np.zeros(1, "float32")
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_allclose(b, a.cumsum(0).sum(), 1e-5)
