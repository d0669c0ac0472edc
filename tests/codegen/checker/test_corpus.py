"""The corpus's programs with threads have no findings, and give numpy's results under watch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.codegen.checker import check_program
from te_sched.errors import BuildError
from te_sched.ir.stmt import IRModule
from te_sched.lower.device.pipeline import device_passes
from tests.golden import execution
from tests.golden.smaller import sized
from tests.golden.steps import thread_bound_steps, with_threads


def kernels(schedule: Any, args: Sequence[Any]) -> IRModule | None:
    """The program, or None where it is refused (tests of the passes say why)."""
    try:
        return device_passes(te_sched.lower(schedule, list(args), name="main")["main"])
    except BuildError:
        return None


@pytest.mark.parametrize("program", with_threads(), ids=lambda one: one.name)
def test_corpus_has_no_findings(program):
    for step, schedule, args in thread_bound_steps(program, sized(program)):
        module = kernels(schedule, args)
        for sizes in getattr(program.module, "sizes", ({},)) if module is not None else ():
            check(program.module, module, args, step, sizes)


def check(program, module, args, step, sizes):
    inputs, outputs = execution.inputs_and_outputs(args)
    generator = np.random.default_rng(0)
    values = [execution.random_array(tensor, generator, sizes) for tensor in inputs]
    if hasattr(program, "inputs"):
        values = program.inputs(np, generator, step, *values)
    untouched = [execution.untouched_array(tensor, sizes) for tensor in outputs]
    arrays = [*values, *untouched]
    report = check_program(module, execution._in_order(args, [*inputs, *outputs], arrays))
    assert report.ok, str(report)
    expected = execution._reference(program, step)(np, *values)
    for result, wanted in zip(untouched, expected, strict=True):
        execution.difference(result, wanted)
