"""Conditions of libraries on what their patterns match; each takes a PatternCheckContext."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import DataflowVar
from te_sched.ir.ops import const
from te_sched.relax.struct_info import sizes_of
from te_sched.relax.transform.fuse_ops_by_pattern import PatternCheckContext


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """Whether a value between the parts of a match is used outside of it."""
    matched = context.matched_bindings
    return any(
        not isinstance(var, DataflowVar) or any(one not in matched for one in users)
        for var, users in context.var_usages.items()
        if matched[var] is not context.matched_expr
    )


def sizes_in(context: PatternCheckContext, name: str) -> tuple[Any, ...] | None:
    """The sizes of an annotated part; None if they are not known."""
    return sizes_of(context.annotated_expr[name].struct_info)


def dtypes_in(context: PatternCheckContext, *names: str) -> set[str]:
    """The dtypes of annotated parts."""
    return {context.annotated_expr[name].struct_info.dtype for name in names}


def swaps_last_axes(context: PatternCheckContext) -> bool:
    """Whether each matched permute_dims, if there is one, swaps the last two axes alone."""
    for value in context.matched_bindings.values():
        if str(getattr(value, "op", "")) == "relax.permute_dims":
            ndim = value.struct_info.ndim
            axes = value.attrs["axes"]
            given = [int(one) % ndim for one in axes] if axes else list(range(ndim))[::-1]
            if given != [*range(ndim - 2), ndim - 1, ndim - 2]:
                return False
    return True


def constant(size: Any) -> int | None:
    """The value of a size that is a number, or None."""
    return size if isinstance(size, int) else size.value if isinstance(size, IntImm) else None


def are_equal(first: Any, second: Any) -> bool:
    """Whether two sizes are proved to be equal."""
    sizes = [const(one, "int64") if isinstance(one, int) else one for one in (first, second)]
    return Analyzer().can_prove_equal(*sizes)


def batch_of(sizes: Sequence[Any]) -> Any:
    """The number of matrices of an operand."""
    return math.prod(sizes[:-2], start=const(1, "int64"))


def is_one_row(sizes: Sequence[Any]) -> bool:
    """Whether all axes before the last one have the size 1."""
    return all(constant(one) == 1 for one in sizes[:-1])
