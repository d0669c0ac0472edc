"""Questions about values of a graph that many passes ask. Must not know operators."""

from __future__ import annotations

import math
from typing import TypeGuard

from te_sched.ir import dtypes
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphValue
from te_sched.ir.struct_info import StructInfo, TensorStructInfo
from te_sched.relax.core.sizes import constant_sizes, sizes_of

_LARGE = 1 << 20  # bytes


def is_call_of(value: object, *names: str) -> TypeGuard[GraphCall]:
    """Whether a value is a call of one of these operators.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> is_call_of(relax.op.add(x, x), "relax.add", "relax.subtract"), is_call_of(x, "relax.add")
    (True, False)
    """
    return isinstance(value, GraphCall) and str(value.op) in names


def tensor_info(value: GraphValue) -> TensorStructInfo:
    """What is known of a value that is a tensor, as its operator demands."""
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    return info


def shape_of_value(value: GraphValue) -> tuple[Expr, ...] | None:
    """The sizes of a value, if they are known."""
    return sizes_of(value.struct_info)


def static_shape(info: StructInfo | None) -> tuple[int, ...] | None:
    """The shape of a tensor with a known dtype, if all sizes are numbers.

    >>> from te_sched import relax
    >>> static_shape(relax.TensorStructInfo([4, 2], "float32"))
    (4, 2)
    """
    if not isinstance(info, TensorStructInfo) or not info.dtype:
        return None
    return constant_sizes(sizes_of(info))


def is_large(info: StructInfo | None) -> bool:
    """Whether a tensor is so large that builds avoid a copy of it.

    >>> from te_sched import relax
    >>> [is_large(relax.TensorStructInfo([n, 512], "float32")) for n in (511, 512)]
    [False, True]
    """
    shape = static_shape(info)
    if shape is None or not isinstance(info, TensorStructInfo):
        return False
    return math.prod(shape) * dtypes.storage_bytes(info.dtype) >= _LARGE
