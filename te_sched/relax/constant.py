"""`relax.const`: arrays and numbers as constants of a graph."""

from __future__ import annotations

import numpy as np

from te_sched import nd
from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.graph import Constant
from te_sched.ir.graph_types import DynTensorType
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check


def const(value: object, dtype: object = None) -> Constant:
    """A constant.

    Parameters
    ----------
    value : an array, or a number or lists of them.
    dtype : its dtype, a TensorStructInfo, or a DynTensorType for its dtype. By default numbers and
        arrays of int64 and float64 become int32 and float32, as in TVM; others, and those of
        `te_sched.nd`, keep their dtype.

    Raises
    ------
    GraphError for values that are not arrays, and for those that do not fit a struct info.

    >>> from te_sched import relax
    >>> relax.const(1).struct_info, relax.const([1.5, 2.0], "float16").struct_info
    (R.Tensor((), dtype="int32"), R.Tensor((2,), dtype="float16"))
    """
    info = dtype if isinstance(dtype, TensorStructInfo) else None
    plain_dtype = dtype.dtype if isinstance(dtype, TensorStructInfo | DynTensorType) else dtype
    wanted = None if plain_dtype is None else dtypes.spelled(plain_dtype)
    if wanted and isinstance(value, str) and value in ("inf", "-inf", "nan"):
        value = float(value)  # as they are printed
    if isinstance(value, nd.NDArray):
        if wanted and str(value.dtype) != wanted:
            value = nd.array(value, value.device, wanted)
        return _as_declared(Constant(value), info)
    try:
        array = np.asarray(nd.array(value) if hasattr(value, "numpy") else value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype == object or (array.dtype.kind in "USV" and array.dtype.name != "bfloat16"):
        raise GraphError(
            f"cannot make a constant of {repr_of(value)}",
            f"it is {kind_of(value)}",
            "give numbers or an array",
        )
    if not wanted:
        wanted = {"float64": "float32", "int64": "int32"}.get(str(array.dtype))
    return _as_declared(Constant(nd.array(array, dtype=wanted)), info)


def _as_declared(constant: Constant, info: TensorStructInfo | None) -> Constant:
    """The constant with a struct info that is given for it."""
    if info is None:
        return constant
    if struct_info_base_check(info, constant.struct_info) is BaseCheckResult.FAIL_L0:
        raise GraphError(
            f"the constant is {constant.struct_info}, expected {info}",
            "",
            "give an array of this shape, or another struct info",
        )
    return Constant(constant.data, info)
