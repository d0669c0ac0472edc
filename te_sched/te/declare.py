"""Declaring tensors and axes: placeholder, compute, reduce_axis, thread_axis, var.

Owns what a user may write there and the errors for what he may not. Must not know schedules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, IterVar, Range, Reduce, Var
from te_sched.ir.visitor import walk
from te_sched.te.operation import ComputeOp, PlaceholderOp
from te_sched.te.tensor import Tensor

const = ops.const


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """A number known only when the program runs, such as an extent."""
    dtypes.parse(dtype)
    return Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """A `var` that is never negative."""
    dtypes.parse(dtype)
    return Var(name, dtype, is_size=True)


def as_shape(shape: Any, what: str) -> tuple[Expr, ...]:
    """A shape as expressions; a DeclarationError says what is wrong with it."""
    extents = (
        tuple(shape) if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)
    )
    return tuple([_as_extent(extent, what) for extent in extents])


def _as_extent(extent: Any, what: str) -> Expr:
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)
    value = ops.convert(extent)
    if not dtypes.is_integral(value.dtype):
        raise DeclarationError(f"{what} of an extent {extent!r}", "an extent is an integer")
    if isinstance(value, IntImm) and value.value < 0:
        raise DeclarationError(f"{what} of an extent {value.value}", "an extent is not negative")
    return value


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input of the program: a tensor of a shape, of float32 unless said otherwise."""
    dtype = "float32" if dtype is None else str(dtype)
    dtypes.parse(dtype)
    return PlaceholderOp(name, as_shape(shape, f"placeholder {name}"), dtype).output(0)


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at (i, j, ...) is `fcompute(i, j, ...)`.

    The result is a tuple of tensors when `fcompute` gives a tuple of expressions.
    """
    extents = as_shape(shape, f"compute {name}")
    names = _axis_names(fcompute, len(extents), name, varargs_names)
    axis = tuple(
        [
            IterVar(Range(IntImm(0, extent.dtype), extent), Var(axis_name, extent.dtype), "DataPar")
            for axis_name, extent in zip(names, extents, strict=True)
        ]
    )
    token = ops.declaring.set(True)
    try:
        value = fcompute(*[one.var for one in axis])
    finally:
        ops.declaring.reset(token)
    body = tuple(
        [_as_body(part, name) for part in (value if isinstance(value, (tuple, list)) else [value])]
    )
    _check_reductions(body, name)
    op = ComputeOp(name, tag, attrs, axis, body)
    return op.outputs if len(body) > 1 or isinstance(value, (tuple, list)) else op.output(0)


def _axis_names(
    fcompute: Any, count: int, name: str, varargs_names: Sequence[str] | None
) -> list[str]:
    if not callable(fcompute):
        raise DeclarationError(
            f"compute {name} by {fcompute!r}", "it is not a function of the indices"
        )
    parameters = inspect.signature(fcompute).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        more = varargs_names or [f"i{i}" for i in range(count - len(names))]
        names += more
    if len(names) != count:
        raise DeclarationError(
            f"compute {name} of {count} dimensions by a function of {len(names)} arguments",
            "the function takes one index for each dimension",
            "let the shape and the function agree, or take any number of indices with `lambda *i: ...`",
        )
    return names


def _as_body(value: Any, name: str) -> Expr:
    if value is None:
        raise DeclarationError(
            f"compute {name} by a function that returns nothing",
            "the function gives the value of an element",
            "return an expression",
        )
    return ops.convert(value)


def _check_reductions(body: tuple[Expr, ...], name: str) -> None:
    for value in body:
        inner = walk(value)
        if isinstance(value, Reduce):
            next(inner)
        if any(isinstance(node, Reduce) for node in inner):
            raise DeclarationError(
                f"compute {name} with a reduction inside an expression",
                "a reduction is the whole value of a tensor",
                "compute the reduction as a tensor of its own, then compute with its elements",
                f"tensor {name}",
            )


def as_range(dom: Any, what: str) -> Range:
    """A domain given as (min, end) or as a Range."""
    if isinstance(dom, Range):
        return dom
    if not isinstance(dom, (tuple, list)) or len(dom) != 2:
        raise DeclarationError(f"{what} with the domain {dom!r}", "a domain is a pair (min, end)")
    low, end = ops.match_types(ops.convert(dom[0]), ops.convert(dom[1]))
    extent = ops.sub(end, low)
    if isinstance(extent, IntImm) and extent.value < 0:
        raise DeclarationError(
            f"{what} with the domain {dom!r}", "the end lies before the beginning"
        )
    return Range(low, extent)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """An axis to reduce over, from dom[0] to dom[1] - 1."""
    domain = as_range(dom, f"reduce_axis {name}")
    return IterVar(domain, Var(name, domain.extent.dtype), "CommReduce", thread_tag)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """A thread axis such as "threadIdx.x", "blockIdx.y" or "vthread", to bind axes to."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise DeclarationError(
            "a thread axis without a tag", 'a thread axis has one, such as "threadIdx.x"'
        )
    name = name or tag
    domain = None if dom is None else as_range(dom, f"thread_axis {name}")
    dtype = "int32" if domain is None else domain.extent.dtype
    return IterVar(domain, Var(name, dtype), "ThreadIndex", tag)
