"""Operators with effects: checks and output while a graph runs."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphTypeError, repr_of
from te_sched.ir.graph import GraphCall, GraphExpr, GraphString, as_expr
from te_sched.ir.struct_info import PrimStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.message_formats import check_format
from te_sched.relax.operators.arguments import Argument, Value
from te_sched.relax.operators.inference import argument_error
from te_sched.relax.operators.registry import declare, make_call
from te_sched.signatures import is_sequence


def assert_op(condition: Value, format_args: Argument | None = None, format: Any = "") -> GraphCall:
    """A check that a condition holds, an error with a message otherwise.

    Parameters
    ----------
    condition : a tensor without dimensions or a number, of bool.
    format_args : values that replace the {} of the message, in order; one, or a list.
    format : the message.
    """
    arguments: Any = format_args if is_sequence(format_args) else [format_args]
    values = [as_expr(argument) for argument in arguments if argument is not None]
    message = _message(format, len(values))
    return make_call("relax.assert_op", [as_expr(condition), message, *values])


def _infer_assert(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = call.args[0].struct_info
    is_scalar = isinstance(info, PrimStructInfo) or (
        isinstance(info, TensorStructInfo) and info.ndim in (-1, 0)
    )
    if not is_scalar or info.dtype not in ("", "bool"):
        raise argument_error(call, 0, "a scalar of bool")
    return TupleStructInfo(())


declare("relax.assert_op", _infer_assert, is_pure=False, packed="relax.run.assert_op")


def print(*values: Argument, format: Any = "") -> GraphCall:
    """Print values, in the places of the {} of a format, or one after the other without one."""
    arguments = [as_expr(value) for value in values]
    return make_call("relax.print", [_message(format, len(arguments)), *arguments])


def _infer_print(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return TupleStructInfo(())


declare("relax.print", _infer_print, is_pure=False, packed="relax.run.print")


def _message(format: Any, count: int) -> GraphExpr:
    """The message of a call with a number of values."""
    if isinstance(format, str):
        format = GraphString(format)
    if not isinstance(format, GraphString):
        raise GraphTypeError(f"the format is {repr_of(format)}", "", "give a str")
    check_format(format.value, count)
    return format
