"""Intrinsics of all threads at once, against numpy."""

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.checker import check_program, numbers
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.lowering.device.pipeline import device_passes
from tests.codegen.checker import kernels as k


@pytest.mark.parametrize("name", ["exp", "erf", "tanh", "rsqrt", "sigmoid", "log", "ceil"])
def test_mathematics(name):
    a = te.placeholder((32,), name="A")
    c = te.compute((32,), lambda i: getattr(te, name)(a[i]), name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = device_passes(te_sched.lower(s, [a, c], name="main")["main"])
    data, result = np.linspace(0.1, 3, 32, dtype=np.float32), np.zeros(32, np.float32)
    assert check_program(module, [data, result]).ok
    assert np.isfinite(result).all()
    assert len(np.unique(result)) > 2


def test_dot_of_four():
    def build(ib, A, B, C, tx):
        lanes = E.Ramp(tx * 4, E.IntImm(1), 4)
        C[tx] = E.Call("int32", "tir.dp4a", (A[lanes], B[lanes], E.IntImm(5)))

    arrays = [k.array("A", 128, "int8"), k.array("B", 128, "int8"), k.array("C", 32, "int32")]
    module = k.program(build, arrays, tx=32)
    a, b = np.random.default_rng(0).integers(-128, 128, (2, 128)).astype(np.int8)
    result = np.zeros(32, np.int32)
    assert check_program(module, [a, b, result]).ok
    expected = (a.astype(np.int32) * b).reshape(32, 4).sum(1) + 5
    np.testing.assert_array_equal(result, expected)


LANES = np.arange(32, dtype=np.int32).reshape(1, 1, 32, 1)
N, X, H = E.Var("n", "int32"), E.Var("x", "float32"), E.Var("h", "float16")
FLOATS = LANES.astype(np.float32) / 7 - 2
VALUES = {N: LANES * 12345677 - (1 << 30), X: FLOATS, H: FLOATS.astype(np.float16)}
RAMP = E.Ramp(N, E.IntImm(1), 4)
HALVES = np.stack([VALUES[N] + lane for lane in range(4)])
BITS = np.unpackbits(VALUES[N].copy().view(np.uint8).reshape(*LANES.shape, 4), axis=-1)
BYTES = VALUES[N].copy().view(np.int8).reshape(*LANES.shape, 4)
EXPECTED = {  # of all threads
    "exp of halves": (te.exp(H), np.exp(VALUES[H].astype(np.float32)).astype(np.float16)),
    "popcount": (
        te.popcount(N),
        BITS.sum(-1, dtype=np.int32),
    ),
    "bits of a float": (E.Call("int32", "tir.reinterpret", (X,)), FLOATS.view(np.int32)),
    "float of bits": (E.Call("float32", "tir.reinterpret", (N,)), VALUES[N].view(np.float32)),
    "upper half": (E.Call("int32x2", "tir.vectorhigh", (RAMP,)), HALVES[2:]),
    "lower half": (E.Call("int32x2", "tir.vectorlow", (RAMP,)), HALVES[:2]),
    "dp4a of words": (
        E.Call("int32", "tir.dp4a", (N, N, E.IntImm(-5))),
        (BYTES.astype(np.int32) ** 2).sum(-1, dtype=np.int32) - 5,
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_values_of_all_threads_and_of_one(name):
    expression, expected = EXPECTED[name]
    result = k.evaluate(expression, VALUES)
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == expected.dtype
    for lane in (0, 17, 31):
        alone = {var: numbers.plain(value[0, 0, lane, 0]) for var, value in VALUES.items()}
        uniform = np.asarray(k.evaluate(expression, alone)).reshape(-1)
        np.testing.assert_array_equal(uniform, expected[..., lane, 0].reshape(-1))


def test_refuses():
    for node, fault in (
        (E.Call("bfloat16", "tir.reinterpret", (E.Var("h", "uint16"),)), "reinterpret of bfloat16"),
        (E.Call("int8x4", "tir.reinterpret", (N,)), "reinterpret to another number of lanes"),
        (E.Call("uint64", "tir.large_uint_imm", (N, N)), "large_uint_imm of what is not constant"),
    ):
        with pytest.raises(BuildError, match=f"the checked mode does not support {fault}"):
            k.evaluate(node, VALUES)
    large = E.Call("uint64", "tir.large_uint_imm", (E.IntImm(-1), E.IntImm(2)))
    assert k.evaluate(large, {}) == 2 << 32 | 0xFFFFFFFF
