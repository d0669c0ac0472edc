"""Types of values without sizes."""

import pytest

from te_sched import relax, tir
from te_sched.relax.analysis import get_static_type

N = tir.Var("n", "int64")
TENSOR = relax.TensorStructInfo


@pytest.mark.parametrize(
    ("info", "same"),
    [
        (TENSOR([N, 4], "int8"), TENSOR([1, 2], "int8")),
        (relax.TupleStructInfo([TENSOR([N])]), relax.TupleStructInfo([TENSOR([3])])),
        (relax.PrimStructInfo("int64"), relax.PrimStructInfo(value=N)),
    ],
)
def test_infos_that_differ_in_sizes_have_one_type(info, same):
    assert str(get_static_type(info)) == str(get_static_type(same))
    assert str(get_static_type(info)) != str(get_static_type(relax.ObjectStructInfo()))
