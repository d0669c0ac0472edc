"""The types of values of graphs: what TVM derives of a struct info by leaving out sizes.

Must not know expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.errors import DeclarationError, kind_of, repr_of
from te_sched.ir.expr import PrimType, TupleType, ValueType, text_in_graphs
from te_sched.ir.graph import STRUCT_INFO_CONVERSIONS
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import (
    FuncStructInfo,
    GraphExpr,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.signatures import is_sequence


class GraphType:
    """Base class of the types; two of them are equal if they have the same fields."""

    def script(self, **options: object) -> str:
        """The type in TVMScript."""
        raise NotImplementedError

    def _relax_script(self) -> str:
        """The type as an annotation of a graph."""
        return self.script()

    def __str__(self) -> str:
        return self.script()

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class ObjectType(GraphType):
    """The type of any value.

    >>> ObjectType()
    R.Object
    """

    def script(self, **options: object) -> str:
        return "R.Object"


@dataclass(frozen=True, repr=False)
class PackedFuncType(GraphType):
    """The type of a function of which nothing is known.

    >>> PackedFuncType()
    R.PackedFunc
    """

    def script(self, **options: object) -> str:
        return "R.PackedFunc"


@dataclass(frozen=True, repr=False)
class ShapeType(GraphType):
    """The type of a shape.

    >>> ShapeType(ndim=2)
    R.Shape(ndim=2)
    """

    ndim: int = -1

    def script(self, **options: object) -> str:
        return f"R.Shape(ndim={self.ndim})"


@dataclass(frozen=True, repr=False)
class DynTensorType(GraphType):
    """The type of an array.

    >>> DynTensorType(2, "float32")
    R.Tensor(ndim=2, dtype="float32")
    """

    ndim: int = -1
    dtype: str = "float32"

    def script(self, **options: object) -> str:
        return f'R.Tensor(ndim={self.ndim}, dtype="{self.dtype or "void"}")'


@dataclass(frozen=True, repr=False)
class FuncType(GraphType):
    """The type of a function.

    >>> FuncType([ObjectType()], ShapeType())
    I.FuncType([], [R.Object], R.Shape(ndim=-1))
    """

    arg_types: Sequence[ValueType]
    ret_type: ValueType
    type_params: object = ()
    type_constraints: object = ()

    def __post_init__(self) -> None:
        if not is_sequence(self.arg_types):
            raise DeclarationError(
                f"the types of arguments are {repr_of(self.arg_types)}",
                f"it is {kind_of(self.arg_types)}",
                "give a list of types",
            )
        object.__setattr__(self, "arg_types", tuple(self.arg_types))

    def script(self, **options: object) -> str:
        arguments = ", ".join([arg_type.script() for arg_type in self.arg_types])
        return f"I.FuncType([], [{arguments}], {self.ret_type.script()})"

    def _relax_script(self) -> str:
        arguments = [text_in_graphs(arg_type) for arg_type in self.arg_types]
        comma = "," if len(arguments) == 1 else ""
        return f"R.Callable(({', '.join(arguments)}{comma}), {text_in_graphs(self.ret_type)})"


def type_of(info: StructInfo | None) -> ValueType | None:
    """The type of a value of a struct info; None if nothing is known.

    >>> from te_sched import relax
    >>> type_of(relax.TensorStructInfo([4, 3], "int8"))
    R.Tensor(ndim=2, dtype="int8")
    """
    return None if info is None else _type_of(info)


def _type_of(info: StructInfo) -> ValueType:
    if isinstance(info, TensorStructInfo):
        return DynTensorType(info.ndim, info.dtype)
    if isinstance(info, ShapeStructInfo):
        return ShapeType(info.ndim)
    if isinstance(info, PrimStructInfo):
        return PrimType(info.dtype)
    if isinstance(info, TupleStructInfo):
        return TupleType([_type_of(part) for part in info.fields])
    if isinstance(info, FuncStructInfo):
        if info.params is None:
            return PackedFuncType()
        return FuncType([_type_of(part) for part in info.params], _type_of(info.ret))
    return ObjectType()


def _from_type(value_type: object) -> StructInfo | None:
    """The struct info of values of a type, as programs of 2022 give it; None for others."""
    if isinstance(value_type, DynTensorType):
        return TensorStructInfo(None, value_type.dtype, None, value_type.ndim)
    if isinstance(value_type, ShapeType):
        return ShapeStructInfo(None, value_type.ndim)
    return ObjectStructInfo() if isinstance(value_type, ObjectType) else None


STRUCT_INFO_CONVERSIONS.append(_from_type)


def checked_type_of(expr: GraphExpr | GlobalVar) -> ValueType | None:
    """The type of an expression or the name of a function."""
    return type_of(expr.struct_info)


def noted_type_of(expr: GraphExpr) -> ValueType | None:
    """The type of an expression, None before normalization."""
    return type_of(expr.struct_info_)
