"""Conditions of libraries on what their patterns match; each takes a PatternCheckContext."""

from __future__ import annotations

import math
from collections.abc import Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import DataflowVar, GraphCall, OpAttrs
from te_sched.ir.ops import const
from te_sched.relax.core.values import is_call_of, shape_of_value, tensor_info
from te_sched.relax.transform.fuse_ops_by_pattern import PatternCheckContext

Size = Expr | int


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """Whether a value between the parts of a match is used outside of it."""
    matched = context.matched_bindings
    return any(
        not isinstance(var, DataflowVar) or any(user not in matched for user in users)
        for var, users in context.var_usages.items()
        if matched[var] is not context.matched_expr
    )


def sizes_in(context: PatternCheckContext, name: str) -> tuple[Expr, ...] | None:
    """The sizes of an annotated part; None if they are not known."""
    return shape_of_value(context.annotated_expr[name])


def dtypes_in(context: PatternCheckContext, *names: str) -> set[str]:
    """The dtypes of annotated parts."""
    return {tensor_info(context.annotated_expr[name]).dtype for name in names}


def attrs_in(context: PatternCheckContext, name: str) -> OpAttrs:
    """The attributes of an annotated part, which is a call."""
    call = context.annotated_expr[name]
    assert isinstance(call, GraphCall)
    attrs: OpAttrs = call.attrs
    return attrs


def swaps_last_axes(context: PatternCheckContext) -> bool:
    """Whether each matched permute_dims, if there is one, swaps the last two axes alone."""
    for value in context.matched_bindings.values():
        if is_call_of(value, "relax.permute_dims"):
            ndim = tensor_info(value).ndim
            axes = value.attrs["axes"]
            order = [int(axis) % ndim for axis in axes] if axes else list(range(ndim))[::-1]
            if order != [*range(ndim - 2), ndim - 1, ndim - 2]:
                return False
    return True


def constant(size: Size) -> int | None:
    """The value of a size that is a number, or None."""
    return size if isinstance(size, int) else size.value if isinstance(size, IntImm) else None


def are_equal(first: Size, second: Size) -> bool:
    """Whether two sizes are proved to be equal."""
    sizes = [const(size, "int64") if isinstance(size, int) else size for size in (first, second)]
    return Analyzer().can_prove_equal(*sizes)


def batch_of(sizes: Sequence[Expr]) -> Expr:
    """The number of matrices of an operand."""
    return math.prod(sizes[:-2], start=const(1, "int64"))


def is_one_row(sizes: Sequence[Expr]) -> bool:
    """Whether all axes before the last one have the size 1."""
    return all(constant(size) == 1 for size in sizes[:-1])
