"""Arrays on a device: numpy's memory, aligned for vector instructions, or on a GPU cupy's.

Must not know compiled functions; they read `NDArray.key` and `NDArray.address`.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import CallError, ElementError, TeSchedError, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.public_members import PublicMembers
from te_sched.runtime import cuda_driver, cuda_memory, dlpack, torch_tensors
from te_sched.runtime.device import DEVICE_TYPES, Device, check_usable, cpu
from te_sched.signatures import is_index, is_sequence

_ALIGNMENT = 64
FOREIGN = " of foreign byte order"  # the end of the names of dtypes that no program has
_CUDA = DEVICE_TYPES["cuda"]
_NUMPY_NAMES = frozenset(
    [
        "bool",
        "float16",
        "float32",
        "float64",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    ]
)


class NDArray(PublicMembers):
    """An array of numbers; call compiled functions with it, or exchange it through DLPack.

    `dtype` is one of te_sched's names; bfloat16 elements are kept as their 16 bits.

    >>> a = te_sched.nd.array([1, 2, 3], dtype="int8")
    >>> a.dtype, a.shape, a.device
    ('int8', (3,), cpu(0))
    """

    __slots__ = ("__weakref__", "_array", "address", "device", "dtype", "key")
    _internal_members = ("address", "base", "key")

    def __init__(self, storage: Any, dtype: str, device: Device) -> None:
        self.dtype, self.device = dtype, device
        self._use(storage)

    def _use(self, storage: Any) -> None:
        self._array = storage
        view = view_storage(storage, self.dtype, self.device.memory, self.device.device_id)
        self.address = view.address
        self.key = view[:6]  # all that a call must check

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents.

        >>> te_sched.nd.empty((2, 3)).shape
        (2, 3)
        """
        return tuple(self._array.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions.

        >>> te_sched.nd.empty((2, 3)).ndim
        2
        """
        return int(self._array.ndim)

    @property
    def size(self) -> int:
        """Number of elements.

        >>> te_sched.nd.empty((2, 3)).size
        6
        """
        return int(self._array.size)

    @property
    def ctx(self) -> Device:
        """The device, by its older name.

        >>> te_sched.nd.empty((2,)).ctx
        cpu(0)
        """
        return self.device

    @property
    def base(self) -> Any:
        """numpy's (or cupy's) `base`: what the storage is a view of, if it is one."""
        return self._array.base

    def own_memory(self) -> None:
        """Replace the memory by a copy, because its owner will reuse it."""
        self._use(self._array.copy())

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy as a numpy array; of bfloat16 as ml_dtypes has it, float32 if that is missing.

        >>> te_sched.nd.array([1.5, 2.0]).numpy()
        array([1.5, 2. ], dtype=float32)
        """
        values = self._readable()
        return values if self._is_on_gpu else values.copy()

    asnumpy = numpy

    @property
    def _is_on_gpu(self) -> bool:
        return not isinstance(self._array, np.ndarray)

    def _readable(self) -> np.ndarray[Any, Any]:
        """Elements in the processor's memory: this memory itself, or a copy."""
        values: np.ndarray[Any, Any] = self._array
        if self._is_on_gpu:
            values = cuda_memory.to_host(values, self.device.device_id)
        if self.dtype != "bfloat16":
            return values
        kind = _bfloat16()
        if kind is None:
            return np.asarray(values.astype(np.uint32) << 16).view(np.float32)
        return values.view(kind)

    def copyfrom(self, source: Any) -> NDArray:
        """Fill this array from another one, a numpy array or nested lists of the same shape.

        >>> a = te_sched.nd.zeros((2,))
        >>> a.copyfrom([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
        """
        self._assign(source)
        return self

    def copyto(self, target: NDArray | Device) -> NDArray:
        """Copy into an array of the same shape, or into a new one on a device.

        >>> a = te_sched.nd.array([1.0, 2.0])
        >>> a.copyto(te_sched.cpu(0)).numpy()
        array([1., 2.], dtype=float32)
        """
        if isinstance(target, Device):
            target = empty(self.shape, self.dtype, target)
        if not isinstance(target, NDArray):
            raise CallError(
                f"cannot copy an array to {kind_of(target)}, expected an array or a device",
                "",
                "use numpy() for a numpy array",
            )
        target._assign(self)
        return target

    def _assign(self, source: Any) -> None:
        values = _source(source)
        if values.shape != self.shape:
            raise CallError(
                f"cannot copy an array of shape {values.shape} into one of shape {self.shape}",
                "",
                "make an array with te_sched.nd.array(values)",
            )
        if not self.key[3]:
            raise CallError(
                "cannot copy into an array: its memory is read-only",
                "",
                "copy into one made by nd.empty",
            )
        self._fill(values)

    def _fill(self, values: NDArray | np.ndarray[Any, Any]) -> None:
        """Take the values of an array of this shape."""
        if isinstance(values, NDArray):
            if self._is_on_gpu and values._is_on_gpu and values.dtype == self.dtype:
                if values.device != self.device:
                    values.device.sync()  # streams of two devices keep no order
                cuda_memory.fill(self._array, values._array, self.device.device_id)
                return
            values = values._readable()
        kept = as_storage(_real(values, self.dtype), self.dtype)
        if self._is_on_gpu:
            kept = kept.astype(storage_name(self.dtype), copy=False)
            cuda_memory.fill(self._array, kept, self.device.device_id)
        else:
            np.copyto(self._array, kept, casting="unsafe")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        values = self._readable()
        return np.array(values, dtype=dtype, copy=copy)

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        if self.dtype != "bfloat16":
            return self._array.__dlpack__(stream=stream, **options)
        view = view_storage(self._array, self.dtype, *self.__dlpack_device__())
        return dlpack.make_capsule(view, self._array, "bfloat", 16)

    @property
    def __cuda_array_interface__(self) -> Any:
        """The memory for libraries that work on a GPU; arrays elsewhere have none."""
        return self._array.__cuda_array_interface__

    def to_dlpack(self) -> Any:
        """The memory as a DLPack capsule.

        >>> type(te_sched.nd.array([1, 2]).to_dlpack()).__name__
        'PyCapsule'
        """
        return self.__dlpack__()

    def same_as(self, other: object) -> bool:
        """Whether both are one object.

        >>> a = te_sched.nd.zeros((2,))
        >>> a.same_as(a), a.same_as(te_sched.nd.zeros((2,)))
        (True, False)
        """
        return self is other

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.device.emulated else (self.device.device_type, self.device.device_id)

    def __reduce__(self) -> tuple[Any, ...]:
        values = self._array
        if self._is_on_gpu:
            values = cuda_memory.to_host(values, self.device.device_id)
        return _restored, (values, self.dtype, self.device)

    def __getitem__(self, index: Any) -> Any:
        with self._indexed("read", index):
            return self._readable()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        values = value._readable() if isinstance(value, NDArray) else _numbers(value)
        kept = as_storage(_real(values, self.dtype), self.dtype)
        if not self._is_on_gpu:
            with self._indexed("write", index):
                self._array[index] = kept
            return
        with cuda_memory.working_on(self.device.device_id, f"write {self._described()}") as cupy:
            self._array[index] = cupy.asarray(kept)

    @contextmanager
    def _indexed(self, what: str, index: Any) -> Iterator[None]:
        """numpy's error for an index, as an ElementError."""
        try:
            yield
        except (IndexError, OverflowError, ValueError, TypeError) as error:
            raise ElementError(
                f"cannot {what} element {repr_of(index)} of an array of shape {self.shape}: "
                f"{error}",
                "",
                "give an index, or a slice, for each dimension, and numbers that fit",
            ) from None

    def __len__(self) -> int:
        return len(self._array)

    def __str__(self) -> str:
        return str(self._readable())

    def __repr__(self) -> str:
        return f"{self._described()}\n{self}"

    def _described(self) -> str:
        return f"<te_sched.nd.NDArray shape={self.shape}, {self.dtype}, {self.device}>"


