"""Scans."""

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import DeclarationError, ScheduleError


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
        ({"init": te.placeholder((1, 2, 3), name="Z")}, "has 3 dimensions, expected 2"),
        (
            {"init": te.placeholder((1, 2), "int8", name="Z")},
            "the initial tensor of scan scan has dtype int8, expected float32",
        ),
        (
            {"init": te.placeholder((1, 7), name="Z")},
            "the initial tensor of scan scan has other dimensions after the f",
        ),
        (
            {"update": te.placeholder((9, 7), name="Z")},
            "the update of scan scan has other dimensions after the first tha",
        ),
        ({"update": te.placeholder((9, 7, 2), name="Z")}, "has 3 dimensions, expected 2"),
        (
            {"update": te.placeholder((9, 7), "int8", name="Z")},
            "the update of scan scan has dtype int8, expected float32",
        ),
        ({"update": [te.placeholder((9, 7), name="Z")] * 2}, "2 updates and 1 placeholders"),
        ({"update": 3}, "a state of scan scan is 3, expected a tensor of at least one dim"),
    ],
)
def test_scan_rejects(changes, match):
    with pytest.raises(DeclarationError, match=match):
        declare_scan(**changes)


def test_scan_rejects_an_update_of_another_time():
    state = te.placeholder((5, 4), name="state")
    init = te.compute((1, 4), lambda t, i: te.const(0.0), name="init")
    update = te.compute((6, 4), lambda t, i: state[t - 1, i], name="update")
    match = r"the update of scan scan has another first dimension \(the time\) t"
    with pytest.raises(DeclarationError, match=match):
        te.scan(init, update, state)


def scan_of(read, first=1):
    state = te.placeholder((8, 4), name="state")
    init = te.compute((first, 4), lambda t, i: 0.0, name="init")
    return te.scan(init, te.compute((8, 4), lambda t, i: read(state, t, i), name="up"), state)


def test_an_update_reads_the_past():
    with pytest.raises(
        DeclarationError, match=r"update up of scan scan reads state\[t, i\] before it is computed"
    ):
        scan_of(lambda state, t, i: state[t, i] + 1)


def test_an_update_reads_the_past_also_through_others():
    def read(state, t, i):
        mid = te.compute((8, 4), lambda u, j: state[u - 1, j], name="mid")
        return mid[t + 1, i]

    with pytest.raises(
        DeclarationError,
        match=r"update up of scan scan reads state\[u - 1, j\] before it is comput",
    ):
        scan_of(read)


def test_a_scan_begins_within_its_state():
    with pytest.raises(
        DeclarationError, match="the initial tensor of scan scan has 9 entries, more than the sta"
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
