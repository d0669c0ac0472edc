"""The trace of every known program is a Python program that makes the same schedule."""

import pytest

import te_sched
from tests.golden.corpus import programs, text_of


@pytest.mark.parametrize(
    "program", programs("primitives", "gemm_gpu", "programs"), ids=lambda one: one.name
)
def test_trace_runs_and_gives_the_same_program(program):
    for (s, args), text in zip(program.steps(te_sched), program.golden("script"), strict=True):
        names = s.trace.names()
        exec(str(s.trace), names)
        again = names["s"]
        assert str(again.trace) == str(s.trace)
        assert text_of(te_sched.lower(again, args, simple_mode=True), "script") == text
