"""A stage as text: its loops and what was decided about them."""

from __future__ import annotations

from te_sched import te
from tests.lower.test_tensorize import called, intrinsic
from tests.lower.test_tensorize import product as tensor_product
from tests.schedule.programs import chain, scan


def test_loops_have_their_marks() -> None:
    p = chain()
    stage, (i, j) = p.s[p.C], p.C.op.axis
    outer, inner = stage.split(j, 4)
    stage.bind(outer, te.thread_axis("threadIdx.x"))
    stage.unroll(inner)
    stage.pragma(i, "auto_unroll_max_step", 4)
    assert repr(stage) == (
        "C(i <pragma auto_unroll_max_step>, j.outer <threadIdx.x>, j.inner <unroll>)"
    )


def test_where_a_stage_is_computed_and_kept() -> None:
    p = chain()
    p.s[p.C].compute_at(p.s[p.D], p.D.op.axis[0])
    p.s[p.C].set_scope("shared")
    p.s[p.C].double_buffer()
    p.s[p.B].compute_inline()
    assert repr(p.s[p.C]) == "C(i, j), at D.i, in shared, double buffered"
    assert repr(p.s[p.B]) == "B(i, j), inline"


def test_groups_have_no_loops() -> None:
    (group,) = scan().s.groups
    assert repr(group) == "group(), scan update"


def test_intrinsics_are_named() -> None:
    s, (*_, C) = tensor_product(intrinsic(lambda i, o: (called(i, o),) * 3), 12, 4)
    assert "<" in repr(s[C])
    assert s[C].same_as(s[C])
    assert not s[C].same_as(s.stages[0])
