"""A golden proves that text did not change, not that it is right: so what can run, is run."""

from __future__ import annotations

import itertools

import pytest

import te_sched
from te_sched.errors import BuildError
from tests.golden import corpus, execution

CASES = [
    pytest.param(program, step, id=f"{program.name}-{step}")
    for program in corpus.programs("primitives", "gemm_gpu")
    for step in range(len(program.golden("script")))
]


@pytest.mark.parametrize(("program", "step"), CASES)
def test_step_computes_what_numpy_does_or_is_refused(program, step):
    schedule, args = next(itertools.islice(program.steps(te_sched), step, None))
    if execution.why_not_on_cpu(schedule, program.golden("script")[step]) is None:
        execution.run(te_sched, program.module, schedule, args)
    else:
        with pytest.raises(BuildError):
            te_sched.build(schedule, args, target="llvm")


@pytest.mark.parametrize(
    ("name", "step", "reason"),
    [
        ("14_bind", 1, "loops are bound to blockIdx.x, threadIdx.x"),
        ("15_parallel", 1, "parallel over the reduction axis l would race"),
        ("20_set_store_predicate", 1, "no loop binds threadIdx_x"),
    ],
)
def test_reason_not_to_run_is_read_off_the_program(name, step, reason):
    program = next(one for one in corpus.programs("primitives") if one.name == name)
    schedule, _ = next(itertools.islice(program.steps(te_sched), step, None))
    assert execution.why_not_on_cpu(schedule, program.golden("script")[step]) == reason
