"""The host's side of launches, with a driver that only writes down what it is asked."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, te, tir
from te_sched.errors import CallError
from te_sched.runtime import registry
from te_sched.runtime.cuda_module import CudaFunction, CudaModule
from tests.runtime.cuda_programs import N, arrays, check_temporary, plus_one
from tests.runtime.fake_cuda import CONTEXT, FakeArray, FakeDriver
from tests.runtime.fake_cuda import driver as driver

make_module = CudaModule.__init__  # as it is where nothing keeps the modules that are made


def test_host_launches_kernels_with_their_arguments(driver: FakeDriver) -> None:
    n = te.var("n")
    A = te.placeholder((n, N), name="A")
    B = te.compute((n, N), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((n, N), lambda i, j: B[i, N - 1 - j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        s[stage].bind(stage.op.axis[0], te.thread_axis("blockIdx.x"))
        s[stage].bind(stage.op.axis[1], te.thread_axis("threadIdx.x"))
    a, c = arrays()
    te_sched.build(s, [A, C], "cuda")(a, c)
    first, second = driver.named("cuLaunchKernel")
    for launch in (first, second):
        assert launch[1:9] == (5, 1, 1, N, 1, 1, 0, 0)
        assert launch[11] == CONTEXT  # of cuda(0), and none after the call
    assert driver.current.context == 0
    assert driver.named("alloc") == [(5 * N * 4, 0, 0)]
    assert a.address in first[-1]
    assert c.address in second[-1]
    assert len(set(first[-1]) & set(second[-1])) >= 1  # the temporary


def test_empty_grids_are_not_launched(driver: FakeDriver) -> None:
    plus_one()(*arrays(0))
    assert driver.named("cuLaunchKernel") == []


def test_arrays_of_others_are_taken_in_place(driver: FakeDriver) -> None:
    a, b = (np.zeros((5, N), "float32") for _ in range(2))
    plus_one()(FakeArray(a), FakeArray(b))
    assert {a.ctypes.data, b.ctypes.data} <= set(driver.named("cuLaunchKernel")[0][-1])
    assert FakeArray.asked == 1  # the default stream, as DLPack numbers it


def test_arrays_with_cudas_interface_alone_are_taken(driver: FakeDriver) -> None:
    class Described:
        def __init__(self, readonly: bool = False) -> None:
            self.values = np.zeros((5, N), "float32")
            place = (self.values.ctypes.data, readonly)
            self.__cuda_array_interface__ = {
                **{"shape": (5, N), "typestr": "<f4", "data": place, "version": 3}
            }

    plus_one()(Described(readonly=True), Described())
    assert driver.named("cuLaunchKernel")[0][11] == CONTEXT + 1  # where its memory is
    with pytest.raises(CallError, match="its memory is read-only"):
        plus_one()(Described(), Described(readonly=True))


def wrong(kind: str) -> list[Any]:
    a, b = arrays()
    odd = np.zeros(5 * N + 64, "float32")
    odd = odd[(4 - odd.ctypes.data % 64) % 64 // 4 :][: 5 * N].reshape(5, N)
    return {
        "processor": [np.zeros((5, N), "float32"), np.zeros((5, N), "float32")],
        "one": [a, np.zeros((5, N), "float32")],
        "other": [a, arrays(device=1)[1]],
        "emulated": [a, nd.empty((5, N), "float32", nd.emulated_cuda(0))],
        "shape": [a, nd.empty((5, N + 1), "float32", nd.cuda(0))],
        "dtype": [nd.empty((5, N), "int32", nd.cuda(0)), b],
        "misaligned": [FakeArray(odd), b],
    }[kind]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "processor",
            r"is in the processor's memory[^$]*te_sched.nd.array\(x, te_sched.cuda\(0",
        ),
        ("one", r"argument B is in the processor's memory"),
        ("other", r"is in memory of cuda\(1\), expected memory of cuda\(0\)"),
        ("emulated", "is in memory of an emulated CUDA device"),
        ("shape", r"has shape \(5, 65\), expected 64 along axis 1"),
        ("dtype", "has dtype int32, expected float32"),
        ("misaligned", "not aligned to 16 bytes"),
    ],
)
def test_wrong_arrays_are_refused(driver: FakeDriver, kind: str, message: str) -> None:
    with pytest.raises(CallError, match=message):
        plus_one(vector=4)(*wrong(kind))
    assert driver.named("cuLaunchKernel") == []


def test_single_loads_need_no_alignment(driver: FakeDriver) -> None:
    plus_one()(*wrong("misaligned"))
    assert len(driver.named("cuLaunchKernel")) == 1


def test_failed_calls_give_their_memory_back(driver: FakeDriver) -> None:
    driver.fails["cuLaunchKernel"] = 1
    with pytest.raises(CallError) as error:
        test_temporary(driver)
    (module,) = {
        entry.locals["self"]._module
        for entry in error.traceback
        if isinstance(entry.locals.get("self"), CudaFunction)
    }
    assert [launcher._rooms.taken for launcher in module._launchers] == [{}]


def test_threads_share_one_module(driver: FakeDriver) -> None:
    module = plus_one()
    threads = [threading.Thread(target=module, args=tuple(arrays())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.named("cuModuleLoadData")) == 1
    assert [call[11] for call in driver.named("cuLaunchKernel")] == [CONTEXT] * 4


def test_overlapping_results_are_refused(driver: FakeDriver) -> None:
    a, _ = arrays()
    with pytest.raises(CallError, match="shares memory with argument A"):
        plus_one()(a, a)


def test_grids_beyond_the_limits_are_refused(driver: FakeDriver) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.y"))
    module = te_sched.build(s, [A, B], "cuda")
    a, b = (nd.empty((70000,), "float32", nd.cuda(0)) for _ in range(2))
    with pytest.raises(
        CallError, match=r"with blockIdx.y = n, and the device allows at most 65535"
    ):
        module(a, b)


def test_kernels_go_with_their_module(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaModule, "__init__", make_module)
    gc.collect()
    module = plus_one()
    module(*arrays())
    known = len(registry._externs)
    del module
    gc.collect()
    assert len(registry._externs) == known - 3  # the kernel, allocate and free
    assert len(driver.named("cuModuleUnload")) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats_are_passed_as_their_bits(driver: FakeDriver, dtype: str) -> None:
    x = te.var("x", dtype)
    A = te.placeholder((N,), dtype, name="A")
    B = te.compute((N,), lambda i: A[i] + x, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    a, b = (nd.empty((N,), dtype, nd.cuda(0)) for _ in range(2))
    te_sched.build(s, [A, B, x], "cuda")(a, b, 1.5)
    bits = {"float16": 0x3E00, "bfloat16": 0x3FC0}[dtype]
    assert bits in [value & 0xFFFF for value in driver.named("cuLaunchKernel")[0][-1]]


def in_blocks(shape: tuple[Any, ...], factor: int) -> CudaModule:
    """One more than each element, `factor` elements of all to a block."""
    A = te.placeholder(shape, "int8", name="A")
    B = te.compute(shape, lambda *i: A[i] + te.const(1, "int8"), name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(s[B].fuse(*B.op.axis), factor=factor)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, B], "cuda")
    assert isinstance(module, CudaModule)
    return module


def bytes_on_device(*shape: int) -> list[FakeArray]:
    """Arrays of which nothing is ever touched."""
    return [FakeArray(np.empty(shape, "int8")) for _ in range(2)]


def test_grids_that_are_more_than_int32_counts_are_refused(driver: FakeDriver) -> None:
    n, m = te.var("n"), te.var("m")
    module = in_blocks((n,), 64)
    with pytest.raises(CallError, match="as its last index, too large for int32"):
        module(*bytes_on_device(2**31 - 10))
    with pytest.raises(CallError, match="as its last index, too large for int32"):
        in_blocks((n, m), 64)(*bytes_on_device(1 << 16, 1 << 15))
    assert driver.named("cuLaunchKernel") == []
    module(*bytes_on_device(2**31 - 2**16))
    assert [launch[1] for launch in driver.named("cuLaunchKernel")] == [2**25 - 2**10]


def test_grids_of_more_than_int32_elements_are_launched(driver: FakeDriver) -> None:
    in_blocks((te.var("n", dtype="int64"),), 64)(*bytes_on_device(2**31 + 5))
    in_blocks((te.const(2**31 + 5, "int64"),), 64)(*bytes_on_device(2**31 + 5))
    assert [launch[1] for launch in driver.named("cuLaunchKernel")] == [2**25 + 1] * 2


def test_empty_launches_are_within_all_limits(driver: FakeDriver) -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, B], "cuda")
    module(*(nd.empty((0, 2000), "float32", nd.cuda(0)) for _ in range(2)))
    in_blocks((0, 8), 64)(*bytes_on_device(0, 8))
    in_blocks((0,), 64)(*bytes_on_device(0))
    assert driver.named("cuLaunchKernel") == []


@pytest.mark.parametrize("size", [te.var("n"), 2**29 + 64])
def test_large_temporaries_get_all_of_their_bytes(driver: FakeDriver, size: Any) -> None:
    A = te.placeholder((size,), "float64", name="A")
    B = te.compute((size,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((size,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        block, thread = s[stage].split(stage.op.axis[0], factor=64)
        s[stage].bind(block, te.thread_axis("blockIdx.x"))
        s[stage].bind(thread, te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, C], "cuda")
    module(*(FakeArray(np.empty(2**29 + 64, "float64")) for _ in range(2)))
    assert [call[0] for call in driver.named("alloc")] == [8 * (2**29 + 64)]


def test_temporaries_that_int32_cannot_count_are_refused(driver: FakeDriver) -> None:
    n = te.var("n")
    A = te.placeholder((n,), "int8", name="A")
    B = te.compute((n, n), lambda i, j: A[i] + A[j], name="B")
    C = te.compute((n,), lambda i: B[i, n - 1 - i], name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        s[stage].bind(stage.op.axis[0], te.thread_axis("blockIdx.x"))
    module = te_sched.build(s, [A, C], "cuda")
    with pytest.raises(CallError, match="B has n \\* n elements, which is more than int32 indices"):
        module(*bytes_on_device(65536))
    assert driver.named("alloc") == []
    module(*bytes_on_device(40000))
    assert [call[0] for call in driver.named("alloc")] == [40000**2]


@pytest.mark.parametrize("tag", ["blockIdx.x", "threadIdx.x"])
def test_grids_of_nothing_are_empty_and_negative_ones_refused(driver: FakeDriver, tag: str) -> None:
    n = te.var("n")
    A = tir.decl_buffer((n,), "int8", name="A")
    ib = tir.ir_builder.create()
    at = te.thread_axis(tag)
    ib.scope_attr(at, "thread_extent", n - 4)
    ib.buffer_ptr(A)[at] = te.const(1, "int8")
    func = tir.PrimFunc((A.data,), ib.get(), {A.data: A}, {"global_symbol": "main"})
    module = te_sched.build(func, target="cuda")
    module(*bytes_on_device(4)[:1])
    with pytest.raises(CallError, match=f"{tag} = n - 4, which is negative"):
        module(*bytes_on_device(2)[:1])
    assert driver.named("cuLaunchKernel") == []
    module(*bytes_on_device(7)[:1])
    assert len(driver.named("cuLaunchKernel")) == 1
    emulated = te_sched.nd.array(np.zeros(2, "int8"), te_sched.emulated_cuda(0))
    with pytest.raises(CallError, match="which is negative"):
        module(emulated)


def test_temporary(driver: FakeDriver) -> None:
    check_temporary(driver)
