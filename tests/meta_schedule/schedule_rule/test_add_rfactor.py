"""Reductions in parts."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    product,
    row_sums,
    space,
    steps,
    uniform,
)


def test_add_rfactor_factors_either_loop() -> None:
    spaces = space(row_sums(), rules.AddRFactor(16, 64))
    assert ["rfactor" in steps(sch) for sch in spaces] == [False, True, True]
    a = uniform(4, 64)
    for sch in spaces:
        out = te_sched.nd.array(np.zeros(4, "float32"))
        te_sched.build(sch.mod)(te_sched.nd.array(a), out)
        np.testing.assert_allclose(out.numpy(), a.sum(1), rtol=1e-4)


@pytest.mark.parametrize(("n", "depth", "count"), [(2, 64, 3), (16, 4, 1), (64, 64, 1)])
def test_add_rfactor_needs_few_parallel_iterations(n: int, depth: int, count: int) -> None:
    assert len(space(product(n, 2, depth), rules.AddRFactor(16, 64))) == count
