"""What the inference of operators that move elements shares: axes, sizes, results by what is known.

A result has a shape if the sizes of the argument are known, otherwise a rank if that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsInt

from te_sched.errors import GraphError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    size_text,
)
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.inference import argument_error, as_int
from te_sched.signatures import is_sequence


def as_shape(shape: Any) -> Any:
    """A shape that is given as sizes or as an expression of a graph, as an expression."""
    return ShapeExpr(tuple(shape)) if is_sequence(shape) else shape


def as_axes(axes: Any) -> tuple[int, ...] | None:
    """Axes that are given as one number or several; None for all of them."""
    return None if axes is None else given_sizes(axes, "axes")


def as_sizes(
    value: Any,
    count: int,
    name: str,
    counts: Sequence[int] = (),
    dtype: str = "int64",
    least: int | None = None,
) -> tuple[Expr, ...]:
    """An attribute of one number for each of `count` dimensions, given as one number or several.

    `counts` are other numbers of values that are taken as they are, `least` is the least value.
    """
    values = tuple(value) if is_sequence(value) else (value,)
    if len(values) == 1:
        values *= count
    if len(values) not in (count, *counts):
        raise GraphError(
            f"{name} has {len(values)} values, expected 1 or {count}",
            f"it is {repr_of(value)}",
            "give one number, or one for each spatial dimension",
        )
    sizes = tuple([ops.const(size, dtype) if isinstance(size, int) else size for size in values])
    if least is not None and any(isinstance(size, IntImm) and size.value < least for size in sizes):
        raise GraphError(
            f"{name} is {repr_of(value)}, expected at least {least}",
            "",
            f"give {least} or more for each spatial dimension",
        )
    return sizes


def as_padding(padding: Any, count: int) -> tuple[Expr, ...]:
    """The amounts before and after each of `count` dimensions: all the ones before come first."""
    values = as_sizes(padding, count, "padding", [2 * count])
    return values if len(values) == 2 * count else values * 2


def known_sizes(info: TensorStructInfo) -> tuple[Expr, ...] | None:
    """The sizes of a tensor, also those that are known of a variable that is its shape."""
    shape = info.shape
    if isinstance(shape, ShapeExpr):
        return shape.values
    shape_info = getattr(shape, "struct_info_", None)
    return shape_info.values if isinstance(shape_info, ShapeStructInfo) else None


def fields_of(call: GraphCall, index: int) -> list[TensorStructInfo]:
    """The struct infos of the tensors of an argument that is a tuple of them; GraphError if not."""
    info = call.args[index].struct_info
    fields = info.fields if isinstance(info, TupleStructInfo) else ()
    tensors = [field for field in fields if isinstance(field, TensorStructInfo)]
    if not fields or len(tensors) < len(fields):
        raise argument_error(call, index, "a tuple of tensors")
    return tensors


def shape_argument(call: GraphCall, index: int) -> ShapeStructInfo:
    """The struct info of an argument that is a shape; GraphError for others."""
    info = call.args[index].struct_info
    if not isinstance(info, ShapeStructInfo):
        raise argument_error(call, index, "a shape")
    return info


def unknown(info: TensorStructInfo, ndim: int = -1, dtype: str | None = None) -> TensorStructInfo:
    """A tensor like another one, of which only the rank is known."""
    return TensorStructInfo(None, info.dtype if dtype is None else dtype, info.vdevice, ndim)


def sized(
    info: TensorStructInfo, sizes: Sequence[Any], dtype: str | None = None
) -> TensorStructInfo:
    """A tensor like another one, of other sizes."""
    kind = info.dtype if dtype is None else dtype
    return TensorStructInfo(ShapeExpr(tuple(sizes)), kind, info.vdevice)


def shaped(
    info: TensorStructInfo, shape: GraphExpr | None, dtype: str | None = None
) -> TensorStructInfo:
    """A tensor like another one, of another shape: an expression of the graph, or None."""
    return TensorStructInfo(shape, info.dtype if dtype is None else dtype, info.vdevice)


def axis_of(call: GraphCall, axis: SupportsInt, ndim: int) -> int:
    """An axis of `ndim` dimensions as a number that is not negative; GraphError out of range."""
    if not -ndim <= int(axis) < ndim:
        raise GraphError(
            f"axis {axis} of {call.op} is out of range for {ndim} dimensions",
            f"{call.op} is called with {', '.join(str(arg.struct_info) for arg in call.args)}",
            f"give an axis from {-ndim} to {ndim - 1}" if ndim else "the tensor has no axis",
        )
    return int(axis) % ndim


def axes_of(call: GraphCall, axes: Sequence[SupportsInt], ndim: int) -> list[int]:
    """Distinct axes as numbers that are not negative; GraphError out of range or if one repeats."""
    axis_indices = [axis_of(call, axis, ndim) for axis in axes]
    if len(set(axis_indices)) != len(axis_indices):
        raise GraphError(
            f"the axes {[int(axis) for axis in axes]} of {call.op} are not distinct",
            f"they are axes {axis_indices} of {ndim} dimensions",
            "give each axis once",
        )
    return axis_indices


def product(sizes: Sequence[Expr]) -> Expr:
    """The number of elements."""
    result: Expr = ops.const(1, "int64")
    for size in sizes:
        result = ops.multiply(result, size)
    return result


def check_equal(
    call: GraphCall,
    builder: BlockBuilder,
    size: Expr,
    other: Expr,
    what: str,
    help: str = "give arguments of which the shapes fit",
) -> None:
    """GraphError if two sizes are known to differ; calls check them if they may."""
    if builder.analyzer.can_prove(ops.not_equal(size, other)):
        raise GraphError(
            f"{what} of {call.op} differ: {size_text(size)} and {size_text(other)}",
            f"{call.op} is called with {', '.join(str(it.struct_info) for it in call.args)}",
            help,
        )
    builder.require("equal", size, other, f"{what} of {call.op}")


def check_at_least(
    call: GraphCall, builder: BlockBuilder, size: Any, least: Any, what: str
) -> None:
    """GraphError if a size is known to be less than another one; calls check it if it may be."""
    size, least = map(builder.analyzer.simplify, (size, least))
    if builder.analyzer.can_prove(ops.less(size, least)):
        raise GraphError(
            f"{what} of {call.op} is {size_text(size)}, expected at least {size_text(least)}",
            f"{call.op} is called with {', '.join(str(it.struct_info) for it in call.args)}",
            "give arguments of which the shapes fit",
        )
    builder.require("at least", size, least, f"{what} of {call.op}")


def check_groups(groups: int, name: str) -> None:
    """GraphError if channels are divided into less than one group."""
    if groups <= 0:
        raise GraphError(
            f"{name} has {groups} groups", "", "give a positive number that divides the channels"
        )


def given_sizes(value: Any, name: str) -> tuple[int, ...]:
    """Numbers of an attribute that are integers; GraphTypeError for others."""
    values = tuple(value) if is_sequence(value) else (value,)
    return tuple([as_int(value, f"a value of {name}") for value in values])
