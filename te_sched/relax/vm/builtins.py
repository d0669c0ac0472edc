"""Functions that instructions of executables call: checks, shapes, memory, tuples, closures.

They have TVM's names, as "vm.builtin.match_shape". Those of `OF_MACHINE` are given the virtual
machine first. Must not know instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np

from te_sched.errors import ArgumentError, ArgumentTypeError, CallError, Subject, counted, kind_of
from te_sched.ir import dtypes
from te_sched.ir.source_lines import MATCH_CAST
from te_sched.public_members import is_function
from te_sched.relax.vm.bytecode import ShapeTuple, VmFunction
from te_sched.runtime import registry
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import NDArray, array, array_inside, array_maker, empty, from_dlpack

_T = TypeVar("_T")


class DeviceOwner(Protocol):
    """A machine, which has devices."""

    def device(self, index: int) -> Device:
        """A device, by its number."""
        ...


class MatchShapeCode(IntEnum):
    """What `match_shape` does with a size."""

    ASSERT_EQUAL_TO_IMM = 0
    STORE_TO_HEAP = 1
    NO_OP = 2
    ASSERT_EQUAL_TO_LOAD = 3


class MakeShapeCode(IntEnum):
    """Where `make_shape` takes a size from."""

    USE_IMM = 0
    LOAD_SHAPE = 1


class TupleOfList(tuple[object, ...]):
    """A list that a caller passed, as the tuple as which functions take it."""

    __slots__ = ()


_PLAIN = (NDArray, ShapeTuple, int, float, str)  # a union made for each value takes longer


def as_value(value: object) -> object:
    """An argument as functions take it: arrays as NDArray, lists as tuples."""
    if isinstance(value, _PLAIN) or value is None:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return array(value)
    if isinstance(value, list | tuple):
        kind = tuple if isinstance(value, tuple) else TupleOfList
        try:
            return kind([as_value(element) for element in value])
        except RecursionError:
            raise ArgumentError(
                "a tuple is nested too deeply",
                f"{kind_of(value)} contains itself, or more tuples in one another than Python's "
                f"recursion limit allows",
                "give a tuple of fewer levels",
            ) from None
    return from_dlpack(value) if hasattr(value, "__dlpack__") else value


# Checks


_CONTEXT = re.compile(r"ErrorContext\(fn=(.*?), loc=(.*?)(?:, param=(.*?), annotation=(.*))?\) ?$")


_CAST = re.compile(r"ErrorContext\(match_cast, struct_info=(.*)\) ?$")


def _subject(context: str) -> str:
    """What a check is of, from the context that VMShapeLower gives."""
    if _CAST.match(context):
        return "the value of a match_cast"
    match = _CONTEXT.match(context)
    if match is None:
        name = context.strip()
        return f"value {name}" if name else "a value"
    function, location, param, _ = match.groups()
    if location.startswith("param"):
        return f"argument {param} of {function}"
    if location == "return":
        return f"the return value of {function}"
    return f"the value of {location} in {function}"


def _about(context: str) -> list[Subject]:
    """The operator that a check is of, whose lines may be known."""
    return [Subject("operator", MATCH_CAST)] if _CAST.match(context) else []


def _annotation(context: str) -> str:
    cast = _CAST.match(context)
    if cast:
        return f"it is cast to {cast[1]}"
    match = re.search(r"annotation=(.*)\) ?$", context)
    return f"it is declared as {match[1]}" if match else ""


def declared_sizes(context: str) -> list[str] | None:
    """The texts of the sizes of the tensor or shape that is declared; None if they are not.

    >>> declared_sizes('ErrorContext(fn=f, loc=param[0], param=x, annotation=R.Tensor((n, 3)))')
    ['n', '3']
    """
    match = re.search(r"annotation=R\.(?:Tensor\(\(|Shape\(\[)", context)
    if match is None:
        return None
    sizes, depth = [""], 0
    for letter in re.sub(r"T\.int64\((-?\d+)\)", r"\1", context[match.end() :]):
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            break
        if letter == "," and not depth:
            sizes.append("")
        else:
            sizes[-1] += letter
    return [size.strip() for size in sizes if size.strip()]


def expected_array(sizes: list[str] | None, more: str = "") -> str:
    """The advice for an argument that should be an array of some sizes."""
    if sizes is None:
        return f"pass an array{more}"
    return f"pass an array of shape ({', '.join(sizes)}{',' * (len(sizes) == 1)}){more}"


def _not_an_array(
    kind: type[ArgumentError | ArgumentTypeError], context: str, fault: str, more: str = ""
) -> CallError:
    """The error of a value that is not an array of the declared shape."""
    is_computed = _CAST.match(context) or "loc=return" in context
    help = "declare the value as it is" if is_computed else ""
    element = "an element of " if "annotation=R.Tuple" in context else ""
    error = kind(
        f"{element}{_subject(context)} {fault}",
        _annotation(context),
        help or expected_array(declared_sizes(context), more),
        _about(context),
    )
    error.check = None if help else (context, more)
    return error


def _mismatch(context: str, fault: str, help: str) -> ArgumentError:
    return ArgumentError(
        f"{_subject(context)} {fault}", _annotation(context), help, _about(context)
    )


def _wrong_kind(context: str, value: object, expected: str, help: str = "") -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{_subject(context)} is {_kind_of(value)}, expected {expected}",
        _annotation(context),
        help or f"pass {expected}",
        _about(context),
    )


def _kind_of(value: object) -> str:
    return "a list" if isinstance(value, TupleOfList) else kind_of(value)


def check_tensor_info(
    value: object, ndim: int, dtype: str = "", context: str | None = None
) -> None:
    """Check the number of dimensions and the dtype of a tensor; -1 and "" are not checked."""
    if context is None:
        dtype, context = "", dtype
    if not isinstance(value, NDArray):
        fault = f"is {_kind_of(value)}, expected a tensor"
        dtype_argument = f', dtype="{dtype}"' if dtype not in ("", "void") else ""
        raise _not_an_array(
            ArgumentTypeError, context, fault, f": te_sched.nd.array(values{dtype_argument})"
        )
    if ndim not in (-1, value.ndim):
        raise _not_an_array(ArgumentError, context, f"has ndim {value.ndim}, expected {ndim}")
    if dtype not in ("", "void", value.dtype):
        help = f'convert it: te_sched.nd.array(values, dtype="{dtype}")'
        raise _mismatch(context, f"has dtype {value.dtype}, expected {dtype}", help)


def check_shape_info(value: object, ndim: int, context: str) -> None:
    """Check that a value is a shape, with a number of sizes if it is not -1."""
    if not isinstance(value, ShapeTuple):
        help = "pass its sizes: te_sched.relax.vm.ShapeTuple([4, 3])"
        raise _wrong_kind(context, value, "a shape", help)
    if ndim not in (-1, len(value)):
        raise _mismatch(context, f"has {len(value)} sizes, expected {ndim}", f"pass {ndim} sizes")


def check_prim_value_info(value: object, dtype: str, context: str) -> None:
    """Check that a value is a number of a dtype."""
    is_number = isinstance(value, int | float | np.generic)
    wanted = dtypes.is_float(dtype) if dtype else False
    fits = is_number and (wanted or not isinstance(value, float))
    if not fits or (isinstance(value, bool) and not dtypes.is_bool(dtype)):
        raise _wrong_kind(context, value, f"a number of {dtype}")


def check_tuple_info(value: object, size: int, context: str) -> None:
    """Check that a value is a tuple of a number of elements."""
    if not isinstance(value, tuple | list) or isinstance(value, ShapeTuple):
        raise _wrong_kind(context, value, "a tuple")
    if len(value) != size:
        help = f"pass a tuple of {counted(size, 'element')}"
        raise _mismatch(context, f"has {counted(len(value), 'element')}, expected {size}", help)


def check_func_info(value: object, context: str) -> None:
    """Check that a value is a function."""
    if not is_function(value):
        raise _wrong_kind(context, value, "a function")


# Shapes


def alloc_shape_heap(machine: object, size: int) -> NDArray:
    """Memory for the values of sizes."""
    del machine
    return array(np.zeros(size, np.int64))


def match_shape(value: object, heap: NDArray | None, count: int, *rest: Any) -> None:
    """Check the sizes of a tensor or shape, or store them in a heap; by pairs of code and value."""
    *pairs, context = rest
    sizes: tuple[int, ...] | None = (
        value if isinstance(value, tuple) else getattr(value, "shape", None)
    )
    if sizes is None:
        raise _wrong_kind(context, value, "a tensor or a shape")
    if len(sizes) != count:
        fault = f"has {counted(len(sizes), 'dimension')}, expected {count}"
        raise _wrong_sizes(value, context, fault)
    values = [] if heap is None else heap._array
    for axis in range(count):
        code, number = pairs[2 * axis], pairs[2 * axis + 1]
        if code == 1:
            values[number] = sizes[axis]
        elif code != 2:
            expected = number if code == 0 else int(values[number])
            if sizes[axis] != expected:
                fault = f"has shape {tuple(sizes)}, expected {expected} along axis {axis}"
                raise _wrong_sizes(value, context, fault)


def _wrong_sizes(value: object, context: str, fault: str) -> CallError:
    if isinstance(value, NDArray):
        return _not_an_array(ArgumentError, context, fault)
    return _mismatch(context, fault, "pass a shape of the sizes that are declared")


def match_prim_value(value: float, heap: NDArray, code: int, number: int, context: str) -> None:
    """Check a number, or store it in a heap."""
    if code == 1:
        heap._array[number] = value
    elif code != 2:
        expected = number if code == 0 else int(heap._array[number])
        if value != expected:
            raise _mismatch(context, f"is {value}, expected {expected}", f"pass {expected}")


def check_sizes(heap: NDArray, failures: int, function: str, *parts: Any) -> None:
    """Check relations of sizes of a function: a place in a heap has the number that do not hold.

    `parts` are for each the kind, code and value of both sizes (as `make_shape` takes them), their
    texts, and what they are of.
    """
    if not heap._array[failures]:
        return
    for at in range(0, len(parts), 8):
        kind, one_code, value, other_code, other, *texts, subject = parts[at : at + 8]
        size, wanted = make_shape(heap, 2, one_code, value, other_code, other)
        if (size < wanted) if kind == "at least" else (size != wanted):
            raise _different_sizes(kind, function, subject, texts, [int(size), int(wanted)])


def _different_sizes(
    kind: str, function: str, subject: str, texts: list[str], values: list[int]
) -> ArgumentError:
    """The error of a relation that does not hold."""
    pairs = zip(texts, values, strict=True)
    sizes = [text if text == str(value) else f"{text} = {value}" for text, value in pairs]
    if kind == "at least":
        fault, sign = f"{subject} is {sizes[0]}, expected at least {sizes[1]}", ">="
    else:
        fault, sign = f"{subject} differ: {sizes[0]} and {sizes[1]}", "=="
    return ArgumentError(
        fault,
        f"{function} needs {texts[0]} {sign} {texts[1]}",
        "give arguments whose sizes fit",
        [Subject("operator", name) for name in _OPERATOR.findall(subject)],
    )


_OPERATOR = re.compile(r"relax\.[\w.]+")


def make_shape(heap: NDArray | None, count: int, *pairs: int) -> ShapeTuple:
    """A shape of numbers and values of a heap; by pairs of code and value."""
    values = [] if heap is None else heap._array
    return ShapeTuple(
        [pairs[k + 1] if pairs[k] == 0 else values[pairs[k + 1]] for k in range(0, 2 * count, 2)]
    )


def make_prim_value(heap: NDArray, code: int, number: int) -> int:
    """A number, or a value of a heap."""
    return number if code == 0 else int(heap._array[number])


def shape_of(value: NDArray) -> ShapeTuple:
    """The shape of a tensor."""
    return ShapeTuple(value.shape)


def tensor_to_shape(value: NDArray) -> ShapeTuple:
    """A tensor of ints as a shape."""
    sizes = value._array.tolist()
    if sizes and min(sizes) < 0:
        raise ArgumentError(
            f"a shape has the size {min(sizes)}, expected 0 or more",
            f"it is computed: {tuple(sizes)}",
            "give sizes of 0 or more, and slices a stride that is not 0",
        )
    return ShapeTuple(sizes)


def shape_to_tensor(value: ShapeTuple) -> NDArray:
    """A shape as a tensor of int64."""
    return array(np.array(value, np.int64))


# Memory


@lru_cache(256)
def _maker(size: int) -> Callable[[], NDArray]:
    """A function that makes new bytes on the processor: the steps of a loop ask for the same."""
    return array_maker((size,), "uint8")


class Storage:
    """Memory for tensors."""

    __slots__ = ("device", "memory")

    def __init__(self, size: int, device: Device) -> None:
        is_here = device.memory == 1
        self.memory = _maker(size)() if is_here else empty((size,), "uint8", device)
        self.device = device


def alloc_storage(
    machine: DeviceOwner, shape: ShapeTuple, device_index: int, dtype: str, scope: str = "global"
) -> Storage:
    """Memory for the elements of a shape."""
    del scope
    size = dtypes.storage_bytes(dtype)
    for extent in shape:
        size *= extent
    return Storage(size, machine.device(device_index))


def alloc_tensor(storage: Storage, offset: int, shape: ShapeTuple, dtype: str) -> NDArray:
    """A tensor in a storage, from a byte of it on."""
    size = dtypes.storage_bytes(dtype)
    for extent in shape:
        size *= extent
    memory = storage.memory
    if offset + size > memory.size:
        raise CallError(
            f"a tensor of shape {tuple(shape)} and dtype {dtype} does not fit into its storage",
            f"it ends at byte {offset + size} of {memory.size}",
            "allocate a larger storage",
        )
    return array_inside(memory, offset, tuple(shape), dtype)


def reshape(value: NDArray, shape: ShapeTuple) -> NDArray:
    """The same memory with another shape."""
    sizes = tuple(shape)
    if int(np.prod(sizes, dtype=np.int64)) != value.size:
        raise ArgumentError(
            f"cannot reshape a tensor of shape {value.shape} into {sizes}",
            f"it has {value.size} elements, and the new shape {int(np.prod(sizes))}",
            "give a shape with as many elements",
        )
    return array_inside(value, 0, sizes, value.dtype)


def view(value: NDArray, shape: Any, dtype: object, offset: Any) -> NDArray:
    """The memory of a tensor as one of another shape or dtype, or a part of it."""
    sizes = value.shape if shape in (None, ()) and not isinstance(shape, ShapeTuple) else shape
    kind = value.dtype if dtype in (None, ()) else str(dtype)
    begin = 0 if offset in (None, ()) else int(offset)
    size = int(np.prod(sizes, dtype=np.int64)) * dtypes.storage_bytes(kind)
    have = value.size * dtypes.storage_bytes(value.dtype)
    if begin < 0 or begin + size > have:
        raise ArgumentError(
            f"a view of bytes {begin} to {begin + size} of a tensor of {have} bytes",
            "",
            "give a shape, dtype and offset inside of the tensor",
        )
    return array_inside(value, begin, tuple(sizes), kind)


def ensure_zero_offset(value: NDArray) -> NDArray:
    """The tensor: here each one begins at its address."""
    return value


def copy_value(value: _T) -> _T:
    """The value itself."""
    return value


def to_device(value: NDArray, device_type: int, device_id: int) -> NDArray:
    """The tensor on a device."""
    device = Device(device_type, device_id)
    return value if value.device == device else value.copyto(device)


# Tuples, closures, conditions


def make_tuple(*fields: object) -> tuple[object, ...]:
    """Values as a tuple."""
    return fields


def tuple_getitem(value: Sequence[object], index: int) -> object:
    """An element of a tuple."""
    return value[index]


def null_value() -> None:
    """None."""
    return None


def read_if_cond(value: object) -> bool:
    """Whether a condition holds: a number, or a tensor of one element."""
    return bool(value._array) if isinstance(value, NDArray) else bool(value)


class Closure:
    """A function with its last arguments."""

    __slots__ = ("captured", "function")

    def __init__(self, function: VmFunction, captured: tuple[object, ...]) -> None:
        self.function, self.captured = function, captured

    def __call__(self, *args: object) -> object:
        return self.function(*args, *self.captured)


def make_closure(function: VmFunction, *captured: object) -> Closure:
    """A function with its last arguments."""
    return Closure(function, captured)


def invoke_closure(machine: object, closure: VmFunction, *args: object) -> object:
    """Call a closure, or a function, with the other arguments."""
    del machine
    return closure(*args)


def call_tir_dyn(function: VmFunction, *args: Any) -> None:
    """Call a function of loops; the last argument is a shape with its numbers."""
    *arrays, sizes = args
    function(*arrays, *sizes)


def multinomial_from_uniform(probability: NDArray, sample: NDArray, *rest: NDArray) -> NDArray:
    """For each row of probabilities, the category that a uniform number selects."""
    values, numbers = np.asarray(probability), np.asarray(sample).reshape(-1)
    rows = np.asarray(rest[0]).reshape(-1) if rest else np.arange(len(numbers))
    sums = np.cumsum(values, axis=-1)[rows]
    samples = np.argmax(sums >= numbers[:, None], axis=-1)
    samples[numbers > sums[:, -1]] = values.shape[-1] - 1
    return array(samples.reshape(-1, 1).astype(np.int64))


BUILTINS: dict[str, VmFunction] = {
    f"vm.builtin.{function.__name__}": function
    for function in (
        *(check_tensor_info, check_shape_info, check_prim_value_info, check_tuple_info),
        *(check_func_info, alloc_shape_heap, match_shape, match_prim_value, check_sizes),
        *(make_shape, make_prim_value, shape_of, tensor_to_shape, shape_to_tensor, alloc_storage),
        *(alloc_tensor, reshape, ensure_zero_offset, to_device, make_tuple, tuple_getitem),
        *(null_value, read_if_cond, make_closure, invoke_closure, call_tir_dyn),
        *(multinomial_from_uniform,),
    )
}
BUILTINS["vm.builtin.copy"] = copy_value
BUILTINS["runtime.TVMArrayCreateView"] = view
registry.bring(BUILTINS)
