"""Kinds of the arguments of operators, as annotations that `signatures.checked` reads.

`Value` is an expression of the graph or a number, `Values` several of them, `Argument` also a text
or a list, `Arguments` several of these, `Shape` sizes as a list or as an expression, `Numbers` an
integer or several. Must not know any operator.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from te_sched.ir.expr import Operand
from te_sched.ir.graph import GraphExpr
from te_sched.ir.op import Op
from te_sched.ir.stmt import BaseFunc, GlobalVar
from te_sched.ir.struct_info import ShapeExpr
from te_sched.signatures import ParameterKind, is_index, is_sequence

_VALUES = (
    *(GraphExpr, ShapeExpr, GlobalVar, BaseFunc, Op),
    *(Operand, bool, int, float, np.integer, np.floating),
)


def is_value(value: Any) -> bool:
    """Whether a value is an expression of a graph or a number."""
    return isinstance(value, _VALUES)


def _is_several(value: Any) -> bool:
    return isinstance(value, GraphExpr) or (_is_list(value) and all(map(is_value, value)))


def _is_argument(value: Any) -> bool:
    return isinstance(value, str) or is_value(value) or _is_list(value)  # a tuple checks its own


def _is_arguments(value: Any) -> bool:
    return isinstance(value, GraphExpr) or (_is_list(value) and all(map(_is_argument, value)))


def _is_list(value: Any) -> bool:
    return is_sequence(value) and type(value).__module__ != "numpy"


def _is_size(value: Any) -> bool:
    return isinstance(value, Operand | GraphExpr) or is_index(value)


def _is_shape(value: Any) -> bool:
    if isinstance(value, GraphExpr | ShapeExpr):
        return True
    return is_sequence(value) and all(map(_is_size, value))


def _is_numbers(value: Any) -> bool:
    return _is_size(value) or _is_shape(value)


_VALUE = ParameterKind(
    is_value,
    "a value of a graph",
    "give a variable, a call of an operator, or a constant: relax.const(value)",
)
_ARGUMENT = ParameterKind(_is_argument, "a value of a graph, a str or a list")
Value = Annotated[Any, _VALUE]
Values = Annotated[
    Any,
    ParameterKind(
        _is_several,
        "a list of values of a graph",
        "give them as a list: relax.op.concat([a, b])",
        _VALUE,
    ),
]
Argument = Annotated[Any, _ARGUMENT]
Arguments = Annotated[
    Any, ParameterKind(_is_arguments, "a list of values of a graph", "", _ARGUMENT)
]
Shape = Annotated[
    Any, ParameterKind(_is_shape, "a shape", "give a list or tuple of sizes, such as (4, 3)")
]
Numbers = Annotated[Any, ParameterKind(_is_numbers, "an int or a list of ints")]
