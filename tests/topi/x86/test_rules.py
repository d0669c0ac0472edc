"""Schedules for processors are parallel and vectorized."""

from __future__ import annotations

import numpy as np

import te_sched as tvm
from te_sched import te, topi
from tests.topi.running import Case, check
from tests.topi.scheduled import (
    ALL,
    A,
    lowered,
    plain,
)


@ALL
def test_x86_schedule_computes_the_same(one: Case, name: str) -> None:
    check(one, getattr(topi.x86, f"schedule_{name}"))


def test_x86_injective_is_parallel_and_vectorized() -> None:
    text = str(lowered(plain("exp", topi.exp, A), topi.x86, "injective"))
    assert "T.parallel(12)" in text
    assert "16" in text.split("T.parallel(12)")[1]


def test_outputs_that_others_read_are_kept() -> None:
    x = te.placeholder((12, 32), name="x")
    first = topi.exp(x)
    second = topi.nn.relu(first)
    s = topi.x86.schedule_injective([first, second])
    function = tvm.build(s, [x, first, second])
    arrays = [tvm.nd.array(array.copy()) for array in (A, A, A)]
    function(*arrays)
    np.testing.assert_allclose(arrays[1].numpy(), np.exp(A), rtol=1e-5)
