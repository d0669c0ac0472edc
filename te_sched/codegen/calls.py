"""What the back ends share: writers of nodes, intrinsics compared with their table, pointers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from te_sched.errors import BuildError, Subject, kind_of
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.wording import wording

_Writer = TypeVar("_Writer")
# What intrinsics are defined for, and what to do with values of other types.
_LEGAL = {
    "float": (("float", "bfloat"), 'cast with .astype("float32")'),
    "integer": (("int", "uint", "bool"), "cast to an integer type, or use reinterpret"),
}


def writer_of(
    writers: Mapping[type, _Writer], node: E.Node, where: tuple[Subject, ...] = ()
) -> _Writer:
    """The function that writes a node.

    Raises BuildError for nodes that lowered programs do not have.
    """
    writer = writers.get(type(node))
    if writer is None:
        raise BuildError(
            f"cannot generate code for {kind_of(node)}",
            "it is not part of a lowered program",
            "lower the schedule with te_sched.lower first",
            where,
        )
    return writer


def operator_of(node: E.BinaryOp | E.CompareOp) -> str:
    """The name of an operator: add, floordiv, le, ..."""
    return type(node).__name__.lower()


def intrinsic_of(node: E.Call) -> str:
    """The name of the intrinsic that is called, without the prefix "tir.".

    Raises BuildError where the table has it with other arguments.
    """
    name = node.op.removeprefix("tir.")
    row = INTRINSICS.get(name)
    if row is None:
        return name
    if row.arity is not None and len(node.args) != row.arity:
        raise BuildError(
            f"{node.op} has {len(node.args)} arguments, expected {row.arity}",
            help=f"use the function {wording().module}.{name}",
        )
    if row.types:
        dtype, (codes, help) = node.args[0].dtype, _LEGAL[row.types]
        if dtypes.parse(dtype).code not in codes:
            raise BuildError(f"{name} expects {row.types}s, got {dtype}", help=help)
    return name


def array_of(data: E.Var, dtype: str) -> E.Buffer:
    """The memory behind a pointer as a flat array, of which only the beginning is known."""
    return E.Buffer(data, dtype, (E.IntImm(1),), (), E.IntImm(0), data.name)


def target_of(pointer: E.Expr) -> E.BufferLoad | None:
    """The element that address_of or tvm_access_ptr points to; None for other pointers."""
    if isinstance(pointer, E.Call) and pointer.op == "tir.address_of":
        load = pointer.args[0]
        return load if isinstance(load, E.BufferLoad) else None
    if isinstance(pointer, E.Call) and pointer.op == "tir.tvm_access_ptr":
        kind, data, offset = pointer.args[:3]
        if isinstance(data, E.Var):
            return E.BufferLoad(array_of(data, kind.dtype), (offset,))
    return None


def of_type(e: E.Expr, element: str) -> E.Expr:
    """The value or vector converted to an element type."""
    wanted = dtypes.with_lanes(element, dtypes.lanes(e.dtype))
    return e if e.dtype == wanted else E.Cast(wanted, e)
