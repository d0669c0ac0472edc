"""Passes that are rules of the pattern language. Must not know any rule."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence

from te_sched.ir.graph import GraphFunction
from te_sched.public_members import missing_method
from te_sched.relax.dpl.pattern import DFPattern
from te_sched.relax.dpl.rewrite import PatternMatchingRewriter, Rewriter
from te_sched.relax.transform.base import FunctionPass

Rules = Sequence[tuple[DFPattern, Rewriter]]


class RulesPass(FunctionPass):
    """A pass that applies rules until nothing changes: a class with a method `rules`."""

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        """The function after the rules."""
        if func.body is None:
            return func
        rewriters = [PatternMatchingRewriter.from_pattern(*rule) for rule in self.rules(func)]
        new: GraphFunction = functools.reduce(operator.or_, rewriters)(func)
        return new

    def rules(self, func: GraphFunction) -> Rules:
        """The rules for a function."""
        raise missing_method(self, "rules")


def permutation(axes: Iterable[int] | None, rank: int) -> list[int]:
    """The axes of a permute_dims; all in reverse by default."""
    if axes is None:
        return list(reversed(range(rank)))
    return [int(axis) % rank for axis in axes]


def swaps_last_axes(axes: Iterable[int] | None, rank: int) -> bool:
    """Whether a permute_dims transposes matrices, and keeps batches."""
    return permutation(axes, rank) == [*range(rank - 2), rank - 1, rank - 2]
