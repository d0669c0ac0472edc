"""Functions that rules schedule, and what they compute."""

import numpy as np

import te_sched
from te_sched import dlight, te, topi
from te_sched.target import Target

LLVM = Target("llvm")


def tensor(*shape, name="A", dtype="float32"):
    return te.placeholder(shape, name=name, dtype=dtype)


def product(m, n, k):
    a, b = tensor(m, k), tensor(k, n, name="B")
    return [a, b, topi.nn.relu(topi.nn.matmul(a, b))]


def convolution(n, c, h, f, k, stride=1, relu=True):
    x, w = tensor(n, c, h, h), tensor(f, c, k, k, name="W")
    result = topi.nn.conv2d_nchw(x, w, stride, k // 2, 1)
    return [x, w, topi.nn.relu(result) if relu else result]


def applied(f, *shape):
    a = tensor(*shape)
    return [a, f(a)]


def numbers_for(declared, seed=0):
    """Random arrays for tensors."""
    numbers = np.random.default_rng(seed)
    return [
        (numbers.uniform(-2, 2, [int(n) for n in tensor.shape]) * 4).astype(str(tensor.dtype))
        for tensor in declared
    ]


def results(module, declared):
    """The results of a function or of the `main` of a module."""
    count = len([one for one in declared if isinstance(one.op, te.PlaceholderOp)])
    arrays = [te_sched.nd.array(one) for one in numbers_for(declared)]
    te_sched.build(module, target="llvm")["main"](*arrays)
    return [one.numpy() for one in arrays[count:]]


def scheduled(declared, target=LLVM, constants=(), tolerance=1e-5):
    """The schedule of the default rule; it computes what the function computed."""
    func = te.create_prim_func(declared, index_dtype_override="int64")
    if constants:
        func = func.with_attr("layout_free_buffers", [*constants])
    sch = dlight.cpu.Default().apply(func, target, False)
    for expected, result in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-5)
    return sch
