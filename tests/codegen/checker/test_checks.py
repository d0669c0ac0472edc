"""The checked mode reports what a program checks itself, once, and counts what a GPU does alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te, tir
from te_sched.codegen.checker import Report, ViolationKind, check_program
from te_sched.errors import BuildError, CallError
from tests.codegen.checker import kernels as k
from tests.codegen.emulator.kernels import gathered, written


def check(module: Any, index: int, rank: int = 1) -> Report:
    indices = np.zeros(64, "int32")
    indices[5] = index
    table = np.ones((64,) * rank, "float32")
    report: Report = module.check(table, indices, np.zeros_like(table))
    return report


@pytest.mark.parametrize("index", [64, -1, 10**9, -(2**31)])
@pytest.mark.parametrize("rank", [1, 2])
def test_index_outside_is_found(rank: int, index: int) -> None:
    module = te_sched.build(*gathered(rank), target="cuda")
    assert check(module, 63, rank).ok
    first = check(module, index, rank).findings[0]
    assert (first.kind, first.buffer, first.index) == (ViolationKind.OUT_OF_BOUNDS, "A", index)
    assert first.thread.thread == (5, 0, 0)
    assert first.detail == f"A has the indices 0 to 63 in dimension {rank - 1}"


def test_index_outside_is_found_once() -> None:
    module = te_sched.build(*gathered(), target="cuda")
    assert [one.count for one in check(module, 64).findings] == [1]


def test_checks_are_not_counted() -> None:
    checked = te_sched.build(*gathered(2), target="cuda")
    with config.scoped(check_accesses=False):
        bare = te_sched.build(*gathered(2), target="cuda")
    assert check(checked, 7, 2).counters == check(bare, 7, 2).counters


def test_index_that_a_loop_changes() -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        at = ib.allocate("int32", 1, "at", scope="local")
        at[0] = I[tx]
        with ib.while_loop(A[at[0]] > 0.5):
            at[0] = at[0] + 1
        B[tx] = A[at[0]]

    arrays = np.ones(256, "float32"), np.arange(256, dtype="int32"), np.zeros(256, "float32")
    report = written(body).check(*arrays)
    assert {one.kind for one in report.findings} == {ViolationKind.OUT_OF_BOUNDS}


@pytest.mark.parametrize("sizes", [(-1, 32), (2, -1), (-(2**31), -(2**31))])
def test_negative_threads_of_a_call(sizes: tuple[int, int]) -> None:
    blocks, threads = (tir.Var(name, "int32") for name in ("blocks", "threads"))
    ib = tir.ir_builder.create()
    buffer = tir.decl_buffer((64,), "float32", "B")
    for tag, extent in (("blockIdx.x", blocks), ("threadIdx.x", threads)):
        ib.scope_attr(te.thread_axis(tag), "thread_extent", extent)
    ib.buffer_ptr(buffer)[0] = 1.0
    handle = tir.Var("B", "handle")
    func = tir.PrimFunc([handle, blocks, threads], ib.get(), {handle: buffer})
    module = te_sched.build(func.with_attr("global_symbol", "main"), target="cuda")
    values = np.zeros(64, "float32")
    for call in (module.check, module):
        array = (
            values if call == module.check else te_sched.nd.array(values, te_sched.emulated_cuda(0))
        )
        with pytest.raises(CallError, match=r"Idx.x = \w+, which is negative"):
            call(array, *sizes)
    assert module.check(values, 0, 32).ok


def test_packed_function_of_a_user_is_refused() -> None:
    def build(ib: Any, C: Any, tx: Any) -> None:
        C[tx] = 1.0
        ib.emit(tir.call_packed("some.function", tx))

    program = k.program(build, [k.array("C", 32)], tx=32)
    with pytest.raises(BuildError, match=r"a call of the packed function .*some\.function"):
        check_program(program, [np.zeros(32, "float32")])
