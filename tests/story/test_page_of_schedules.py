"""Pages of real schedules: small, and whole whatever the schedule is."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from tests.story.test_page import Outline


def gemm(size):
    """A matrix product in steps, as courses teach it."""
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    local = s.cache_write(C, "local")
    io, jo, _, ji = s[C].tile(*C.op.axis, 32, 64)
    s[local].compute_at(s[C], jo)
    i, j = s[local].op.axis
    ko, ki = s[local].split(s[local].op.reduce_axis[0], factor=4)
    jco, jci = s[local].split(j, factor=16)
    s[local].reorder(ko, i, ki, jco, jci)
    s[local].vectorize(jci)
    s[local].unroll(ki)
    s[local].unroll(jco)
    s[C].vectorize(ji)
    packed = s.cache_read(B, "global", [local])
    s[packed].compute_at(s[C], jo)
    s[C].parallel(io)
    return s, [A, B, C]


def test_page_of_the_gemm_ladder_is_small():
    s, args = gemm(512)
    html = te_sched.explain(s, args, measure=False).html()
    assert html.count("<article") == 15
    assert len(html.encode()) < 1_000_000
    assert Outline(html).open == []


def test_page_of_an_odd_name_is_well_formed():
    A = te.placeholder((8,), name="<b>")
    B = te.compute((8,), lambda i: A[i] + 1, name="</script>")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 4)
    html = te_sched.explain(s, measure=False).html()
    outline = Outline(html)
    assert outline.open == []
    assert "b" not in outline.tags
    assert html.count("</script>") == 3


@pytest.mark.parametrize("axis", ["k", "i"])
def test_page_of_a_refused_schedule_says_why(axis):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    R = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].parallel(k if axis == "k" else R.op.axis[0])
    html = te_sched.explain(s, measure=False).html()
    assert ("<dt>why</dt>" in html) == (axis == "k")
