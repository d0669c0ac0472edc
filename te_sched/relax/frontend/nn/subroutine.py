"""Modules that become functions of their own, which the function around them calls.

A class with `define_subroutine = True` is such a module: calls of `forward` with arguments of the
same struct infos are calls of one private function, named after the class. Must not know tensors of
models, but that an attribute `_expr` is their expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar

from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphVar,
    SeqExpr,
    TupleGetItem,
    as_expr,
    as_struct_info,
)
from te_sched.ir.visitor import substitute, walk
from te_sched.public_members import PublicObject
from te_sched.relax.block_builder import BlockBuilder

_T = TypeVar("_T")

_CONSTANTS = (bool, int, float, str, type(None))  # arguments that `forward` is given as they are


class SubroutineMixin(PublicObject):
    """Base class of modules: with `define_subroutine`, `forward` becomes a function."""

    define_subroutine: bool = False

    def __init_subclass__(cls) -> None:
        forward = vars(cls).get("forward")
        if forward is not None and cls.define_subroutine:
            cls.forward = _as_subroutine(forward)  # type: ignore[attr-defined]

    def variable_slots(self) -> list[tuple[object, str]]:
        """The objects and attributes at which the variables of its parameters are."""
        raise NotImplementedError


def _as_subroutine(forward: Callable[..., _T]) -> Callable[..., _T]:
    """A method that calls a function whose body is `forward`."""

    @wraps(forward)
    def call(self: SubroutineMixin, *args: object, **kwargs: object) -> _T:
        builder = BlockBuilder.current()
        if builder is None:
            return forward(self, *args, **kwargs)
        bound = signature(forward).bind(self, *args, **kwargs).arguments
        arguments = {name: value for name, value in list(bound.items())[1:]}
        numbers = {
            name: value for name, value in arguments.items() if isinstance(value, _CONSTANTS)
        }
        names = [name for name in arguments if name not in numbers]
        body = partial(forward, **numbers) if numbers else forward
        return _call(builder, self, body, names, [arguments[name] for name in names])

    return call


def _call(
    builder: BlockBuilder,
    module: SubroutineMixin,
    forward: Callable[..., _T],
    names: list[str],
    args: Sequence[Any],
) -> _T:
    """Define the function of a module, and call it."""
    slots = module.variable_slots()
    own = [getattr(owner, name) for owner, name in slots]
    values = [builder.normalize_argument(_expr_of(arg)) for arg in args] + own
    fresh: dict[Var, Expr] = {size: Var(size.name, size.dtype) for size in _sizes_of(values)}
    params = [
        GraphVar(name, as_struct_info(substitute(value.struct_info, fresh)))
        for name, value in zip([*names, *[var.name_hint for var in own]], values, strict=True)
    ]
    inner = [
        type(arg)(_expr=param) if hasattr(arg, "_expr") else param
        for arg, param in zip(args, params, strict=False)
    ]
    is_dataflow = builder.current_block_is_dataflow()
    with (
        builder.subroutine_scope(params, is_dataflow) as bindings,
        _holding(slots, params[len(args) :]),
    ):
        result = forward(module, **dict(zip(names, inner, strict=True)))
        output = builder.normalize(as_expr(_unwrapped(result)))
        output = builder.emit_output(output) if is_dataflow else builder.normalize_argument(output)
    func = GraphFunction(tuple(params), builder.normalize(SeqExpr((bindings[0],), output)))
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(module).__name__).lower()
    call = GraphCall(builder.add_func(func, name), tuple(values))
    wrapped: _T = _like(result, builder.emit(call, f"{name}_output"), builder)
    return wrapped


@contextmanager
def _holding(slots: list[tuple[object, str]], variables: list[GraphVar]) -> Iterator[None]:
    """The parameters of a module are those of its function."""
    before = [getattr(owner, name) for owner, name in slots]
    for (owner, name), value in zip(slots, variables, strict=True):
        setattr(owner, name, value)
    try:
        yield
    finally:
        for (owner, name), value in zip(slots, before, strict=True):
            setattr(owner, name, value)


def _expr_of(value: Any) -> GraphExpr:
    expr: GraphExpr = as_expr(getattr(value, "_expr", value))
    return expr


def _unwrapped(value: object) -> Any:
    if isinstance(value, list | tuple):
        return tuple([_unwrapped(element) for element in value])
    return getattr(value, "_expr", value)


def _like(result: Any, value: GraphVar, builder: BlockBuilder) -> Any:
    """The value of a call, wrapped as the result of `forward` is."""
    if isinstance(result, list | tuple):
        items = [builder.emit(TupleGetItem(value, n)) for n in range(len(result))]
        return type(result)(
            [_like(element, item, builder) for element, item in zip(result, items, strict=True)]
        )
    return type(result)(_expr=value) if hasattr(result, "_expr") else value


def _sizes_of(values: list[GraphExpr]) -> dict[Var, None]:
    return {node: None for value in values for node in walk(value.struct_info) if type(node) is Var}
