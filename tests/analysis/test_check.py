"""te_sched.analysis.check: all verdicts of a program, as data and as text."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.analysis import Finding, Findings, check
from te_sched.analysis.judge import check_program
from te_sched.errors import BuildError, LoweringError
from te_sched.script import from_source
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


ARGUMENTS = 'A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")'


def hints(body: str) -> tuple[Finding, ...]:
    text = f"@T.prim_func\ndef main({ARGUMENTS}):\n{indent(dedent(body), '    ')}"
    findings = check(from_source(text))
    assert not findings.refuted
    return findings.hints


SUM = """
    for i, k in T.grid(8, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk]
    """
STORE = "            C[vi] ="
INIT = """
            with T.init():
                C[vi] = 0.0
"""
CLEAR = """
    for i in range(8):
        C[i] = 0.0
    """
VIEW = """
    for i, k in T.grid(8, 8):
        with T.block("outer"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk], C[vi])
            T.writes(C[vi])
            D = T.match_buffer(C[vi], (), offset_factor=1)
            with T.block("C"):
                vu = T.axis.reduce(1, 0)
                D[()] = T.max(D[()], A[vi, vk])
    """


def test_a_reduction_into_an_argument_without_init_is_a_hint() -> None:
    (hint,) = hints(SUM)
    assert hint.message == "block C adds to what argument C contains"
    assert "T.init()" in hint.help
    assert (hint.kind, hint.verdict, hint.buffer) == ("initialized", "hint", "C")


def test_a_reduction_through_a_view_is_a_hint() -> None:
    assert [hint.message for hint in hints(VIEW)] == [
        "block outer updates what argument C contains"
    ]


@pytest.mark.parametrize(
    "body",
    [dedent(CLEAR) + dedent(SUM), SUM.replace(STORE, INIT + STORE)],
)
def test_a_reduction_that_begins_with_a_value_has_no_hint(body: str) -> None:
    assert hints(body) == ()


def test_a_parallel_loop_inside_of_another_one_is_a_hint() -> None:
    body = """
    for i in T.parallel(8):
        C[i] = 0.0
        for k in T.parallel(8):
            for j in range(1):
                A[i, k] = 0.0
    """
    findings = hints(body)
    assert [hint.message for hint in findings] == ["parallel loop k is inside of parallel loop i"]
    assert "fuse i and k" in findings[0].help


def test_hints_of_schedules_speak_of_axes() -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    for axis in B.op.axis:
        s[B].parallel(axis)
    findings = check(s, [A, B])
    assert str(findings).splitlines()[0].endswith(" proved, 1 hint")
    assert findings.hints[0].message == "parallel axis j is inside of parallel axis i"


def test_stores_that_writes_does_not_list_are_a_hint() -> None:
    body = """
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.writes(A[vi, 0])
            C[vi] = A[vi, 0]
    """
    (hint,) = hints(body)
    assert hint.message == "block C stores in buffer C, which T.writes does not list"
    assert hint.why.startswith("it lists A;")
    assert "block C (declared at " in hint.where


def test_views_and_own_buffers_need_not_be_listed() -> None:
    body = """
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.writes(C[vi])
            D = T.alloc_buffer((1,))
            E = T.match_buffer(C[vi], (), offset_factor=1)
            D[0] = A[vi, 0]
            E[()] = D[0]
    """
    assert hints(body) == ()
