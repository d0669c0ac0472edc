"""Tensors and sizes as importers need them: what is known of them, and tensors made of others.

Must not know the format of a model.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from te_sched.errors import GraphError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, ExprLike, IntImm, Var
from te_sched.ir.graph import GraphExpr, GraphVar, PrimValue
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const

_T = TypeVar("_T")

# A size of a tensor, or a number that is computed of sizes: an int where it is constant.
Size = Expr | int


def tensor_info(expr: GraphExpr) -> TensorStructInfo:
    """The struct info of a tensor; GraphError for other values.

    >>> from te_sched import relax
    >>> tensor_info(relax.const([1, 2]))
    R.Tensor((2,), dtype="int32")
    """
    info = expr.struct_info
    if not isinstance(info, TensorStructInfo):
        raise GraphError(
            f"an operator of the model is given {repr_of(expr)}",
            f"it is {info}",
            "it takes a tensor",
        )
    return info


def sizes_of_tensor(expr: GraphExpr, help: str) -> list[Size]:
    """The sizes of a tensor; GraphError with this help if they are not known.

    >>> from te_sched import relax
    >>> sizes_of_tensor(relax.const([1, 2]), "give its shape")
    [2]
    """
    shape = tensor_info(expr).shape
    if not isinstance(shape, ShapeExpr):
        raise GraphError(
            f"the shape of {repr_of(expr)} is not known", f"it is {expr.struct_info}", help
        )
    return [as_size(size) for size in shape.values]


def as_size(size: Size) -> Size:
    """A size as an int, where it is constant."""
    return int(size.value) if isinstance(size, IntImm) else size


def has_size(sizes: Iterable[Size], number: int) -> bool:
    """Whether one of the sizes is known to be a number.

    >>> from te_sched import tir
    >>> has_size([tir.Var("n", "int64"), 0], 0)
    True
    """
    return any(isinstance(size, int) and size == number for size in sizes)


def fixed_size(size: Size, action: str, help: str = "use a fixed size") -> int:
    """A size that must be constant for an action; GraphError with this help if it is not.

    >>> fixed_size(4, "unbind")
    4
    """
    if not isinstance(size, int):
        raise GraphError(
            f"cannot {action} a dimension of size {size}",
            "its size is not constant",
            help,
        )
    return size


def shape_expr(sizes: Iterable[Size]) -> ShapeExpr:
    """Sizes as a shape of the graph.

    >>> shape_expr([2, 3])
    R.shape([2, 3])
    """
    return ShapeExpr(tuple([ops.convert(size) for size in sizes]))


def prim_value(value: ExprLike) -> PrimValue:
    """A number as a value of the graph: an int is one of int64, a float one of float64.

    >>> prim_value(3)
    R.prim_value(3)
    """
    return PrimValue(value)  # type: ignore[arg-type]  # which converts it


def as_list(values: Sequence[_T | Sequence[_T]]) -> list[_T]:
    """Numbers that are given as several arguments or as one list; GraphError for both at once.

    >>> as_list((2, 3)), as_list(([2, 3],))
    ([2, 3], [2, 3])
    """
    if len(values) == 1 and isinstance(values[0], Sequence):
        return list(values[0])
    numbers = [value for value in values if not isinstance(value, Sequence)]
    if len(numbers) < len(values):
        raise GraphError(
            f"the arguments {repr_of(tuple(values))} are numbers and lists",
            "",
            "give numbers, or one list of them",
        )
    return numbers


def several(value: _T | Sequence[_T], count: int) -> list[_T]:
    """A value for each dimension, given as one, or as a list of one or of all.

    >>> several(3, 2), several([3], 2), several((3, 4), 2)
    ([3, 3], [3, 3], [3, 4])
    """
    values = list(value) if isinstance(value, Sequence) else [value]
    return values * count if len(values) == 1 else values


def computed_size(builder: BlockBuilder, vector: GraphExpr) -> Var:
    """The size that a tensor of one int64, (1,), holds when the model runs: a new variable."""
    size = Var("size", "int64")
    shape = builder.emit(R.tensor_to_shape(vector))
    builder.match_cast(shape, ShapeStructInfo((size,)))
    return size


def product_of(sizes: Iterable[Size]) -> Size:
    """The product of sizes, the first one first.

    >>> product_of([2, 3])
    6
    """
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def reshaped(builder: BlockBuilder, x: GraphExpr, sizes: Sequence[Size]) -> GraphVar:
    """A tensor with other sizes, which may be 0; one may be -1."""
    if has_size(sizes, 0):  # R.reshape keeps a size for 0
        empty = [max(size, 0) if isinstance(size, int) else size for size in sizes]
        return builder.emit(R.zeros(empty, tensor_info(x).dtype))
    return builder.emit(R.reshape(x, sizes))


def filled(builder: BlockBuilder, shape: Sequence[Size], value: float, dtype: str) -> GraphExpr:
    """A tensor of one value, which is a constant if calls give none of its sizes."""
    fixed = [size for size in shape if isinstance(size, int)]
    if len(fixed) < len(shape):
        return builder.emit(R.full(shape, const(value, dtype), dtype))
    return const(np.full(fixed, value), dtype)


def first_elements(
    builder: BlockBuilder, x: GraphExpr, sizes: Sequence[Size], but: int | None = None
) -> GraphExpr:
    """The first elements of each dimension, as many as sizes say, but all of one dimension."""
    shape = shape_expr(sizes_of_tensor(x, "give the shape of the tensor")).values
    pairs = enumerate(zip(shape, shape_expr(sizes).values, strict=True))
    is_equal = builder.analyzer.can_prove_equal
    axes = [n for n, (old, new) in pairs if n != but and not is_equal(old, new)]
    if not axes:
        return x
    ends, ones = [sizes[n] for n in axes], [1] * len(axes)
    return builder.emit(R.strided_slice(x, axes, [0] * len(axes), ends, ones, True))


def agreeing(
    builder: BlockBuilder, tensors: Sequence[GraphExpr], axis: int | None = None
) -> list[GraphExpr]:
    """Tensors of sizes that fit, as far as a call can give them: sizes that are not known to be
    equal get one name, which is checked when the function runs.

    Parameters
    ----------
    axis : the dimension along which tensors of one rank will be joined; None for tensors that are
        broadcast, where a size that is the number 1 fits all others.

    Of several sizes a number is chosen, else the shortest expression.

    >>> from te_sched import relax, tir
    >>> n = tir.Var("n", "int64")
    >>> x = relax.Var("x", relax.TensorStructInfo([n, 4], "float32"))
    >>> y = relax.Var("y", relax.TensorStructInfo([n // 2 * 2, 1], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, y]):
    ...     tensors = agreeing(builder, [x, y])
    ...     name = builder.emit_func_output(relax.op.add(*tensors))
    >>> [tensor.struct_info for tensor in tensors]
    [R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 1), dtype="float32")]
    """
    shapes = [tensor_info(tensor).shape for tensor in tensors]
    sizes = [list(shape.values) for shape in shapes if isinstance(shape, ShapeExpr)]
    if len(sizes) < len(tensors) or all(shape is shapes[0] for shape in shapes):
        return list(tensors)
    ranks = [len(row) for row in sizes]
    if axis is not None and len(set(ranks)) > 1:
        return list(tensors)
    for position in range(1, max(ranks) + 1):  # from the last dimension on
        if axis is not None and axis % ranks[0] == ranks[0] - position:
            continue
        rows = [row for row in sizes if len(row) >= position]
        if axis is None:
            rows = [row for row in rows if not ops.is_const(row[-position], 1)]
        size = _agreed_size(builder, [row[-position] for row in rows])
        if size is not None:
            for row in rows:
                row[-position] = size
    return [
        tensor if all(map(operator.is_, row, shape.values)) else _cast_to(builder, tensor, row)
        for tensor, shape, row in zip(tensors, shapes, sizes, strict=True)
        if isinstance(shape, ShapeExpr)
    ]


def _agreed_size(builder: BlockBuilder, sizes: Sequence[Expr]) -> Expr | None:
    """The size that replaces others; None if all are equal, or numbers that differ."""
    others = [size for size in sizes[1:] if size is not sizes[0]]
    if all(builder.analyzer.can_prove_equal(sizes[0], size) for size in others):
        return None
    numbers = [size for size in sizes if isinstance(size, IntImm)]
    if len({number.value for number in numbers}) > 1:
        return None  # inference tells of it
    return numbers[0] if numbers else min(sizes, key=lambda size: len(str(size)))


def with_ones(builder: BlockBuilder, tensor: GraphExpr, axes: Iterable[int]) -> GraphExpr:
    """A tensor whose sizes along axes are 1 where a call gives them, which is checked then.

    >>> from te_sched import relax, tir
    >>> x = relax.Var("x", relax.TensorStructInfo([4, tir.Var("n", "int64")], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     row = with_ones(builder, x, [0, 1])
    ...     name = builder.emit_func_output(row)
    >>> row.struct_info
    R.Tensor((4, 1), dtype="float32")
    """
    shape = tensor_info(tensor).shape
    if not isinstance(shape, ShapeExpr):
        return tensor
    sizes = list(shape.values)
    is_open = [axis for axis in axes if not isinstance(sizes[axis], IntImm)]
    for axis in is_open:
        sizes[axis] = ops.const(1, "int64")
    return _cast_to(builder, tensor, sizes) if is_open else tensor


def _cast_to(builder: BlockBuilder, tensor: GraphExpr, sizes: Sequence[Expr]) -> GraphVar:
    info = TensorStructInfo(ShapeExpr(tuple(sizes)), tensor_info(tensor).dtype)
    return builder.match_cast(tensor, info)
