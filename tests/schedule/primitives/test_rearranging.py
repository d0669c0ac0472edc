"""transform_layout and rolling_buffer."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import DeclarationError, LoweringError, ScheduleError
from tests.schedule.programs import chain, leaves, product


def check(s, args, expected, *inputs):
    """The outputs are these."""
    arrays = [te_sched.nd.array(value) for value in inputs]
    out = te_sched.nd.array(np.full(expected.shape, np.nan, "float32"))
    te_sched.build(s, args)(*arrays, out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


A = np.random.default_rng(0).random((16, 8), "float32")


def test_the_loops_are_those_of_the_layout():
    p = chain()
    axes = p.s[p.B].transform_layout(lambda i, j: [j // 4, i, j % 4])
    assert leaves(p.s[p.B]) == "axis0, axis1, axis2"
    assert [axis.dom.extent.value for axis in axes] == [2, 16, 4]
    p.s[p.B].vectorize(axes[2])
    check(p.s, [p.A, p.D], (A + 1) * 2 - 3, A)


def test_every_reader_follows():
    p = chain()
    p.s[p.B].transform_layout(lambda i, j: [j, i])
    text = te_sched.lower(p.s, [p.A, p.D]).script()
    assert "B_1[axis0 * 16 + axis1] = A_1[axis1 * 8 + axis0] + T.float32(1)" in text
    assert "B_1[j * 16 + i] * T.float32(2)" in text


def test_dimensions_can_be_fused():
    p = chain()
    p.s[p.C].transform_layout(lambda i, j: [(i * 8 + j) // 32, (i * 8 + j) % 32])
    assert "axis0, axis1 in T.grid(4, 32)" in te_sched.lower(p.s, [p.A, p.D]).script()
    check(p.s, [p.A, p.D], (A + 1) * 2 - 3, A)


def test_arguments_after_a_star_are_the_last_indices():
    p = chain()
    axes = p.s[p.B].transform_layout(lambda *i, n: [n // 4, *i, n % 4])
    assert [axis.dom.extent.value for axis in axes] == [2, 16, 4]
    check(p.s, [p.A, p.D], (A + 1) * 2 - 3, A)
    with pytest.raises(DeclarationError, match="transform_layout of C has 2 dimensions but its"):
        p.s[p.C].transform_layout(lambda *, a, b, c: [a, b, c])


def test_layouts_of_layouts():
    p = chain()
    p.s[p.B].transform_layout(lambda i, j: [j, i])
    p.s[p.B].transform_layout(lambda x, y: [y // 4, x, y % 4])
    check(p.s, [p.A, p.D], (A + 1) * 2 - 3, A)


def test_the_arrays_of_the_caller_have_the_layout():
    p = chain()
    p.s[p.A].transform_layout(lambda i, j: [j, i])
    p.s[p.D].transform_layout(lambda i, j: [i // 2, j, i % 2])
    expected = ((A + 1) * 2 - 3).reshape(8, 2, 8).transpose(0, 2, 1)
    check(p.s, [p.A, p.D], expected, np.ascontiguousarray(A.T))


@pytest.mark.parametrize("is_attached", [False, True])
def test_a_reduction_keeps_its_loops(is_attached):
    p = product()
    i, j = np.random.default_rng(0).random((2, 16 * 32), "float32")
    p.s[p.C].transform_layout(lambda i, j: [j, i])
    assert leaves(p.s[p.C]) == "axis0, axis1, k"
    p.s[p.C].split(p.k, 5)
    if is_attached:
        p.s[p.C].compute_at(p.s[p.D], p.s[p.D].split(p.D.op.axis[0], 4)[0])
    left, right = i.reshape(16, 32), j[:256].reshape(32, 8)
    check(p.s, [p.A, p.B, p.D], left @ right + 1, left, right)


@pytest.mark.parametrize(
    "mapping",
    [
        lambda i, j: [i // 5, i % 5, j],
        lambda i, j: [i],
        lambda i, j: [i, j, i],
        lambda i, j: [i * 3, j],
        lambda i, j: [i * j, j],
        lambda i, j: [i + 1, j],
    ],
)
def test_each_element_has_one_place(mapping):
    p = chain()
    with pytest.raises(ScheduleError, match="transform_layout"):
        p.s[p.B].transform_layout(mapping)


def test_loops_come_after_the_layout():
    p = chain()
    p.s[p.B].split(p.B.op.axis[0], 4)
    with pytest.raises(ScheduleError, match="axis i was split"):
        p.s[p.B].transform_layout(lambda i, j: [j, i])


def test_storage_align_is_about_the_declared_dimensions():
    p = chain()
    p.s[p.B].storage_align(p.B.op.axis[0], 16, 1)
    p.s[p.B].transform_layout(lambda i, j: [j, i])
    with pytest.raises(LoweringError, match="used by storage_align or prefetch"):
        te_sched.lower(p.s, [p.A, p.D])


def test_a_rolling_buffer_is_marked():
    p = chain()
    with pytest.raises(ScheduleError, match="call compute_at first"):
        p.s[p.B].rolling_buffer()
    p.s[p.B].compute_at(p.s[p.C], p.C.op.axis[0])
    p.s[p.B].rolling_buffer()
    assert '"rolling_buffer_scope", T.bool(True)' in te_sched.lower(p.s, [p.A, p.D]).script()
    check(p.s, [p.A, p.D], (A + 1) * 2 - 3, A)


def test_separated_axes_index_memory_of_several_dimensions():
    p = chain()
    axes = p.s[p.B].transform_layout(lambda i, j: [i // 4, te.AXIS_SEPARATOR, i % 4, j])
    assert len(axes) == 3
    text = te_sched.lower(p.s, [p.A, p.D]).script()
    assert "T.Buffer((4, 32), data=B, axis_separators=[1])" in text
    assert "B_1[i // 4, i % 4 * 8 + j] * T.float32(2)" in text
    check(p.s, [p.A, p.D], (A + 1) * 2 - 3, A)


def test_a_trace_does_it_again():
    p, other = chain(), chain()
    outer, _ = p.s[p.B].transform_layout(lambda i, j: [j, i])
    p.s[p.B].split(outer, 4)
    assert "axis0, axis1 = s[B].transform_layout(mapping)" in str(p.s.trace)
    p.s.trace.replay(other.s)
    assert leaves(other.s[other.B]) == "axis0.outer, axis0.inner, axis1"
