"""te_sched.analysis.check: all verdicts of a program, as data and as text."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.analysis import Findings, check
from te_sched.analysis.judge import check_program
from te_sched.errors import BuildError, LoweringError
from tests.golden import corpus
from tests.golden.steps import lowered

# This step of a program says `parallel` of a reduction.
RACING = {("15_parallel", 1)}


def reduction() -> Any:
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B], k


def test_all_of_a_right_schedule_is_proved() -> None:
    s, args, _ = reduction()
    findings = check(s, args)
    assert isinstance(findings, Findings)
    assert not findings.refuted
    assert {"coverage", "initialized", "bounds"} >= {one.kind for one in findings.proved}
    assert str(findings).startswith("0 refuted, 0 unproved, ")


def test_a_refused_schedule_is_a_finding() -> None:
    s, args, k = reduction()
    s[args[1]].parallel(k)
    rule, race = check(s, args).refuted
    assert rule.message == "cannot parallelize reduction axis k of stage B"
    assert "rfactor" in rule.help
    assert (race.kind, race.buffer, race.axis) == ("race", "B", "k")
    with pytest.raises(BuildError, match="cannot parallelize reduction axis k of stage B"):
        check(s, args).raise_refuted()


def test_an_attachment_that_is_not_possible_is_a_finding() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    (finding,) = check(s, [A, D]).refuted
    assert "stage D reads it outside of that loop" in str(finding)


def test_takes_modules_and_functions_by_name() -> None:
    s, args, _ = reduction()
    module = te_sched.lower(s, args)
    kinds = [one.kind for one in check(module)]
    assert [one.kind for one in check({"main": module["main"]})] == kinds
    assert "coverage" in kinds


def test_rejects_what_is_no_program() -> None:
    with pytest.raises(BuildError, match=r"check expects a Schedule.*, got an int"):
        check(3)  # type: ignore[arg-type]
    with pytest.raises(LoweringError, match="args is required to lower a schedule"):
        check(reduction()[0])


@pytest.mark.parametrize("options", [{"stop_after": "schedule_ops"}, {}], ids=["loops", "lowered"])
@pytest.mark.parametrize("family", ["primitives", "programs"])
def test_nothing_that_lowering_makes_is_refuted(family: str, options: dict[str, str]) -> None:
    for program in corpus.programs(family):
        for number, module in enumerate(lowered(program, **options)):
            if (program.name, number) not in RACING:
                found = check_program(module["main"]).refuted
                refuted = [one for one in found if one.kind != "rule"]
                assert not refuted, f"{program.name} {number}: {refuted[0]}"
