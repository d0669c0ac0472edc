"""A golden proves that text did not change, not that it is right: so what can run, is run."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import te_sched
from te_sched.errors import BuildError
from tests.golden import corpus, execution
from tests.golden.smaller import sized

PROGRAMS = [pytest.param(one, id=f"{one.family}-{one.name}") for one in corpus.programs()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_steps_compute_what_numpy_does_or_are_refused(program):
    scripts, module = program.golden("script"), sized(program)
    for step, (schedule, args) in enumerate(module.steps(te_sched)):
        try:
            run_or_be_refused(program.name, module, step, schedule, args, scripts[step])
        except BaseException as error:
            error.add_note(f"in step {step}")
            raise


def run_or_be_refused(name, module, step, schedule, args, script):
    reason = execution.why_not_on_cpu(schedule, script)
    if reason is None or name in REPAIRED:
        execution.run(te_sched, module, schedule, args, step)
        return
    with pytest.raises(BuildError, match="help: "):
        te_sched.build(schedule, args, target="llvm")
    if reason.startswith("loops are bound to"):
        refusal = NOT_ON_GPU.get((name, step))
        if refusal is None:
            execution.run(te_sched, module, schedule, args, step, "cuda")
        else:
            with pytest.raises(BuildError, match=refusal):
                te_sched.build(schedule, args, target="cuda")


# What the text allocates outside of the loop that its extent depends on; once the loop is cut, as
# `build` does, memory is made in each part.
REPAIRED = ("r20080",)
NOT_ON_GPU = {
    ("05_compute_at", 0): "is computed outside of the kernels",
    ("07_compute_root", 1): "is computed outside of the kernels",
    ("14_bind", 1): "cannot bind reduction axis",  # and blocks cannot wait for each other
    ("depthwise_conv_gpu", 0): "is allocated outside of the kernels",
    ("gemm_gpu_registers", 0): "exists inside of a kernel alone",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_says_what_numpy_computes(program):
    found = program.module
    assert hasattr(found, "reference") != hasattr(found, "references")
    assert not hasattr(found, "references") or len(found.references) == program.step_count


REASONS = {
    ("14_bind", 1): "loops are bound to blockIdx.x, threadIdx.x",
    ("15_parallel", 1): "parallel over the reduction axis l would race",
    ("20_set_store_predicate", 1): "no loop binds threadIdx_x",
    ("r20080", 0): "no loop binds i_j_fused_outer",  # allocated outside of it
    ("r20105", 0): None,  # a variable of a let expression
    ("scan_cumsum", 0): None,  # variables of the shapes
    ("unroll_pragmas", 2): None,  # a mark that names a loop inside
}


@pytest.mark.parametrize(("name", "step"), REASONS)
def test_reason_not_to_run_is_read_off_the_program(name, step):
    program = next(one for one in corpus.programs() if one.name == name)
    schedule, _ = next(itertools.islice(program.steps(te_sched), step, None))
    reason = execution.why_not_on_cpu(schedule, program.golden("script")[step])
    assert reason == REASONS[name, step]


def test_249_of_341_steps_run():
    reasons = [
        execution.why_not_on_cpu(schedule, script)
        for one in corpus.programs()
        for (schedule, _), script in zip(one.steps(te_sched), one.golden("script"), strict=True)
    ]
    bound = [reason for reason in reasons if reason and reason.startswith("loops are bound to")]
    assert (len(reasons), reasons.count(None), len(bound)) == (341, 249, 88)


def test_gap_in_an_output_shows():
    tensor = SimpleNamespace(shape=(2, 3), dtype="float32")
    untouched = execution.untouched_array(tensor)
    with pytest.raises(AssertionError):
        execution.difference(untouched, np.zeros_like(untouched))
