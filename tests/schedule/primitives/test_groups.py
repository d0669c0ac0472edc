"""create_group."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.schedule import AttachType
from tests.schedule.programs import chain, scan


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
    with pytest.warns(
        UserWarning, match="stage B moves to the root of its new group; it was computed at D"
    ):
        p.s.create_group(outputs=p.C, inputs=p.A)
    assert p.s[p.B].attach_type == AttachType.GROUP_ROOT


def test_the_update_of_a_scan_is_a_group_in_its_loop() -> None:
    p = scan()
    (group,) = p.s.groups
    assert (group.attach_type, group.attach_stage) == (AttachType.SCAN_UPDATE, p.s[p.scan])
    assert p.s[p.update].group is group
    p.s[p.scan].env_threads(te.thread_axis((0, 4), "threadIdx.x"))
    assert [axis.var.name for axis in p.s[p.scan].leaf_iter_vars] == ["threadIdx.x", "scan.idx"]


def test_inputs_are_members_where_that_is_asked() -> None:
    p = chain()
    group = p.s.create_group(outputs=p.C, inputs=p.B, include_inputs=True)
    assert p.s.members_of(group) == [p.s[p.B], p.s[p.C]]
