"""The property `struct_info` of `PrimFunc`."""

from __future__ import annotations

from te_sched.analysis.programs.purity import impurity
from te_sched.ir import ops
from te_sched.ir.expr import Var
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)


def struct_info_of(func: PrimFunc) -> FuncStructInfo:
    """What a graph knows of a function: its parameters, its result, whether it is pure.

    >>> from te_sched.script import from_source
    >>> func = from_source('''
    ... @T.prim_func
    ... def double(A: T.Buffer((8,), "float32"), n: T.int32):
    ...     A[0] = A[n] * 2.0
    ... ''')
    >>> func.struct_info
    R.Callable((R.Tensor((8,), dtype="float32"), R.Prim("int32")), R.Tuple, False)
    """
    struct_info = getattr(func, "_struct_info", None)
    if isinstance(struct_info, FuncStructInfo):
        return struct_info
    params = tuple([_of_parameter(func, param) for param in func.params])
    is_none = func.ret_type in ("void", "")
    result: StructInfo = TupleStructInfo(()) if is_none else PrimStructInfo(func.ret_type)
    info = FuncStructInfo(params, result, impurity(func) is None)
    object.__setattr__(func, "_struct_info", info)
    return info


def _of_parameter(func: PrimFunc, param: Var) -> StructInfo:
    buffer = func.buffer_map.get(param)
    if buffer is not None:
        sizes = ShapeExpr(tuple([ops.cast("int64", size) for size in buffer.shape]))
        return TensorStructInfo(sizes, buffer.dtype)
    if param.dtype == "handle" and param.pointer is None:
        return ObjectStructInfo()
    return PrimStructInfo(param.dtype)
