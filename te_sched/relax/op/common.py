"""What the inference of operators shares: checks of arguments, broadcasting, dtypes."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, StructInfo, TensorStructInfo


def tensor_of(call: GraphCall, place: int) -> TensorStructInfo:
    """The struct info of an argument that is a tensor; GraphError for others."""
    info: StructInfo = call.args[place].struct_info
    if not isinstance(info, TensorStructInfo):
        raise argument_error(call, place, "a tensor")
    return info


def tensors_of(call: GraphCall, count: int) -> list[TensorStructInfo]:
    """The struct infos of the first arguments, which are tensors."""
    return [tensor_of(call, place) for place in range(count)]


def argument_error(call: GraphCall, place: int, expected: str) -> GraphError:
    """The error of an argument that an operator does not take."""
    info = call.args[place].struct_info
    return GraphError(
        f"argument {place} of {call.op} is {info}, expected {expected}",
        f"{call.op} is called with {', '.join(str(one.struct_info) for one in call.args)}",
        f"give {expected}",
    )


def shape_of(info: TensorStructInfo) -> tuple[Any, ...] | None:
    """The sizes of a tensor, if they are known."""
    return info.shape.values if isinstance(info.shape, ShapeExpr) else None


def common_dtype(call: GraphCall, infos: list[TensorStructInfo]) -> str:
    """The dtype that tensors share, "" if one is not known; GraphError if they differ."""
    known = {one.dtype for one in infos}
    if "" in known:
        return ""
    if len(known) > 1:
        raise GraphError(
            f"the arguments of {call.op} have dtypes {', '.join(one.dtype for one in infos)}",
            "an operator does not convert its arguments",
            "convert one with relax.op.astype(value, dtype)",
        )
    return known.pop()


def broadcast_sizes(call: GraphCall, builder: Any, a: Any, b: Any) -> tuple[Any, ...] | None:
    """The sizes to which two shapes are broadcast; None if that is not known."""
    found: list[Any] = []
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    rest = len(longer) - len(shorter)
    for one, other in zip(longer[rest:], shorter, strict=True):
        if ops.is_const(one, 1):
            found.append(other)
        elif ops.is_const(other, 1) or builder.analyzer.can_prove_equal(one, other):
            found.append(one)
        elif builder.analyzer.can_prove(ops.not_equal(one, other)):
            raise GraphError(
                f"the shapes of the arguments of {call.op} do not fit: "
                f"{ShapeExpr(tuple(a))} and {ShapeExpr(tuple(b))}",
                f"sizes {one} and {other} differ, and none of them is 1",
                "give shapes that broadcast, as numpy does",
            )
        else:
            return None
    return (*longer[:rest], *found)


def allocated(call: GraphCall, shape: Any, dtype: Any) -> TensorStructInfo:
    """The struct info of a new tensor of a shape, which is an expression."""
    info = shape.struct_info
    if not isinstance(info, ShapeStructInfo):
        raise GraphError(f"the shape of {call.op} is {info}", "", "give a shape: R.shape([4, 3])")
    if info.values is None:
        return TensorStructInfo(None, dtype.value, None, info.ndim)
    return TensorStructInfo(ShapeExpr(info.values), dtype.value)
