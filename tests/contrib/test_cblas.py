"""Products of matrices by numpy's BLAS."""

import numpy as np
import pytest

from te_sched import build, te
from te_sched.contrib import cblas
from te_sched.runtime import get_global_func


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
def test_cblas_matmul(transa, transb):
    shapes = [(4, 3) if transa else (3, 4), (5, 4) if transb else (4, 5)]
    a, b = (te.placeholder(shape, name=name) for shape, name in zip(shapes, "ab", strict=True))
    c = cblas.matmul(a, b, transa, transb)
    assert [extent.value for extent in c.shape] == [3, 5]
    x, y = (np.random.rand(*shape).astype("float32") for shape in shapes)
    out = np.zeros((3, 5), "float32")
    build(te.create_schedule(c.op), [a, b, c])(x, y, out)
    np.testing.assert_allclose(out, (x.T if transa else x) @ (y.T if transb else y), rtol=1e-5)


def test_cblas_batch_matmul():
    a, b = te.placeholder((2, 3, 4), name="a"), te.placeholder((2, 5, 4), name="b")
    c = cblas.batch_matmul(a, b, False, True)
    x, y = np.random.rand(2, 3, 4).astype("float32"), np.random.rand(2, 5, 4).astype("float32")
    out = np.zeros((2, 3, 5), "float32")
    build(te.create_schedule(c.op), [a, b, c])(x, y, out)
    np.testing.assert_allclose(out, x @ y.transpose(0, 2, 1), rtol=1e-5)


def test_blas_is_a_registered_function():
    assert get_global_func("tvm.contrib.cblas.matmul") is not None
