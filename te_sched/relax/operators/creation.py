"""New tensors of a value, a sequence or a diagonal, triangles of matrices, and conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from te_sched.errors import GraphError, repr_of
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Expr, FloatImm, IntImm
from te_sched.ir.graph import Constant, GraphCall, GraphExpr
from te_sched.ir.struct_info import PrimStructInfo, ShapeStructInfo, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.operators.arguments import Shape, Value
from te_sched.relax.operators.inference import (
    argument_error,
    check_indices,
    like,
    number,
    tensor_of,
)
from te_sched.relax.operators.layouts import OF_ELEMENTS
from te_sched.relax.operators.legalization import scalar_or_expr, topi
from te_sched.relax.operators.registry import FOLLOWS, Rewrite, declare, make_call
from te_sched.relax.operators.sizes import as_shape

# One value


def full(shape: Shape, fill_value: Value, dtype: str | None = None) -> GraphCall:
    """A tensor of a shape that has one value everywhere.

    Parameters
    ----------
    shape : sizes, or an expression of a shape.
    fill_value : a tensor without dimensions, or a number.
    dtype : by default that of `fill_value`.
    """
    return make_call("relax.full", [as_shape(shape), _fill(fill_value)], dtype=dtypes.known(dtype))


def _infer_full(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    _check_shape(call)
    value = _fill_info(call)
    return TensorStructInfo(call.args[0], call.attrs.dtype or value.dtype, value.vdevice)


def _full_rule(name: str, value: float | None = None) -> Rewrite:
    """The rule of a tensor of one value, which is an argument for None."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        info: Any = call.struct_info
        fill = scalar_or_expr(call.args[1], True) if value is None else value
        return builder.call_te(topi.full, info.shape, info.dtype, fill, primfunc_name_hint=name)

    return legalize


declare("relax.full", _infer_full, mixed_precision=FOLLOWS, legalize=_full_rule("full"))


def full_like(x: Value, fill_value: Value, dtype: str | None = None) -> GraphCall:
    """A tensor of the shape of `x` that has one value everywhere; of its dtype, by default."""
    return make_call("relax.full_like", [x, _fill(fill_value)], dtype=dtypes.known(dtype))


