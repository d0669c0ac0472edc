"""Sizes: those of struct infos, as far as they are known, and what is computed with them.

A size is an expression of int64: a number, a variable, or computed of variables. Variables get
their values where a size of a parameter is the variable alone. Must not know operators, nor
graphs but for their struct infos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Expr, ExprLike, IntImm, Node, Var
from te_sched.ir.graph import GraphExpr
from te_sched.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.ir.visitor import replace, substitute, walk

_Info = TypeVar("_Info", bound=StructInfo)
_Item = TypeVar("_Item")


def bind_sizes(param: StructInfo, arg_info: StructInfo, values: dict[Var, Expr]) -> None:
    """Add the values of the variables in the sizes of a parameter, for what is passed to it."""
    if isinstance(param, TupleStructInfo) and isinstance(arg_info, TupleStructInfo):
        for part, given_part in zip(param.fields, arg_info.fields, strict=False):
            bind_sizes(part, given_part, values)
        return
    sizes, others = sizes_of(param), sizes_of(arg_info)
    if sizes is None or others is None or len(sizes) != len(others):
        return
    for size, other in zip(sizes, others, strict=True):
        if type(size) is Var:
            values.setdefault(size, other)


def bound_sizes(info: StructInfo) -> list[Var]:
    """The variables whose values a parameter of this struct info gives: sizes that are one."""
    if isinstance(info, TupleStructInfo):
        return [var for part in info.fields for var in bound_sizes(part)]
    return [size for size in sizes_of(info) or () if type(size) is Var]


def as_sizes(shape: Iterable[object]) -> tuple[Expr, ...]:
    """The sizes of a shape that is given as numbers and expressions.

    >>> as_sizes([4, 3])
    (T.int64(4), T.int64(3))
    """
    return ShapeExpr(tuple(shape)).values  # type: ignore[arg-type]


def sizes_of(info: StructInfo | None) -> tuple[Expr, ...] | None:
    """The sizes that are known of a value, or its number; None if they are not known."""
    if isinstance(info, TensorStructInfo):
        return info.shape.values if isinstance(info.shape, ShapeExpr) else None
    if isinstance(info, ShapeStructInfo):
        return info.values
    if isinstance(info, PrimStructInfo) and info.value is not None:
        return (info.value,)
    return None


def map_sizes(
    info: _Info,
    map_size: Callable[[Expr], Expr],
    map_variable: Callable[[GraphExpr], GraphExpr] | None = None,
) -> _Info:
    """A struct info with each size and number mapped, and each variable that is the shape of a
    tensor; the struct info itself if none changed.

    >>> from te_sched import relax
    >>> map_sizes(relax.ShapeStructInfo([4, 3]), lambda size: size * 2)
    R.Shape([8, 6])
    """
    if isinstance(info, TensorStructInfo) and info.shape is not None:
        if not isinstance(info.shape, ShapeExpr):
            return info if map_variable is None else replace(info, shape=map_variable(info.shape))
        sizes = _mapped(info.shape.values, map_size)
        return info if sizes is info.shape.values else replace(info, shape=ShapeExpr(sizes))
    if isinstance(info, ShapeStructInfo) and info.values is not None:
        return replace(info, values=_mapped(info.values, map_size))
    if isinstance(info, PrimStructInfo) and info.value is not None:
        return replace(info, value=map_size(info.value))
    if isinstance(info, TupleStructInfo):
        fields = _mapped(info.fields, lambda part: map_sizes(part, map_size, map_variable))
        return replace(info, fields=fields)
    if isinstance(info, FuncStructInfo) and info.params is not None:
        params = _mapped(info.params, lambda part: map_sizes(part, map_size, map_variable))
        return replace(info, params=params, ret=map_sizes(info.ret, map_size, map_variable))
    return info


def _mapped(items: tuple[_Item, ...], map_item: Callable[[_Item], _Item]) -> tuple[_Item, ...]:
    new = tuple([map_item(item) for item in items])
    return items if all(a is b for a, b in zip(new, items, strict=True)) else new


def tensor_sizes(info: StructInfo | None) -> list[Expr]:
    """The sizes of a tensor, or of the tensors of a tuple, as far as they are known."""
    if isinstance(info, TupleStructInfo):
        return [size for part in info.fields for size in tensor_sizes(part)]
    return list(sizes_of(info) or ()) if isinstance(info, TensorStructInfo) else []


def variables_in(node: Node) -> list[Var]:
    """The variables of sizes in an expression or struct info, each use of them."""
    return [part for part in walk(node) if type(part) is Var]


def own_variables(info: StructInfo | None) -> list[Var]:
    """The variables in the sizes of a struct info, each use of them; those in functions, which
    define their own, are left out.
    """
    if isinstance(info, TupleStructInfo):
        return [var for part in info.fields for var in own_variables(part)]
    return [] if info is None or isinstance(info, FuncStructInfo) else variables_in(info)


def constant_sizes(sizes: Sequence[Expr] | None) -> tuple[int, ...] | None:
    """Sizes as numbers; None if one of them is not a number, or without sizes.

    >>> constant_sizes([ops.const(4, "int64"), ops.const(3, "int64")])
    (4, 3)
    """
    numbers = [size.value for size in sizes or () if isinstance(size, IntImm)]
    return None if sizes is None or len(numbers) < len(sizes) else tuple(numbers)


def with_values(size: Expr, values: dict[Var, Expr], analyzer: Analyzer) -> Expr:
    """A size with the values of its variables; simplified, unless none of them has a value.

    >>> n = Var("n", "int64")
    >>> with_values(n * 2 + 1, {n: ops.const(4, "int64")}, Analyzer())
    T.int64(9)
    """
    new = substitute(size, values)
    return size if new is size else analyzer.simplify(new)


def are_equal_sizes(
    sizes: Sequence[ExprLike] | None, others: Sequence[ExprLike] | None, analyzer: Analyzer
) -> bool:
    """Whether two shapes are known to be equal."""
    if sizes is None or others is None or len(sizes) != len(others):
        return False
    return all(
        analyzer.can_prove_equal(ops.convert(size), ops.convert(other))
        for size, other in zip(sizes, others, strict=True)
    )
