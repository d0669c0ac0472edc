"""Whether a point is in a set of integer points."""

from __future__ import annotations

from te_sched.arith.linear_sets import Union
from te_sched.ir.expr import Var


def has(union: Union, point: dict[Var, int]) -> bool:
    """Whether a point is in a union of systems whose terms are variables."""
    return any(
        all(
            base + sum(scale * point[term[0]] for term, scale in terms) >= 0
            for terms, base in system.items()
        )
        for system in union
    )
