"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import shape_of, tensor_of
from te_sched.relax.operators.legalization import scalar_or_expr, topi
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import given_sizes, sized, unknown


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
    widths = given_sizes(pad_width, "pad_width")
    return make_call("relax.nn.pad", [data, value], pad_width=widths, pad_mode=str(pad_mode))


def _infer_pad(call: GraphCall, builder: BlockBuilder) -> StructInfo:
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
    padded_sizes = []
    for size, before, after in zip(sizes, widths[::2], widths[1::2], strict=True):
        padded_sizes.append(
            builder.analyzer.simplify(ops.add(size, ops.const(before + after, "int64")))
        )
    return sized(data, padded_sizes)


_PAD_MODES = {"reflect": "REFLECT", "symmetric": "SYMMETRIC"}


def _legalize_pad(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    before, after = list(attrs.pad_width[::2]), list(attrs.pad_width[1::2])
    if attrs.pad_mode in _PAD_MODES:
        mode = _PAD_MODES[attrs.pad_mode]
        return builder.call_te(
            topi.nn.mirror_pad, call.args[0], before, after, mode, primfunc_name_hint="pad"
        )
    if attrs.pad_mode in ("replicate", "circular"):
        return builder.call_te(
            _pad_repeated, call.args[0], before, after, attrs.pad_mode, primfunc_name_hint="pad"
        )
    if attrs.pad_mode != "constant":
        return call
    value = scalar_or_expr(call.args[1], python_native=True)
    return builder.call_te(
        topi.nn.pad, call.args[0], before, after, float(value), primfunc_name_hint="pad"
    )


def _pad_repeated(
    data: te.Tensor, before: Sequence[int], after: Sequence[int], mode: str
) -> te.Tensor:
    """A tensor with its last elements, or those of the other end, around it."""
    sizes = [width + n + other for width, n, other in zip(before, data.shape, after, strict=True)]

    def element(*i: Expr) -> Expr:
        at = [ops.subtract(index, low) for index, low in zip(i, before, strict=True)]
        if mode == "circular":
            return data(*[ops.floormod(index, n) for index, n in zip(at, data.shape, strict=True)])
        last = [ops.minimum(index, n - 1) for index, n in zip(at, data.shape, strict=True)]
        return data(*[ops.maximum(index, 0) for index in last])

    return topi.utils.tensor_of(sizes, element, "T_pad")


declare("relax.nn.pad", _infer_pad, legalize=_legalize_pad)
