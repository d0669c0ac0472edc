"""Sorting along an axis."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import as_int, like, shape_of, tensor_of
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import axis_of

_INDICES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


def sort(x: Value, axis: int = -1, descending: bool = False) -> GraphCall:
    """The elements in ascending or descending order, along an axis."""
    return make_call(
        "relax.sort", [x], axis=as_int(axis, "axis"), descending=_flag(descending, "descending")
    )


def _infer_sort(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    if info.ndim != -1:
        axis_of(call, call.attrs.axis, info.ndim)
    return like(info)


def _legalize_sort(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(topi.sort, call.args[0], call.attrs.axis, not call.attrs.descending)


declare("relax.sort", _infer_sort, legalize=_legalize_sort)


def argsort(
    data: Value, axis: int = -1, descending: bool = False, dtype: str = "int32"
) -> GraphCall:
    """The indices of the elements in ascending or descending order, along an axis."""
    return make_call(
        "relax.argsort",
        [data],
        axis=as_int(axis, "axis"),
        descending=_flag(descending, "descending"),
        dtype=_of_indices(dtype, "argsort"),
    )


def _infer_argsort(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = _infer_sort(call, builder)
    assert isinstance(info, TensorStructInfo)
    return like(info, call.attrs.dtype)


def _legalize_argsort(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    return builder.call_te(
        topi.argsort, call.args[0], None, attrs.axis, not attrs.descending, attrs.dtype
    )


declare("relax.argsort", _infer_argsort, legalize=_legalize_argsort)


def topk(
    data: Value,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
) -> GraphCall:
    """The first k elements in descending order (ascending if not `largest`), along an axis.

    Parameters
    ----------
    k : their number; all for less than 1 or more than there are.
    ret_type : "both", "values" or "indices".
    dtype : that of the indices.
    """
    if ret_type not in ("both", "values", "indices"):
        raise GraphError(
            f"ret_type of topk is {repr_of(ret_type)}",
            "",
            'use "both", "values" or "indices"',
        )
    return make_call(
        "relax.topk",
        [data],
        k=as_int(k, "k"),
        axis=as_int(axis, "axis"),
        ret_type=ret_type,
        largest=_flag(largest, "largest"),
        dtype=_of_indices(dtype, "topk"),
    )


def _infer_topk(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info, attrs = tensor_of(call, 0), call.attrs
    sizes, shape, k = shape_of(info), None, attrs.k
    if info.ndim != -1:
        axis = axis_of(call, attrs.axis, info.ndim)
        if sizes is not None:
            size = sizes[axis]
            is_whole = k < 1 or (isinstance(size, IntImm) and size.value < k)
            count = size if is_whole else ops.const(k, "int64")
            shape = ShapeExpr((*sizes[:axis], count, *sizes[axis + 1 :]))
            builder.require("at least", size, count, f"the size along axis {axis} of {call.op}")
    values = TensorStructInfo(shape, info.dtype, info.vdevice, info.ndim)
    indices = like(values, attrs.dtype)
    if attrs.ret_type == "both":
        return TupleStructInfo((values, indices))
    return values if attrs.ret_type == "values" else indices


def _legalize_topk(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    size = call.args[0].struct_info.shape.values[attrs.axis]
    k = min(attrs.k, size.value) if isinstance(size, IntImm) else attrs.k
    return builder.call_te(
        topi.topk,
        call.args[0],
        k,
        attrs.axis,
        attrs.ret_type,
        not attrs.largest,
        attrs.dtype,
    )


declare("relax.topk", _infer_topk, legalize=_legalize_topk)


def _of_indices(dtype: str, operator: str) -> str:
    """The dtype of indices; GraphError for one that is not of integers."""
    name = dtypes.spelled(dtype)
    if name not in _INDICES:
        raise GraphError(
            f"{operator} has indices of dtype {name}",
            "indices are integers",
            f"use {', '.join(_INDICES[:-1])} or {_INDICES[-1]}",
        )
    return name


def _flag(value: Any, name: str) -> bool:
    return bool(as_int(value, name))
