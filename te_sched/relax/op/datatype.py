"""Conversion of the elements of tensors."""

from __future__ import annotations

from te_sched.ir import dtypes
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.common import FOLLOWS, like, tensor_of
from te_sched.relax.operators import make_call, register_operator


def astype(x: Value, dtype: str) -> GraphCall:
    """The tensor with its elements converted to a dtype."""
    return make_call("relax.astype", [x], dtype=dtypes.spelled(dtype))


def wrap_param(data: Value, dtype: str = "float32") -> GraphCall:
    """A constant of one dtype, as a parameter of another one."""
    return make_call("relax.wrap_param", [data], dtype=dtypes.spelled(dtype))


@register_operator("relax.astype", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.wrap_param")
def _infer_astype(call: GraphCall) -> StructInfo:
    return like(tensor_of(call, 0), call.attrs.dtype)
