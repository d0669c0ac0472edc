"""Passes that are rules, and the permutations that they ask for."""

import pytest

from te_sched import IRModule
from te_sched.errors import DeclarationError
from te_sched.relax.transform.rewriting import RulesPass, permutation, swaps_last_axes
from tests.relax.transform.lowered import chained


@pytest.mark.parametrize(
    ("axes", "rank", "expected"),
    [(None, 3, [2, 1, 0]), ([0, -1, 1], 3, [0, 2, 1]), ([], 0, [])],
)
def test_permutations_have_axes_from_0(axes, rank, expected):
    assert permutation(axes, rank) == expected


@pytest.mark.parametrize(
    ("axes", "rank", "expected"),
    [
        (None, 2, True),
        (None, 3, False),
        ([0, 2, 1], 3, True),
        ([-3, -1, -2], 3, True),
        ([0, 1], 2, False),
    ],
)
def test_permutations_that_transpose_matrices(axes, rank, expected):
    assert swaps_last_axes(axes, rank) == expected


def test_a_pass_needs_its_rules():
    class Empty(RulesPass):
        pass

    with pytest.raises(DeclarationError, match="Empty has no method rules"):
        Empty()(chained(1))
    assert Empty()(IRModule({})).functions == {}
