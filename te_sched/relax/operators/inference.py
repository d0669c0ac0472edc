"""What the inference of operators shares: checks of arguments, broadcasting, dtypes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from te_sched.errors import GraphError, GraphTypeError, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, Node
from te_sched.ir.graph import (
    Constant,
    DataTypeImm,
    GraphCall,
    GraphExpr,
    GraphString,
    PrimValue,
    as_expr,
)
from te_sched.ir.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    VDevice,
    size_text,
)
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.signatures import is_index, is_real


def tensor_of(call: GraphCall, index: int) -> TensorStructInfo:
    """The struct info of an argument that is a tensor; GraphTypeError for others."""
    info: StructInfo = call.args[index].struct_info
    if not isinstance(info, TensorStructInfo):
        raise argument_error(call, index, "a tensor")
    return info


def operand_of(call: GraphCall, index: int) -> TensorStructInfo | PrimStructInfo:
    """The struct info of an argument that is a tensor or a number; GraphTypeError for others."""
    info: StructInfo = call.args[index].struct_info
    if not isinstance(info, TensorStructInfo | PrimStructInfo):
        raise argument_error(call, index, "a tensor or a number")
    return info


def tensors_of(call: GraphCall, count: int) -> list[TensorStructInfo]:
    """The struct infos of the first arguments, which are tensors."""
    return [tensor_of(call, index) for index in range(count)]


def argument_error(call: GraphCall, index: int, expected: str) -> GraphTypeError:
    """The error of an argument that an operator does not take."""
    info = call.args[index].struct_info
    return GraphTypeError(
        f"argument {index} of {call.op} is {info}, expected {expected}",
        f"{call.op} is called with {', '.join(str(arg.struct_info) for arg in call.args)}",
        f"give {expected}",
    )


def shape_of(info: TensorStructInfo) -> tuple[Expr, ...] | None:
    """The sizes of a tensor, if they are known."""
    return info.shape.values if isinstance(info.shape, ShapeExpr) else None


def with_sizes(info: Any) -> Any:
    """The struct info of an operand whose shape is a variable with the sizes of the variable."""
    shape_info = getattr(getattr(info, "shape", None), "struct_info", None)
    sizes = shape_info.values if isinstance(shape_info, ShapeStructInfo) else None
    return info if sizes is None else replace(info, shape=ShapeExpr(sizes))


def common_dtype(call: GraphCall, infos: Sequence[Any]) -> str:
    """The dtype that values share, "" if one is not known; GraphTypeError if they differ."""
    names: set[str] = {info.dtype for info in infos}
    if len(names - {""}) > 1:
        raise different_dtypes(call, infos)
    return names.pop() if len(names) == 1 else ""


def different_dtypes(call: GraphCall, infos: Sequence[Any]) -> GraphTypeError:
    """The error of values that should share a dtype."""
    number = next((arg for arg in call.args if _is_number(arg)), None)
    wanted = next((info.dtype for info in infos if getattr(info, "ndim", 0)), None)
    advice = "convert one with relax.op.astype(value, dtype)"
    if number is not None and wanted is not None:
        is_array = isinstance(number, Constant)
        value = number.data.numpy().item() if is_array else number.value.value
        advice = f'give the number this dtype: relax.const({value}, "{wanted}")'
    return GraphTypeError(
        f"the arguments of {call.op} have dtypes {', '.join(info.dtype for info in infos)}",
        "an operator does not convert its arguments",
        advice,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, PrimValue) or (isinstance(value, Constant) and value.data.shape == ())


def broadcast_sizes(
    call: GraphCall, builder: BlockBuilder, a: Sequence[Expr], b: Sequence[Expr]
) -> tuple[Expr, ...] | None:
    """The sizes to which two shapes are broadcast; None if that is not known."""
    sizes: list[Expr] = []
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    rest = len(longer) - len(shorter)
    for size, other in zip(longer[rest:], shorter, strict=True):
        if ops.is_const(size, 1):
            sizes.append(other)
        elif ops.is_const(other, 1) or builder.analyzer.can_prove_equal(size, other):
            sizes.append(size)
        elif _never_fit(builder, size, other):
            raise GraphError(
                f"the shapes of the arguments of {call.op} do not fit: "
                f"{ShapeExpr(tuple(a))} and {ShapeExpr(tuple(b))}",
                f"sizes {size_text(size)} and {size_text(other)} differ, and none of them is 1",
                "give shapes that broadcast, as numpy does",
            )
        else:
            return None
    return (*longer[:rest], *sizes)


def _never_fit(builder: BlockBuilder, size: Expr, other: Expr) -> bool:
    """Whether two sizes differ, and neither can be 1."""
    unequal = (ops.not_equal(size, other), ops.not_equal(size, 1), ops.not_equal(other, 1))
    return all(builder.analyzer.can_prove(condition) for condition in unequal)


def allocated(call: GraphCall, shape: GraphExpr, dtype: object) -> TensorStructInfo:
    """The struct info of a new tensor of a shape, which is an expression."""
    info = shape.struct_info
    if not isinstance(info, ShapeStructInfo):
        raise GraphError(f"the shape of {call.op} is {info}", "", "give a shape: R.shape([4, 3])")
    if not isinstance(dtype, DataTypeImm):
        raise GraphTypeError(
            f"the dtype of {call.op} is {repr_of(dtype)}", f"it is {kind_of(dtype)}", "give a dtype"
        )
    if info.values is None:
        return TensorStructInfo(None, dtype.value, None, info.ndim)
    return TensorStructInfo(ShapeExpr(info.values), dtype.value)


def broadcast(
    call: GraphCall,
    builder: BlockBuilder,
    infos: Sequence[TensorStructInfo | PrimStructInfo],
    dtype: str,
) -> TensorStructInfo:
    """The tensor to which tensors and numbers are broadcast; `vdevice` is that of the tensors."""
    tensors = [info for info in infos if isinstance(info, TensorStructInfo)]
    vdevice = common_vdevice(call, tensors)
    first = tensors[0].shape
    if first is not None and all(tensor.shape is first for tensor in tensors):
        return TensorStructInfo(first, dtype, vdevice)
    shapes = [shape for shape in map(shape_of, tensors) if shape is not None]
    if len(shapes) == len(tensors):
        sizes: tuple[Expr, ...] | None = ()
        for shape in shapes:
            sizes = None if sizes is None else broadcast_sizes(call, builder, sizes, shape)
        if sizes is not None:
            return TensorStructInfo(ShapeExpr(sizes), dtype, vdevice)
    ranks = [tensor.ndim for tensor in tensors]
    return TensorStructInfo(None, dtype, vdevice, -1 if -1 in ranks else max(ranks))


def common_vdevice(call: GraphCall, infos: Sequence[TensorStructInfo]) -> VDevice | None:
    """The device that tensors share; those without one fit every device."""
    devices = [info.vdevice for info in infos if info.vdevice is not None]
    for device in devices[1:]:
        if not structural_equal(devices[0], device):
            raise GraphTypeError(
                f"the arguments of {call.op} are on devices {devices[0]} and {device}",
                "an operator does not copy its arguments",
                "copy one with relax.op.to_vdevice(value, device)",
            )
    return devices[0] if devices else None


def check_floats(call: GraphCall, index: int) -> None:
    """GraphTypeError if a tensor is known to have elements that are not floating-point numbers."""
    dtype = tensor_of(call, index).dtype
    if dtype and not dtypes.is_float(dtype):
        raise argument_error(call, index, "a tensor of floating-point numbers")


def check_indices(call: GraphCall, index: int, expected: str = "a tensor of integers") -> None:
    """GraphTypeError if a tensor or number is known not to be integers."""
    dtype = operand_of(call, index).dtype
    if dtype and not dtypes.is_integral(dtype):
        raise argument_error(call, index, expected)


def like(info: TensorStructInfo, dtype: str | None = None) -> TensorStructInfo:
    """A tensor of the shape and device of another one, of its dtype or another one."""
    return TensorStructInfo(
        info.shape, info.dtype if dtype is None else dtype, info.vdevice, info.ndim
    )


def number(value: Value) -> Any:
    """A number as an expression of the graph; the inference checks expressions that are given."""
    return as_expr(value)


def as_int(value: Any, name: str) -> int:
    """An attribute that is an integer; GraphTypeError for others."""
    if not is_index(value) or (isinstance(value, Node) and not isinstance(value, IntImm)):
        raise GraphTypeError(
            f"{name} is {repr_of(value)}", f"it is {kind_of(value)}", "give an integer"
        )
    return operator.index(value)


def as_float(value: Any, name: str) -> float:
    """An attribute that is a number; GraphTypeError for others."""
    if not is_real(value):
        raise GraphTypeError(
            f"{name} is {repr_of(value)}", f"it is {kind_of(value)}", "give a number"
        )
    return float(value)


# Arguments as values of the graph


def as_number(value: Any) -> Any:
    """An int or a size as a value of the graph."""
    is_size = isinstance(value, int | Expr)
    return PrimValue(value) if is_size else value


def as_string(value: Any) -> Any:
    """A str as a value of the graph."""
    return GraphString(value) if isinstance(value, str) else value


def as_dtype(dtype: Any) -> Any:
    """The name of a dtype as a value of the graph."""
    return dtype if isinstance(dtype, GraphExpr) else DataTypeImm(dtypes.spelled(dtype))
