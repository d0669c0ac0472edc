"""Arguments that overlap, of functions written by hand: what a call computes is what the loops
compute in their order, or the call is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.errors import CallError
from te_sched.ir.shared_arguments import ATTRIBUTE
from te_sched.script import from_source

N = 16
TWO = 'A: T.Buffer((16,), "{0}"), B: T.Buffer((16,), "{0}")'
THREE = TWO + ', C: T.Buffer((16,), "{0}")'


def program(body: str, arguments: str = TWO, dtype: str = "int32") -> Any:
    lines = "\n".join("    " + line for line in body.splitlines())
    return from_source(f"@T.prim_func\ndef main({arguments.format(dtype)}):\n{lines}\n")


def views(offset: int, dtype: str) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    memory = np.arange(1, 61).astype(dtype)
    return memory, (memory[20:36], memory[20 + offset : 36 + offset])


BODIES = {
    "vectorized": "for i in T.vectorized(16):\n    B[i] = A[i] + 1",
    "vectorized backwards": "for i in T.vectorized(16):\n    B[15 - i] = A[i] + 1",
    "vectorized in a loop": "for o in range(4):\n    for i in T.vectorized(4):\n"
    "        B[o * 4 + i] = A[o * 4 + i] + 1",
    "parallel": "for i in T.parallel(16):\n    B[i] = A[i] + 1",
    "parallel rows": "for o in T.parallel(4):\n    for i in range(4):\n"
    "        B[o * 4 + i] = A[o * 4 + i] + B[o * 4 + i]",
    "neighbors": "for i in T.parallel(15):\n    B[i] = A[i + 1]",
    "sums": "for o in T.vectorized(16):\n    for i in range(2):\n        B[o] = B[o] + A[i]",
    "serial": "for i in range(16):\n    B[i] = A[i] + 1",
    "unrolled": "for i in T.unroll(16):\n    B[i] = A[i] + 1",
    "two loops": "for i in T.vectorized(16):\n    A[i] = A[i] * 2\n"
    "for i in T.vectorized(16):\n    B[i] = B[i] + 1",
    "serial after parallel": "for i in T.parallel(16):\n    A[i] = A[i] * 2\n"
    "for i in range(16):\n    B[i] = A[15 - i] + 1",
    "gather": "for i in T.parallel(8):\n    B[i] = A[i] + A[A[i] % 8]",
}
# Bodies for which one array may be both arguments, or arrays may overlap anyhow.
SAME = {"vectorized", "vectorized in a loop", "parallel", "parallel rows"}
ANYHOW = {"serial", "unrolled", "two loops", "serial after parallel"}


def test_arguments_that_are_only_read_may_overlap() -> None:
    module = te_sched.build(program("for i in T.vectorized(16):\n    C[i] = A[i] + B[i]", THREE))
    a, c = np.arange(20, dtype="int32"), np.zeros(16, "int32")
    module(a[:16], a[3:19], c)
    np.testing.assert_array_equal(c, a[:16] + a[3:19])


@pytest.mark.parametrize(
    "annotation", ["software_pipeline_stage", "software_pipeline_order", "software_pipeline_none"]
)
def test_loads_ahead_of_stores(annotation: str) -> None:
    """A pipeline loads elements before earlier iterations have stored theirs."""
    has_pipeline = annotation != "software_pipeline_none"
    notes = '{"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}'
    body = f"""
for i in T.serial(16{", annotations=" + notes if has_pipeline else ""}):
    with T.block("all"):
        T.reads(A[i])
        T.writes(B[i])
        x = T.alloc_buffer((1,), "int32")
        with T.block("load"):
            T.reads(A[i])
            T.writes(x[0])
            x[0] = A[i]
        with T.block("store"):
            T.reads(x[0])
            T.writes(B[i])
            B[i] = x[0] + 1
"""
    module = te_sched.build(program(body))
    memory, arrays = views(1, "int32")
    if has_pipeline:
        with pytest.raises(CallError, match="shares memory"):
            module(*arrays[:2])
    else:
        module(*arrays[:2])
        np.testing.assert_array_equal(memory[20:37], np.arange(21, 38))


KERNEL = """
for bx in T.thread_binding(4, "blockIdx.x"):
    for tx in T.thread_binding(4, "threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(16, bx * 4 + tx)
            B[i] = A[{}] + 1
"""


def test_kernels() -> None:
    own = te_sched.build(program(KERNEL.format("i")), target="cuda")
    other = te_sched.build(program(KERNEL.format("15 - i")), target="cuda")
    device = te_sched.emulated_cuda(0)
    a = te_sched.nd.array(np.arange(N, dtype="int32"), device)
    b = te_sched.nd.array(np.zeros(N, "int32"), device)
    own(a, a)
    other(a, b)
    np.testing.assert_array_equal(a.numpy(), np.arange(N) + 1)
    np.testing.assert_array_equal(b.numpy(), np.arange(N)[::-1] + 2)
    for call in (other, other.check):
        with pytest.raises(
            CallError, match=r"^argument B, which is written, shares memory with argument A\n"
        ):
            call(a, a)
    assert own.check(a, a).ok


def test_checked_mode_refuses_what_calls_refuse() -> None:
    func = program(KERNEL.format("i")).with_attr("tir.noalias", True)
    memory = np.zeros(40, "int32")
    with pytest.raises(CallError, match="shares memory"):
        te_sched.build(func, target="cuda").check(memory[:16], memory[8:24])
    te_sched.build(func, target="cuda").check(memory[:32:2], memory[1:32:2])


def test_kernels_promise_what_calls_check() -> None:
    own = te_sched.build(program(KERNEL.format("i")), target="cuda")
    other = te_sched.build(program(KERNEL.format("15 - i")), target="cuda")
    assert "__restrict__" not in own.imported_modules[0].get_source()
    assert "__restrict__" in other.imported_modules[0].get_source()


def test_nothing_is_checked_where_nothing_runs_at_once() -> None:
    from te_sched.analysis.programs.shared_arguments import shared_arguments

    for name, body in BODIES.items():
        func = program(body)
        pairs = shared_arguments(func, func)
        if name in ANYHOW:
            assert not pairs
        else:
            assert [tuple(pair) for pair in pairs] == [(1, 0, name in SAME)], name
    assert ATTRIBUTE.startswith("te_sched.")
