"""The rule for norms by the root mean square: what it schedules computes what numpy does."""

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.dlight import gpu
from te_sched.target import Target
from tests.dlight.gpu.running import CUDA, check_arrays


def norm_of(shape, dtype):
    a, g = te.placeholder(shape, dtype, "A"), te.placeholder(shape[-1:], dtype, "g")
    return te.create_prim_func([a, g, topi.nn.rms_norm(a, g, [len(shape) - 1])])


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((3, 64), "float32"),
        ((1, 2, 1000), "float16"),
        ((2, 4096), "float32"),
        ((1, 9001), "float32"),
    ],
)
def test_norms_of_rows_are_numpys(shape, dtype):
    sch = gpu.RMSNorm().apply(norm_of(shape, dtype), Target(CUDA), False)
    draw = np.random.default_rng(0)
    a, g = (draw.standard_normal(one).astype(dtype) for one in (shape, shape[-1:]))
    wide = a.astype("float64")
    want = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * g
    check_arrays(sch, [a, g], want.astype(dtype), 1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize(("target", "threads"), [("cuda", 512), ("opencl", 256), ("metal", 64)])
def test_the_threads_of_a_row_follow_the_target(target, threads):
    sch = gpu.RMSNorm().apply(norm_of((8, 4096), "float32"), Target(target), False)
    assert [sch.get(one).extent for one in sch.get_loops("A_local")][1] == threads


def rows(f, square=lambda x: x * x):
    """The sum of what is computed of rows, and what f makes of it."""
    a, g = te.placeholder((4, 64), name="A"), te.placeholder((64,), name="g")
    squares = te.compute((4, 64), lambda i, k: square(a[i, k]), name="squares")
    k = te.reduce_axis((0, 64), name="k")
    total = te.compute((4,), lambda i: te.sum(squares[i, k], axis=k), name="total")
    return te.create_prim_func([a, g, f(a, g, total)])


def scaled(a, g, total):
    root = te.compute((4,), lambda i: te.rsqrt(total[i]), name="root")
    twice = te.compute((64,), lambda j: g[j] * 2.0, name="twice")
    return te.compute((4, 64), lambda i, j: twice[j] * (root[i] * a[i, j]), name="scaled")


@pytest.mark.parametrize(
    "func",
    [
        rows(scaled, square=lambda x: x + x),
        rows(lambda a, g, total: total),
        rows(scaled),  # the first block computes a vector
        te.create_prim_func([(a := te.placeholder((4, 64), name="A")), topi.nn.softmax(a)]),
        te.create_prim_func([a, topi.exp(a)]),
    ],
)
def test_other_functions_are_not_of_the_rule(func):
    assert gpu.RMSNorm().apply(func, Target(CUDA), False) is None
