"""Hints about programs that are legal, but perhaps not what was meant."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from te_sched import te
from te_sched.analysis import Finding, check
from te_sched.script import from_source

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
