"""Slices of any sizes."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError
from te_sched.ir.visitor import substitute
from te_sched.tir import Range
from te_sched.topi.slices import cut

N = te.var("n")
SIZES = Analyzer()
SIZES.bind(N, Range(0, 1 << 40))


@pytest.mark.parametrize("step", [-3, -1, 1, 2])
@pytest.mark.parametrize(("begin", "end"), [(1, 7), (-3, 100), (7, 1), (100, -100)])
def test_constants_are_cut_as_python_cuts(begin: int, end: int, step: int) -> None:
    first, count = cut(begin, end, step, 8)
    assert [first + step * i for i in range(count)] == list(range(8)[begin:end:step])


def test_slices_without_the_last_and_without_the_first_have_one_size() -> None:
    counts = [cut(*bounds, 1, N, analyzer=SIZES)[1] for bounds in ((0, -1), (1, 1 << 62))]
    assert [str(count) for count in counts] == ["T.max(n - 1, 0)"] * 2


def test_symbolic_ends_stay_inside() -> None:
    first, count = cut(0, N, 1, 8)
    assert first == 0
    for value in (-9, -3, 0, 5, 8, 100):
        assert Analyzer().simplify(substitute(count, {N: te.const(value)})).value == len(
            range(8)[:value]
        )


def test_steps_of_nothing_are_refused() -> None:
    with pytest.raises(DeclarationError, match="a slice has stride 0"):
        cut(0, 4, 0, 8)