def array(values: Any, device: Device | None = None, dtype: str | None = None) -> NDArray:
    """A new array with these values; Python floats become float32, numpy dtypes stay.

    >>> te_sched.nd.array(np.arange(3), dtype="float16").numpy()
    array([0., 1., 2.], dtype=float16)
    """
    source = _source(values)
    if isinstance(source, NDArray):
        name = source.dtype
    else:
        name = _name_of(source.dtype)
        if not hasattr(values, "dtype") and name == "float64":
            name = "float32"
    name = dtypes.spelled(dtype) if dtype is not None else name
    _check_dtype(name)
    result = empty(source.shape, name, device)
    result._fill(source)
    return result


def empty(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """A new array whose elements are undefined.

    >>> te_sched.nd.empty((2, 3), "int32").dtype
    'int32'
    """
    dtype = dtypes.spelled(dtype)
    _check_dtype(dtype)
    device = device if device is not None else cpu(0)
    check_usable(device)
    extents = _extents(shape)
    if len(extents) > dlpack.MOST_DIMENSIONS:
        raise CallError(
            f"arrays have at most {dlpack.MOST_DIMENSIONS} dimensions, got {len(extents)}",
            "",
            "join dimensions",
        )
    if any(extent < 0 for extent in extents):
        raise CallError(
            f"negative dimensions are not allowed, got shape {repr_of(extents)}",
            "",
            "use extents of 0 or more",
        )
    make = _empty_numpy if device.memory != _CUDA else cuda_memory.empty
    return NDArray(make(extents, storage_name(dtype), device.device_id), dtype, device)


def array_maker(shape: tuple[int, ...], dtype: str) -> Callable[[], NDArray]:
    """A function that makes new arrays of one shape and dtype on the processor, fast.

    >>> array_maker((2, 3), "int32")().shape
    (2, 3)
    """
    kind = np.dtype(storage_name(dtype))
    device, key = cpu(0), (dtype, shape, None, True, 1, 0)
    make, address_of = np.empty, ctypes.addressof
    start: Callable[[Any], Any] = (ctypes.c_char * 0).from_buffer
    room, array_of, new = math.prod(shape) * kind.itemsize + _ALIGNMENT, np.ndarray, NDArray.__new__

    def make_array() -> NDArray:
        try:
            memory = make(room, np.uint8)
        except _NO_MEMORY:
            raise _unallocated(shape, room - _ALIGNMENT) from None
        begin = address_of(start(memory))
        offset = -begin % _ALIGNMENT
        result = new(NDArray)
        result._array = array_of(shape, kind, memory, offset)
        result.dtype, result.device, result.key, result.address = dtype, device, key, begin + offset
        return result

    return make_array


def memory_of(array: NDArray) -> range:
    """The addresses of the bytes of a compact array.

    >>> len(memory_of(zeros((3, 2), "float32")))
    24
    """
    size = array.size * dtypes.storage_bytes(array.dtype)
    return range(array.address, array.address + size)


def array_inside(memory: NDArray, offset: int, shape: tuple[int, ...], dtype: str) -> NDArray:
    """An array over bytes of a compact one, from `offset` on; the memory must suffice.

    >>> array_inside(zeros((8,), "uint8"), 4, (1,), "float32").numpy()
    array([0.], dtype=float32)
    """
    base = memory._array
    if not isinstance(base, np.ndarray):  # a GPU's
        size = math.prod(shape) * np.dtype(storage_name(dtype)).itemsize
        part = base.reshape(-1).view(np.uint8)[offset : offset + size]
        return NDArray(part.view(storage_name(dtype)).reshape(shape), dtype, memory.device)
    result = NDArray.__new__(NDArray)
    result._array = np.ndarray(shape, storage_name(dtype), base, offset)
    result.dtype, result.device, result.address = dtype, memory.device, memory.address + offset
    result.key = (dtype, shape, None, *memory.key[3:])
    return result


def _restored(values: np.ndarray[Any, Any], dtype: str, device: Device) -> NDArray:
    """The array that was pickled or copied."""
    result = empty(values.shape, dtype, device)
    result._fill(values)
    return result


def zeros(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """A new array whose elements are 0.

    >>> te_sched.nd.zeros((2,), "int32").numpy()
    array([0, 0], dtype=int32)
    """
    result = empty(shape, dtype, device)
    result._fill(np.zeros(result.shape, storage_name(result.dtype)))
    return result


def _empty_numpy(extents: tuple[int, ...], dtype: str, device_id: int) -> np.ndarray[Any, Any]:
    """The processor's memory, which is that of emulated devices too."""
    del device_id
    kind = np.dtype(dtype)
    size = math.prod(extents) * kind.itemsize
    try:
        memory = np.empty(size + _ALIGNMENT, np.uint8)
        offset = -memory.ctypes.data % _ALIGNMENT
        return memory[offset : offset + size].view(kind).reshape(extents)
    except _NO_MEMORY:
        raise _unallocated(extents, size) from None


_NO_MEMORY = (MemoryError, ValueError, OverflowError)  # what numpy raises for too many bytes


def _unallocated(extents: tuple[int, ...], size: int) -> CallError:
    return CallError(
        f"unable to allocate {size} bytes for an array of shape {repr_of(extents)}",
        "",
        "make a smaller one",
    )


def _source(values: Any) -> NDArray | np.ndarray[Any, Any]:
    """The source of a copy: arrays of te_sched and on GPUs unchanged, others as numpy arrays."""
    if isinstance(values, NDArray):
        return values
    if _is_foreign_bfloat16(values):
        return from_dlpack(values)
    if not isinstance(values, np.ndarray) and hasattr(values, "__cuda_array_interface__"):
        return from_dlpack(values) if hasattr(values, "__dlpack__") else _from_cuda(values)
    return _numbers(values)


def _from_cuda(values: Any) -> NDArray:
    """An NDArray over memory of a GPU that is described by CUDA's array interface alone."""
    with dlpack.asking(values, "through CUDA's array interface"):
        number = cuda_driver.device_of_pointer(values.__cuda_array_interface__["data"][0])
    with cuda_memory.working_on(number, f"cannot read {kind_of(values)}") as cupy:
        memory = cupy.asarray(values)
    return NDArray(memory, memory.dtype.name, Device(_CUDA, number))


def _numbers(values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ndarray):
        refuse_masked(values)
    try:
        return np.asarray(values)
    except TeSchedError:  # of a tensor expression
        raise
    except (ValueError, TypeError) as error:
        raise CallError(
            f"cannot convert {kind_of(values)} to an array: {error}",
            "",
            "give rows of the same length",
        ) from None


def _extents(shape: Any) -> tuple[int, ...]:
    extents = tuple(shape) if is_sequence(shape) else (shape,)
    if not all(map(is_index, extents)):
        raise CallError(
            f"the shape of an array is {repr_of(shape)}, expected integers",
            "",
            "write (rows, columns)",
        )
    return tuple([int(extent) for extent in extents])


def from_dlpack(source: Any) -> NDArray:
    """An NDArray over the memory of an array of another library, without a copy.

    >>> te_sched.nd.from_dlpack(np.array([1, 2], "int32")).numpy()
    array([1, 2], dtype=int32)
    """
    if not hasattr(source, "__dlpack__"):
        raise CallError(
            f"cannot read {kind_of(source)} through DLPack: it has no __dlpack__",
            "",
            "pass an array, or make one with te_sched.nd.array",
        )
    if isinstance(source, np.ndarray):
        refuse_masked(source)
    view = torch_tensors.view_of_tensor(source)
    if view is not None:
        return NDArray(np.asarray(torch_tensors.TensorMemory(source, view)), view.dtype, cpu(0))
    with dlpack.asking(source, "through DLPack"):
        dlpack.refuse_negated(source)
        kind, number = dlpack.place_of(*source.__dlpack_device__())
        if kind != _CUDA and _is_foreign_bfloat16(source):
            bits = np.asarray(dlpack.Bits(source.__dlpack__()))
            return NDArray(bits, "bfloat16", cpu(0))
        if kind != _CUDA:
            is_known = isinstance(source, np.ndarray | NDArray)
            memory = np.from_dlpack(source if is_known else dlpack.Checked(source))
            return NDArray(memory, memory.dtype.name, cpu(0))
        with cuda_memory.working_on(number, "read an array through DLPack") as cupy:
            memory = cupy.from_dlpack(source)
        return NDArray(memory, memory.dtype.name, Device(kind, number))


def _is_foreign_bfloat16(values: Any) -> bool:
    """Whether another library has numbers that numpy does not read through DLPack."""
    is_known = isinstance(values, np.ndarray | NDArray) or not hasattr(values, "__dlpack__")
    return not is_known and str(getattr(values, "dtype", "")).endswith("bfloat16")


def storage_name(dtype: str) -> str:
    """The numpy dtype in which elements are kept."""
    return "uint16" if dtype == "bfloat16" else dtype


def _real(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The values, which must be real numbers."""
    if not np.can_cast(values.dtype, np.float64, "same_kind") and values.dtype.name != "bfloat16":
        raise CallError(
            f"cannot copy {_name_of(values.dtype)} into an array of {dtype}: not real numbers",
            "",
            "convert them first (.real, .astype)",
        )
    return values


def as_storage(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Values as they are kept: bfloat16 as its 16 bits (rounded to nearest even)."""
    if dtype != "bfloat16" or values.dtype == np.uint16:
        return values
    if values.dtype.name == "bfloat16":
        return values.view(np.uint16)
    wide = values.astype(np.float32)
    bits = wide.view(np.uint32)
    rounded = (bits + (0x7FFF + (bits >> 16 & 1))) >> 16
    return np.where(np.isnan(wide), bits >> 16 | 0x40, rounded).astype(np.uint16)


def refuse_masked(values: np.ndarray[Any, Any]) -> None:
    """Refuse a masked array, whose mask would be ignored."""
    masked = sys.modules.get("numpy.ma")  # numpy loads it at its first use, which takes 20 ms
    if masked is not None and isinstance(values, masked.MaskedArray):
        raise CallError(
            f"cannot read {kind_of(values)}: its mask would be ignored",
            "",
            "pass its numbers: x.filled(value), or x.data to ignore the mask",
        )


def view_interface(
    interface: dict[str, Any],
    kind: np.dtype[Any],
    dtype: str | None = None,
    memory: int = 1,
    device_id: int = 0,
) -> dlpack.ArrayView:
    """The description of an array for calls, from numpy's or CUDA's array interface."""
    address, readonly = interface["data"]
    strides, size = interface.get("strides"), kind.itemsize
    if strides is not None and size:
        misfit = any(step % size for step in strides)
        strides = tuple(step / size if misfit else step // size for step in strides)
    own_name = _name_of(kind) if kind.isnative else f"{kind.name}{FOREIGN}"
    name = own_name if dtype is None else dtype
    shape = tuple(interface["shape"])
    return dlpack.ArrayView(name, shape, strides, not readonly, memory, device_id, address)


def view_storage(storage: Any, dtype: str, memory: int, device_id: int) -> dlpack.ArrayView:
    """The description for calls of a numpy or cupy array with elements of a type of te_sched."""
    is_numpy = isinstance(storage, np.ndarray)
    interface = storage.__array_interface__ if is_numpy else storage.__cuda_array_interface__
    return view_interface(interface, storage.dtype, dtype, memory, device_id)


def _name_of(kind: np.dtype[Any]) -> str:
    """The name of a dtype of numpy; of one that arrays cannot have, what numpy prints."""
    name = kind.name
    return name if name in _NUMPY_NAMES else str(kind)


def _check_dtype(dtype: str) -> None:
    if dtype not in _NUMPY_NAMES and dtype != "bfloat16":
        raise CallError(
            f"arrays cannot have dtype {dtype}",
            "",
            f"use one of {dtypes.LEGAL}",
        )


def _bfloat16() -> Any:
    try:
        return importlib.import_module("ml_dtypes").bfloat16
    except ImportError:
        return None


_tell_of_absent_names(__name__)
