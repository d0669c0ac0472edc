"""Functions that operators call when a graph runs, with TVM's names: "relax.run.print", ...

Those of tensors read arrays; the ones of `relax.op.inspect` read what an array is described by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from te_sched.errors import CallError, GraphAssertionError, counted
from te_sched.ir import dtypes
from te_sched.relax.message_formats import fill
from te_sched.relax.vm.builtins import shape_to_tensor
from te_sched.relax.vm.bytecode import ShapeTuple, VmFunction
from te_sched.runtime import registry
from te_sched.runtime.ndarray import NDArray, array, empty


def _filled(message: str, values: Sequence[object]) -> str:
    texts = [_text(value) for value in values]
    return fill(message, texts) if message else ", ".join(texts)


def _text(value: object) -> str:
    if isinstance(value, tuple) and not isinstance(value, ShapeTuple):
        return f"({', '.join(map(_text, value))})"
    return str(value.numpy() if isinstance(value, NDArray) else value)


def print_values(message: str, *values: object) -> None:
    """Print values, in the places of the {} of a message."""
    print(_filled(message, values) if message else " ".join(map(_text, values)))


def assert_op(condition: object, message: str = "", *values: object) -> None:
    """Raise GraphAssertionError if a condition does not hold."""
    holds = condition.numpy().item() if isinstance(condition, NDArray) else condition
    if not holds:
        raise GraphAssertionError(
            _filled(message, values) or "an assertion of the graph does not hold",
            "",
            "give values for which it holds",
            in_tvm="" if message else "Assertion Failed",
        )


def unique(
    data: NDArray,
    is_sorted: int = 1,
    return_index: int = 0,
    return_inverse: int = 0,
    return_counts: int = 0,
    axis: int | None = None,
) -> NDArray | tuple[NDArray, ...]:
    """The distinct elements or slices of an array; see `relax.op.unique`."""
    parts = np.unique(data.numpy(), True, True, True, axis=axis)
    values, first, inverse, counts = parts[0], *[part.reshape(-1) for part in parts[1:]]
    if not is_sorted:  # in the order of the first of each
        order = np.argsort(first)
        values = np.take(values, order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    flags = (return_index, return_inverse, return_counts)
    numbers = [part for flag, part in zip(flags, (first, inverse, counts), strict=True) if flag]
    if not numbers:
        return array(values)
    return (array(values), *[array(part.astype("int64")) for part in numbers])


def nonzero(data: NDArray) -> NDArray:
    """The indices of the elements that are not 0, a row for each dimension."""
    values = data.numpy()
    if not values.ndim:  # numpy refuses it
        return array(np.zeros((0, int(values.item() != 0)), "int64"))
    return array(np.array(np.nonzero(values), "int64"))


def non_max_suppression(
    boxes: NDArray,
    scores: NDArray,
    count: NDArray,
    overlap: NDArray,
    least: NDArray,
    is_centered: NDArray,
) -> NDArray:
    """The boxes of each class with the greatest scores that do not overlap: rows of the batch, the
    class and the box.

    Parameters
    ----------
    boxes : [batch, boxes, 4]: two corners (y, x), or the center, width and height.
    scores : [batch, classes, boxes].
    count : the greatest number of boxes of a class.
    overlap : the greatest ratio of the intersection to the union of two boxes.
    least : scores are greater than that.
    """
    corners = _corners(boxes.numpy(), bool(is_centered.numpy()))
    limit = max(int(count.numpy().item()), 0)
    ratio, threshold = float(overlap.numpy().item()), float(least.numpy().item())
    rows = [
        (batch, kind, box)
        for batch, classes in enumerate(scores.numpy())
        for kind, values in enumerate(classes)
        for box in _selected(corners[batch], values, limit, ratio, threshold)
    ]
    return array(np.array(rows, "int64").reshape(-1, 3))


def _corners(boxes: np.ndarray, is_centered: bool) -> np.ndarray:
    """Boxes as their least and their greatest corner: [..., 2, 2]."""
    first, second = boxes[..., :2].astype("float64"), boxes[..., 2:].astype("float64")
    if is_centered:  # x, y, width, height
        return np.stack([first - second / 2, first + second / 2], -2)
    return np.stack([np.minimum(first, second), np.maximum(first, second)], -2)


def _selected(
    corners: np.ndarray, scores: np.ndarray, limit: int, ratio: float, threshold: float
) -> list[int]:
    """The numbers of the boxes of a class that remain, the greatest score first."""
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > threshold]
    chosen: list[int] = []
    while len(order) and len(chosen) < limit:
        best, order = order[0], order[1:]
        chosen.append(int(best))
        low = np.maximum(corners[best, 0], corners[order, 0])
        high = np.minimum(corners[best, 1], corners[order, 1])
        common = np.maximum(high - low, 0).prod(-1)
        areas = (corners[:, 1] - corners[:, 0]).prod(-1)
        union = areas[best] + areas[order] - common
        order = order[~((union > 0) & (common > ratio * union))]
    return chosen


# A list: the elements before the last one, which is a list or None, and the last one.
_Chain: TypeAlias = "tuple[_Chain | None, NDArray]"


def append(elements: _Chain | None, element: NDArray) -> _Chain:
    """A list with one more element; the list itself stays as it is."""
    return elements, element


def stack(elements: _Chain | None, like: NDArray, shape: ShapeTuple, dtype: str) -> NDArray:
    """The elements of a list along a new first axis.

    Parameters
    ----------
    like : a tensor on the device of the result.
    shape : that of an element, for a list without elements.

    >>> from te_sched import nd
    >>> one, two = nd.array(np.array([1, 2])), nd.array(np.array([3, 4]))
    >>> stack(append(append(None, one), two), one, ShapeTuple([2]), "int64").numpy().tolist()
    [[1, 2], [3, 4]]
    """
    arrays = _elements(elements)
    sizes = _shape_of(arrays, shape)
    result = empty((len(arrays), *sizes), dtype, like.device)
    for number, element in enumerate(arrays):
        result._array[number] = element._array
    return result


def join(
    elements: _Chain | None, like: NDArray, shape: ShapeTuple, dtype: str, axis: int
) -> NDArray:
    """The elements of a list along one of their axes; see `stack`.

    >>> from te_sched import nd
    >>> one, two = nd.array(np.array([1, 2])), nd.array(np.array([3]))
    >>> join(append(append(None, one), two), one, ShapeTuple([2]), "int64", 0).numpy().tolist()
    [1, 2, 3]
    """
    arrays = _elements(elements)
    sizes = list(_shape_of(arrays, shape, axis))
    sizes[axis] = sum(array.shape[axis] for array in arrays)
    result, begin = empty(tuple(sizes), dtype, like.device), 0
    for element in arrays:
        end = begin + element.shape[axis]
        result._array[(*[slice(None)] * axis, slice(begin, end))] = element._array
        begin = end
    return result


def item(elements: _Chain | None, position: NDArray) -> NDArray:
    """An element of a list; positions may count from the end."""
    arrays, index = _elements(elements), int(position.numpy().item())
    if not -len(arrays) <= index < len(arrays):
        raise CallError(
            f"position {index} is outside of a sequence of {counted(len(arrays), 'element')}",
            "",
            "give a position in the sequence",
        )
    return arrays[index]


def length(elements: _Chain | None) -> NDArray:
    """The number of elements of a list."""
    return array(np.array(len(_elements(elements)), "int64"))


def _elements(elements: _Chain | None) -> list[NDArray]:
    arrays: list[NDArray] = []
    while elements is not None:
        elements, element = elements
        arrays.append(element)
    return arrays[::-1]


def _shape_of(
    arrays: Sequence[NDArray], shape: ShapeTuple, axis: int | None = None
) -> tuple[int, ...]:
    """The shape of all elements, which may differ along an axis."""
    if not arrays:
        return tuple(shape)
    own = [size for n, size in enumerate(arrays[0].shape) if n != axis]
    for other in arrays[1:]:
        if [size for n, size in enumerate(other.shape) if n != axis] != own:
            raise CallError(
                f"a list has elements of different shapes, {arrays[0].shape} and {other.shape}",
                "its elements are joined in one tensor",
                "pad them to one shape",
            )
    return arrays[0].shape


def tensor_stride_i(data: NDArray, axis: int) -> int:
    """The stride along an axis, in elements."""
    stride: int = data.numpy().strides[axis]
    return stride // max(1, dtypes.storage_bytes(str(data.dtype)))


_FIELDS: dict[str, VmFunction] = {
    "tensor_dtype_code": lambda data: dtypes.type_code(str(data.dtype)),
    "tensor_dtype_bits": lambda data: dtypes.bits(str(data.dtype)),
    "tensor_dtype_lanes": lambda data: dtypes.lanes(str(data.dtype)),
    "tensor_ndim": lambda data: len(data.shape),
    "tensor_shape_i": lambda data, axis: int(data.shape[axis]),
    "tensor_stride_i": tensor_stride_i,
    "tensor_byte_offset": lambda data: 0,  # an array begins where its memory does
    "tensor_elem_offset": lambda data: 0,
}
FUNCTIONS: dict[str, VmFunction] = {
    "relax.run.print": print_values,
    "relax.run.assert_op": assert_op,
    "relax.run.unique": unique,
    "relax.run.nonzero": nonzero,
    "relax.run.non_max_suppression": non_max_suppression,
    "relax.run.shape_to_tensor": shape_to_tensor,
    "relax.run.append": append,
    "relax.run.stack": stack,
    "relax.run.join": join,
    "relax.run.item": item,
    "relax.run.length": length,
    **{f"relax.inspect.{name}": function for name, function in _FIELDS.items()},
}
registry.bring(FUNCTIONS)
