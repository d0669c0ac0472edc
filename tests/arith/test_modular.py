"""What is known of expressions modulo a number."""

from __future__ import annotations

import pytest

from te_sched.arith.modular import ANYTHING, ModularSets
from te_sched.ir import ops
from te_sched.ir.expr import IntImm, Range, Var

x, y = Var("x"), Var("y")


@pytest.mark.parametrize(
    ("e", "residue"),
    [
        (IntImm(-7), (0, -7)),
        (x, ANYTHING),
        (x * 8 + 3, (8, 3)),
        (x * 8 - y * 12 + 5, (4, 1)),
        ((x * 4 + 2) * (y * 6 + 3), (12, 6)),
        ((x * 8 + 6) // 2, (4, 3)),
        (x * 8 // 3, ANYTHING),
        ((x * 8 + 3) % 4, (4, 3)),
        (ops.minimum(x * 8 + 1, y * 4 + 3), (2, 1)),
        ((x * 4 + 1).astype("int64"), (4, 1)),
    ],
    ids=str,
)
def test_residues(e: object, residue: tuple[int, int]) -> None:
    assert ModularSets().of(e) == residue


def test_bound_variables_have_the_residue_of_their_value() -> None:
    found = ModularSets()
    found.bind(x, y * 6 + 4)
    assert found.of(x + 1) == (6, 5)


def test_range_of_one_value_is_that_value() -> None:
    found = ModularSets()
    found.bind(x, Range(IntImm(5), IntImm(1)))
    found.bind(y, Range(IntImm(0), IntImm(8)))
    assert found.of(x * 2) == (0, 10)
    assert found.of(y) == ANYTHING
