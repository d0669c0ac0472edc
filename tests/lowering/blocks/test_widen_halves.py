"""Numbers of 16 bits are computed in float32, between the arguments and the results."""

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, te, tir, topi
from te_sched.lowering.blocks.widen_halves import widen_halves
from te_sched.script import tir as T

HALVES = ("float16", "bfloat16")


def run(func, *values):
    """The result of a function of arrays of its dtypes, as float32."""
    buffers = [func.buffer_map[one] for one in func.params if one in func.buffer_map]
    given = [nd.array(one, dtype=b.dtype) for one, b in zip(values, buffers, strict=False)]
    out = nd.empty([int(n) for n in buffers[-1].shape], buffers[-1].dtype)
    te_sched.build(func)(*given, out)
    return nd.array(out, dtype="float32").numpy()


@pytest.mark.parametrize("dtype", HALVES)
def test_long_sums_are_right(dtype):
    a = te.placeholder((2, 4096), dtype, "A")
    func = te.create_prim_func([a, topi.sum(a, axis=1)])
    ones = np.ones((2, 4096), "float32")
    assert run(func, ones).max() < 4096  # each step is rounded
    np.testing.assert_array_equal(run(widen_halves(func), ones), [4096, 4096])


@pytest.mark.parametrize("dtype", HALVES)
def test_results_are_rounded_once(dtype):
    a, b = (te.placeholder((8, 40), dtype, name) for name in "AB")
    product = topi.nn.softmax(topi.nn.matmul(a, topi.transpose(b)))
    func = te.create_prim_func([a, b, topi.nn.relu(product)])
    wide = widen_halves(func)
    assert [str(one.dtype) for one in wide.buffer_map.values()] == [dtype] * 3
    numbers = np.random.default_rng(0)
    x, y = (
        nd.array(nd.array(numbers.normal(size=(8, 40)), dtype=dtype), dtype="float32").numpy()
        for _ in "ab"
    )
    exact = np.exp(x @ y.T - (x @ y.T).max(axis=1, keepdims=True))
    exact = exact / exact.sum(axis=1, keepdims=True)
    rounded = nd.array(nd.array(exact, dtype=dtype), dtype="float32").numpy()
    np.testing.assert_allclose(run(wide, x, y), rounded, rtol=2.0**-7 if dtype[0] == "b" else 2e-3)


def test_casts_of_the_program_round():
    a = te.placeholder((3,), "float32", "A")
    halves = te.compute((3,), lambda i: a[i].astype("float16") + tir.const(1, "float16"), "h")
    func = te.create_prim_func([a, te.compute((3,), lambda i: halves[i].astype("float32"))])
    values = np.array([1 + 2.0**-12, 3.0, 1e-9], "float32")
    np.testing.assert_array_equal(run(widen_halves(func), values), [2, 4, 1])
    assert 'T.Cast("float16"' in str(widen_halves(func))


def test_pairs_and_scalars():
    a, scale = te.placeholder((4, 9), "float16", "A"), te.var("scale", "float16")
    places = topi.argmax(te.compute((4, 9), lambda i, j: a[i, j] * scale), axis=1)
    func = widen_halves(te.create_prim_func([a, scale, places]))
    assert "T.float32" in str(func)
    values = np.random.default_rng(0).normal(size=(4, 9)).astype("float16")
    out = np.zeros(4, "int32")
    te_sched.build(func)(values, -2.0, out)
    np.testing.assert_array_equal(out, values.argmin(axis=1))


@T.prim_func
def foreign(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "float16")):
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = T.call_pure_extern("float16", "f", A[v]) + T.float16(1)


@T.prim_func
def loops(A: T.Buffer((4,), "float16")):
    for i in range(4):
        A[i] = A[i] + T.float16(1)


def moved():
    a = te.placeholder((4, 9), "float16", "A")
    return te.create_prim_func([a, topi.transpose(a)])


def single():
    a = te.placeholder((4, 9), "float32", "A")
    return te.create_prim_func([a, topi.sum(a)])


@pytest.mark.parametrize("func", [foreign, loops, moved(), single()], ids=lambda one: one.__class__)
def test_functions_that_cannot_or_need_not_change_stay(func):
    assert widen_halves(func) is func


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_of_elements_are_not_rounded(dtype):
    n = te.var("n")
    a = te.placeholder((n,), dtype, "A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] / n.astype(dtype))])
    assert 'Cast("float32", n)' in str(widen_halves(func))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("count", [257, 65504, 70001])
@pytest.mark.parametrize("is_open", [False, True])
def test_means_of_many_numbers(dtype, count, is_open):
    sizes = [tir.Var("n", "int64")] if is_open else [count]
    x = relax.Var("x", relax.TensorStructInfo(sizes, dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.mean(x)))
    machine = relax.VirtualMachine(relax.build(builder.get()), te_sched.cpu())
    result = machine["main"](nd.array(np.full(count, 3.0), dtype=dtype))
    assert nd.array(result, dtype="float32").numpy() == 3


@pytest.mark.parametrize("dtype", HALVES)
def test_graphs_sum_in_float32(dtype):
    x = relax.Var("x", relax.TensorStructInfo((1, 3000), dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.mean(x, axis=[1])))
    machine = relax.VirtualMachine(relax.build(builder.get()), te_sched.cpu())
    found = machine["main"](nd.array(np.ones((1, 3000)), dtype=dtype))
    assert nd.array(found, dtype="float32").numpy() == [1]
