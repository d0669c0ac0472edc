"""relax.const: values with and without a struct info."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError


@pytest.mark.parametrize("array", [np.ones((2, 3), "float64"), nd.array(np.ones((2, 3)))])
def test_constants_have_the_struct_info_that_is_given(array):
    info = relax.TensorStructInfo((2, 3), "float32")
    constant = relax.const(array, info)
    assert str(constant.struct_info) == 'R.Tensor((2, 3), dtype="float32")'
    assert constant.data.numpy().dtype == "float32"


def test_constants_have_the_dtype_of_a_type():
    constant = relax.const(np.ones((2, 3)), relax.DynTensorType(2, "float16"))
    assert str(constant.struct_info) == 'R.Tensor((2, 3), dtype="float16")'


@pytest.mark.parametrize("array", [np.ones(3, "float32"), nd.array(np.ones(3, "float32"))])
@pytest.mark.parametrize("shape", [(4,), (1, 3)])
def test_constants_reject_the_struct_info_of_another_shape(array, shape):
    with pytest.raises(GraphError, match=r"the constant is R\.Tensor\(\(3,\)"):
        relax.const(array, relax.TensorStructInfo(shape, "float32"))


@pytest.mark.parametrize("has_ml_dtypes", [False, True])
def test_constants_of_bfloat16(has_ml_dtypes, monkeypatch):
    if has_ml_dtypes:
        pytest.importorskip("ml_dtypes")
    else:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    numbers = nd.array([1.0, -2.5], dtype="bfloat16")
    for given in ([1.0, -2.5], numbers, np.asarray(numbers)):
        constant = relax.const(given, "bfloat16")
        assert str(constant.struct_info) == 'R.Tensor((2,), dtype="bfloat16")'
        np.testing.assert_array_equal(constant.data._array, numbers._array)
    np.testing.assert_array_equal(relax.const(numbers, "float16").data.numpy(), [1, -2.5])
