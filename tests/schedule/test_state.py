"""What a stage knows."""

from __future__ import annotations

from te_sched import te
from te_sched.errors import SourceLocation
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.state import PLAIN, AttachType, Fate, IterVarAttr, StageDraft, changed
from te_sched.trace.drafts import Changes
from tests.schedule.programs import chain, leaves, product, scan


def test_attributes_are_replaced_not_changed() -> None:
    one = changed(PLAIN, {"iter_type": "Unrolled"})
    two = changed(one, {"dim_align_factor": 4})
    assert (two.iter_type, two.dim_align_factor) == ("Unrolled", 4)
    assert (one.dim_align_factor, PLAIN.iter_type) == (0, "DataPar")
    assert type(two) is IterVarAttr


def test_a_draft_is_committed_as_one() -> None:
    p = product()
    stage, (i, j) = p.s[p.C], p.C.op.axis
    with Changes(p.s, SourceLocation("", 0)):
        draft: StageDraft = stage.draft
        draft.set_attr(i, iter_type="Unrolled")
        draft.leaf_iter_vars.reverse()
        assert stage.draft is draft
        assert not stage.iter_var_attrs
        assert leaves(stage) == "i, j, k"
    assert stage.iter_var_attrs[i].iter_type == "Unrolled"
    assert leaves(stage) == "k, j, i"
    assert j not in stage.iter_var_attrs


def test_axes_that_are_gone_have_a_fate() -> None:
    p = product()
    stage = p.s[p.C]
    outer, inner = stage.split(p.k, 4)
    stage.unroll(inner)
    stage.unroll(p.C.op.axis[0])
    with Changes(p.s, SourceLocation("", 0)):
        stage.draft.reset_axes(stage.op, Fate("made an axis", SourceLocation("", 0)))
    assert [stage.fates[axis].text for axis in (outer, inner)] == ["made an axis"] * 2
    assert leaves(stage) == "i, j, k"
    assert list(stage.iter_var_attrs) == [p.C.op.axis[0]]
    assert not stage.relations
    assert p.k not in stage.fates


def test_a_stage_in_a_group_is_attached_where_the_group_is() -> None:
    p = scan()
    (group,) = p.s.groups
    spec = p.s[p.update].attach_spec
    assert (spec, spec.attach_type) == (group, AttachType.SCAN_UPDATE)
    assert p.s[p.D].attach_spec is p.s[p.D]


def test_a_copy_refers_to_the_copies_of_others() -> None:
    p = chain()
    p.s[p.B].compute_at(p.s[p.C], p.C.op.axis[0])
    copy = p.s.normalize()
    assert isinstance(copy, Schedule)
    b = next(stage for stage in copy.stages if stage.op.name == "B")
    assert b.attach_stage in copy.stages
    assert b.attach_stage not in p.s.stages
    b.leaf_iter_vars.clear()
    assert leaves(p.s[p.B]) == "i, j"


def test_opaque_axes_are_no_loops() -> None:
    p = scan()
    stage = p.s[p.scan]
    opaque = [axis for axis in stage.all_iter_vars if axis.kind == "Opaque"]
    assert opaque
    assert not set(opaque) & set(stage.leaf_iter_vars)
    assert te.create_schedule(p.X.op)[p.X].leaf_iter_vars == []
