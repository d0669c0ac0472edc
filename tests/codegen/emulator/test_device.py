"""The emulated device as users see it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te
from te_sched.errors import CallError

DEVICE = te_sched.emulated_cuda(0)


def doubled() -> tuple[Any, list[Any]]:
    """B = A * 2 for any number of elements, in blocks of 64."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=64)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [A, B]


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000])
def test_symbolic_grid(size: int) -> None:
    function = te_sched.build(*doubled(), target="cuda")
    values = np.random.default_rng(0).random(size, "float32")
    a, b = te_sched.nd.array(values, DEVICE), te_sched.nd.empty((size,), "float32", DEVICE)
    function(a, b)
    np.testing.assert_array_equal(b.numpy(), values * 2)


def test_cuda_is_emulated_where_asked() -> None:
    with config.scoped(emulate=True):
        device = te_sched.cuda(0)
        assert device.exist
        assert device.max_threads_per_block == 1024
        assert str(device) == "cuda(0, emulated)"
    assert te_sched.device("cuda", 0).emulated is False


def test_arrays_of_the_processor_are_refused() -> None:
    function = te_sched.build(*doubled(), target="cuda")
    values = np.zeros(4, "float32")
    with pytest.raises(CallError, match=r"in the processor's memory(.|\n)*emulated_cuda"):
        function(values, values)


def test_processors_functions_refuse_arrays_of_the_device() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    function = te_sched.build(te.create_schedule(B.op), [A, B], target="llvm")
    array = te_sched.nd.empty((4,), "float32", DEVICE)
    with pytest.raises(CallError, match="memory of an emulated CUDA device"):
        function(array, array)


def test_temporaries_between_kernels() -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 16), lambda i, j: B[7 - i, 15 - j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        s[stage].bind(stage.op.axis[0], te.thread_axis("blockIdx.x"))
        s[stage].bind(stage.op.axis[1], te.thread_axis("threadIdx.x"))
    function = te_sched.build(s, [A, C], target="cuda")
    assert list(function.kernels) == ["main_kernel", "main_kernel_1"]
    values = np.random.default_rng(0).random((8, 16), "float32")
    a, c = te_sched.nd.array(values, DEVICE), te_sched.nd.empty((8, 16), "float32", DEVICE)
    function(a, c)
    np.testing.assert_array_equal(c.numpy(), ((values + 1) * 2)[::-1, ::-1])


def test_two_threads_call_one_function() -> None:
    function = te_sched.build(*doubled(), target="cuda")
    wrong: list[int] = []

    def call(size: int) -> None:
        values = np.full(size, size, "float32")
        a, b = te_sched.nd.array(values, DEVICE), te_sched.nd.empty((size,), "float32", DEVICE)
        for _ in range(20):
            function(a, b)
            if not np.array_equal(b.numpy(), values * 2):
                wrong.append(size)

    callers = [threading.Thread(target=call, args=(size,)) for size in (100, 300)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_time_evaluator_runs_there() -> None:
    function = te_sched.build(*doubled(), target="cuda")
    a, b = (te_sched.nd.empty((64,), "float32", DEVICE) for _ in range(2))
    assert function.time_evaluator("main", DEVICE, number=2)(a, b).mean > 0
