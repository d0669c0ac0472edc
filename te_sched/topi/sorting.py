"""Stable sorting by packed functions of the runtime (`tvm.contrib.sort.*`).

Must not know how they sort.
"""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import calls
from te_sched.te.tensor import Tensor, tensor_label
from te_sched.topi.utils import (
    Sizes,
    as_constant,
    check_choice,
    check_tensor,
    extern,
    normalized_axis,
)


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The elements sorted along an axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.sort(A, axis=1)
    Tensor(shape=[4, 8], op.name=sort_cpu)
    """
    source = check_tensor(data, "sort")
    at = normalized_axis(axis, source.ndim, "sort")
    return extern(
        source.shape,
        [source],
        lambda ins, outs: calls.call_packed(
            "tvm.contrib.sort.sort", ins[0], outs[0], at, bool(is_ascend)
        ),
        name="sort_cpu",
        tag="sort_cpu",
        dtype=source.dtype,
    )


def argsort(
    data: Tensor,
    valid_count: Tensor | None = None,
    axis: int = -1,
    is_ascend: bool = True,
    dtype: str = "float32",
) -> Tensor:
    """The indices that sort the elements along an axis.

    valid_count : the number of elements to sort in each row; the rest keep their indices.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.argsort(A, axis=1, dtype="int32").dtype
    'int32'
    """
    source = check_tensor(data, "argsort")
    at = normalized_axis(axis, source.ndim, "argsort")
    inputs = [source, *([] if valid_count is None else [check_tensor(valid_count, "argsort")])]
    name = "argsort" if valid_count is None else "argsort_nms"
    return extern(
        source.shape,
        inputs,
        lambda ins, outs: calls.call_packed(
            f"tvm.contrib.sort.{name}", *ins, outs[0], at, bool(is_ascend)
        ),
        name=f"{name}_cpu",
        tag=f"{name}_cpu",
        dtype=dtype,
    )


def topk(
    data: Tensor,
    k: Sizes = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:
    """The k largest elements along an axis (smallest if is_ascend), and their indices.

    k : number of elements; all if less than 1.
    ret_type : "both" (a list), "values" or "indices".

    >>> A = te.placeholder((4, 8), name="A")
    >>> values, places = topi.topk(A, k=3)
    >>> values.shape, places.dtype
    ([4, 3], 'int64')
    """
    source = check_tensor(data, "topk")
    at = normalized_axis(axis, source.ndim, "topk")
    check_choice(ret_type, ("both", "values", "indices"), "topk", "ret_type")
    count = as_constant(k)
    if count is None:
        raise DeclarationError(
            "topi.topk: k must be constant",
            "the shape of the result depends on it",
            "give an integer",
        )
    extent = source.shape[at] if count < 1 else count
    available = as_constant(source.shape[at])
    if available is not None and count > available:
        raise DeclarationError(
            f"topi.topk: k={count} exceeds extent {available} of axis {at} of {source.name}",
            "",
            "use a smaller k",
            tensor_label(source),
        )
    shape = (*source.shape[:at], extent, *source.shape[at + 1 :])
    kinds = [source.dtype] * (ret_type != "indices") + [dtype] * (ret_type != "values")
    return te.extern(
        [shape] * len(kinds),
        [source],
        lambda ins, outs: calls.call_packed(
            "tvm.contrib.sort.topk", ins[0], *outs, count, at, ret_type, bool(is_ascend)
        ),
        name="topk_cpu",
        tag="topk_cpu",
        dtype=kinds,
    )
