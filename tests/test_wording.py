"""Messages about a program use its words: stages and `te.`, or blocks and `T.`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.analysis import check
from te_sched.errors import AccessError, BuildError, ScriptError, TeSchedError, TruthError
from te_sched.script import from_source
from te_sched.wording import BLOCKS, STAGES, by_name, worded, wording, words_for

OF_STAGES = re.compile(r"\bstages?\b|\bte\.|\bax[ie]s\b|\bs\[|thread_axis")


def script(body: str, parameters: str = "") -> Any:
    """A function of A and B, of 8 elements, with these statements."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    types = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")' + parameters
    return from_source(f"@T.prim_func\ndef main({types}):\n{lines}")


RACE = """
for i in T.parallel(8):
    B[0] = B[0] + A[i]
"""
VECTORS = """
for i in T.vectorized(8):
    B[0] = A[i]
"""
OUTSIDE = """
for i in range(9):
    B[i] = A[i]
"""
UNWRITTEN = """
C = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + C[vi]
"""
RESET = """
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SS", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vk]
"""
HOST = """
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
"""
SHARED = """
C = T.alloc_buffer((8,), scope="shared")
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi]
for i in T.thread_binding(8, thread="threadIdx.x"):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = C[vi]
"""
LONG = """
for i in T.thread_binding(8192, thread="threadIdx.x"):
    B[i % 8] = A[i % 8]
"""


@pytest.mark.parametrize(
    ("body", "target", "fault"),
    [
        (RACE, "llvm", "data race on B between iterations of parallel loop i"),
        (VECTORS, "llvm", "data race on B between iterations of vectorized loop i"),
        (OUTSIDE, "llvm", "program reads A at 8 in dimension 0"),
        (UNWRITTEN, "llvm", "buffer C is read before it is written"),
        (HOST, "cuda", "buffer B is computed outside of the kernels"),
        (SHARED, "cuda", 'buffer C in scope "shared" is allocated outside of the kernels'),
        (LONG, "cuda", "extent of threadIdx.x in kernel"),
    ],
)
def test_programs_of_blocks_have_buffers_and_loops(body: str, target: str, fault: str) -> None:
    with pytest.raises(BuildError, match=f"^{re.escape(fault)}") as caught:
        te_sched.build(script(body), target=target, verify=body is not LONG)
    error = caught.value
    where = ", ".join(map(str, error.about[:-1]))
    assert OF_STAGES.search("\n".join([error.fault, error.why, error.help, where])) is None


def test_faults_of_blocks_are_about_blocks() -> None:
    with pytest.raises(BuildError, match="block B has") as caught:
        te_sched.build(script(RESET))
    assert caught.value.names("block") == ["B"]


def test_findings_keep_the_words_of_their_program() -> None:
    (finding,) = check(script(RACE)).refuted
    assert re.search(r"where: buffer B \(.*\), loop i", str(finding))
    assert "words" not in check(script(RACE)).records()[0]


def schedule_of_stages() -> te.Schedule:
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((9,), lambda i: B[i], name="C")
    return te.create_schedule(C.op)


def arguments_of(s: te.Schedule) -> list[te.Tensor]:
    """The input and the result of a schedule."""
    return [one.op.output(0) for one in (s.stages[0], s.stages[-1])]


def test_programs_of_stages_have_stages() -> None:
    s = schedule_of_stages()
    with pytest.raises(BuildError, match=r"te\.if_then_else") as caught:
        te_sched.build(s, arguments_of(s))
    assert caught.value.names("stage") == ["C"]


def test_checks_at_run_time_have_the_words_of_the_program() -> None:
    func = from_source(
        """
@T.prim_func
def main(N: T.Buffer((8,), "int32"), A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[N[i]]
"""
    )
    numbers = te_sched.nd.array(np.full(8, 9, "int32"))
    values = te_sched.nd.array(np.zeros(8, "float32"))
    with pytest.raises(AccessError, match="read A at 9") as caught:
        te_sched.build(func)(numbers, values, te_sched.nd.array(np.zeros(8, "float32")))
    assert "T.if_then_else(condition, A[...]" in caught.value.help
    assert "the computation of buffer B" in caught.value.where


@pytest.mark.parametrize(
    ("expression", "help"),
    [
        ("A[i] / 2 + i / 2", "T.floordiv"),
        ("A[i] ** 2", "use T.pow"),
        ("round(A[i]) + math.floor(A[i])", "T.round"),
        ("T.clz(A[i])", "T.reinterpret"),
        ('T.infinity("int32")', "T.max_value"),
        ("T.float32(min(i, 4))", "T.if_then_else"),
    ],
)
def test_expressions_of_scripts_are_advised_words_of_scripts(expression: str, help: str) -> None:
    with pytest.raises(ScriptError) as caught:
        script(f"for i in range(8):\n    B[i] = {expression}")
    assert "te." not in caught.value.help
    assert help in caught.value.help


@pytest.mark.parametrize(
    "action", [lambda: bool(te.var("n") > 0), lambda: te.var("n") / 2, lambda: te.var("n") ** 2]
)
def test_expressions_of_tensors_are_advised_words_of_te(action: Callable[[], Any]) -> None:
    with pytest.raises(TeSchedError, match=r"te\.") as caught:
        action()
    assert "T." not in caught.value.help


def test_words_are_those_of_the_innermost_program() -> None:
    assert wording() is STAGES
    with worded(BLOCKS):
        assert str(by_name("C")) == "the computation of buffer C"
        with worded(STAGES):
            assert str(by_name("C")) == "stage C"
    with pytest.raises(TruthError, match=r"use `and`"), worded(BLOCKS):
        bool(te.var("n") > 0)


def test_words_follow_from_the_origin_of_functions() -> None:
    s = schedule_of_stages()
    lowered = te_sched.lower(s, arguments_of(s))["main"]
    assert words_for([lowered]) is STAGES
    assert words_for([lowered, script(HOST)]) is BLOCKS
    assert words_for([tir.Schedule(script(HOST)).mod["main"]]) is BLOCKS


def test_both_kinds_of_words_are_complete() -> None:
    assert all([*STAGES, *BLOCKS])
    assert OF_STAGES.search("\n".join(BLOCKS)) is None
