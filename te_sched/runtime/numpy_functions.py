"""The packed functions that te_sched brings with it: sorting and matrix products, by numpy.

`registry` finds them by their names in TVM when a program asks for one. In what is sorted, equal
elements keep their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from te_sched.runtime.ndarray import NDArray


def _order(values: Any, axis: int, is_ascend: Any) -> Any:
    """Places of the elements in order, NaN last; equal ones stay in theirs, downwards too."""
    if values.dtype.name == "bfloat16":  # ml_dtypes puts NaN anywhere
        values = values.astype("float32")
    if is_ascend:
        return np.argsort(values, axis, kind="stable")
    backwards = np.argsort(np.flip(values, axis), axis, kind="stable")
    return values.shape[axis] - 1 - np.flip(backwards, axis)


def sort(data: NDArray, out: NDArray, axis: int, is_ascend: Any) -> None:
    """out = data, in order along an axis."""
    values = data.numpy()
    out[...] = np.take_along_axis(values, _order(values, axis, is_ascend), axis)


def argsort(data: NDArray, out: NDArray, axis: int, is_ascend: Any) -> None:
    """out = the places of the elements in order along an axis."""
    out[...] = _order(data.numpy(), axis, is_ascend).astype(out.dtype)


def argsort_nms(data: NDArray, valid_count: NDArray, out: NDArray, axis: int, up: Any) -> None:
    """argsort of the first valid_count elements of each row; the others stay where they are."""
    rows, counts = np.moveaxis(data.numpy(), axis, -1), valid_count.numpy()
    places = np.broadcast_to(np.arange(rows.shape[-1]), rows.shape).copy()
    for at in np.ndindex(rows.shape[:-1]):
        count = int(counts[at])
        places[at][:count] = _order(rows[at][:count], 0, up)
    out[...] = np.moveaxis(places, -1, axis).astype(out.dtype)


def topk(data: NDArray, *rest: Any) -> None:
    """topk(data, outputs..., k, axis, ret_type, is_ascend)"""
    *outs, k, axis, ret_type, is_ascend = rest
    values = data.numpy()
    order = _order(values, axis, is_ascend)
    places = np.take(order, np.arange(k if k > 0 else values.shape[axis]), axis)
    results = {"values": np.take_along_axis(values, places, axis), "indices": places}
    wanted = ("values", "indices") if ret_type == "both" else (ret_type,)
    for name, out in zip(wanted, outs, strict=True):
        out[...] = results[name].astype(out.dtype)


def matmul(
    left: NDArray, right: NDArray, out: NDArray, left_transposed: Any, right_transposed: Any
) -> None:
    """out = left @ right, of matrices or rows of matrices."""
    a, b = (np.from_dlpack(operand) for operand in (left, right))
    a = np.swapaxes(a, -1, -2) if left_transposed else a
    b = np.swapaxes(b, -1, -2) if right_transposed else b
    out[...] = np.matmul(a, b)


PACKED_FUNCTIONS = {
    **{
        f"tvm.contrib.sort.{function.__name__}": function
        for function in (sort, argsort, argsort_nms, topk)
    },
    **{
        f"tvm.contrib.{library}.{name}": matmul
        for library in ("cblas", "mkl", "dnnl")
        for name in ("matmul", "batch_matmul")
    },
}
