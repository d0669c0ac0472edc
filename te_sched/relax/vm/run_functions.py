"""Functions that operators call when a graph runs, with TVM's names: "relax.run.print", ...

Those of tensors read arrays; the ones of `relax.op.inspect` read what an array is described by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.errors import GraphAssertionError
from te_sched.ir import dtypes
from te_sched.relax.message_formats import fill
from te_sched.relax.vm.builtins import shape_to_tensor
from te_sched.relax.vm.bytecode import ShapeTuple, VmFunction
from te_sched.runtime import registry
from te_sched.runtime.ndarray import NDArray, array


def _filled(message: str, values: Sequence[object]) -> str:
    texts = [_text(one) for one in values]
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
    found = np.unique(data.numpy(), True, True, True, axis=axis)
    values, first, inverse, counts = found[0], *[one.reshape(-1) for one in found[1:]]
    if not is_sorted:  # in the order of the first of each
        order = np.argsort(first)
        values = np.take(values, order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    flags = (return_index, return_inverse, return_counts)
    numbers = [one for flag, one in zip(flags, (first, inverse, counts), strict=True) if flag]
    if not numbers:
        return array(values)
    return (array(values), *[array(one.astype("int64")) for one in numbers])


def nonzero(data: NDArray) -> NDArray:
    """The indices of the elements that are not 0, a row for each dimension."""
    values = data.numpy()
    if not values.ndim:  # numpy refuses it
        return array(np.zeros((0, int(values.item() != 0)), "int64"))
    return array(np.array(np.nonzero(values), "int64"))


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
    "relax.run.shape_to_tensor": shape_to_tensor,
    **{f"relax.inspect.{name}": function for name, function in _FIELDS.items()},
}
registry.bring(FUNCTIONS)
