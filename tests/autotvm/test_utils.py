"""Prefixes, ranks and constants."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import te
from te_sched.autotvm.utils import format_si_prefix, get_const_int, get_const_tuple, get_rank
from te_sched.errors import DeclarationError


def test_constants() -> None:
    assert get_const_int(te.const(3, "int32")) == get_const_int(np.int8(3)) == 3
    n = te.var("n")
    assert get_const_tuple(te.placeholder((2, n), name="A").shape) == (2, n)
    with pytest.raises(DeclarationError, match="is not a constant integer"):
        get_const_int(n + 1)


def test_equal_values_are_ranked_in_their_order() -> None:
    assert get_rank([3, 1, 2, 3]).tolist() == [0, 3, 2, 1]


@pytest.mark.parametrize(("prefix", "expected"), [("y", 1.5e27), (" ", 1500.0), ("k", 1.5)])
def test_numbers_in_units_of_a_prefix(prefix: str, expected: float) -> None:
    assert format_si_prefix(1500.0, prefix) == pytest.approx(expected)
