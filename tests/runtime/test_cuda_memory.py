"""Arrays on a GPU, with a cupy over numpy's memory."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd
from te_sched.errors import CallError
from te_sched.runtime import cuda_memory
from tests.runtime.fake_cuda import FakeArray, FakeDriver
from tests.runtime.fake_cuda import driver as driver

GPU = nd.Device(2)
VALUES = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "bfloat16"])
def test_values_go_there_and_come_back(driver: FakeDriver, dtype: str) -> None:
    a = nd.array(VALUES, GPU, dtype)
    assert isinstance(a._array, FakeArray)
    assert (a.shape, a.ndim, a.size, len(a)) == ((2, 3), 2, 6, 2)
    assert a.address == a.__cuda_array_interface__["data"][0]
    np.testing.assert_array_equal(a.numpy(), nd.array(VALUES, nd.cpu(0), dtype).numpy())
    assert "cuda(0)" in repr(a)


def test_copies_between_devices(driver: FakeDriver) -> None:
    a = nd.array(VALUES, GPU)
    there = a.copyto(nd.cuda(1))
    assert there._array.place == 1
    for one in (a.copyto(nd.cpu(0)), a.copyto(nd.emulated_cuda(0)), there):
        np.testing.assert_array_equal(one.asnumpy(), VALUES)
    a.copyfrom(VALUES.astype("float64") + 1)
    np.testing.assert_array_equal(a.numpy(), VALUES + 1)
    np.testing.assert_array_equal(nd.empty((2, 3)).copyfrom(a).numpy(), VALUES + 1)
    with pytest.raises(CallError, match=r"cannot copy an array of shape \("):
        a.copyfrom(np.zeros(3))


def test_items_and_zeros(driver: FakeDriver) -> None:
    a = nd.zeros((2, 3), "float32", GPU)
    a[0] = [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(a[:], [[1, 2, 3], [0, 0, 0]])
    assert a[0, 1] == 2


def test_arrays_of_cupy_are_shared_or_copied(driver: FakeDriver) -> None:
    source = FakeArray(VALUES.copy(), 1)
    shared = nd.from_dlpack(source)
    assert (shared.device, shared.address) == (nd.cuda(1), source.values.ctypes.data)
    copied = nd.array(source, nd.cpu(0))
    np.testing.assert_array_equal(copied.numpy(), VALUES)
    assert copied.__dlpack_device__() == (1, 0)


def test_arrays_elsewhere_have_no_cuda_interface(driver: FakeDriver) -> None:
    assert not hasattr(nd.empty((1,)), "__cuda_array_interface__")
    assert not hasattr(nd.empty((1,), "float32", nd.emulated_cuda(0)), "__cuda_array_interface__")


def test_what_cupy_refuses_is_told(driver: FakeDriver) -> None:
    def fail() -> None:
        with cuda_memory.working_on(0, "do something"):
            raise RuntimeError("no such stream")

    with pytest.raises(CallError, match="cupy says: no such stream"):
        fail()


def test_no_gpu_says_how_to_emulate() -> None:
    if te_sched.cuda(0).exist:
        pytest.skip("there is a GPU")
    with pytest.raises(CallError, match="TE_SCHED_EMULATE=1"):
        nd.empty((1,), "float32", nd.Device(2))
