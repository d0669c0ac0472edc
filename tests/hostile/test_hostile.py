"""Every public function takes hostile arguments, or refuses them as te_sched refuses."""

from __future__ import annotations

import pytest

from tests.hostile import calls, judge, surface, values

CALLEES = tuple(surface.callees())
PARTS = 2  # each in a process, which loads all of te_sched


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_arguments_give_a_result_or_a_refusal(part: int) -> None:
    lines = [
        line for callee in CALLEES[part::PARTS] for line in calls.hostile_calls(callee, values.FEW)
    ]
    found = judge.findings(lines)
    assert not found, "\n".join(f"{line}\n    {what}" for line, what in found[:20])


def test_surface_has_what_users_call() -> None:
    names = {callee.text for callee in CALLEES}
    assert len(names) > 700
    assert {"te_sched.te.compute", "te_sched.topi.nn.conv2d", "made.stage.split"} <= names


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("te.placeholder((4,))", ""),
        ("te.placeholder((-4,))", ""),
        ("te.placeholder()", ""),
        ("{}['the user']", ""),
        ("te.compute((4,), lambda i: 1 / 0)", ""),
        ("te_sched.te.declare.as_shape((1, 2), [][0])", ""),
        ("te_sched.te.declare.as_range((1, 2), te_sched.errors.with_article(''))", "IndexError"),
        ("raise te_sched.InternalError('a', 'b', 'c')", "InternalError"),
        ("raise te_sched.TeSchedError('a')", "vague"),
    ],
)
def test_judge(line: str, verdict: str) -> None:
    found = judge.judge(line, judge.names())
    assert found.startswith(verdict)
    assert bool(found) == bool(verdict)


def test_findings_are_lines_and_their_faults() -> None:
    lines = ["1", "te_sched.te.declare.as_range((1, 2), te_sched.errors.with_article(''))"]
    ((line, fault),) = judge.findings(lines)
    assert line == lines[1]
    assert fault.startswith("IndexError")
