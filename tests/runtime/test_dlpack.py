"""Arrays of other libraries that are not what they say, or say no."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import CallError
from te_sched.ir import ops
from te_sched.runtime.device import cpu
from te_sched.runtime.dlpack import ArrayView, make_capsule, read_capsule
from te_sched.runtime.ndarray import NDArray
from tests.codegen.programs import build, elementwise

N = 8
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """An array of another library, with the capsule that a test wants."""

    def __init__(self, capsule: Any = None, device: Any = (1, 0)) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: object) -> Any:
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def capsule(extents: tuple[int, ...] = (N,), **changes: int) -> Any:
    """A capsule of float32 numbers, with other values at some places of its tensor."""
    memory = np.zeros(64, "float32")
    view = ArrayView("float32", extents, None, True, 1, 0, memory.ctypes.data)
    made = make_capsule(view, memory, "float", 32)
    places = {"data": 0, "ndim": 16, "shape": 24, "offset": 40}  # by DLPack's layout
    for name, value in changes.items():
        kind = ctypes.c_int32 if name == "ndim" else ctypes.c_uint64
        kind.from_address(_pointer(made, b"dltensor") + places[name]).value = value
    return made


def used() -> Any:
    made = capsule()
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(made), ctypes.c_char_p(b"used_dltensor"))
    return made


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no capsule": (lambda: Producer(5), "consumed already|invalid PyCapsule"),
    "a used one": (lambda: Producer(used()), "consumed already|incorrect name"),
    "too many dimensions": (lambda: Producer(capsule(ndim=1 << 30)), "0 to 64 are possible"),
    "negative dimensions": (lambda: Producer(capsule(ndim=-1)), "0 to 64 are possible"),
    "no shape": (lambda: Producer(capsule(shape=0)), "1 dimensions and no shape"),
    "a negative extent": (lambda: Producer(capsule((-8,))), "an extent is negative"),
    "no memory": (lambda: Producer(capsule(data=0)), "at the address 0, where no memory is"),
    "an offset beyond memory": (lambda: Producer(capsule(offset=1 << 63)), "where no memory is"),
    "a producer that says no": (lambda: Producer(BufferError("no")), "BufferError: no"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_capsules_that_are_no_arrays_are_refused(kind: str) -> None:
    make, why = WRONG[kind]
    add_one = build(elementwise(lambda x: ops.add(x, 1.0), ["float32"], N))
    with pytest.raises(CallError, match=why):
        add_one(make(), np.zeros(N, "float32"))
    with pytest.raises(CallError, match=why):
        nd.from_dlpack(make())


@pytest.mark.parametrize("device", [None, "ab", (1, 2, 3), (1.5, "x")])
def test_devices_that_are_none_are_refused(device: Any) -> None:
    with pytest.raises(CallError, match=r"through DLPack(.|\n)*its library says"):
        nd.from_dlpack(Producer(capsule(), device))


def test_from_dlpack_takes_what_is_right_in_place() -> None:
    memory = np.arange(N, dtype="float32")
    array = nd.from_dlpack(memory)
    memory[0] = 5
    assert array.numpy()[0] == 5
    assert nd.from_dlpack(Producer(capsule())).shape == (N,)


def test_from_dlpack_rejects_masks_and_numbers_that_dlpack_has_not() -> None:
    with pytest.raises(CallError, match="cannot read a MaskedArray: its mask would be ignored"):
        nd.from_dlpack(np.ma.array([1.0]))
    with pytest.raises(CallError, match="BufferError: DLPack only supports"):
        nd.from_dlpack(np.zeros(3, "M8[s]"))


@pytest.mark.parametrize("interface", [5, {}, {"data": None}])
def test_array_rejects_a_cuda_interface_that_is_none(interface: Any) -> None:
    values = type("Odd", (), {"__cuda_array_interface__": interface})()
    with pytest.raises(CallError, match="through CUDA's array interface"):
        nd.array(values)


@pytest.mark.parametrize("make", [nd.empty, nd.zeros])
def test_arrays_have_at_most_64_dimensions(make: Callable[..., Any]) -> None:
    assert make((1,) * 64).ndim == 64
    with pytest.raises(CallError, match=r"^arrays have at most 64 dimensions, got 65"):
        make((1,) * 65)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("abc", "not real numbers"),
        (object(), "not real numbers"),
        (
            [[1], [1, 2]],
            r"cannot convert a list to an array: setting an array ele(.|\n)*inhomogeneous",
        ),
        (np.zeros(3), r"could not broadcast input array from shape \(3,\)"),
    ],
)
def test_setting_rejects_what_does_not_fit(value: Any, why: str) -> None:
    array = nd.empty((N,))
    with pytest.raises(CallError, match=why):
        array[:] = value


def test_bfloat16_with_strides_stays_strided() -> None:
    bits = np.arange(12, dtype="uint16").reshape(3, 4)[:, ::2]
    view = read_capsule(NDArray(bits, "bfloat16", cpu()).to_dlpack())
    assert (view.shape, view.strides) == ((3, 2), (4, 2))
    assert read_capsule(NDArray(bits.copy(), "bfloat16", cpu()).to_dlpack()).strides is None


class Bfloat16(Producer):
    """As a tensor of torch: numpy reads no DLPack of this dtype."""

    dtype = "torch.bfloat16"


@pytest.mark.parametrize("make", [nd.array, nd.from_dlpack])
def test_bfloat16_of_other_libraries_is_read(make: Callable[[Any], NDArray]) -> None:
    bits = np.arange(0x3F80, 0x3F8C, dtype="uint16").reshape(3, 4)[:, ::2]
    found = make(Bfloat16(NDArray(bits, "bfloat16", cpu()).to_dlpack()))
    assert (found.dtype, found.shape) == ("bfloat16", (3, 2))
    np.testing.assert_array_equal(found._array, bits)
    bits[:] = 0
    assert found._array.any() == (make is nd.array)  # a copy, or the memory itself
    empty = make(Bfloat16(nd.empty((0, 3), "bfloat16").to_dlpack()))
    assert empty.shape == (0, 3)
