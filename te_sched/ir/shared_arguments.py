"""Pairs of arguments of a function that must not share memory: an attribute of functions.

`analysis.programs.shared_arguments` finds them, and calls check them. Must not know either.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

from te_sched.ir.expr import Var
from te_sched.ir.stmt import PrimFunc

ATTRIBUTE = "te_sched.shared_arguments"


class SharedArguments(NamedTuple):
    """Two parameters, by number, the first of which is written; whether one array may be both."""

    written: int
    other: int
    may_be_same: bool


def pairs_to_check(func: PrimFunc, is_written: Callable[[int], bool]) -> list[SharedArguments]:
    """The pairs that a call checks: all where a function promises `tir.noalias`, else those of the
    attribute. `is_written(k)` is whether the function writes parameter k.
    """
    if not func.attrs.get("tir.noalias"):
        return list(func.attrs.get(ATTRIBUTE, ()))
    numbers = [number for number, param in enumerate(func.params) if param in func.buffer_map]
    return [
        SharedArguments(*((b, a) if is_written(b) else (a, b)), False)
        for a, b in combinations(numbers, 2)
        if is_written(a) or is_written(b)
    ]


def shared_memory_fault(written: str, other: str) -> tuple[str, str, str]:
    """The fault, why and help of a call whose arguments of these names share memory."""
    return (
        f"argument {written}, which is written, shares memory with argument {other}",
        f"the function was compiled to write {written} without a change of {other}",
        "pass a copy of one of them",
    )


def same_memory(func: PrimFunc) -> list[tuple[Var, Var]]:
    """The memory of arguments for which a call may give one array twice."""
    pairs: tuple[SharedArguments, ...] = func.attrs.get(ATTRIBUTE, ())
    data = [
        func.buffer_map[param].data if param in func.buffer_map else param for param in func.params
    ]
    return [(data[pair.written], data[pair.other]) for pair in pairs if pair.may_be_same]
