"""compute_at, compute_inline, compute_root."""

from __future__ import annotations

from te_sched.schedule import AttachType
from tests.schedule.programs import chain, product


def test_compute_at_a_stage_that_reads_through_others() -> None:
    p = chain()
    p.s[p.B].compute_at(p.s[p.D], p.D.op.axis[0])
    assert p.s[p.B].attach_type == AttachType.SCOPE
    assert p.s[p.B].attach_stage is p.s[p.D]
    p.s[p.B].compute_root()
    assert p.s[p.B].attach_type == AttachType.GROUP_ROOT


def test_a_stage_is_in_one_place_at_a_time() -> None:
    p = chain()
    stage, outer = p.s[p.B], p.C.op.axis[0]
    stage.compute_at(p.s[p.C], outer)
    assert (stage.attach_ivar, repr(stage)) == (outer, "B(i, j), at C.i")
    stage.compute_inline()
    assert (stage.attach_type, stage.attach_stage, stage.attach_ivar) == (
        *(AttachType.INLINE, None, None),
    )


def test_a_reduction_is_inlined_into_a_plain_copy() -> None:
    p = product()
    copy = p.s.cache_write(p.C, "local")
    p.s[copy].compute_inline()
    assert p.s[copy].attach_type == AttachType.INLINE


def test_the_axis_may_be_one_that_is_split_later() -> None:
    p = chain()
    i = p.C.op.axis[0]
    p.s[p.B].compute_at(p.s[p.C], i)
    p.s[p.C].split(i, 4)
    copy = p.s.normalize()
    b = next(stage for stage in copy.stages if stage.op.name == "B")
    assert b.attach_ivar is not None
    assert b.attach_ivar.var.name == "i.inner"
