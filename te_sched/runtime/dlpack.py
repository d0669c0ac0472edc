"""DLPack: import of arrays of other libraries without a copy, and export of arrays.

Owns the memory layout of DLPack's structures. Must not know NDArray.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from te_sched.errors import CallError, kind_of

_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_CUDA, _CUDA_MANAGED = 2, 13
MOST_DIMENSIONS = 64  # of numpy's arrays
_NUMBERS = {name: code for code, name in _CODES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_LAYOUTS: dict[bytes, Any] = {
    b"dltensor_versioned": ctypes.POINTER(_Versioned),
    b"dltensor": ctypes.POINTER(_Managed),
}


class ArrayView(NamedTuple):
    """The description of an array for calls. `strides` are in elements; None means compact."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    writable: bool
    device_type: int
    device_id: int
    address: int


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def read_capsule(capsule: Any) -> ArrayView:
    """The array behind a capsule of `__dlpack__`; valid while the (unconsumed) capsule lives."""
    if not _is_valid(capsule, b"dltensor"):
        raise CallError(
            "cannot read a DLPack capsule: "
            "it was consumed already, or is not an unversioned DLPack tensor",
            "",
            "pass the array itself, or a numpy array",
        )
    tensor, shape, address = _read(capsule, b"dltensor")
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    code = _CODES.get(tensor.code, f"code{tensor.code}_")
    dtype = "bool" if code == "bool" else f"{code}{tensor.bits}"
    dtype = dtype if tensor.lanes == 1 else f"{dtype}x{tensor.lanes}"
    kind, number = place_of(tensor.device_type, tensor.device_id)
    return ArrayView(dtype, shape, strides, True, kind, number, address)


def _read(capsule: Any, name: bytes) -> tuple[_Tensor, tuple[int, ...], int]:
    """The tensor in a capsule, its shape and address; refuses invalid ones."""
    tensor: _Tensor = ctypes.cast(_pointer(capsule, name), _LAYOUTS[name]).contents.tensor
    ndim, extents = tensor.ndim, tensor.shape
    if not 0 <= ndim <= MOST_DIMENSIONS:
        raise _fault(f"has {ndim} dimensions, and 0 to {MOST_DIMENSIONS} are possible")
    if ndim and not extents:
        raise _fault(f"has {ndim} dimensions and no shape")
    shape = tuple(extents[:ndim])
    least = min(shape, default=1)
    if least < 0:
        raise _fault(f"has the shape {shape}, and an extent is negative")
    address = (tensor.data or 0) + tensor.byte_offset
    if least and not 0 < address < 1 << 63:
        raise _fault(f"is at the address {address}, where no memory is")
    return tensor, shape, address


def _fault(why: str) -> CallError:
    return CallError(
        f"cannot read a DLPack capsule: its tensor {why}", "", "pass a copy, or a numpy array"
    )


class Checked:
    """An array of another library; what is in its capsule is checked before others read it."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._source.__dlpack__(**options)
        for name in _LAYOUTS:
            if _is_valid(capsule, name):
                _read(capsule, name)
                break
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._source.__dlpack_device__()


class Bits:
    """The memory of a capsule with elements of 16 bits, for numpy: as the bits."""

    def __init__(self, capsule: Any) -> None:
        view = read_capsule(capsule)
        self._capsule = capsule  # which owns the memory
        strides = None if view.strides is None else tuple([2 * stride for stride in view.strides])
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype("uint16").str,
            "shape": view.shape,
            "strides": strides,
            "data": (view.address, not view.writable),
        }


@contextmanager
def asking(value: Any, how: str) -> Iterator[None]:
    """The scope of a request to another library, whose exceptions become errors of te_sched."""
    try:
        yield
    except CallError:
        raise
    except Exception as error:
        needs_gradient = getattr(value, "requires_grad", False) is True
        raise CallError(
            f"cannot read {kind_of(value)} {how}: "
            f"its library says: {type(error).__name__}: {error}",
            "it requires a gradient" if needs_gradient else "",
            "pass x.detach()"
            if needs_gradient
            else "pass an array in the memory of a device, such as a copy of it",
        ) from (None if needs_gradient else error)


def refuse_negated(value: Any) -> None:
    """Refuse a tensor of torch with the negative bit, which DLPack does not represent."""
    is_negated = getattr(value, "is_neg", None)
    if callable(is_negated) and is_negated():
        raise CallError(
            f"cannot read {kind_of(value)} through DLPack: "
            "its negative bit is set: it stands for the negative of what is in its memory",
            "",
            "pass x.resolve_neg()",
        )


def place_of(device_type: int, device_id: int) -> tuple[int, int]:
    """DLPack's type and number of a device; memory that CUDA moves by itself is a device's."""
    return (_CUDA if device_type == _CUDA_MANAGED else int(device_type)), int(device_id)


_exported: dict[int, Any] = {}  # what keeps an exported array alive until its consumer deletes it


def _release(pointer: int) -> None:
    _exported.pop(pointer, None)


_RELEASE = _Deleter(_release)

_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_capsule_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


def _destroy_capsule(capsule: int) -> None:
    """A capsule that was not consumed still owns its array."""
    if _capsule_valid(capsule, b"dltensor"):
        _exported.pop(_capsule_pointer(capsule, b"dltensor"), None)


_DESTROY = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy_capsule)


def make_capsule(view: ArrayView, keep_alive: Any, code: str, bits: int) -> Any:
    """A capsule for an array; `keep_alive` lives until its consumer deletes the tensor."""
    managed = _Managed()
    shape = (ctypes.c_int64 * len(view.shape))(*view.shape)
    strides = None if view.strides is None else (ctypes.c_int64 * len(view.strides))(*view.strides)
    tensor = managed.tensor
    tensor.data, tensor.ndim = view.address, len(view.shape)
    tensor.device_type, tensor.device_id = view.device_type, view.device_id
    tensor.code, tensor.bits, tensor.lanes = _NUMBERS[code], bits, 1
    tensor.shape, tensor.strides = shape, strides
    managed.deleter = _RELEASE
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, strides, keep_alive)
    return _new(address, b"dltensor", ctypes.cast(_DESTROY, ctypes.c_void_p))
