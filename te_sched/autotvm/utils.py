"""Numbers with SI prefixes, ranks, and constants of programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.expr import IntImm, Var
from te_sched.signatures import checked

SI_PREFIXES = "yzafpnµm kMGTPEZY"
_SMALLEST = -24  # the exponent of "y"


@checked
def format_si_prefix(x: float, si_prefix: str) -> float:
    """A number in units of an SI prefix.

    >>> format_si_prefix(2.5e9, "G")
    2.5

    Raises
    ------
    DeclarationError for another prefix.
    """
    if not isinstance(si_prefix, str) or len(si_prefix) != 1 or si_prefix not in SI_PREFIXES:
        legal = " ".join(SI_PREFIXES.replace(" ", ""))
        raise DeclarationError(
            f"{repr_of(si_prefix)} is not an SI prefix", "", f"use one of {legal}, or a space"
        )
    return float(x / 10 ** (_SMALLEST + 3 * SI_PREFIXES.index(si_prefix)))


@checked
def get_rank(values: Iterable[float]) -> Any:
    """The rank of each value; that of the largest is 0.

    >>> get_rank([2.0, 3.0, 1.0])
    array([1, 0, 2])
    """
    order = np.argsort(-np.asarray(list(values)), kind="stable")
    ranks = np.empty(len(order), dtype=int)
    ranks[order] = np.arange(len(order))
    return ranks


def get_const_int(exp: Any) -> int:
    """The value of a constant.

    >>> get_const_int(tir.const(3))
    3

    Raises
    ------
    DeclarationError if it is not an integer constant.
    """
    value = exp.value if isinstance(exp, IntImm) else exp
    if not isinstance(value, int | np.integer):
        raise DeclarationError(
            f"{repr_of(exp)} is not a constant integer",
            "",
            "fix the size",
            in_tvm="Expect value to be constant int",
        )
    return int(value)


@checked
def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """The values of constants; variables stay.

    >>> get_const_tuple(te.placeholder((2, 3), name="A").shape)
    (2, 3)
    """
    return tuple(value if isinstance(value, Var) else get_const_int(value) for value in in_tuple)


_tell_of_absent_names(__name__)
