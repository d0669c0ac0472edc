"""Passes that are rules of the pattern language. Must not know any rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.ir.graph import GraphFunction
from te_sched.passes import PassInfo
from te_sched.relax.dpl.pattern import DFPattern
from te_sched.relax.dpl.rewrite import PatternMatchingRewriter, Rewriter
from te_sched.relax.struct_info import sizes_of
from te_sched.relax.transform.base import FunctionPass

Rules = Sequence[tuple[DFPattern, Rewriter]]


def pass_of_rules(name: str, rules_for: Callable[[GraphFunction], Rules]) -> FunctionPass:
    """The pass that applies rules, which may depend on the function, until nothing changes."""

    def run(func: GraphFunction, *_: object) -> GraphFunction:
        body: Any = func.body
        if body is None:
            return func
        rewriters = [PatternMatchingRewriter.from_pattern(*one) for one in rules_for(func)]
        rewriter = rewriters[0]
        for one in rewriters[1:]:
            rewriter = rewriter | one
        found: GraphFunction = rewriter(func)
        return found

    return FunctionPass(run, PassInfo(0, name))


def shape_of_value(value: Any) -> tuple[Any, ...] | None:
    """The sizes of a tensor, if they are known."""
    return sizes_of(value.struct_info)


def permutation(axes: Any, rank: int) -> list[int]:
    """The axes of a permute_dims; all in reverse by default."""
    if axes is None:
        return list(reversed(range(rank)))
    return [int(one) % rank for one in axes]


def swaps_last_axes(axes: Any, rank: int) -> bool:
    """Whether a permute_dims transposes matrices, and keeps batches."""
    return permutation(axes, rank) == [*range(rank - 2), rank - 1, rank - 2]
