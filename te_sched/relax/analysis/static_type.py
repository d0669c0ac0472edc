"""What a struct info says of the type of a value: without sizes."""

from __future__ import annotations

from typing import Any

from te_sched.ir.expr import PrimType, TupleType
from te_sched.ir.graph_types import (
    DynTensorType,
    FuncType,
    ObjectType,
    PackedFuncType,
    ShapeType,
)
from te_sched.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)


def get_static_type(sinfo: StructInfo) -> Any:
    """The type of the values of a struct info.

    >>> from te_sched import relax
    >>> get_static_type(relax.ShapeStructInfo([4, 3]))
    R.Shape(ndim=2)
    """
    if isinstance(sinfo, TensorStructInfo):
        return DynTensorType(sinfo.ndim, sinfo.dtype)
    if isinstance(sinfo, ShapeStructInfo):
        return ShapeType(sinfo.ndim)
    if isinstance(sinfo, PrimStructInfo):
        return PrimType(sinfo.dtype)
    if isinstance(sinfo, TupleStructInfo):
        return TupleType([get_static_type(one) for one in sinfo.fields])
    if isinstance(sinfo, FuncStructInfo):
        if sinfo.params is None:
            return PackedFuncType()
        return FuncType([get_static_type(one) for one in sinfo.params], get_static_type(sinfo.ret))
    return ObjectType()
