"""Sizes that calls check."""

from __future__ import annotations

from te_sched.ir.argument_sizes import NOT_NEGATIVE, Size, within_types
from te_sched.ir.expr import Var

N, M = Var("n", "int32"), Var("m", "int64")


def test_a_size_is_0_or_more_unless_it_says_otherwise() -> None:
    size = Size("dimension 0 of A", N)
    assert (size.least, size.most, size.why, size.needed) == (0, None, NOT_NEGATIVE, False)


def test_intermediate_values_stay_within_their_types() -> None:
    parts = list(within_types(Size("dimension 0 of A", (N + 1) * 2, loops=(M,))))
    assert [part.what for part in parts] == ["dimension 0 of A", "a term of dimension 0 of A"]
    assert {(part.least, part.most) for part in parts} == {(-(2**31), 2**31 - 1)}
    assert {part.why for part in parts} == {"int32 holds -2147483648 to 2147483647"}
    assert {part.loops for part in parts} == {(M,)}


def test_values_that_are_given_cannot_overflow() -> None:
    assert list(within_types(Size("dimension 0 of A", N))) == []
    assert list(within_types(Size("dimension 0 of A", N // 2))) == []
