"""Struct infos in terms of what is known at another place."""

import pytest

from te_sched import relax, tir
from te_sched.relax.analysis import erase_to_well_defined

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
TENSOR = relax.TensorStructInfo


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (TENSOR([N * 2, 4], "int8"), TENSOR([6, 4], "int8")),
        (TENSOR([N, M], "int8"), TENSOR(ndim=2, dtype="int8")),
        (relax.ShapeStructInfo([N + 1]), relax.ShapeStructInfo([4])),
        (relax.ShapeStructInfo([M]), relax.ShapeStructInfo(ndim=1)),
        (
            relax.TupleStructInfo([TENSOR([N]), TENSOR([M])]),
            relax.TupleStructInfo([TENSOR([3]), TENSOR(ndim=1)]),
        ),
    ],
)
def test_sizes_of_unknown_variables_are_left_out(info, expected):
    found = erase_to_well_defined(info, {N: 3})
    assert str(found) == str(expected)


def test_shapes_that_are_values_are_known_by_their_variables():
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=1))
    info = TENSOR(shape, "int8")
    assert str(erase_to_well_defined(info)) == str(TENSOR(ndim=1, dtype="int8"))
    known = erase_to_well_defined(info, {}, {shape: relax.ShapeExpr([4])})
    assert str(known) == str(TENSOR([4], "int8"))
