"""Vector accesses that are not contiguous: strided, reversed, gathered, masked."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.lowering.vectorize_loops import vectorize_loops
from te_sched.script import tir as T
from tests.codegen.programs import buffer, build, elementwise, function, loop

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


def guarded(width: int, lanes: int = 16) -> S.PrimFunc:
    """C[i] = A[i] + 1 in vectors, the last of which has lanes beyond the end."""
    A, C = buffer("A", [width]), buffer("C", [width])

    def vector(outer: E.Var) -> S.Stmt:
        lane = E.Var("lane")
        i = ops.add(ops.mul(outer, lanes), lane)
        store = S.BufferStore(C, E.BufferLoad(A, (i,)) + 1.0, (i,))
        body = S.IfThenElse(i < width, store)
        return S.For(lane, E.IntImm(0), E.IntImm(lanes), "vectorized", body)

    return vectorize_loops(function([A, C], loop(-(-width // lanes), vector)))


@pytest.mark.parametrize("lanes", [2, 6, 16, 32])
def test_guarded_vectors_are_right(lanes: int) -> None:
    for width in (96, 97, 127):
        a, c = np.random.default_rng(2).random(width).astype("float32"), np.zeros(width, "float32")
        build(guarded(width, lanes))(a, c)
        np.testing.assert_array_equal(c, a + 1)


def test_guarded_vectors_are_masked() -> None:
    text = build(guarded(1001), AVX512).get_source("asm")
    assert re.search(r"vmovups\s+%zmm\d+, .*\{%k", text)
    assert "gather" not in text


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


def test_guarded_vectors_of_calls_are_loops_without_a_word_of_llvm(
    capfd: pytest.CaptureFixture[str],
) -> None:
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: tir.call_pure_extern("float32", "cbrtf", A[i]), name="B")
    a, b = np.random.default_rng(4).random(1000).astype("float32"), np.zeros(1000, "float32")
    te_sched.build(vectorized(B), [A, B])(a, b)
    np.testing.assert_allclose(b, np.cbrt(a), 1e-6)
    assert capfd.readouterr().err == ""


def test_lanes_that_meet_are_stored_one_after_the_other() -> None:
    K, H = buffer("K", [32], "int32"), buffer("H", [4], "int32")

    def body(i: E.Var) -> S.Stmt:
        place = E.BufferLoad(K, (i,))
        add = S.BufferStore(H, E.BufferLoad(H, (place,)) + 1, (place,))
        return S.IfThenElse(place >= 0, add)

    var = E.Var("i")
    func = function([K, H], S.For(var, E.IntImm(0), E.IntImm(32), "vectorized", body(var)))
    k, h = np.random.default_rng(5).integers(-1, 4, 32, dtype="int32"), np.zeros(4, "int32")
    build(vectorize_loops(func))(k, h)
    np.testing.assert_array_equal(h, np.bincount(k[k >= 0], minlength=4))


def test_guarded_vectors_of_two_are_made_without_a_word_of_llvm(
    capfd: pytest.CaptureFixture[str],
) -> None:
    A = te.placeholder((19, 19), name="A")
    B = te.compute((19, 17), lambda i, j: A[i, j] + A[i, j + 2], name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[1], factor=2)[1])
    a, b = (
        np.random.default_rng(4).random((19, 19)).astype("float32"),
        np.zeros((19, 17), "float32"),
    )
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, a[:, :17] + a[:, 2:])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("lanes", [3, 6, 7, 12, 20, 24, 28, 48, 96, 100])
def test_lanes_that_are_no_power_of_two(lanes: int) -> None:
    A, B = te.placeholder((40, lanes), name="A"), te.placeholder((40,), "int32", name="B")
    k = te.reduce_axis((0, 40), "k")
    C = te.compute(
        (5, lanes), lambda i, j: te.sum(te.exp(A[k, j]) * B[k].astype("float32"), axis=k), name="C"
    )
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[C].reorder(i, k, j)
    s[C].vectorize(j)
    module = te_sched.build(s, [A, B, C])
    assert f"<{lanes} x float>" not in module.get_source() or lanes < 12
    a = np.random.default_rng(5).random((40, lanes)).astype("float32")
    b, c = np.arange(40, dtype="int32"), np.zeros((5, lanes), "float32")
    module(a, b, c)
    np.testing.assert_allclose(c, np.broadcast_to((np.exp(a) * b[:, None]).sum(0), c.shape), 1e-5)


@pytest.mark.parametrize("shift", [-1, 1, 16])
def test_a_vector_that_moves_along_its_buffer_is_loaded_first(shift: int) -> None:
    A = buffer("A", [100])

    def at(start: int) -> E.Expr:
        return E.Ramp(E.IntImm(start), E.IntImm(1), 48)

    store = S.BufferStore(A, E.BufferLoad(A, (at(20),)), (at(20 + shift),))
    a = np.arange(100, dtype="float32")
    expected = a.copy()
    expected[20 + shift : 68 + shift] = a[20:68]
    build(function([A], store))(a)
    np.testing.assert_array_equal(a, expected)


def test_a_value_has_the_lanes_of_its_place():
    func = elementwise(lambda a: E.Call("float32", "tir.exp", (a,)), ["float32"], 80, lanes=40)
    with pytest.raises(BuildError, match=r"has 40 lanes, and its index 32"):
        build(func)


def test_lanes_that_lie_apart_make_llvm_say_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    A = te.placeholder((64, 32), name="A")
    padded = topi.nn.pad(A, [1, 1], [1, 1])
    B = te.compute((34, 66), lambda i, j: padded[j, i], name="B")
    s = te.create_schedule(B.op)
    s[padded].compute_inline()
    outer, inner = s[B].split(B.op.axis[0], nparts=4)
    s[B].reorder(B.op.axis[1], inner, outer)
    s[B].parallel(B.op.axis[1])
    s[B].vectorize(outer)
    with te_sched.config.scoped(cache=False):
        built = te_sched.build(s, [A, B])
    assert not capfd.readouterr().err
    a, b = np.random.rand(64, 32).astype("float32"), np.zeros((34, 66), "float32")
    built(a, b)
    np.testing.assert_array_equal(b, np.pad(a.T, 1))


def test_quotients_of_loops_are_those_of_each_iteration() -> None:
    A, rows = te.placeholder((7, 33), "float64", name="A"), te.placeholder((24,), "int32", "rows")
    B = te.compute((24, 33), lambda i, j: A[rows[i], j], name="B")
    s = te.create_schedule(B.op)
    _, columns, row, _ = s[B].tile(*B.op.axis, 4, 1)
    s[B].fuse(columns, row)
    a, chosen = np.random.rand(7, 33), np.arange(24, dtype="int32") % 7
    b = np.zeros((24, 33))
    te_sched.build(s, [A, rows, B])(a, chosen, b)
    np.testing.assert_array_equal(b, a[chosen])


def test_lanes_of_parameters_that_may_overlap_make_llvm_say_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    @T.prim_func
    def increased(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + 1.0

    s = tir.Schedule(increased)
    _, inner = s.split(s.get_loops("B")[0], [None, 4])
    s.vectorize(inner)
    with te_sched.config.scoped(cache=False):
        built = te_sched.build(s.mod, target="llvm")
    assert not capfd.readouterr().err
    a, b = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    built(a, b)
    np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize("lanes", [8193, 9000, 10000, 16384, 100000])
def test_long_vectors_are_refused_for_all_numbers_of_lanes(lanes: int) -> None:
    A = te.placeholder((lanes,), name="A")
    B = te.compute((lanes,), lambda i: A[i] + 1.0, name="B")
    schedule = te.create_schedule(B.op)
    schedule[B].vectorize(B.op.axis[0])
    with pytest.raises(BuildError, match=f"vectors of {lanes} lanes exceed the limit of 8192"):
        te_sched.build(schedule, [A, B], "llvm")
