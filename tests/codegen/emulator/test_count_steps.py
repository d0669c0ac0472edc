"""Kernels that never end are stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config
from te_sched.codegen.emulator.count_steps import count_steps
from te_sched.codegen.target import as_target
from te_sched.errors import TeSchedError
from te_sched.ir import expr as E
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.checker import kernels as k


def run(build: Callable[..., None], values: np.ndarray, limit: int) -> np.ndarray:
    """A kernel of one array, on the emulated device."""
    program = k.program(build, [k.array("A", values.size, str(values.dtype))], bx=2, tx=32)
    array = te_sched.nd.array(values, te_sched.emulated_cuda(0))
    with config.scoped(max_steps=limit):
        CudaModule(program, as_target("cuda"))(array)
    return array.numpy()


def halves(ib: Any, A: Any, bx: E.Var, tx: E.Var) -> None:
    with ib.while_loop(A[bx * 32 + tx] < E.FloatImm(1.0)):
        A[bx * 32 + tx] = A[bx * 32 + tx] * E.FloatImm(2.0)


def test_endless_loop_is_stopped() -> None:
    values = np.ones(64, "float32")
    values[37] = 0  # of all threads one
    with pytest.raises(TeSchedError, match=r"main_kernel.*1000 steps(.|\n)*TE_SCHED_MAX_STEPS"):
        run(halves, values, 1000)


def test_each_thread_has_its_own_steps() -> None:
    values = np.full(64, 2.0**-90, "float32")
    np.testing.assert_array_equal(run(halves, values, 100), np.ones(64))
    with pytest.raises(TeSchedError, match="80 steps"):
        run(halves, values, 80)


def loaded(ib: Any, A: Any, bx: E.Var, tx: E.Var) -> None:
    with (
        ib.for_range(0, A[bx * 32 + tx], name="i"),
        ib.for_range(0, A[bx * 32 + tx], name="j"),
    ):
        A[0] = A[0]


def test_loop_over_a_loaded_extent_is_stopped() -> None:
    values = np.zeros(64, "int32")
    values[40] = 2**30
    with pytest.raises(TeSchedError, match="5000 steps"):
        run(loaded, values, 5000)
    values[40] = 50
    run(loaded, values, 5000)


def across(ib: Any, A: Any, bx: E.Var, tx: E.Var) -> None:
    with ib.while_loop(A[0] < E.FloatImm(1.0)):
        k.wait(ib)
        A[tx] = A[tx] * E.FloatImm(0.5)
        k.wait(ib)


def test_endless_loop_round_a_barrier_is_stopped() -> None:
    with pytest.raises(TeSchedError, match="300 steps"):
        run(across, np.zeros(64, "float32"), 300)


def test_constant_loops_are_not_counted() -> None:
    def build(ib: Any, A: Any, tx: E.Var) -> None:
        with ib.for_range(0, 8, name="i") as i, ib.for_range(0, i + tx, name="j") as j:
            A[tx] = A[tx] + j.astype("float32")

    kernel = k.program(build, [k.array("A", 32)], tx=32)["main_kernel"]
    assert count_steps(kernel, 1) is kernel
