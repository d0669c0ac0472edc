"""ReorderTakeAfterMatmul: weights are selected after the product."""

import numpy as np
import pytest

from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.transform.applied import applied, check_values


@R.function
def selected_columns(x: R.Tensor((2, 3, 4), "float32"), table: R.Tensor((4, 9), "float32")):
    with R.dataflow():
        index = R.const(np.array([5, 0, 5, 8], "int64"))
        out = R.matmul(x, R.take(table, index, axis=1))
        R.output(out)
    return out


@R.function
def selected_matrices(x: R.Tensor((4, 3, 2), "float32"), table: R.Tensor((9, 2, 5), "float32")):
    with R.dataflow():
        index = R.const(np.array([5, 0, 5, 8], "int64"))
        out = R.matmul(x, R.take(table, index, axis=0))
        R.output(out)
    return out


@pytest.mark.parametrize("func", [selected_columns, selected_matrices])
def test_weights_are_selected_after_the_product(func):
    found = applied(transform.ReorderTakeAfterMatmul(), func)
    assert found.index("matmul") < found.index("take")
    check_values(transform.ReorderTakeAfterMatmul(), func)
