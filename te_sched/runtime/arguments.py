"""Checking the arguments of a call before native code runs.

`module` caches the keys of accepted arguments, so the checks here may be slow and
thorough. Must not know how functions are called.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from te_sched.codegen.llvm.types import integer_range
from te_sched.codegen.signature import (
    Dimension,
    Extent,
    FunctionParameter,
    Signature,
    Symbol,
    describe,
    evaluate,
    symbols_of,
)
from te_sched.errors import CallError, MemoryKindError, Subject, kind_of, with_article
from te_sched.ir import dtypes
from te_sched.ir.argument_sizes import NOT_NEGATIVE
from te_sched.lowering.widen_indices import LARGEST_SIZE
from te_sched.runtime import cuda_driver, cuda_streams
from te_sched.runtime.device import Device, source_of
from te_sched.runtime.dlpack import ArrayView, asking, place_of, read_capsule, refuse_negated
from te_sched.runtime.ndarray import FOREIGN, NDArray, refuse_masked, view_interface
from te_sched.runtime.torch_tensors import view_of_tensor

_CUDA = 2
_LEGACY_STREAM = 1  # DLPack's number of the default stream, whose handle is 0
_MEMORIES = {
    1: "the processor's memory",
    _CUDA: "memory of cuda({})",
    3: "the processor's memory, locked for CUDA",
    -_CUDA: "memory of an emulated CUDA device",
}
_LARGEST_FLOAT = int(np.finfo(np.float64).max)


def copy_to(device: Device, name: str = "x") -> str:
    """The expression that copies an array to a device."""
    is_here = device.memory == 1
    return f"te_sched.nd.array({name}{'.numpy()' if is_here else ', ' + source_of(device)})"


def view_of(value: Any, keep: list[Any]) -> ArrayView | None:
    """An argument as an array, or None; objects that must live during the call are added to
    `keep`."""
    if isinstance(value, NDArray):
        return ArrayView(*value.key, value.address)
    if isinstance(value, np.ndarray):
        refuse_masked(value)
        return view_interface(value.__array_interface__, value.dtype)
    if isinstance(value, np.generic | type):
        return None
    tensor = view_of_tensor(value)
    if tensor is not None:
        return tensor
    if hasattr(value, "__dlpack__"):
        with asking(value, "through DLPack"):
            capsule = _capsule_of(value)
        keep.append(capsule)
        return read_capsule(capsule)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return None
    with asking(value, "through CUDA's array interface"):
        device = cuda_driver.device_of_pointer(interface["data"][0])
        return view_interface(interface, np.dtype(interface["typestr"]), None, _CUDA, device)


def place_of_array(value: Any) -> tuple[int, int] | None:
    """The memory that an argument is in, as a type and a number of a device; None of no array."""
    if isinstance(value, NDArray):
        return value.device.memory, value.device.device_id
    if hasattr(value, "__dlpack_device__") and not isinstance(value, type):
        with asking(value, "through DLPack"):
            return place_of(*value.__dlpack_device__())
    view = view_of(value, [])
    return None if view is None else (view.device_type, view.device_id)


def _capsule_of(value: Any) -> Any:
    """The array as DLPack; one on a CUDA device is handed over on the stream that is used there."""
    refuse_negated(value)
    location = place_of_array(value) if hasattr(value, "__dlpack_device__") else None
    if location is None or location[0] != _CUDA:
        return value.__dlpack__()
    with cuda_driver.using(location[1]):  # torch refuses tensors of another device
        stream = cuda_streams.current_stream(location[1]) or _LEGACY_STREAM
        return value.__dlpack__(stream=stream)


def check(
    signature: Signature, values: Sequence[Any], views: Sequence[ArrayView | None]
) -> tuple[int, ...]:
    """Check all arguments of a call; gives the symbols to pass after them."""
    count = len(signature.parameters)
    if len(values) != count:
        raise CallError(
            f"{signature.name}() takes {count} argument{'' if count == 1 else 's'}, "
            f"got {len(values)}",
            f"the arguments are {_names(signature)}",
            "pass the inputs and the outputs, in the order of the argument list it was built with",
        )
    return _Check(signature).run(values, views)


def check_sizes(signature: Signature, values: Sequence[Any]) -> None:
    """Check only the sizes that numbers and shapes of numpy arrays determine."""
    checked = _Check(signature)
    for parameter, value in zip(signature.parameters, values, strict=False):
        if parameter.kind == "scalar":
            checked.check_scalar(parameter, value)
        elif parameter.kind == "buffer" and isinstance(value, np.ndarray):
            checked.bind_symbols(parameter, "shape", parameter.shape, value.shape)
    checked.check_sizes()


def refuse_names(signature: Signature, named: Mapping[str, Any]) -> NoReturn:
    """Refuse arguments that are given by name: two tensors may have one."""
    listing = ", ".join(f"{name}=..." for name in named)
    names = _names(signature)
    raise CallError(
        f"{signature.name}() takes its arguments by position, got {listing}",
        f"the arguments are {names}",
        f"leave out the names and pass all in this order: {signature.name}({names})",
    )


def _names(signature: Signature) -> str:
    return ", ".join(parameter.name for parameter in signature.parameters)


class _Check:
    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.bound: list[int | None] = [None] * len(signature.symbols)
        self.source: list[str] = [""] * len(signature.symbols)

    def run(self, values: Sequence[Any], views: Sequence[ArrayView | None]) -> tuple[int, ...]:
        parameters = self.signature.parameters
        for parameter, value, view in zip(parameters, values, views, strict=True):
            if parameter.kind == "buffer":
                self._check_kind(parameter, value, view)
            elif parameter.kind == "scalar":
                self.check_scalar(parameter, value)
            elif view is None and not _is_address(value):
                fault = f"must be an array or an address, got {kind_of(value)}"
                raise self._error(parameter, fault, "pass an array or an address")
        arrays = [
            (parameter, view, self._bind(parameter, view))
            for parameter, view in zip(parameters, views, strict=True)
            if parameter.kind == "buffer" and view is not None
        ]
        for parameter, _, strides in arrays:
            self._bind_unused(parameter, strides)
        self.check_sizes()
        for parameter, view, strides in arrays:
            self._check_extents(parameter, view)
            self._check_strides(parameter, view, strides)
            self._check_index_range(parameter, view, strides)
        return self._passed()

    def _passed(self) -> tuple[int, ...]:
        """The values of the symbols that are passed; a stride that nothing gives is 0."""
        return tuple(
            value if value is not None else 0
            for value, symbol in zip(self.bound, self.signature.symbols, strict=True)
            if symbol.passed
        )

    def _check_kind(self, parameter: FunctionParameter, value: Any, view: ArrayView | None) -> None:
        if view is None:
            help = "make an array with te_sched.nd.array or numpy.array"
            raise self._error(parameter, f"must be an array, got {kind_of(value)}", help)
        if view.dtype != parameter.dtype:
            is_torch = type(value).__module__ == "torch"
            method = f".to(torch.{parameter.dtype})" if is_torch else ".astype"
            help = f"convert it to {parameter.dtype} ({method})"
            if view.dtype.endswith(FOREIGN):  # no program has such a dtype
                help = f'convert it: x.astype("{parameter.dtype}")'
            else:
                help += f", or declare {parameter.name} as {view.dtype}"
            fault = f"has dtype {view.dtype}, expected {parameter.dtype}"
            raise self._error(parameter, fault, help)
        wanted = (self.signature.memory, self.signature.device_id)
        if (view.device_type, view.device_id) != wanted:
            here, there = (
                _MEMORIES.get(kind, f"memory of kind {kind}").format(number)
                for kind, number in ((view.device_type, view.device_id), wanted)
            )
            device = Device(abs(wanted[0]), wanted[1], emulated=wanted[0] < 0)
            help = f"the function works in {there}; copy the array there: {copy_to(device)}"
            fault = f"is in {here}, expected {there}"
            raise self._error(parameter, fault, help, MemoryKindError)
        if len(view.shape) != len(parameter.shape):
            declared = self._shape(parameter)
            raise self._error(
                parameter, f"has shape {view.shape}, expected {declared}", "reshape it"
            )
        if parameter.written and not view.writable:
            help = "pass an array that can be written"
            raise self._error(parameter, "is an output, but its memory is read-only", help)
        size = dtypes.storage_bytes(dtypes.element(parameter.dtype))
        if view.address % size:
            fault = f"is not aligned to its elements of {size} bytes"
            raise self._error(
                parameter, fault, _copied("an aligned copy (numpy.array(x))", parameter)
            )
        if view.address % parameter.alignment:
            fault = f"is not aligned to {parameter.alignment} bytes, which kernels load at once"
            raise self._error(
                parameter, fault, _copied("a copy, not a part of a larger array", parameter)
            )

    def check_scalar(self, parameter: FunctionParameter, value: Any) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        is_float = dtypes.is_float(parameter.dtype)
        is_odd = isinstance(value, bool) and not dtypes.is_bool(parameter.dtype)
        if is_odd or not isinstance(value, int | float if is_float else int):
            fault = f"must be {with_article(parameter.dtype)}, got {kind_of(value)}"
            raise self._error(parameter, fault, "pass a float" if is_float else "pass an int")
        if is_float:
            if isinstance(value, int) and abs(value) > _LARGEST_FLOAT:
                fault = f"is an int of {value.bit_length()} bits, too large for {parameter.dtype}"
                raise self._error(parameter, fault, "pass a float")
            return
        low, high = integer_range(parameter.dtype)
        if not low <= value <= high:
            raise self._error(
                parameter, f"is {value}, too large for {parameter.dtype}", f"use {low} to {high}"
            )
        if parameter.symbol is not None:
            self.bound[parameter.symbol], self.source[parameter.symbol] = (
                value,
                f"argument {parameter.name}",
            )

    def _bind(self, parameter: FunctionParameter, view: ArrayView) -> list[int]:
        """Bind symbols that are dimensions by themselves: extents, then used strides.

        Gives the array's strides in elements.
        """
        strides = self._strides(parameter, view)
        used = [
            step if extent > 1 or parameter.broadcast else None
            for step, extent in zip(strides, view.shape, strict=True)
        ]
        self.bind_symbols(parameter, "shape", parameter.shape, view.shape)
        self.bind_symbols(parameter, "strides", parameter.strides or [], used)
        return strides

    def _bind_unused(self, parameter: FunctionParameter, strides: Sequence[int]) -> None:
        """Bind the remaining symbols from strides of axes with at most one element."""
        for dimension, step in zip(parameter.strides or [], strides, strict=False):
            if isinstance(dimension, list) and dimension[0] == "symbol":
                number = dimension[1]
                most = integer_range(self.signature.symbols[number].dtype)[1]
                if self.bound[number] is None and 0 <= step <= most:
                    self.bound[number] = step

    def bind_symbols(
        self,
        parameter: FunctionParameter,
        what: str,
        dimensions: Sequence[Dimension],
        actual: Sequence[int | None],
    ) -> None:
        """Take the symbols that are dimensions by themselves."""
        for axis, (dimension, value) in enumerate(zip(dimensions, actual, strict=False)):
            if isinstance(dimension, list) and dimension[0] == "symbol" and value is not None:
                self._bind_symbol(parameter, f"{what}[{axis}]", dimension[1], value)

    def _bind_symbol(
        self, parameter: FunctionParameter, location: str, number: int, value: int
    ) -> None:
        symbol: Symbol = self.signature.symbols[number]
        bound = self.bound[number]
        if bound is not None and bound != value:
            raise self._error(
                parameter,
                f"has {location} {value}, expected {bound}: {symbol.name} is {bound} by "
                f"{self.source[number]}",
                f"make the arguments agree on {symbol.name}",
            )
        if value < 0 or value > integer_range(symbol.dtype)[1]:
            raise self._error(
                parameter,
                f"has {location} {value}, which {symbol.name} ({symbol.dtype}) cannot be",
                f"pass an array with {location} from 0 to {integer_range(symbol.dtype)[1]}",
            )
        self.bound[number], self.source[number] = value, f"{location} of argument {parameter.name}"

    def check_sizes(self) -> None:
        """Check the numbers that are computed of symbols."""
        for extent in self.signature.extents:
            self._check_size(extent)

    def _check_size(self, extent: Extent) -> None:
        symbols = self.signature.symbols
        value = evaluate(extent.size, self.bound)
        least = evaluate(extent.least, self.bound)
        if least is None or None in [self.bound[number] for number in symbols_of(extent.size)]:
            return
        is_large = value is not None and extent.most is not None and value > extent.most
        if value is None and least < 0:  # of nothing: it is asked for a type's limits alone
            return
        if value is not None and value >= least and not is_large:
            return
        if any((evaluate(loop, self.bound) or 0) <= 0 for loop in extent.loops):
            return
        wanted = f"at most {extent.most}" if is_large else f"at least {least}"
        text = "" if isinstance(extent.size, int) else f"{describe(extent.size, symbols)} = "
        size_texts = [
            f"{symbols[number].name} is {self.bound[number]} by {self.source[number]}"
            for number in symbols_of(extent.size)
        ]
        why = NOT_NEGATIVE if value is not None and value < 0 == least else extent.why
        raise CallError(
            f"{extent.what} is {text}{value}, expected {wanted}"
            if value is not None
            else f"{extent.what} is {text}a division by zero",
            ", and ".join([why, *([", ".join(size_texts)] if size_texts else [])]),
            f"pass arguments that make it {wanted}",
            Subject("function", self.signature.name, f"call of {self.signature.name!r}"),
        )

    def _strides(self, parameter: FunctionParameter, view: ArrayView) -> list[int]:
        """The array's strides in elements."""
        actual = _compact(view.shape)
        if view.strides is not None and 0 not in view.shape:
            actual = view.strides
        for axis, (step, extent) in enumerate(zip(actual, view.shape, strict=True)):
            if extent > 1 and step == 0 and parameter.written and 0 not in view.shape:
                fault = f"is an output whose elements along axis {axis} share one place in memory"
                raise self._error(parameter, fault, "pass an array whose elements lie apart")
            if extent > 1 and (step < 0 or step != int(step)):
                help = _copied("numpy.ascontiguousarray(x)", parameter)
                raise self._error(
                    parameter,
                    f"has stride {step} along axis {axis}, expected a positive integer",
                    help,
                )
        if parameter.broadcast:
            return [
                0 if extent == 1 else int(step)
                for step, extent in zip(actual, view.shape, strict=True)
            ]
        return [int(step) for step in actual]

    def _check_extents(self, parameter: FunctionParameter, view: ArrayView) -> None:
        for axis, (dimension, extent) in enumerate(zip(parameter.shape, view.shape, strict=True)):
            expected = evaluate(dimension, self.bound)
            if expected != extent:
                where = (
                    ""
                    if isinstance(dimension, int)
                    else f" ({describe(dimension, self.signature.symbols)})"
                )
                raise self._error(
                    parameter,
                    f"has shape {view.shape}, expected {expected} along axis {axis}{where}",
                    f"pass an array of shape {self._shape(parameter)}",
                )

    def _check_strides(
        self, parameter: FunctionParameter, view: ArrayView, actual: list[int]
    ) -> None:
        if parameter.written and view.strides is not None and parameter.strides is not None:
            self._check_own_overlap(parameter, view, actual)
        declared = _compact(view.shape) if parameter.strides is None else parameter.strides
        wanted = [evaluate(dimension, self.bound) for dimension in declared]
        for axis, (have, want, extent) in enumerate(zip(actual, wanted, view.shape, strict=True)):
            if extent > 1 and have != want and 0 not in view.shape:
                kind = "compact rows" if parameter.strides is None else "by the buffer"
                raise self._error(
                    parameter,
                    f"has strides {tuple(actual)}, expected {want} along axis {axis} ({kind})",
                    _copied("a compact copy (numpy.ascontiguousarray(x))", parameter),
                )

    def _check_own_overlap(
        self, parameter: FunctionParameter, view: ArrayView, strides: list[int]
    ) -> None:
        """Refuse an output whose elements overlap, as in sliding windows."""
        axes = sorted((step, extent) for step, extent in zip(strides, view.shape, strict=True))
        reach = 0  # of the inner axes
        for step, extent in axes:
            if extent > 1 and step <= reach:
                break
            reach += (extent - 1) * step
        else:
            return
        if 0 not in view.shape and _meet(axes):
            fault = f"is an output whose elements overlap, with strides {tuple(strides)}"
            raise self._error(parameter, fault, "pass an array whose elements lie apart")

    def _check_index_range(
        self, parameter: FunctionParameter, view: ArrayView, strides: list[int]
    ) -> None:
        """Indices of symbolic programs are int32: refuse arrays that they cannot reach."""
        symbolic = any(isinstance(dimension, list) for dimension in parameter.shape)
        last = sum(
            max(extent - 1, 0) * step for extent, step in zip(view.shape, strides, strict=True)
        )
        narrow = all(symbol.dtype == "int32" for symbol in self.signature.symbols)
        if symbolic and narrow and last > LARGEST_SIZE:
            fault = f"has {last} as its last index, too large for int32"
            raise self._error(parameter, fault, 'declare the sizes with dtype "int64"')

    def _shape(self, parameter: FunctionParameter) -> str:
        extents = [describe(dimension, self.signature.symbols) for dimension in parameter.shape]
        return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"

    def _error(
        self, parameter: FunctionParameter, fault: str, help: str, kind: type[CallError] = CallError
    ) -> CallError:
        number = next(k for k, other in enumerate(self.signature.parameters) if other is parameter)
        name = self.signature.name
        where = (
            Subject("argument", parameter.name, f"argument {number} of {name}()"),
            Subject("function", name, f"call of {name!r}"),
        )
        return kind(f"argument {parameter.name} {fault}", "", help, where)


def _meet(axes: list[tuple[int, int]]) -> bool:
    """Whether elements of an array with these strides and extents overlap."""
    if math.prod(extent for _, extent in axes) > 1 + sum((e - 1) * step for step, e in axes):
        return True  # there are fewer places than elements
    places = np.zeros((), np.int64)
    for step, extent in axes:
        places = np.add.outer(places, step * np.arange(extent, dtype=np.int64))
    return np.unique(places).size < places.size


def _is_address(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _copied(copy: str, parameter: FunctionParameter) -> str:
    """The advice to pass a copy, which of an output is not where the caller looks for it."""
    back = ", and copy the result back: x[...] = copy" if parameter.written else ""
    return f"pass {copy}{back}"


def _compact(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])