def _infer_full_like(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = _infer_like(call, builder)
    _fill_info(call)
    return info


declare(
    "relax.full_like",
    _infer_full_like,
    mixed_precision=FOLLOWS,
    legalize=_full_rule("full"),
    reads_shape=True,
)


def ones(shape: Shape, dtype: str) -> GraphCall:
    """A tensor of ones."""
    return make_call("relax.ones", [as_shape(shape)], dtype=_known_dtype(dtype))


def zeros(shape: Shape, dtype: str) -> GraphCall:
    """A tensor of zeros."""
    return make_call("relax.zeros", [as_shape(shape)], dtype=_known_dtype(dtype))


def _infer_ones(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    _check_shape(call)
    return TensorStructInfo(call.args[0], call.attrs.dtype)


declare("relax.ones", _infer_ones, mixed_precision=FOLLOWS, legalize=_full_rule("ones", 1.0))
declare("relax.zeros", _infer_ones, mixed_precision=FOLLOWS, legalize=_full_rule("zeros", 0.0))


def ones_like(x: Value, dtype: str | None = None) -> GraphCall:
    """A tensor of ones of the shape of `x`, and of its dtype by default."""
    return make_call("relax.ones_like", [x], dtype=dtypes.known(dtype))


def zeros_like(x: Value, dtype: str | None = None) -> GraphCall:
    """A tensor of zeros of the shape of `x`, and of its dtype by default."""
    return make_call("relax.zeros_like", [x], dtype=dtypes.known(dtype))


def _infer_like(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    return like(info, call.attrs.dtype or info.dtype)


declare("relax.ones_like", _infer_like, legalize=_full_rule("ones", 1.0), reads_shape=True)
declare("relax.zeros_like", _infer_like, legalize=_full_rule("zeros", 0.0), reads_shape=True)

# Sequences and diagonals


def arange(
    start: Value, end: Value | None = None, step: Value = 1, dtype: str | None = None
) -> GraphCall:
    """The numbers from `start` to `end` (exclusive) by `step`; from 0 to `start` without `end`.

    The dtype is int64 if all are integers, otherwise float32, unless it is given.

    >>> arange(10).args, arange(0, 1, 0.5).attrs.dtype
    ((R.prim_value(0), R.prim_value(10), R.prim_value(1)), 'float32')
    """
    if end is None:
        start, end = 0, start
    numbers = [start, end, step]
    kind = dtypes.known(dtype)
    if not kind:
        kind = "int64" if all(_is_integer(value) for value in numbers) else "float32"
    reals = [
        ops.const(value, "float32") if isinstance(value, float) else value for value in numbers
    ]
    return make_call("relax.arange", [number(value) for value in reals], dtype=kind)


def _infer_arange(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    values = [_number_of(call, index) for index in range(3)]
    dtype = call.attrs.dtype
    if None in values:
        return TensorStructInfo(None, dtype, None, 1)
    if isinstance(values[2], IntImm | FloatImm) and values[2].value == 0:
        raise GraphError("the step of relax.arange is 0", "", "give a step that is not 0")
    size = _count(*values)
    return TensorStructInfo((builder.analyzer.simplify(size),), dtype)


def _count(start: Any, end: Any, step: Any) -> Expr:
    """The number of values of a sequence, 0 or more if the bounds are constants."""
    constants = [value for value in (start, end, step) if isinstance(value, IntImm | FloatImm)]
    if all(dtypes.is_integral(value.dtype) for value in (start, end, step)):
        if len(constants) == 3:
            return ops.const(len(range(start.value, end.value, step.value)), "int64")
        if isinstance(step, IntImm) and step.value < 0:
            start, end, step = end, start, ops.negative(step)
        return ops.cast("int64", ops.floordiv(end - start + step - 1, step))
    if len(constants) == 3:
        exact = (end.value - start.value) / step.value
        return ops.const(max(0, -int(-exact // 1)), "int64")
    distance = _real(end) - _real(start)
    if isinstance(step, IntImm | FloatImm):
        distance = distance * ops.const(1 / step.value, distance.dtype)
    else:
        distance = distance / _real(step)
    return ops.cast("int64", intrinsics.ceil(distance))


def _real(value: Any) -> Any:
    return value if dtypes.is_float(value.dtype) else ops.cast("float32", value)


def _legalize_arange(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    values = [arg.struct_info.value for arg in call.args]
    dtype = call.attrs.dtype
    if all(isinstance(value, IntImm | FloatImm) for value in values):
        return const(np.arange(*[value.value for value in values], dtype=dtype), dtype)
    info: Any = call.struct_info
    return builder.call_te(
        _sequence, info.shape, values[0], values[2], dtype, primfunc_name_hint="arange"
    )


def _sequence(shape: Any, start: Any, step: Any, dtype: str) -> Any:
    def element(i: Any) -> Any:
        moved = ops.multiply(i, step)
        # a constant is the second operand, as the simplifier has it
        is_constant = isinstance(start, IntImm | FloatImm)
        return ops.cast(dtype, ops.add(moved, start) if is_constant else ops.add(start, moved))

    return topi.utils.tensor_of(shape, element, "T_arange")


declare("relax.arange", _infer_arange, mixed_precision=FOLLOWS, legalize=_legalize_arange)


def eye(n: Value, m: Value | None = None, k: Value = 0, dtype: str = "float32") -> GraphCall:
    """A matrix of n rows and m columns (n by default) with ones on diagonal k, zeros elsewhere."""
    args = [number(n), number(n if m is None else m), number(k)]
    return make_call("relax.eye", args, dtype=_known_dtype(dtype))


def _infer_eye(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    sizes = [_integer_of(call, index) for index in range(3)][:2]
    if None in sizes:
        return TensorStructInfo(None, call.attrs.dtype, None, 2)
    shape = tuple([ops.cast("int64", size) for size in sizes])
    return TensorStructInfo(shape, call.attrs.dtype)


def eye_like(x: Value, k: Value = 0, dtype: str | None = None) -> GraphCall:
    """A matrix of the shape of `x` with ones on diagonal k; of its dtype, by default."""
    return make_call("relax.eye_like", [x, number(k)], dtype=dtypes.known(dtype))


def _infer_eye_like(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    if tensor_of(call, 0).ndim not in (-1, 2):
        raise argument_error(call, 0, "a matrix")
    _integer_of(call, 1)
    return _infer_like(call, builder)


def _legalize_eye(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    info: Any = call.struct_info
    diagonal = call.args[-1]
    return builder.call_te(
        topi.eye,
        *info.shape.values,
        diagonal,
        info.dtype,
        primfunc_name_hint=str(call.op).removeprefix("relax."),
    )


declare("relax.eye", _infer_eye, mixed_precision=FOLLOWS, legalize=_legalize_eye)
declare("relax.eye_like", _infer_eye_like, legalize=_legalize_eye, reads_shape=True)

# Triangles


def tril(x: Value, k: Value = 0) -> GraphCall:
    """The matrices with zeros above diagonal k: above the main one for 0, more of them below 0."""
    return make_call("relax.tril", [x, number(k)])


def triu(x: Value, k: Value = 0) -> GraphCall:
    """The matrices with zeros below diagonal k."""
    return make_call("relax.triu", [x, number(k)])


def _infer_triangle(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    if info.ndim in (0, 1):
        raise argument_error(call, 0, "a tensor of at least two dimensions")
    _integer_of(call, 1)
    return like(info)


def _triangle_rule(is_upper: bool, name: str) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        return builder.call_te(topi.trilu, *call.args, is_upper, primfunc_name_hint=name)

    return legalize


declare("relax.tril", _infer_triangle, legalize=_triangle_rule(False, "tril"))
declare("relax.triu", _infer_triangle, legalize=_triangle_rule(True, "triu"))

# Conversions


def astype(x: Value, dtype: str) -> GraphCall:
    """The tensor with its elements converted to a dtype."""
    return make_call("relax.astype", [x], dtype=dtypes.spelled(dtype))


def _legalize_astype(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    value = call.args[0]
    if isinstance(value, Constant) and len(value.data.shape) == 0:
        return const(value.data, call.attrs.dtype)
    return builder.call_te(topi.cast, value, call.attrs.dtype)


def wrap_param(data: Value, dtype: str = "float32") -> GraphCall:
    """A constant of one dtype, as a parameter of another one."""
    return make_call("relax.wrap_param", [data], dtype=dtypes.spelled(dtype))


def _infer_astype(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return like(tensor_of(call, 0), call.attrs.dtype)


declare(
    "relax.astype",
    _infer_astype,
    mixed_precision=FOLLOWS,
    legalize=_legalize_astype,
    layout=OF_ELEMENTS,
)
declare("relax.wrap_param", _infer_astype)

# Arguments


def _check_shape(call: GraphCall) -> None:
    if not isinstance(call.args[0].struct_info, ShapeStructInfo):
        raise argument_error(call, 0, "a shape")


def _fill(value: Value) -> Value:
    return const(value) if isinstance(value, bool | int | float) else value


def _fill_info(call: GraphCall) -> TensorStructInfo:
    info = tensor_of(call, 1)
    if info.ndim != 0:
        raise argument_error(call, 1, "a tensor without dimensions")
    return info


def _number_of(call: GraphCall, index: int) -> Any:
    """The value of an argument that is a number; None if it is not known."""
    info = call.args[index].struct_info
    if not isinstance(info, PrimStructInfo):
        raise argument_error(call, index, "a number")
    return info.value


def _integer_of(call: GraphCall, index: int) -> Any:
    """The value of an argument that is an integer; None if it is not known."""
    value = _number_of(call, index)
    check_indices(call, index, "an integer")
    return value


def _is_integer(value: object) -> bool:
    dtype = getattr(getattr(value, "struct_info_", value), "dtype", "")
    return isinstance(value, int) or (isinstance(dtype, str) and dtype.startswith(("int", "uint")))


def _known_dtype(dtype: Any) -> str:
    name = dtypes.known(dtype)
    if not name:
        raise GraphError(
            "the dtype of a new tensor is not given", f"it is {repr_of(dtype)}", "give a dtype"
        )
    return name
