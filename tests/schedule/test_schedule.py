"""create_schedule, and the stages of a schedule."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.errors import ScheduleError
from tests.schedule.programs import chain, pair, product, stages


def test_create_schedule_takes_operations_tensors_and_lists() -> None:
    p = chain()
    for outputs in (p.D, p.D.op, [p.D], (p.D.op, p.D)):
        s = te.create_schedule(outputs)
        assert stages(s) == "A, B, C, D"
        assert [stage.is_output for stage in s.stages] == [False, False, False, True]
        assert list(s.stage_map) == [p.A.op, p.B.op, p.C.op, p.D.op]


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


def test_stages_belong_to_tensors_and_operations() -> None:
    p = chain()
    assert p.s[p.B] is p.s[p.B.op]
    with pytest.raises(
        ScheduleError, match=r"a tensor or operation, got(.|\n)*use one of A, B, C, D"
    ):
        p.s["B"]
    with pytest.raises(
        ScheduleError, match=r"no output of the schedule depends on it(.|\n)*has A, B, C, D"
    ):
        p.s[te.placeholder((3,), name="Z")]


def test_what_outputs_share_is_computed_once() -> None:
    p = chain()
    other = te.compute((16, 8), lambda i, j: p.B[i, j] * 5, name="E")
    s = te.create_schedule([p.D, other])
    assert stages(s) == "A, B, C, D, E"
    assert [one.name for one in s.outputs] == ["D", "E"]
    assert s.same_as(s)
    assert not s.same_as(p.s)
