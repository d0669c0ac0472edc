"""The corpus's kernels need each of their barriers: without it, threads race."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.golden import execution
from tests.golden.steps import device_programs, with_threads
from tests.lowering.device.barriers import unreported

BLOCKS = 2  # of products


@pytest.mark.parametrize("program", with_threads(), ids=lambda one: one.name)
def test_every_barrier_is_needed(program: Any) -> None:
    generator = np.random.default_rng(0)
    for step, args, module in device_programs(program):
        sizes: dict[str, int] = getattr(program.module, "sizes", ({},))[0]
        inputs, outputs = execution.inputs_and_outputs(args)
        values = [execution.random_array(tensor, generator, sizes) for tensor in inputs]
        if hasattr(program.module, "inputs"):
            values = program.module.inputs(np, generator, step, *values)
        values += [execution.untouched_array(tensor, sizes) for tensor in outputs]
        arrays = execution._in_order(args, [*inputs, *outputs], values)
        most = BLOCKS if program.name.startswith("gemm_gpu") else None
        assert unreported(module, arrays, max_blocks=most)[1] == [], f"step {step}"
