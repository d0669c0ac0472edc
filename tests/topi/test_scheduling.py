"""Schedules of all targets compute the same, and keep outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched as tvm
from te_sched import te, topi
from te_sched.analysis.schedules.legality import check_legality
from te_sched.errors import ScheduleError
from te_sched.topi import nn
from tests.topi.running import Case, check
from tests.topi.scheduled import (
    ALL,
    A,
)


@ALL
def test_generic_schedule_computes_the_same(one: Case, name: str) -> None:
    if hasattr(topi.generic, f"schedule_{name}"):
        check(one, getattr(topi.generic, f"schedule_{name}"))


def test_extern_reads_what_is_not_inlined() -> None:
    x = te.placeholder((12, 32), name="x")
    y = topi.exp(x)

    def body(ins: Any, outs: Any) -> Any:
        ib = tvm.tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 12 * 32) as i:
            target[i] = source[i] * 2.0
        return ib.get()

    z = te.extern((12, 32), [y], body, dtype="float32")
    for target in (topi.generic, topi.x86):
        function = tvm.build(target.schedule_extern(z), [x, z])
        out = tvm.nd.array(np.zeros((12, 32), "float32"))
        function(tvm.nd.array(A), out)
        np.testing.assert_allclose(out.numpy(), np.exp(A) * 2, rtol=1e-5)


@pytest.mark.parametrize("target", [topi.generic, topi.x86, topi.cuda])
def test_symbolic_shapes_can_be_scheduled(target: Any) -> None:
    n, m = te.var("n"), te.var("m")
    x, w = te.placeholder((n, m), name="x"), te.placeholder((20, m), name="w")
    for out, inputs in (
        (nn.dense(x, w), [x, w]),
        (topi.sum(topi.exp(x), 1), [x]),
        (nn.softmax(x), [x]),
    ):
        s = target.schedule_dense(out)
        check_legality(s)
        assert tvm.lower(s, [*inputs, out])


def test_schedule_rejects_what_is_no_output() -> None:
    with pytest.raises(ScheduleError, match="a str is not an output"):
        topi.generic.schedule_injective("relu")


@pytest.mark.parametrize("target", [topi.x86, topi.cuda])
def test_modules_of_targets_have_the_operators(target: Any) -> None:
    X, W = te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 5, 5))
    out = nn.relu(target.conv2d_nchw(X, W, 1, 2, 1))
    assert tuple(map(int, out.shape)) == (1, 4, 8, 8)
    assert len(target.schedule_conv2d_nchw([out])[out].leaf_iter_vars) >= 4
