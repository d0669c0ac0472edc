"""Dictionaries of arrays as bytes and files, in the form of TVM's `.params` files.

Must not know what the arrays are for.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import Any

from te_sched import files
from te_sched.errors import CallError, kind_of, repr_of
from te_sched.ir.array_bytes import array_bytes, read_array
from te_sched.runtime.ndarray import NDArray, array

# Two numbers that mark a dictionary; the names and the arrays follow, each with their number.
_HEAD = struct.Struct("<QQ")
_MARK = 0xF7E58D4F05049CB7
_COUNT = struct.Struct("<Q")


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """The bytes of arrays by name, as TVM stores them; names in alphabetical order.

    >>> import numpy as np
    >>> data = save_param_dict({"weight": np.arange(3, dtype="float32")})
    >>> load_param_dict(data)["weight"].numpy()
    array([0., 1., 2.], dtype=float32)

    Raises
    ------
    CallError for what is not a dictionary of arrays by name.
    """
    if not isinstance(params, Mapping):
        raise CallError(
            f"save_param_dict takes arrays by name, got {kind_of(params)}",
            "",
            'give a dictionary: {"weight": array}',
        )
    names, arrays = [], []
    for name, value in sorted(params.items(), key=lambda item: str(item[0])):
        if not isinstance(name, str) or not hasattr(value, "dtype"):
            raise CallError(
                f"save_param_dict takes arrays by name, got {repr_of(name)}: {kind_of(value)}",
                "",
                "give arrays of numpy or te_sched.nd.array",
            )
        text = name.encode()
        names.append(_COUNT.pack(len(text)) + text)
        arrays.append(array_bytes(value))
    count = _COUNT.pack(len(names))
    return bytearray(b"".join([_HEAD.pack(_MARK, 0), count, *names, count, *arrays]))


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, NDArray]:
    """The arrays by name of what `save_param_dict` of te_sched or TVM returned.

    Raises
    ------
    CallError for other bytes.
    """
    if not isinstance(param_bytes, bytes | bytearray):
        raise CallError(
            f"load_param_dict takes bytes, got {kind_of(param_bytes)}",
            "",
            "give the content of a file, or call load_param_dict_from_file(path)",
        )
    data = bytes(param_bytes)
    try:
        return _loaded(data)
    except (ValueError, TypeError, OverflowError, MemoryError, struct.error) as error:
        why = f"{type(error).__name__}: {error}"
        help = "give what save_param_dict returned, of te_sched or of TVM"
        raise CallError("cannot load the parameters: they are damaged", why, help) from None


def _loaded(data: bytes) -> dict[str, NDArray]:
    mark, _ = _HEAD.unpack_from(data)
    if mark != _MARK:
        raise ValueError("it is not a dictionary of arrays")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    offset = _HEAD.size + _COUNT.size
    names: list[str] = []
    while len(names) < count:
        (length,) = _COUNT.unpack_from(data, offset)
        offset += _COUNT.size
        if offset + length > len(data):
            raise ValueError("a name is cut off")
        names.append(data[offset : offset + length].decode())
        offset += length
    (arrays,) = _COUNT.unpack_from(data, offset)
    offset += _COUNT.size
    if arrays != count:
        raise ValueError(f"it has {count} names and {arrays} arrays")
    loaded = {}
    for name in names:
        elements, dtype, offset = read_array(data, offset)
        loaded[name] = array(elements, dtype=dtype)
    return loaded


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write `save_param_dict(params)` to a file."""
    files.write(path, bytes(save_param_dict(params)), "save")


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """`load_param_dict` of the content of a file."""
    return load_param_dict(files.read(path, "load", "check the path"))
