"""C entry points for Python functions: how generated code calls registered functions.

Each returns DONE, or a code that identifies the exception that was raised. Must not know
how code is loaded.
"""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from te_sched.codegen.llvm.calls import DONE
from te_sched.errors import CallError, with_article
from te_sched.ir import dtypes
from te_sched.runtime import registry
from te_sched.runtime.device import cpu
from te_sched.runtime.dlpack import MOST_DIMENSIONS
from te_sched.runtime.ndarray import NDArray, storage_name
from te_sched.signatures import call_function

_EXAMPLE = "a function with a parameter for each argument of its call in the program"
_CTYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "float16": ctypes.c_uint16,
    "bfloat16": ctypes.c_uint16,
    "handle": ctypes.c_void_p,
    "str": ctypes.c_char_p,
    **{f"int{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


def ctype_of(dtype: str) -> Any:
    """The ctypes type of a dtype, of a pointer ("float32*") or of a string."""
    if dtype.endswith("*"):
        return ctypes.POINTER(_CTYPES[dtype[:-1]])
    return _CTYPES[dtype]


def make_callback(name: str, args: list[str], result: str) -> Any:
    """The entry point int32 f(pointer to the result, arguments...) of a Python extern."""

    def call(address: int, *values: Any) -> int:
        try:
            extern = registry.find_extern(name)
            if extern is None or extern.function is None:
                raise CallError(
                    f"cannot call extern {name!r}: "
                    "it is not registered as a Python function any more",
                    "",
                    "build again after te_sched.register_extern",
                )
            pairs = zip(args, values, strict=True)
            arguments = [value.decode() if kind == "str" else value for kind, value in pairs]
            answer = call_function(extern.function, arguments, f"extern {name}", _EXAMPLE)
            _write_result(address, result, answer)
        except BaseException as error:  # whatever it is, the native caller must not see it
            return registry.keep_exception(error)
        return DONE

    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *[ctype_of(kind) for kind in args])(
        call
    )


_PACKED = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


def make_packed(name: str, args: list[dict[str, Any]], result: str) -> Any:
    """The entry point int32 f(result, 64-bit words) of a registered function."""

    def call(address: int, packet: int) -> int:
        lent: list[_Lent] = []
        try:
            words = _words(packet)
            function = registry.get_global_func(name)
            assert function is not None
            values = [_read(kind, words) for kind in args]
            lent += [_Lent(value) for value in values if isinstance(value, NDArray)]
            try:
                answer = call_function(function, values, f'call_packed "{name}"', _EXAMPLE)
                if not isinstance(answer, (int, float, np.number)):
                    answer = None  # an array, for chaining, is not a result
            finally:
                values.clear()
                for lent_array in lent:
                    lent_array.detach()
            _write_result(address, result, answer)
            if any(array.is_held() for array in lent):
                raise _kept(name)
        except BaseException as error:
            return registry.keep_exception(error, [array.memory() for array in lent])
        return DONE

    return _PACKED(call)


class _Lent:
    """An array over the caller's memory, which a function may have kept."""

    def __init__(self, array: NDArray) -> None:
        self._array, self.memory = weakref.ref(array), weakref.ref(array.base)

    def detach(self) -> None:
        """Copy the array to memory of its own if it is still referenced."""
        array = self._array()
        if array is not None:
            array.own_memory()
        del array

    def is_held(self) -> bool:
        """Whether another object refers to the caller's memory: a view, or an array through DLPack.

        Unreachable cycles of objects do not count.
        """
        if self.memory() is not None:
            gc.collect()
        return self.memory() is not None


def _kept(name: str) -> CallError:
    return CallError(
        f"packed function {name!r} keeps a view of an array that it was given",
        "the memory is the caller's, and valid during the call alone",
        "keep a copy (x.numpy()), or the array itself, which becomes one",
    )


def _words(packet: int) -> Iterator[int]:
    """The words at an address, read as they are asked for."""
    return (ctypes.c_int64.from_address(address).value for address in count(packet, 8))


def _read(kind: dict[str, Any], words: Iterator[int]) -> Any:
    what = kind["kind"]
    if what == "str":
        return kind["value"]
    if what == "array":
        return _read_array(kind, words)
    word = next(words)
    if what == "float":
        return ctypes.c_double.from_buffer_copy(ctypes.c_int64(word)).value
    return bool(word) if what == "bool" else word & (2**64 - 1) if what == "handle" else word


def _read_array(kind: dict[str, Any], words: Iterator[int]) -> NDArray:
    address = next(words)
    shape = tuple(next(words) for _ in range(kind["ndim"]))
    steps = tuple(next(words) for _ in range(kind["ndim"])) if kind["strided"] else None
    return NDArray(array_at(address, kind["dtype"], shape, steps), kind["dtype"], cpu(0))


class _Memory:
    """Memory that generated code owns, as numpy asks for it; views of it keep this object."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def array_at(
    address: int, dtype: str, shape: tuple[int, ...], steps: tuple[int, ...] | None
) -> np.ndarray[Any, Any]:
    """A numpy array over memory that generated code owns; valid during the call."""
    if len(shape) > MOST_DIMENSIONS:
        raise CallError(
            f"cannot pass a buffer of {len(shape)} dimensions to a Python function: "
            f"arrays have at most {MOST_DIMENSIONS}",
            "",
            "declare the buffer with fewer dimensions",
        )
    element = np.dtype(storage_name(dtype))
    strides = None if steps is None else tuple([step * element.itemsize for step in steps])
    return np.asarray(
        _Memory(
            {
                "data": (address, False),
                "shape": shape,
                "strides": strides,
                "typestr": element.str,
                "version": 3,
            }
        )
    )


def _write_result(address: int, dtype: str, answer: Any) -> None:
    if dtype in ("void", "") or answer is None:
        return
    if dtypes.parse(dtype).code == "bfloat" or dtype == "float16":
        raise CallError(
            f"cannot return {with_article(dtype)} from a Python callback: it is not supported",
            "",
            "return float32 and cast it",
        )
    try:
        _CTYPES[dtype].from_address(address).value = answer
    except TypeError as error:
        raise CallError(
            f"a Python callback returned {answer!r}, expected {dtype}",
            str(error),
            "return a number of the type that the call was declared with",
        ) from None
