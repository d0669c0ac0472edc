"""Vector accesses that are not contiguous: strided, reversed, gathered, masked."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.programs import buffer, build, function, loop

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the assembly is x86-64's"
)
AVX512 = "llvm -mcpu=skylake-avx512"
N = 64


def ramp(base: object, stride: object, lanes: int) -> E.Ramp:
    return E.Ramp(ops.convert(base), ops.convert(stride), lanes)


def assembly(schedule: te_sched.te.Schedule, args: list[te.Tensor]) -> str:
    text = te_sched.build(schedule, args, AVX512).get_source("asm")
    return str(text[text.index("te_sched_main:") : text.index("te_sched_main.repeat:")])


def vectorized(tensor: te.Tensor, lanes: int = 16) -> te_sched.te.Schedule:
    schedule = te.create_schedule(tensor.op)
    _, inner = schedule[tensor].split(tensor.op.axis[-1], lanes)
    schedule[tensor].vectorize(inner)
    return schedule


@pytest.mark.parametrize("lanes", [2, 3, 8, 16])
@pytest.mark.parametrize("stride", [-3, -1, 0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float64"])
def test_strided_load_reads_its_elements_alone(lanes: int, stride: int, dtype: str) -> None:
    first = max(0, -stride * (lanes - 1))
    a = np.random.default_rng(0).integers(0, 2, first + max(stride, 0) * (lanes - 1) + 1)
    a = a.astype(dtype)
    A, C = buffer("A", [len(a)], dtype), buffer("C", [lanes], dtype)
    load = E.BufferLoad(A, (ramp(first, stride, lanes),))
    c = np.zeros(lanes, dtype)
    build(function([A, C], S.BufferStore(C, load, (ramp(0, 1, lanes),))))(a, c)
    np.testing.assert_array_equal(c, a[first + stride * np.arange(lanes)])


@pytest.mark.parametrize("stride", [-2, -1, 1, 2, 3])
def test_strided_store_writes_its_elements_alone(stride: int) -> None:
    lanes, size = 8, 32
    first = max(0, -stride * (lanes - 1))
    A, C = buffer("A", [lanes]), buffer("C", [size])
    value = E.BufferLoad(A, (ramp(0, 1, lanes),))
    a, c = np.arange(1, lanes + 1, dtype="float32"), np.zeros(size, "float32")
    build(function([A, C], S.BufferStore(C, value, (ramp(first, stride, lanes),))))(a, c)
    expected = np.zeros(size, "float32")
    expected[first + stride * np.arange(lanes)] = a
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "float16", "bool"])
def test_vector_index_gathers(dtype: str) -> None:
    A, K, C = buffer("A", [N], dtype), buffer("K", [N], "int32"), buffer("C", [N], dtype)

    def body(i: E.Var) -> S.Stmt:
        lanes = ramp(ops.mul(i, 16), 1, 16)
        load = E.BufferLoad(A, (E.BufferLoad(K, (lanes,)),))
        return S.BufferStore(C, load, (lanes,))

    random = np.random.default_rng(1)
    a, k = random.integers(0, 2, N).astype(dtype), random.integers(0, N, N, dtype="int32")
    for target in ("llvm", "llvm -mcpu=x86-64"):
        c = np.zeros(N, dtype)
        build(function([A, K, C], loop(N // 16, body)), target)(a, k, c)
        np.testing.assert_array_equal(c, a[k])


def test_lanes_that_store_to_one_element_do_so_in_their_order() -> None:
    C = buffer("C", [4])
    values = E.Cast("float32x4", ramp(1, 1, 4))
    zeros = E.Broadcast(E.IntImm(2), 4)
    c = np.zeros(4, "float32")
    build(function([C], S.BufferStore(C, values, (zeros,))))(c)
    np.testing.assert_array_equal(c, [0, 0, 4, 0])


def test_small_strides_are_shuffled() -> None:
    A = te.placeholder((2 * N,), name="A")
    B = te.compute((N,), lambda i: A[2 * i] + A[2 * i + 1], name="B")
    text = assembly(vectorized(B), [A, B])
    assert "vpermt2ps" in text
    assert "vinsertps" not in text


@pytest.mark.parametrize("width", [1000, 1001])
def test_guarded_vectors_are_masked(width: int) -> None:
    A = te.placeholder((width,), name="A")
    B = te.compute((width,), lambda i: A[i] + 1, name="B")
    text = assembly(vectorized(B), [A, B])
    assert re.search(r"vmovups\s+%zmm\d+, .*\{%k", text)
    assert "gather" not in text
    a, b = np.random.default_rng(2).random(width).astype("float32"), np.zeros(width, "float32")
    te_sched.build(vectorized(B), [A, B])(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_padding_in_vectors_is_masked() -> None:
    A = te.placeholder((30, 30), name="A")

    def padded(y: E.Expr, x: E.Expr) -> E.Expr:
        inside = tir.all(y >= 1, y <= 30, x >= 1, x <= 30)
        return tir.if_then_else(inside, A[y - 1, x - 1], 0.0)

    B = te.compute((32, 32), padded, name="B")
    assert re.search(r"\{%k\d\} \{z\}", assembly(vectorized(B), [A, B]))
    a, b = np.random.default_rng(3).random((30, 30)).astype("float32"), np.ones((32, 32), "float32")
    te_sched.build(vectorized(B), [A, B])(a, b)
    np.testing.assert_array_equal(b, np.pad(a, 1))
