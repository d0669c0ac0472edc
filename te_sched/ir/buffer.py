"""Declaration of buffers, and accesses written by users.

Gives `Buffer` the methods access_ptr, vload, vstore, get_flattened_buffer, and `buffer[...]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import index
from typing import Any, NoReturn

from te_sched.errors import (
    DeclarationError,
    OperandError,
    Subject,
    counted,
    repr_of,
    why_no_text,
)
from te_sched.ir import calls, dtypes, ops
from te_sched.ir.expr import (
    DEFAULT_ALIGNMENT,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    ExprLike,
    Indices,
    IntImm,
    Mul,
    PointerType,
    Ramp,
    Range,
    Shape,
    Var,
    lanes_of,
)
from te_sched.ir.stmt import BufferStore
from te_sched.ir.storage_scopes import is_storage_scope
from te_sched.signatures import checked

READ, WRITE = 1, 2
_BUFFER_TYPES = {"": "", "default": "", "auto_broadcast": "auto_broadcast"}


@checked
def decl_buffer(
    shape: Shape,
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[ExprLike] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """Declare a buffer: a view of memory that an intrinsic or a hand-written loop nest accesses.

    Parameters
    ----------
    strides : in elements, one per dimension; by default compact and row-major, as with a single 1.
    elem_offset : the offset of the first element; by default a variable if `offset_factor` is
        given, otherwise 0.
    data_alignment : in bytes; -1 means the default of 128.
    offset_factor : a divisor of elem_offset.
    buffer_type : "auto_broadcast" broadcasts dimensions of extent 1.

    >>> A = decl_buffer((4, 8), "float32", "A")
    >>> A.shape, A.dtype, A[1, 2]
    ((4, 8), 'float32', A[1, 2])
    """
    dtype = "float32" if dtype is None else dtypes.spelled(dtype)
    offset_factor, data_alignment = index(offset_factor), index(data_alignment)
    _check_data(name, data)
    kind = dtypes.parse(dtype)
    extents = _extents(shape, name)
    element = dtypes.with_lanes("int8", kind.lanes) if kind.code == "bool" else dtype
    if data is None:
        data = Var(name, "handle", PointerType(element, scope or "global"))
    if buffer_type not in _BUFFER_TYPES:
        raise DeclarationError(
            f"unknown type of buffer {name}: {buffer_type!r}",
            "",
            'give "" or "auto_broadcast"',
        )
    return Buffer(
        data,
        dtype,
        extents,
        _strides(strides, extents, buffer_type, name),
        _offset(elem_offset, offset_factor, extents, name),
        name,
        DEFAULT_ALIGNMENT if data_alignment <= 0 else data_alignment,
        max(1, offset_factor),
        _BUFFER_TYPES[buffer_type],
        _separators(axis_separators, len(extents), name),
    )


def _check_data(name: str, data: object) -> None:
    if (why := why_no_text(name)) is not None:
        raise DeclarationError(
            f"the name of a buffer is {repr_of(name)}, expected a string", why, "give a str"
        )
    if data is not None and not (isinstance(data, Var) and data.pointer is not None):
        label = f"variable {data.name}" if isinstance(data, Var) else repr_of(data)
        where = Subject("buffer", name)
        is_scope = isinstance(data, str) and is_storage_scope(data)
        raise DeclarationError(
            f"the data of {where} is {label}, expected a pointer variable",
            "",
            f"give the scope by name: scope={data!r}"
            if is_scope
            else "use the data of another buffer, or leave `data` out",
            where,
        )


def _separators(positions: object, dimensions: int, name: str) -> tuple[int, ...]:
    separators = () if positions is None else positions
    if not isinstance(separators, list | tuple) or not all(
        isinstance(position, int | IntImm) and 0 <= int(position) <= dimensions
        for position in separators
    ):
        raise DeclarationError(
            f"axis_separators of buffer {name} is {repr_of(positions)}, expected positions "
            "between its dimensions",
            "",
            f"give a list of ints from 0 to {dimensions}",
            Subject("buffer", name),
        )
    return tuple([int(position) for position in separators])


def _extents(shape: Shape, name: str) -> tuple[Expr, ...]:
    sizes: tuple[Any, ...] = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    return tuple([_integer(size, name, "an extent") for size in sizes])


def _integer(value: ExprLike, name: str, what: str) -> Expr:
    where = Subject("buffer", name)
    if isinstance(value, str):
        raise DeclarationError(
            f"{what} of {where} is {value!r}, expected an integer",
            "",
            "give the shape in brackets of its own, and the dtype after it",
            where,
        )
    number = ops.convert(value)
    if not dtypes.is_integral(dtypes.element(number.dtype)):
        raise DeclarationError(
            f"{what} of {where} has dtype {number.dtype}, expected an integer",
            "",
            "give an int or an integer expression",
            where,
        )
    if what == "an extent" and isinstance(number, IntImm) and number.value < 0:
        raise DeclarationError(
            f"{what} of {where} must not be negative, got {number.value}",
            "",
            "give the number of elements; 0 is allowed",
            where,
        )
    return number


def _strides(
    strides: Sequence[ExprLike] | None, shape: tuple[Expr, ...], buffer_type: str, name: str
) -> tuple[Expr, ...]:
    if strides is None or not len(strides):
        if buffer_type == "auto_broadcast":
            return tuple([Var("stride", extent.dtype) for extent in shape])
        return ()
    if len(strides) == 1 < len(shape) and ops.is_const(ops.convert(strides[0]), 1):
        return ()  # as TVM prints the buffers of cache_index
    if len(strides) != len(shape):
        raise DeclarationError(
            f"buffer {name} has {counted(len(shape), 'dimension')} but "
            f"{counted(len(strides), 'stride')}",
            "",
            "give one stride for each dimension, or none for a compact buffer",
            Subject("buffer", name),
        )
    return tuple([_integer(stride, name, "a stride") for stride in strides])


def _offset(offset: ExprLike | None, factor: int, shape: tuple[Expr, ...], name: str) -> Expr:
    if offset is not None:
        return _integer(offset, name, "an offset")
    if factor:
        return Var(f"{name}_elem_offset", shape[0].dtype if shape else "int32")
    return IntImm(0, shape[0].dtype if shape else "int64")


def flat_offset(buffer: Buffer, shape: tuple[Expr, ...]) -> Expr:
    """The offset of the first element for a flattened shape: 0 has the type of its extents."""
    is_zero = ops.is_const(buffer.elem_offset, 0)
    return IntImm(0, shape[0].dtype) if is_zero else buffer.elem_offset


@checked
def access_ptr(
    self: Buffer,
    access_mask: str | int,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: ExprLike = 0,
    extent: ExprLike | None = None,
) -> Call:
    """A pointer into the buffer, as an argument of a function.

    Parameters
    ----------
    access_mask : "r", "w" or "rw": how the function accesses the elements.
    content_lanes : the number of lanes of the pointer's element type.
    offset : of the pointer, in elements.
    extent : the number of elements that are accessed; by default the rest of the buffer.
    """
    start = ops.add(self.elem_offset, offset)
    size = _size(self) if extent is None else ops.convert(extent)
    if extent is None and self.shape:
        size = ops.sub(size, offset)
    content = self.dtype
    if content_lanes > 1:
        content = dtypes.with_lanes(dtypes.element(self.dtype), content_lanes)
        start, size = ops.div(start, content_lanes), ops.div(size, content_lanes)
    arguments = (calls.type_annotation(content), self.data, start, size, IntImm(_mask(access_mask)))
    return Call(dtypes.spelled(ptr_type), "tir.tvm_access_ptr", arguments)


def _mask(mask: str | int) -> int:
    if isinstance(mask, int) and 0 < mask <= READ | WRITE:
        return mask
    if isinstance(mask, str) and mask and set(mask) <= {"r", "w"}:
        return (READ if "r" in mask else 0) | (WRITE if "w" in mask else 0)
    raise DeclarationError(
        f"unknown access mask of access_ptr: {repr_of(mask)}",
        "it says whether the function reads or writes",
        'give "r", "w" or "rw"',
    )


def _size(buffer: Buffer) -> Expr:
    """The number of elements from the first to the last, including gaps between rows."""
    if buffer.strides:
        return ops.mul(buffer.strides[0], buffer.shape[0])
    return _product(buffer.shape) if buffer.shape else IntImm(1, buffer.elem_offset.dtype)


def _product(extents: tuple[Expr, ...]) -> Expr:
    return reduce(ops.mul, extents)


def element_offset(buffer: Buffer, indices: Indices) -> Expr:
    """The offset of an element from the data pointer, in elements."""
    checked = checked_indices(buffer, indices)
    offset: Expr | None = None
    if buffer.strides:
        for index, stride in zip(checked, buffer.strides, strict=True):
            step = ops.mul(index, stride)
            offset = step if offset is None else ops.add(offset, step)
    else:
        for position, extent in zip(checked, buffer.shape, strict=True):
            offset = position if offset is None else ops.add(ops.mul(offset, extent), position)
    return buffer.elem_offset if offset is None else ops.add(offset, buffer.elem_offset)


def get_flattened_buffer(self: Buffer) -> Buffer:
    """The same memory as a one-dimensional buffer (one more dimension per axis separator)."""
    if len(self.shape) == 1 and not self.strides:
        return self
    if self.axis_separators:
        cuts = (0, *self.axis_separators, len(self.shape))
        shape = tuple([_product(self.shape[low:high]) for low, high in pairwise(cuts)])
    else:
        shape = (_size(self) if self.shape else IntImm(1),)
    return Buffer(
        self.data,
        self.dtype,
        shape,
        (),
        flat_offset(self, shape),
        self.name,
        self.data_alignment,
        self.offset_factor,
        self.buffer_type,
        tuple(range(1, len(shape))),
    )


def _check_rank(buffer: Buffer, indices: Sequence[object]) -> None:
    if len(indices) != len(buffer.shape):
        raise DeclarationError(
            f"buffer {buffer.name} has {counted(len(buffer.shape), 'dimension')} but "
            f"{counted(len(indices), 'index', 'indices')} given",
            "",
            "give one index for each dimension",
            Subject("buffer", buffer.name),
        )


def checked_indices(buffer: Buffer, indices: Indices) -> tuple[Expr, ...]:
    index_tuple: tuple[Any, ...] = (
        tuple(indices) if isinstance(indices, list | tuple) else (indices,)
    )
    _check_rank(buffer, index_tuple)
    return tuple([_index(index, buffer) for index in index_tuple])


def _index(index: ExprLike | slice, buffer: Buffer) -> Expr:
    if not isinstance(index, slice):
        return _integer(index, buffer.name, "an index")
    start = 0 if index.start is None else index.start
    step = 1 if index.step is None else index.step
    length = ops.ceildiv(ops.sub(index.stop, start), step) if index.stop is not None else None
    if type(length) is Mul and step == 1:
        return Ramp(ops.convert(start), ops.convert(step), lanes_of(length))
    if not isinstance(length, IntImm) or length.value < 1:
        raise DeclarationError(
            f"the length of a slice of buffer {buffer.name} is not constant",
            "",
            "write it as start : start + n with a constant n",
            Subject("buffer", buffer.name),
        )
    if length.value == 1:
        return ops.convert(start)
    return Ramp(ops.convert(start), ops.convert(step), length.value)


@checked
def vload(
    self: Buffer, begin: Indices, dtype: str | None = None, predicate: ExprLike | None = None
) -> BufferLoad:
    """The vector of type `dtype` that starts at `begin`; by default a single element.

    Lanes for which `predicate`, a vector of bools, is false are 0.
    """
    load = BufferLoad(self, _vector_indices(self, begin, dtype), _condition(predicate))
    check_predicate(load.predicate, load.dtype, self, "load")
    return load


def vstore(
    self: Buffer, begin: Indices, value: ExprLike, predicate: ExprLike | None = None
) -> BufferStore:
    """Store a value, or a vector that starts at `begin`; only lanes for which `predicate` holds."""
    stored = ops.convert(value)
    if stored.dtype != self.dtype:
        element_dtype = dtypes.element(self.dtype)
        stored = ops.cast(dtypes.with_lanes(element_dtype, dtypes.lanes(stored.dtype)), stored)
    places = _vector_indices(self, begin, stored.dtype)
    store = BufferStore(self, stored, places, _condition(predicate))
    check_predicate(store.predicate, stored.dtype, self, "store")
    return store


def _condition(predicate: ExprLike | None) -> Expr | None:
    return None if predicate is None else ops.convert(predicate)


def check_predicate(predicate: Expr | None, dtype: str, buffer: Buffer, access: str) -> None:
    """Refuse the predicate of a load or store of `dtype` unless it has a bool for each lane."""
    if predicate is None:
        return
    mask, count = predicate.dtype, dtypes.lanes(dtype)
    if dtypes.is_scalable(mask) != dtypes.is_scalable(dtype):
        what = "load indices" if access == "load" else "value dtype"
        why = f"one of its dtype and the {what} is scalable, expected both or none"
        in_tvm = f"Predicate mask dtype and {what} must both be scalable."
    elif dtypes.lanes(mask) != count:
        what = "load a vector" if access == "load" else "store a value"
        lanes = int(dtypes.lanes(mask))
        why = f"it has {counted(lanes, 'lane')}, and the {access} {int(count)}"
        in_tvm = (
            f"Got a predicate mask with {lanes} lanes, but trying to {what} with {int(count)} "
            "lanes. The number of lanes must match."
        )
    elif not dtypes.is_bool(mask):
        why = f"its elements are {dtypes.element(mask)}, expected bool"
        in_tvm = f"Predicate mask elements must be boolean values, but got {dtypes.element(mask)}."
    else:
        return
    raise DeclarationError(
        f"the predicate of a {access} of buffer {buffer.name} does not fit",
        why,
        f"give a bool for each lane, as T.get_active_lane_mask does for {dtype}",
        Subject("buffer", buffer.name),
        in_tvm=in_tvm,
    )


def _vector_indices(buffer: Buffer, begin: Indices, dtype: str | None) -> tuple[Expr, ...]:
    indices = checked_indices(buffer, begin)
    if dtype is None:
        return indices
    dtype = dtypes.spelled(dtype)
    if dtypes.lanes(BufferLoad(buffer, indices).dtype) == dtypes.lanes(dtype):
        return indices
    if dtypes.element(dtype) != dtypes.element(buffer.dtype):
        raise DeclarationError(
            f"buffer {buffer.name} of {buffer.dtype} cannot be accessed as {dtype}",
            "",
            "cast the value",
            Subject("buffer", buffer.name),
        )
    total, own = dtypes.lanes(dtype), dtypes.lanes(buffer.dtype)
    count = total if own == 1 else total // own
    return (*indices[:-1], Ramp(indices[-1], ops.const(1, indices[-1].dtype), count))


def element(self: Buffer, indices: Indices) -> BufferLoad | BufferRegion:
    """`buffer[i, j]`; with slices a region, whose value is a vector."""
    index_tuple: tuple[Any, ...] = (
        tuple(indices) if isinstance(indices, list | tuple) else (indices,)
    )
    if any(isinstance(component, slice) and component.step is None for component in index_tuple):
        _check_rank(self, index_tuple)
        return BufferRegion(
            self,
            tuple(
                [
                    _range(self, component, size)
                    for component, size in zip(index_tuple, self.shape, strict=True)
                ]
            ),
        )
    return BufferLoad(self, checked_indices(self, indices))


def _range(buffer: Buffer, index: Any, extent: Expr) -> Range:
    is_slice = isinstance(index, slice)
    position = None if is_slice else _integer(index, buffer.name, "an index")
    if position is not None and dtypes.lanes(position.dtype) == 1:
        return Range(position, IntImm(1, position.dtype))
    if not is_slice or index.step is not None:
        raise DeclarationError(
            f"a region of buffer {buffer.name} has a step",
            "",
            "leave the step out, or give all other indices as numbers",
            Subject("buffer", buffer.name),
        )
    low = _integer(0 if index.start is None else index.start, buffer.name, "an index")
    high = _integer(extent if index.stop is None else index.stop, buffer.name, "an index")
    return Range(low, ops.sub(high, low))


def buffer_region(value: object) -> BufferRegion:
    """The region of an element, a vector of elements or a region."""
    if isinstance(value, BufferRegion):
        return value
    if not isinstance(value, BufferLoad):
        raise DeclarationError(
            f"{repr_of(value)} is not a region of a buffer", "", "write A[0:4, i], or an element"
        )
    return BufferRegion(value.buffer, tuple([_range_of(index) for index in value.indices]))


def _range_of(index: Expr) -> Range:
    if not isinstance(index, Ramp):
        return Range(index, IntImm(1, index.dtype))
    return Range(index.base, ops.mul(index.stride, index.lanes))


def store_in(buffer: Buffer, indices: Indices, value: ExprLike) -> BufferStore:
    """A store of a value, converted to the dtype of the elements."""
    target = element(buffer, indices)
    places = target.indices
    stored = ops.convert(value)
    dtype = BufferLoad(buffer, places).dtype
    count, value_lanes = dtypes.lanes(dtype), dtypes.lanes(stored.dtype)
    if value_lanes not in (1, count):
        raise OperandError(
            f"a value of {value_lanes} lanes is stored in {counted(count, 'element')} of "
            f"buffer {buffer.name}",
            "each lane is stored in an element of its own",
            "give indices and a value of the same number of lanes",
            Subject("buffer", buffer.name),
        )
    if value_lanes < count:
        stored = Broadcast(ops.cast(dtypes.element(dtype), stored), count)
    return BufferStore(buffer, ops.cast(dtype, stored), places)


def _no_iteration(self: Buffer) -> NoReturn:
    raise OperandError(
        f"cannot iterate over buffer {self.name}",
        "its elements are known only when the program runs",
        "use a loop of the program: `with ib.for_range(0, n) as i:`",
        Subject("buffer", self.name),
    )


def _no_assignment(self: Buffer, indices: object, value: object) -> NoReturn:
    """For type checkers, which see it in scripts; they read the assignment themselves."""
    del indices, value
    raise OperandError(
        f"cannot assign to an element of buffer {self.name}",
        "its elements are known only when the program runs",
        "assign in a function with @T.prim_func, or use tir.BufferStore(buffer, value, indices)",
        Subject("buffer", self.name),
    )


def _install_methods() -> None:
    for method in (access_ptr, get_flattened_buffer, vload, vstore):
        setattr(Buffer, method.__name__, method)
    setattr(Buffer, "__getitem__", element)  # noqa: B010
    setattr(Buffer, "__iter__", _no_iteration)  # noqa: B010  prevents endless iteration
    setattr(Buffer, "__setitem__", _no_assignment)  # noqa: B010
    setattr(Buffer, "READ", READ)  # noqa: B010
    setattr(Buffer, "WRITE", WRITE)  # noqa: B010


_install_methods()
