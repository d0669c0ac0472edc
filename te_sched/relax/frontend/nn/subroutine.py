"""Modules that become functions of their own, which the function around them calls.

A class with `define_subroutine = True` is such a module: calls of `forward` with arguments of the
same struct infos are calls of one private function, named after the class. Must not know tensors of
models, but that an attribute `_expr` is their expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any

from te_sched.ir.expr import Var
from te_sched.ir.graph import (
    GraphCall,
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


class SubroutineMixin(PublicObject):
    """Base class of modules: with `define_subroutine`, `forward` becomes a function."""

    define_subroutine: bool = False

    def __init_subclass__(cls) -> None:
        forward = vars(cls).get("forward")
        if forward is not None and cls.define_subroutine:
            cls.forward = _as_subroutine(forward)  # type: ignore[attr-defined]

    def variable_slots(self) -> list[tuple[Any, str]]:
        """The objects and attributes at which the variables of its parameters are."""
        raise NotImplementedError


def _as_subroutine(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A method that calls a function whose body is `forward`."""

    @wraps(forward)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        builder = BlockBuilder.current()
        if builder is None:
            return forward(self, *args, **kwargs)
        given = signature(forward).bind(self, *args, **kwargs).arguments
        names = list(given)[1:]
        return _call(builder, self, forward, names, [given[one] for one in names])

    return call


def _call(
    builder: BlockBuilder, module: Any, forward: Callable[..., Any], names: list[str], args: Any
) -> Any:
    """Define the function of a module, and call it."""
    slots = module.variable_slots()
    own = [getattr(owner, name) for owner, name in slots]
    values = [builder.normalize_argument(_expr_of(one)) for one in args] + own
    fresh: dict[Var, Any] = {one: Var(one.name, one.dtype) for one in _sizes_of(values)}
    params = [
        GraphVar(name, as_struct_info(substitute(one.struct_info, fresh)))
        for name, one in zip([*names, *[one.name_hint for one in own]], values, strict=True)
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
        result = forward(module, *inner)
        output = builder.normalize(as_expr(_unwrapped(result)))
        output = builder.emit_output(output) if is_dataflow else builder.normalize_argument(output)
    func = GraphFunction(tuple(params), builder.normalize(SeqExpr((bindings[0],), output)))
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(module).__name__).lower()
    call = GraphCall(builder.add_func(func, name), tuple(values))
    return _like(result, builder.emit(call, f"{name}_output"), builder)


@contextmanager
def _holding(slots: list[tuple[Any, str]], variables: list[GraphVar]) -> Iterator[None]:
    """The parameters of a module are those of its function."""
    before = [getattr(owner, name) for owner, name in slots]
    for (owner, name), one in zip(slots, variables, strict=True):
        setattr(owner, name, one)
    try:
        yield
    finally:
        for (owner, name), one in zip(slots, before, strict=True):
            setattr(owner, name, one)


def _expr_of(value: Any) -> Any:
    return as_expr(getattr(value, "_expr", value))


def _unwrapped(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple([_unwrapped(one) for one in value])
    return getattr(value, "_expr", value)


def _like(result: Any, value: Any, builder: BlockBuilder) -> Any:
    """The value of a call, wrapped as the result of `forward` is."""
    if isinstance(result, list | tuple):
        items = [builder.emit(TupleGetItem(value, n)) for n in range(len(result))]
        return type(result)(
            [_like(one, item, builder) for one, item in zip(result, items, strict=True)]
        )
    return type(result)(_expr=value) if hasattr(result, "_expr") else value


def _sizes_of(values: list[Any]) -> dict[Var, None]:
    return {one: None for value in values for one in walk(value.struct_info) if type(one) is Var}
