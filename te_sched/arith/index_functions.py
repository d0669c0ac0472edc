"""Index maps made of Python functions: `lambda i, j: [i // 4, j, i % 4]`.

Must not know schedules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from te_sched.errors import DeclarationError, counted, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.index_map import AXIS_SEPARATOR, IndexMap
from te_sched.signatures import is_sequence

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Function = Callable[..., Any]


def map_of(
    function: Function, ndim: int | None = None, inverse: Any = None, dtype: str = "int32"
) -> tuple[IndexMap, list[int]]:
    """The map that a function of indices computes, and the positions of AXIS_SEPARATOR.

    Parameters
    ----------
    ndim : the number of indices, for a function with *args.
    inverse : a map or a function of the new indices.

    >>> map_of(lambda i, j: [i // 4, AXIS_SEPARATOR, j, i % 4])
    (T.index_map(lambda i, j: (i // 4, j, i % 4)), [1])
    """
    names, last = _names(function, ndim)
    variables = {name: Var(name, dtype) for name in (*names, *last)}
    result = function(
        *[variables[name] for name in names], **{name: variables[name] for name in last}
    )
    finals: list[Expr] = []
    separators: list[int] = []
    for index in result if is_sequence(result) else [result]:
        if index is AXIS_SEPARATOR:
            separators.append(len(finals))
        else:
            finals.append(index_of(index))
    stated = stated_inverse(inverse, len(finals), dtype)
    return IndexMap(tuple(variables.values()), tuple(finals), stated), separators


def value_map(function: Function, ndim: int, dtype: str = "int32") -> IndexMap:
    """The map that a function of indices computes, which gives values of any type.

    >>> value_map(lambda i, j: i * 0.5, 2)
    T.index_map(lambda i, j: (T.Cast("float32", i) * T.float32(0.5),))
    """
    names, last = _names(function, ndim)
    variables = {name: Var(name, dtype) for name in (*names, *last)}
    result = function(
        *[variables[name] for name in names], **{name: variables[name] for name in last}
    )
    finals = [ops.convert(value) for value in (result if is_sequence(result) else [result])]
    return IndexMap(tuple(variables.values()), tuple(finals))


def index_of(value: Any) -> Expr:
    """An index: an integer expression."""
    index = ops.convert(value)
    if not dtypes.is_integral(index.dtype):
        raise DeclarationError(
            f"new index {repr_of(value)} of an index map is {index.dtype}, expected an integer",
            "",
            "return a list of integer expressions of the indices",
        )
    return index


def stated_inverse(inverse: Any, ndim: int, dtype: str) -> IndexMap | None:
    """The inverse that the user states, as a map."""
    if inverse is None or isinstance(inverse, IndexMap):
        return inverse
    if callable(inverse):
        index_map, separators = map_of(inverse, ndim, dtype=dtype)
        if not separators:
            return index_map
    raise DeclarationError(
        f"inverse_index_map is {kind_of(inverse)}, expected a function or an IndexMap",
        "",
        "give a function of the new indices",
    )


def _names(function: Function, ndim: int | None) -> tuple[list[str], list[str]]:
    """The names of the indices, by position and by keyword."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions written in C have none
        raise DeclarationError(
            f"cannot make an index map of {repr_of(function)}, whose parameters are unknown",
            "",
            "give a function written in Python, for example lambda i: [i // 4, i % 4]",
        ) from None
    names = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
    last = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    rest = [
        parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL
    ]
    count = len(names) + len(last)
    if rest and ndim is None:
        raise DeclarationError(
            "an index map of a function with *args needs the number of indices", "", "give ndim"
        )
    if rest and ndim is not None and ndim >= count:
        names += [f"{rest[0]}_{number}" for number in range(ndim - count)]
    elif ndim is not None and ndim != count:
        raise DeclarationError(
            f"the function of the index map takes {counted(count, 'index', 'indices')}, expected "
            f"{ndim}",
            "",
            "take one argument for each dimension",
        )
    return names, last
