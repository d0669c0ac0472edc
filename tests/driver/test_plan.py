"""Steps of builds, as they are printed."""

from __future__ import annotations

import pytest

from te_sched import config, te
from te_sched.driver import build
from te_sched.driver.steps import PLAN
from te_sched.errors import BuildError
from te_sched.lowering.pipeline import lower
from te_sched.schedule.schedule import create_schedule
from tests.driver.programs import declare


def steps_of(capsys, *args, **options) -> list[str]:
    """The steps that build took, without the passes."""
    build(*args, **options, show="steps")
    rows = capsys.readouterr().out.splitlines()
    assert all(" ms" in row for row in rows)
    return [row.split()[0] for row in rows if not row.startswith(" ")]


@pytest.mark.parametrize("options", [{}, {"sanitize": True}, {"verify": False}, {"target": "cuda"}])
def test_schedules_functions_and_modules_take_their_steps_in_one_order(capsys, options):
    schedule, args, _ = declare()
    if "target" in options:
        for axis, tag in zip(args[2].op.axis, ("blockIdx.x", "threadIdx.x"), strict=True):
            schedule[args[2]].bind(axis, te.thread_axis(tag))
    module = lower(schedule, args)
    with config.scoped(cache=False):
        of_schedule = steps_of(capsys, schedule, args, **options)
        of_module = steps_of(capsys, module, **options)
        assert steps_of(capsys, module["main"], **options) == of_module
    order = [step.run.__name__ for step in PLAN]
    for steps in (of_schedule, of_module):
        assert steps == sorted(steps, key=order.index)
    shared = of_schedule[of_schedule.index("count_sizes") :]
    own = {"check_results", "check_definitions", "judge_instances", "find_shared_arguments"}
    assert [one for one in of_module if one not in own][1:] == [
        one for one in shared if one not in own
    ]


@pytest.mark.parametrize("is_gathered", [False, True])
def test_kernels_are_lowered_with_checks_where_they_need_some(capsys, is_gathered):
    A, P = te.placeholder((64,), name="A"), te.placeholder((64,), name="P", dtype="int32")
    B = te.compute((64,), lambda i: A[P[i]] if is_gathered else A[i] + P[i], name="B")
    s = create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    steps = steps_of(capsys, s, [A, P, B], target="cuda")
    assert ("check_kernels" in steps) == is_gathered


def test_steps_show_the_passes_that_they_run(capsys):
    schedule, args, _ = declare()
    build(schedule, args, show="steps")
    names = [row.split()[0] for row in capsys.readouterr().out.splitlines()]
    at = names.index("run_passes")
    assert names[at + 1 : at + 3] == ["inject_prefetch", "flatten_storage"]
    assert names.index("finish_functions") < names.index("join_dimensions")


def test_steps_are_shown_up_to_the_one_that_fails(capsys):
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i + 4], name="B")
    schedule, args = create_schedule(B.op), [A, B]
    with pytest.raises(BuildError, match="A"):
        build(schedule, args, show="steps")
    names = [row.split()[0] for row in capsys.readouterr().out.splitlines()]
    assert (names[0], names[-1]) == ("check_schedule", "judge_programs")
    with pytest.raises(BuildError, match=r"use show='steps', or none \(did you mean 'steps'\?\)"):
        build(schedule, args, show="step")
