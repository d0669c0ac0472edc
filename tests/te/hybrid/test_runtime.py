"""The functions of scripts in Python."""

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.te.hybrid import runtime, script


def test_runtime_has_the_functions_of_scripts():
    @script
    def halves(a):
        m = max_num_threads()  # noqa: F821
        out = output_tensor(a.shape, a.dtype)  # noqa: F821
        for t in bind("threadIdx.x", m):  # noqa: F821
            for b in bind("blockIdx.x", ceil_div(a.shape[0], m)):  # noqa: F821
                if b * m + t < a.shape[0]:
                    out[b * m + t] = a[b * m + t] / 2.0
        return out

    values = np.random.rand(1500).astype("float32")
    np.testing.assert_allclose(halves(values), values / 2)
    with te_sched.target.Target("cuda"):
        np.testing.assert_allclose(halves(values), values / 2)
        text = str(halves(te.placeholder((1500,), name="a")).op.body)
    assert 'T.launch_thread("threadIdx.x", 1024)' in text
    assert 'T.launch_thread("blockIdx.x", 2)' in text
    for name, value in runtime.HYBRID_GLOBALS.items():
        assert getattr(runtime, name) is value
        assert name not in halves.__globals__
    np.testing.assert_allclose(runtime.sqrt(np.float32(4)), 2)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = runtime.nothing


def test_memory_is_zero_whatever_its_scope():
    for scope in ("global", "shared", "local"):
        np.testing.assert_array_equal(runtime.allocate((2, 3), "int8", scope), np.zeros((2, 3)))
    assert runtime.output_tensor(4, "float64").dtype == "float64"


def test_loops_are_ranges():
    assert list(runtime.bind("threadIdx.x", 3)) == [0, 1, 2]
    assert [runtime.ceil_div(n, 4) for n in (1, 4, 5)] == [1, 1, 2]
