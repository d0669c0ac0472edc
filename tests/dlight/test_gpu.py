"""Default schedules for GPUs: what a rule schedules computes what the function computed, on the
emulated device and in checked mode, where each access of each thread is monitored.
"""

import numpy as np
import pytest

import te_sched
from te_sched import te, topi
from te_sched.dlight import gpu
from te_sched.target import Target

CUDA = Target("cuda")


def tensor(*shape, name="A", dtype="float32"):
    return te.placeholder(shape, name=name, dtype=dtype)


def product(m, n, k, transposed=False):
    a, b = tensor(m, k), tensor(*((n, k) if transposed else (k, n)), name="B")
    return [a, b, topi.nn.relu((topi.nn.dense if transposed else topi.nn.matmul)(a, b))]


def batch_product(b, m, n, k):
    x, y = tensor(b, m, k), tensor(b, k, n, name="B")
    return [x, y, topi.nn.batch_matmul(x, y, transpose_b=False)]


def with_residual(m, n, k):
    a, b, c = tensor(m, k), tensor(k, n, name="B"), tensor(m, n, name="C")
    return [a, b, c, topi.add(topi.nn.matmul(a, b), topi.exp(c))]


def convolution(c, h, f, k, stride=1):
    x, w, b = tensor(2, c, h, h), tensor(f, c, k, k, name="W"), tensor(f, 1, 1, name="b")
    return [x, w, b, topi.nn.relu(topi.add(topi.nn.conv2d_nchw(x, w, stride, k // 2, 1), b))]


def of(f, *shape):
    a = tensor(*shape)
    return [a, f(a)]


def layer_norm(m, n):
    a, g, b = tensor(m, n), tensor(n, name="g"), tensor(n, name="b")
    return [a, g, b, topi.nn.layer_norm(a, g, b, [1])]


def rms_norm(m, n):
    a, g = tensor(m, n), tensor(n, name="g")
    return [a, g, topi.nn.rms_norm(a, g, [1])]


def mean(a):
    return topi.divide(topi.sum(a, axis=-1), 3.0)


def centered(a):
    return topi.subtract(a, topi.sum(a, axis=-1, keepdims=True))


FUNCTIONS = [
    ("Matmul", product(5, 7, 9)),
    ("Matmul", batch_product(2, 3, 5, 4)),
    ("Matmul", with_residual(33, 10, 17)),
    ("Matmul", convolution(2, 5, 3, 3)),
    ("Transpose", of(topi.transpose, 17, 9)),
    ("Reduction", of(lambda a: topi.sum(a, axis=1), 3, 37)),
    ("Reduction", of(lambda a: topi.sum(a, axis=0), 40, 6)),
    ("Reduction", of(topi.sum, 6, 7)),
    ("Reduction", of(mean, 3, 20)),
    ("Reduction", of(centered, 3, 20)),
    ("Reduction", product(1, 12, 17)),
    ("Reduction", product(1, 10, 33, transposed=True)),
    ("GeneralReduction", of(topi.nn.softmax, 3, 40)),
    ("GeneralReduction", of(lambda a: topi.nn.softmax(a, axis=1), 2, 3, 4)),
    ("GeneralReduction", layer_norm(2, 20)),
    ("GeneralReduction", rms_norm(2, 10)),
    ("GeneralReduction", of(lambda a: topi.argmax(a, axis=1), 3, 20)),
    ("Fallback", of(lambda a: topi.nn.relu(a + 1.0), 3, 400)),
    ("Fallback", of(lambda a: topi.max(a, axis=1), 5, 9)),
    ("Fallback", of(topi.nn.softmax, 3, 9)),
    ("Fallback", of(topi.exp)),
]


def arrays_of(func, seed=0):
    draws = np.random.RandomState(seed)
    shapes = [[int(n) for n in func.buffer_map[one].shape] for one in func.params]
    return [draws.standard_normal(one).astype("float32") for one in shapes]


def results_of(func, target, device, arrays):
    copies = [te_sched.nd.array(one, device) for one in arrays]
    te_sched.build(func, target=target)(*copies)
    return copies[-1].numpy()


@pytest.mark.parametrize(
    ("rule", "tensors"), FUNCTIONS, ids=[f"{one[0]}-{place}" for place, one in enumerate(FUNCTIONS)]
)
def test_scheduled_functions_compute_what_they_did(rule, tensors):
    func = te.create_prim_func(tensors)
    sch = getattr(gpu, rule)().apply(func, CUDA, False)
    assert sch is not None
    arrays = arrays_of(func)
    arrays[-1] = arrays[-1].astype(str(tensors[-1].dtype))
    want = results_of(func, "llvm", te_sched.cpu(), arrays)
    scheduled = te_sched.build(sch.mod["main"], target="cuda")
    device = te_sched.emulated_cuda(0)
    for run in (scheduled, scheduled.check):
        copies = [te_sched.nd.array(one, device) for one in arrays]
        report = run(*copies)
        assert report is None or report.ok, str(report)
        np.testing.assert_allclose(copies[-1].numpy(), want, rtol=1e-5, atol=1e-5)
