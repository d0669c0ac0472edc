"""Arrays as the bytes in which TVM stores them, and back. Must not know what files hold them."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from te_sched.ir import dtypes

# Two numbers that mark an array, the kind and number of its device, the rank, the dtype; the sizes
# as int64, the number of bytes, and the elements follow.
_HEAD = struct.Struct("<QQiiiBBH")
_MARK = 0xDD5E40F096B4A13F
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}


class StoredArray(NamedTuple):
    """An array that was read, bfloat16 as its bits: its elements, its dtype, and where it ends."""

    elements: np.ndarray
    dtype: str
    end: int


def array_bytes(source: Any) -> bytes:
    """The bytes of an array of numpy or of a device."""
    array = stored_elements(source) if hasattr(source, "numpy") else np.asarray(source)
    name = dtypes.spelled(getattr(source, "dtype", array.dtype))
    head = _HEAD.pack(
        *(_MARK, 0, 1, 0, array.ndim),
        *(dtypes.type_code(name), array.itemsize * 8 if name != "bool" else 1, 1),
    )
    sizes = struct.pack(f"<{array.ndim + 1}q", *array.shape, array.nbytes)
    return head + sizes + array.tobytes()


def stored_elements(array: Any) -> np.ndarray:
    """The elements of an array of a device; of bfloat16 their bits if numpy has them as float32,
    because ml_dtypes is missing.
    """
    values: np.ndarray = array.numpy()
    if str(array.dtype) == "bfloat16" and values.dtype == np.float32:
        return np.asarray(values.view(np.uint32) >> 16).astype(np.uint16)
    return values


def read_array(data: bytes, start: int = 0) -> StoredArray:
    """The array whose bytes begin at `start`.

    Raises
    ------
    ValueError, TypeError or struct.error for other bytes.
    """
    mark, _, _, _, rank, code, bits, lanes = _HEAD.unpack_from(data, start)
    if mark != _MARK or lanes != 1 or rank < 0:
        raise ValueError("an array is not valid")
    *shape, count = struct.unpack_from(f"<{rank + 1}q", data, start + _HEAD.size)
    first = start + _HEAD.size + 8 * (rank + 1)
    if count < 0 or first + count > len(data):
        raise ValueError("an array is cut off")
    kind = _KINDS.get(code, f"of kind {code} with bits: ")
    name = "bool" if (code, bits) == (1, 1) else f"{kind}{bits}"
    kept = np.dtype("uint16" if name == "bfloat16" else name)
    elements = np.frombuffer(data[first : first + count], kept).reshape(shape).copy()
    return StoredArray(elements, name, first + count)
