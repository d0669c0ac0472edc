"""Arrays on devices."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

import te_sched
from te_sched import nd
from te_sched.errors import CallError
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import memory_of


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_array_keeps_values_and_dtype(dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    a = nd.array(values, nd.cpu(0))
    assert (a.shape, a.dtype, a.device, a.ndim, a.size, len(a)) == (
        (2, 3),
        dtype,
        nd.cpu(0),
        2,
        6,
        2,
    )
    np.testing.assert_array_equal(a.numpy(), values)
    np.testing.assert_array_equal(np.asarray(a), values)


def test_lists_of_floats_become_float32() -> None:
    assert nd.array([[1.0, 2.0]]).dtype == "float32"
    assert nd.array([1, 2]).dtype == "int64"
    assert nd.array([1.5], dtype="float64").dtype == "float64"


def test_array_is_a_copy_and_so_is_numpy() -> None:
    values = np.zeros(3, "float32")
    a = nd.array(values)
    values[0] = 1
    a.numpy()[1] = 1
    np.testing.assert_array_equal(a.asnumpy(), np.zeros(3))


def test_memory_is_aligned() -> None:
    assert all(nd.empty((n,)).address % 64 == 0 for n in range(1, 40))


def test_copies() -> None:
    a, b = nd.array(np.arange(4, dtype="float32")), nd.empty((4,))
    assert a.copyto(b) is b
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    b.copyfrom([4, 5, 6, 7])
    np.testing.assert_array_equal(a.copyto(nd.cpu(0)).numpy(), np.arange(4))
    np.testing.assert_array_equal(b.numpy(), [4, 5, 6, 7])
    with pytest.raises(CallError, match=r"copy an array of shape \(3,\) into one of shape \(4,\)"):
        b.copyfrom(np.zeros(3))


def test_an_array_prints_as_numpy_s() -> None:
    values = np.array([[0.5, 1], [2, 3]], "float32")
    assert str(nd.array(values)) == str(values)
    head, _, rest = repr(nd.array(values)).partition("\n")
    assert head == "<te_sched.nd.NDArray shape=(2, 2), float32, cpu(0)>"
    assert rest == str(values)


def test_items() -> None:
    a = nd.array(np.zeros((2, 2), "float32"))
    a[0, 1] = 3
    a[1] = nd.array([1.0, 2.0])
    np.testing.assert_array_equal(a[:], [[0, 3], [1, 2]])


def test_bfloat16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -3.14159, np.inf, np.nan], "float32")
    bits = np.asarray(nd.array(values, dtype="bfloat16")._array)
    np.testing.assert_array_equal(bits, [0x3F80, 0x3F80, 0x3F82, 0xC049, 0x7F80, 0x7FC0])


@pytest.mark.parametrize("has_ml_dtypes", [False, True])
def test_bfloat16_numbers_are_read_as_numbers(
    has_ml_dtypes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their bits would be other numbers."""
    if has_ml_dtypes:
        pytest.importorskip("ml_dtypes")
    else:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    values = np.array([1.0, -3.5, 0.0, np.inf], "float32")
    a = nd.array(values, dtype="bfloat16")
    assert float(a[1]) == -3.5
    assert "-3.5" in str(a)
    np.testing.assert_array_equal(nd.array(a, dtype="float32").numpy(), values)
    np.testing.assert_array_equal(nd.empty((4,)).copyfrom(a).numpy(), values)
    np.testing.assert_array_equal(np.asarray(a).astype("float32"), values)
    np.testing.assert_array_equal(nd.array(a)._array, a._array)
    one = nd.array(2.5, dtype="bfloat16").numpy()
    assert isinstance(one, np.ndarray)
    assert (one.shape, float(one)) == ((), 2.5)


def test_dlpack_shares_memory_both_ways() -> None:
    a = nd.array(np.arange(4, dtype="float32"))
    shared = np.from_dlpack(a)
    a[0] = 9
    assert shared[0] == 9
    back = nd.from_dlpack(shared)
    assert back.address == a.address
    assert a.__dlpack_device__() == (1, 0)


def test_rejects() -> None:
    with pytest.raises(CallError, match=r"there is no device cuda\(0\)"):
        nd.empty((1,), device=nd.device("cuda", 0))
    with pytest.raises(CallError, match=r"^negative dimensions are not allowed"):
        nd.empty((-1,))
    with pytest.raises(CallError, match="arrays cannot have dtype complex128"):
        nd.array(np.zeros(2, "complex128"))
    with pytest.raises(CallError, match=r"^arrays cannot have dtype <U2"):
        nd.array(["a", "bc"])
    with pytest.raises(
        CallError, match=r"^unable to allocate 4611686018427387904 bytes for an array of shape "
    ):
        nd.empty((1 << 60,))
    with pytest.raises(CallError, match="unknown device"):
        nd.device("tpu")
    with pytest.raises(CallError, match="did you mean 'gpu'"):
        nd.device("gpuu")
    with pytest.raises(CallError, match="it has no __dlpack__"):
        nd.from_dlpack(3)


def test_devices() -> None:
    assert nd.device("cpu") == nd.cpu() == nd.device("llvm") == nd.device("cpu:0")
    assert str(nd.device("cuda", 1)) == "cuda(1)"
    assert nd.cpu(0).exist
    assert not nd.device("gpu").exist


def test_zeros() -> None:
    assert not nd.zeros((2, 3), "bfloat16").numpy().any()


def test_memory_of_a_gpu_needs_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("te_sched.runtime.cuda_driver.device_count", lambda: 1)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(CallError, match=r"cupy is not installed[^$]*TE_SCHED_EMULATE=1"):
        nd.empty((4,), "float32", nd.cuda(0))


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "bfloat16"])
@pytest.mark.parametrize("device", [nd.cpu(0), te_sched.emulated_cuda(0)])
def test_pickled_and_copied_arrays_have_memory_of_their_own(dtype: str, device: Device) -> None:
    a = nd.array(np.arange(6).reshape(2, 3) % 2, device, dtype)
    for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert (b.dtype, b.device, b.key) == (a.dtype, a.device, a.key)
        assert b.address == b._array.ctypes.data != a.address
        np.testing.assert_array_equal(b._array, a._array)


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float64"])
def test_the_memory_of_an_array_has_its_bytes(dtype: str) -> None:
    a = nd.empty((2, 3), dtype)
    memory = memory_of(a)
    assert (memory.start, len(memory)) == (a.address, a._array.nbytes)
    assert len(memory_of(nd.empty((0, 3), dtype))) == 0
