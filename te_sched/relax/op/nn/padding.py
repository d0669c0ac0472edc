"""Padding."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.constant import const
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import shape_of, tensor_of
from te_sched.relax.op.sizes import given_sizes, sized, unknown
from te_sched.relax.operators import make_call, register_operator
from te_sched.signatures import is_sequence


def pad(
    data: Value, pad_width: Numbers, pad_value: Value = 0, pad_mode: str = "constant"
) -> GraphCall:
    """The tensor with elements added at the begin and end of each dimension.

    Parameters
    ----------
    pad_width : the numbers of elements: (before the first axis, after it, before the second, ...).
    pad_value : the value of the elements.
    pad_mode : "constant"; "reflect", "replicate" and "circular" take elements of the tensor.
    """
    value = pad_value if isinstance(pad_value, GraphExpr) else const(pad_value)
    widths = given_sizes(_flat(pad_width), "pad_width")
    return make_call("relax.nn.pad", [data, value], pad_width=widths, pad_mode=str(pad_mode))


def _flat(widths: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    for one in widths if is_sequence(widths) else [widths]:
        found += one if isinstance(one, list | tuple) else [one]
    return tuple(found)


@register_operator("relax.nn.pad")
def _infer_pad(call: GraphCall, builder: Any) -> StructInfo:
    data, widths = tensor_of(call, 0), call.attrs.pad_width
    if data.ndim == -1:
        return unknown(data)
    if len(widths) != 2 * data.ndim:
        raise GraphError(
            f"{call.op} has {len(widths)} widths for {data.ndim} dimensions",
            f"the tensor is {data}",
            "give two numbers for each dimension: before and after it",
        )
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, data.ndim)
    found = []
    for one, before, after in zip(sizes, widths[::2], widths[1::2], strict=True):
        found.append(builder.analyzer.simplify(ops.add(one, ops.const(before + after, "int64"))))
    return sized(data, found)
