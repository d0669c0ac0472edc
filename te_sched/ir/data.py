"""Expressions that depend on integers in memory or on integer arguments: these may have any value,
and arithmetic with them wraps around.

Arithmetic with loop variables and sizes only, in int32 or int64, does not overflow in indices,
conditions and extents (`lowering.widen_indices` ensures this). In other types, and in stored
values, it wraps around too.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import dtypes
from te_sched.ir.expr import (
    BinaryOp,
    BufferLoad,
    Call,
    Cast,
    Expr,
    IntImm,
    Max,
    Min,
    ProducerLoad,
    Var,
)
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.stmt import Allocate, AttrStmt, BufferRealize, For, PrimFunc
from te_sched.ir.visitor import children, variables_of, walk


class DataDependence:
    """The values that depend on integers in memory, on external integers, or on integers of types
    other than those of indices.

    A loaded value does not depend on its index in this sense.
    """

    __slots__ = ("_known", "_variables")

    def __init__(self) -> None:
        self._variables: set[Var] = set()
        self._known: dict[Expr, bool] = {}

    def add(self, *variables: Var) -> None:
        """Record that variables have such values."""
        self._variables.update(variables)
        self._known.clear()

    def of(self, e: Any) -> bool:
        """Whether the value of an expression is such a value."""
        kind = type(e)
        if kind is BufferLoad or kind is ProducerLoad:
            return dtypes.is_int(e.dtype) or dtypes.is_uint(e.dtype)
        if kind is Var:
            return e in self._variables or _is_narrow(e.dtype)
        is_dependent = self._known.get(e)
        if is_dependent is None:
            is_narrow = kind is Cast and _is_narrow(e.dtype) and type(e.value) is not IntImm
            is_foreign = kind is Call and call_effect(e.op) > Effect.PURE
            is_dependent = is_narrow or is_foreign or any(map(self.of, children(e)))
            self._known[e] = is_dependent
        return is_dependent


def _is_narrow(dtype: str) -> bool:
    return dtypes.is_integral(dtype) and not dtypes.counts(dtype)


def computes_with_data(e: Expr) -> bool:
    """Whether an expression contains a sum or product that depends on integers in memory."""
    data = DataDependence()
    return any(
        isinstance(part, BinaryOp) and not isinstance(part, Min | Max) and data.of(part)
        for part in walk(e)
    )


def numbers_of_calls(func: PrimFunc) -> set[Var]:
    """The integer parameters of a function, except sizes of memory, loops or threads."""
    numbers = {
        param
        for param in func.params
        if param not in func.buffer_map and dtypes.is_integral(param.dtype) and not param.is_size
    }
    if not numbers:
        return numbers
    for buffer in func.buffer_map.values():
        for size in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            numbers.difference_update(variables_of(size))
    for node in walk(func.body):
        for size in _sizes(node):
            numbers.difference_update(variables_of(size))
    return numbers


def _sizes(node: object) -> tuple[Expr, ...]:
    if type(node) is For:
        return node.min, node.extent
    if type(node) is Allocate:
        return tuple(node.extents)
    if type(node) is BufferRealize:
        return tuple([end for bound in node.bounds for end in (bound.min, bound.extent)])
    if type(node) is AttrStmt and isinstance(node.value, Expr):
        return (node.value,)
    return ()
