"""The trace of every known program is a Python program that makes the same schedule."""

import pytest

import te_sched
from tests.golden.corpus import programs


@pytest.mark.parametrize(
    "program", programs("primitives", "gemm_gpu", "programs"), ids=lambda one: one.name
)
def test_trace_runs_and_gives_the_same_program(program):
    for s, args in program.steps(te_sched):
        names = s.trace.names()
        exec(str(s.trace), names)
        again = names["s"]
        assert str(again.trace) == str(s.trace)
        assert str(te_sched.lower(again, args)) == str(te_sched.lower(s, args))
