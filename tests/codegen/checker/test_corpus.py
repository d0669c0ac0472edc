"""The corpus's programs with threads have no findings, and give numpy's results under watch."""

import numpy as np
import pytest

from te_sched.codegen.checker import check_program
from tests.golden import execution
from tests.golden.steps import device_programs, with_threads


@pytest.mark.parametrize("program", with_threads(), ids=lambda one: one.name)
def test_corpus_has_no_findings(program):
    for step, args, module in device_programs(program):
        for sizes in getattr(program.module, "sizes", ({},)):
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
