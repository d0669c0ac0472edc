"""Loops of hybrid scripts under a schedule: they compute what the script computes."""

# ruff: noqa: F821

import numpy as np
import pytest

from te_sched import build, lower, te
from te_sched.errors import LoweringError

A, B = te.placeholder((12,), name="A"), te.placeholder((10,), name="B")


@te.hybrid.script
def outer(a, b):
    c = output_tensor((12, 10), a.dtype)
    for i in range(12):
        for j in range(10):
            c[i, j] = a[i] * b[j]
    return c


@te.hybrid.script
def with_sums(a, b):
    c = output_tensor((12, 10), a.dtype)
    for i in range(12):
        total = 0.0
        for k in range(10):
            total += b[k]
        for j in range(10):
            c[i, j] = a[i] * b[j] + total
    return c


@te.hybrid.script
def triangle(a, b):
    c = output_tensor((12, 10), a.dtype)
    for i in range(10):
        for j in range(i, 10):
            c[i, j] = a[i] * b[j]
    return c


def check(script, change):
    C = script(A, B)
    s = te.create_schedule(C.op)
    change(s, C, *C.op.axis)
    a, b = np.random.rand(12).astype("float32"), np.random.rand(10).astype("float32")
    c = np.zeros((12, 10), "float32")
    build(s, [A, B, C])(a, b, c)
    np.testing.assert_allclose(c, script(a, b), rtol=1e-5)
    return str(lower(s, [A, B, C], simple_mode=True))


def tiled(s, C, i, j):
    outer_i, inner_i = s[C].split(i, 5)
    outer_j, inner_j = s[C].split(j, 4)
    s[C].reorder(outer_j, outer_i, inner_i, inner_j)
    s[C].parallel(outer_j)


def test_loops_are_split_and_reordered():
    text = check(outer, tiled)
    assert "for j_outer in T.parallel(3):" in text
    assert "if T.likely(i_outer * 5 + i_inner < 12):" in text


def test_loops_are_fused():
    text = check(outer, lambda s, C, i, j: s[C].unroll(s[C].split(s[C].fuse(i, j), 8)[1]))
    assert "for i_j_fused_outer in range(15):" in text


def test_loops_with_statements_between_them_are_split():
    def change(s, C, i, j, k):
        s[C].parallel(i)
        s[C].vectorize(s[C].split(j, 5)[1])
        s[C].split(k, nparts=3)

    check(with_sums, change)


def test_stage_is_computed_in_a_loop():
    def change(s, C, i, j):
        s[s.cache_read(A, "local", [C])].compute_at(s[C], i)

    assert "A_local" in check(outer, change)


@pytest.mark.parametrize("which", [0, 1])
def test_loops_that_depend_on_outer_ones_are_split(which):
    check(triangle, lambda s, C, *axes: s[C].split(axes[which], 4))


@pytest.mark.parametrize(
    ("script", "change", "why"),
    [
        (with_sums, lambda s, C, i, j, k: s[C].fuse(i, j), "other statements between them"),
        (with_sums, lambda s, C, i, j, k: s[C].reorder(j, i), "is not directly inside of"),
        (triangle, lambda s, C, i, j: s[C].reorder(j, i), "its extent depends on i"),
        (triangle, lambda s, C, i, j: s[C].fuse(i, j), "its extent depends on i.j.fused"),
    ],
)
def test_order_of_loops_rejects_what_would_change_the_result(script, change, why):
    C = script(A, B)
    s = te.create_schedule(C.op)
    change(s, C, *C.op.axis)
    with pytest.raises(LoweringError, match=why):
        lower(s, [A, B, C])
