"""create_schedule, annotations, storage, attachment, groups."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.schedule import AttachType
from tests.schedule.programs import chain, pair, product, scan, stages


def test_create_schedule_takes_operations_tensors_and_lists() -> None:
    p = chain()
    for outputs in (p.D, p.D.op, [p.D], (p.D.op, p.D)):
        s = te.create_schedule(outputs)
        assert stages(s) == "A, B, C, D"
        assert [stage.is_output for stage in s.stages] == [False, False, False, True]
        assert list(s.stage_map) == [p.A.op, p.B.op, p.C.op, p.D.op]


def test_annotations_are_kept_with_the_axis() -> None:
    p = product()
    i, j = p.C.op.axis
    thread = te.thread_axis("threadIdx.x")
    p.s[p.C].unroll(p.k)
    p.s[p.C].bind(i, thread)
    p.s[p.C].pragma(j, "auto_unroll_max_step", 16)
    p.s[p.C].pragma(j, "vectorize")
    attrs = p.s[p.C].iter_var_attrs
    assert attrs[p.k].iter_type == "Unrolled"
    assert attrs[i].bind_thread is thread
    assert (attrs[j].pragma_keys, attrs[j].iter_type) == (("auto_unroll_max_step",), "Vectorized")


def test_binding_again_warns() -> None:
    p = chain()
    p.s[p.C].bind(p.C.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.warns(UserWarning, match=r"was bound to threadIdx.x; now it is bound to blockIdx"):
        p.s[p.C].bind(p.C.op.axis[0], te.thread_axis("blockIdx.x"))


def test_misspelt_pragma_warns() -> None:
    p = chain()
    with pytest.warns(UserWarning, match=r"does nothing \(did you mean 'auto_unroll_max_step'\?\)"):
        p.s[p.C].pragma(p.C.op.axis[0], "auto_unroll_max_steps", 16)


def test_storage_of_a_stage() -> None:
    p = chain()
    p.s[p.C].set_scope("shared")
    p.s[p.C].double_buffer()
    p.s[p.C].storage_align(p.C.op.axis[0], 8, 1)
    attr = p.s[p.C].iter_var_attrs[p.C.op.axis[0]]
    assert (p.s[p.C].scope, p.s[p.C].is_double_buffered) == ("shared", True)
    assert (attr.dim_align_factor, attr.dim_align_offset) == (8, 1)


def test_compute_at_a_stage_that_reads_through_others() -> None:
    p = chain()
    p.s[p.B].compute_at(p.s[p.D], p.D.op.axis[0])
    assert p.s[p.B].attach_type == AttachType.SCOPE
    assert p.s[p.B].attach_stage is p.s[p.D]
    p.s[p.B].compute_root()
    assert p.s[p.B].attach_type == AttachType.GROUP_ROOT


def test_a_group_moves_as_one() -> None:
    p = chain()
    group = p.s.create_group(outputs=p.C, inputs=p.A)
    group.compute_at(p.s[p.D], p.D.op.axis[0])
    assert [stage.group is group for stage in p.s.stages] == [False, True, True, False]
    assert group.num_child_stages == 2
    inner = p.s.create_group(outputs=p.B, inputs=p.A)
    assert (inner.group, group.num_child_stages, inner.num_child_stages) == (group, 2, 1)


def test_a_group_takes_stages_away_from_loops_outside() -> None:
    p = chain()
    p.s[p.B].compute_at(p.s[p.D], p.D.op.axis[0])
    with pytest.warns(UserWarning, match="takes stage B away from D"):
        p.s.create_group(outputs=p.C, inputs=p.A)
    assert p.s[p.B].attach_type == AttachType.GROUP_ROOT


def test_the_update_of_a_scan_is_a_group_in_its_loop() -> None:
    p = scan()
    (group,) = p.s.groups
    assert (group.attach_type, group.attach_stage) == (AttachType.SCAN_UPDATE, p.s[p.scan])
    assert p.s[p.update].group is group
    p.s[p.scan].env_threads(te.thread_axis((0, 4), "threadIdx.x"))
    assert [axis.var.name for axis in p.s[p.scan].leaf_iter_vars] == ["threadIdx.x", "scan.idx"]


def test_text_of_a_schedule() -> None:
    p = product()
    outer, inner = p.s[p.D].split(p.D.op.axis[1], factor=4)
    p.s[p.D].vectorize(inner)
    p.s[p.C].compute_at(p.s[p.D], outer)
    p.s[p.C].set_scope("local")
    assert repr(p.s).splitlines() == [
        "schedule of D:",
        "  A, an input",
        "  B, an input",
        "  C(i, j, k), at D.j.outer, in local",
        "  D(i, j.outer, j.inner <vectorize>)",
    ]


def test_both_outputs_of_an_operation_have_one_stage() -> None:
    p = pair()
    assert p.s[p.B0] is p.s[p.B1]
