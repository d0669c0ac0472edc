"""Operators of Python on expressions of graphs: `x + y`, `x @ w`, `-x`, `x[0]`, `f(x)`, `astype`.

Each is a call of the operator of `relax.op` with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from te_sched.errors import ElementError, OperandError, counted, kind_of, repr_of
from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphValue,
    TupleGetItem,
    as_expr,
)
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import GraphExprLike, TensorStructInfo, TupleStructInfo
from te_sched.relax import op

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "pow": "power",
    "mod": "mod",
    "matmul": "matmul",
}
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


def _binary(name: str) -> Callable[[GraphExpr, GraphExprLike], GraphCall]:
    def apply(self: GraphExpr, other: GraphExprLike) -> GraphCall:
        call: GraphCall = getattr(op, name)(self, as_expr(other))
        return call

    apply.__doc__ = f"A call of `relax.op.{name}`."
    return apply


def _reflected(name: str) -> Callable[[GraphExpr, GraphExprLike], GraphCall]:
    def apply(self: GraphExpr, other: GraphExprLike) -> GraphCall:
        call: GraphCall = getattr(op, name)(as_expr(other), self)
        return call

    return apply


def _negative(self: GraphExpr) -> GraphCall:
    return op.negative(self)


def _astype(self: GraphExpr, dtype: str) -> GraphCall:
    """The value with another dtype: a call of `relax.op.astype`."""
    return op.astype(self, dtype)


def _called(self: GraphValue, *args: GraphExprLike, attrs: object = None) -> GraphCall:
    return GraphCall(self, tuple([as_expr(arg) for arg in args]), attrs)


def _item(self: GraphExpr, index: int) -> TupleGetItem:
    info = self.struct_info_
    if isinstance(info, TupleStructInfo):
        count = len(info.fields)
        if not -count <= index < count:
            raise ElementError(
                f"index {index} is out of range for a tuple of {counted(count, 'value')}",
                "",
                f"use an index from 0 to {count - 1}",
            )
        index %= count
    return TupleGetItem(self, index)


def _values(self: GraphExpr) -> Iterator[TupleGetItem]:
    """The values of a tuple; others are not counted, and `__getitem__` would never end."""
    info = self.struct_info_
    if not isinstance(info, TupleStructInfo):
        raise OperandError(
            f"cannot iterate over {repr_of(self)}",
            f"it is {info or kind_of(self)}, which is not a tuple of known length",
            "give a list or tuple of expressions, or take values by value[index]",
        )
    return iter([TupleGetItem(self, index) for index in range(len(info.fields))])


class TensorDtype:
    """`x.dtype` of a tensor of a graph: its parts, when it runs."""

    def __init__(self, tensor: GraphExpr) -> None:
        self._tensor = tensor

    @property
    def type_code(self) -> GraphCall:
        """The kind of the dtype, as in DLPack."""
        return op.inspect.tensor_dtype_code(self._tensor)

    @property
    def bits(self) -> GraphCall:
        """The bits of an element."""
        return op.inspect.tensor_dtype_bits(self._tensor)

    @property
    def lanes(self) -> GraphCall:
        """The lanes of an element."""
        return op.inspect.tensor_dtype_lanes(self._tensor)


class TensorSizes:
    """`x.shape` or `x.strides` of a tensor of a graph: `x.shape[0]` is a call, when it runs."""

    def __init__(self, tensor: GraphExpr, function: Callable[[GraphExpr, int], GraphCall]) -> None:
        self._tensor, self._function = tensor, function

    def __getitem__(self, axis: int) -> GraphCall:
        return self._function(self._tensor, axis)

    __iter__ = None  # the number of sizes may be unknown


def _tensor(self: GraphExpr) -> GraphExpr:
    """The expression, if it may be a tensor; AttributeError otherwise."""
    if isinstance(self.struct_info_, TensorStructInfo):
        return self
    raise AttributeError(f"{self.struct_info_} has no shape and dtype")


_FIELDS: dict[str, Callable[[GraphExpr], object]] = {
    "dtype": lambda self: TensorDtype(_tensor(self)),
    "ndim": lambda self: op.inspect.tensor_ndim(_tensor(self)),
    "shape": lambda self: TensorSizes(_tensor(self), op.inspect.tensor_shape_i),
    "strides": lambda self: TensorSizes(_tensor(self), op.inspect.tensor_stride_i),
    "byte_offset": lambda self: op.inspect.tensor_byte_offset(_tensor(self)),
    "elem_offset": lambda self: op.inspect.tensor_elem_offset(_tensor(self)),
}


def install() -> None:
    """Give the operators to the classes of expressions."""
    for name, operator in _BINARY.items():
        setattr(GraphExpr, f"__{name}__", _binary(operator))
        setattr(GraphExpr, f"__r{name}__", _reflected(operator))
    for name, operator in _COMPARISONS.items():
        setattr(GraphExpr, f"__{name}__", _binary(operator))
    methods = {"__neg__": _negative, "astype": _astype, "__getitem__": _item, "__iter__": _values}
    for name, method in methods.items():
        setattr(GraphExpr, name, method)
    for name, read in _FIELDS.items():
        setattr(GraphExpr, name, property(read))
    for kind in (GraphExpr, GlobalVar):
        setattr(kind, "__call__", _called)  # noqa: B010  (for the type checker)


install()
