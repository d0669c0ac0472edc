"""Decorators that convert the arguments of functions to expressions of graphs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import kind_of, repr_of
from te_sched.ir.graph import GraphExpr, GraphTerm, as_expr
from te_sched.relax.copying import copy_with_new_vars as copy_with_new_vars
from te_sched.signatures import is_sequence

convert_to_expr = as_expr

_T = TypeVar("_T")


class _Decorator(Protocol):
    """Makes a function of the same result, which converts its arguments."""

    def __call__(self, function: Callable[..., _T], /) -> Callable[..., _T]: ...


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _list_of_expressions(value: Any) -> list[GraphTerm] | None:
    if value is None:
        return None
    if not is_sequence(value):
        raise TypeError(
            f"{repr_of(value)} is {kind_of(value)}, expected a list or tuple of expressions"
        )
    return [as_expr(element) for element in value]


def _expression(value: Any) -> GraphTerm | None:
    expr: GraphTerm | None = None if value is None else as_expr(value)
    return expr


class ArgsConverter:
    """Makes decorators that convert arguments, by their names or by their annotations.

    None stays None; of `*args` and `**kwargs` each value is converted.

    >>> @args_converter.to_expr("x")
    ... def pair(x, n):
    ...     return x, n
    >>> pair(1, 1)
    (R.prim_value(1), 1)
    """

    def to_expr(self, *names: str) -> _Decorator:
        """Convert these arguments to expressions."""
        return self._decorator(dict.fromkeys(names, _expression))

    def to_list_expr(self, *names: str) -> _Decorator:
        """Convert these arguments to lists of expressions; TypeError for other values."""
        return self._decorator(dict.fromkeys(names, _list_of_expressions))

    def auto(self, function: Callable[..., _T]) -> Callable[..., _T]:
        """Convert the arguments that are annotated as expressions, or as lists of them.

        >>> @args_converter.auto
        ... def first(x: GraphExpr, n: int):
        ...     return x
        >>> first("a", 2)
        R.str("a")
        """
        hints = get_type_hints(function)
        converters = {name: _converter_of(hint) for name, hint in hints.items() if name != "return"}
        kept = {name: converter for name, converter in converters.items() if converter is not None}
        return self._decorator(kept)(function)

    def _decorator(self, converters: Mapping[str, Callable[[Any], object]]) -> _Decorator:
        def decorate(function: Callable[..., _T]) -> Callable[..., _T]:
            signature = inspect.signature(function)

            @functools.wraps(function)
            def wrapper(*args: object, **kwargs: object) -> _T:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                for name, convert in converters.items():
                    argument = bound.arguments[name]
                    kind = signature.parameters[name].kind
                    if kind is _VARIADIC[0]:
                        argument = tuple([convert(element) for element in argument])
                    elif kind is _VARIADIC[1]:
                        argument = {key: convert(element) for key, element in argument.items()}
                    else:
                        argument = convert(argument)
                    bound.arguments[name] = argument
                return function(*bound.args, **bound.kwargs)

            return wrapper

        return decorate


def _converter_of(hint: object) -> Callable[[Any], object] | None:
    """What converts the values of an annotation; None for others than expressions."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    if hint is GraphExpr:
        return _expression
    if get_origin(hint) is list:
        return _list_of_expressions if parts == [GraphExpr] else None
    is_optional = len(parts) == 1 and len(get_args(hint)) == 2
    return _converter_of(parts[0]) if is_optional else None


args_converter = ArgsConverter()

_tell_of_absent_names(__name__)
