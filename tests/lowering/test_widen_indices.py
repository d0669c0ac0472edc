"""What is computed in 64 bits, and that programs compute what their indices say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError
from te_sched.lowering.widen_indices import widen_indices

T = te.placeholder((97,), "int32", name="T")
TABLE = np.arange(97, dtype="int32")
Index = Callable[[Any], Any]


def looked_up(n: Any, index: Index) -> tuple[te.schedule.Schedule, te.Tensor]:
    B = te.compute((n,), lambda i: T[index(i)], name="B")
    return te.create_schedule(B.op), B


SQUARES: tuple[tuple[Index, Index], ...] = (
    (lambda i: te.max(0 - i * i, -7) + 7, lambda i: np.maximum(0 - i * i, -7) + 7),
    (lambda i: te.min(i * i, 90), lambda i: np.minimum(i * i, 90)),
    (lambda i: te.floormod(i * i * 7, 97), lambda i: i * i * 7 % 97),
    (lambda i: te.abs(0 - i * i) % 97, lambda i: i * i % 97),
    (lambda i: te.if_then_else(i * i < 97, i * i, 3), lambda i: np.where(i * i < 97, i * i, 3)),
    (lambda i: (i << 20) % 97, lambda i: (i << 20) % 97),
)


@pytest.mark.parametrize(("index", "expected"), SQUARES)
@pytest.mark.parametrize("how", ["serial", "vectorized", "symbolic", "sanitized", "threads"])
def test_squares_of_loop_variables_are_exact(index: Index, expected: Index, how: str) -> None:
    s, B = looked_up(te.var("n") if how == "symbolic" else 60000, index)
    target, device = "llvm", te_sched.cpu()
    if how in ("vectorized", "threads"):
        outer, inner = s[B].split(B.op.axis[0], 8)
        if how == "vectorized":
            s[B].vectorize(inner)
        else:
            s[B].bind(outer, te.thread_axis("blockIdx.x"))
            s[B].bind(inner, te.thread_axis("threadIdx.x"))
            target, device = "cuda", te_sched.emulated_cuda(0)
    function = te_sched.build(s, [T, B], target)
    arrays = [te_sched.nd.array(one, device) for one in (TABLE, np.zeros(60000, "int32"))]
    function(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), expected(np.arange(60000)))


def test_index_that_64_bits_do_not_hold_is_rejected() -> None:
    s, B = looked_up(60000, lambda i: te.max(0 - i * i * i * i * i, -7) + 7)
    with pytest.raises(BuildError, match="of an index overflows 64 bits"):
        te_sched.build(s, [T, B])


def test_text_stays_as_it_is() -> None:
    s, B = looked_up(60000, SQUARES[0][0])
    assert "T_1[T.max(7 - i * i, 0)]" in te_sched.lower(s, [T, B], simple_mode=True).script()


@pytest.mark.parametrize("shape", [(60000,), (te.var("n"),), (te.var("n"), te.var("m"))])
def test_what_fits_is_the_same_function(shape: tuple[Any, ...]) -> None:
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(s[B].fuse(*B.op.axis), 8)[1])
    func = te_sched.lower(s, [A, B])["main"]
    assert widen_indices(func) is func


LIMITS = (-(2**31), 2**31 - 1, 2**31 - 3, -5, 0, 3, 96, 97)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("sanitize", [False, True])
def test_indices_of_wide_data_are_not_cut(dtype: str, sanitize: bool) -> None:
    X = te.placeholder((8,), dtype, name="X")
    B = te.compute((8,), lambda i: T[te.floormod(X[i].astype("int64") * 1000003, 97)], name="B")
    C = te.compute((8,), lambda i: T[te.min(te.max(X[i].astype("int64") + i, 0), 96)], name="C")
    x = np.array(LIMITS, "int64").astype(dtype)
    x[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    b, c = np.zeros(8, "int32"), np.zeros(8, "int32")
    s = te.create_schedule([B.op, C.op])
    te_sched.build(s, [X, T, B, C], sanitize=sanitize)(x, TABLE, b, c)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(b, x.astype("int64") * 1000003 % 97)
        np.testing.assert_array_equal(c, np.clip(x.astype("int64") + np.arange(8), 0, 96))


DATA: tuple[tuple[Index, Index], ...] = (
    (lambda x: te.min(te.max(x * 3, 0), 96), lambda x: np.clip(x * np.int32(3), 0, 96)),
    (lambda x: te.floormod(x * x, 97), lambda x: x * x % np.int32(97)),
    (
        lambda x: te.floordiv(x + 2**30, 2**30) + 2,
        lambda x: (x + np.int32(2**30)) // np.int32(2**30) + 2,
    ),
)


@pytest.mark.parametrize(("index", "expected"), DATA)
def test_data_wraps_around_in_indices(index: Index, expected: Index) -> None:
    X = te.placeholder((8,), "int32", name="X")
    B = te.compute((8,), lambda i: T[index(X[i])], name="B")
    x, b = np.array(LIMITS, "int32"), np.zeros(8, "int32")
    te_sched.build(te.create_schedule(B.op), [X, T, B])(x, TABLE, b)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(b, expected(x))


def test_products_of_64_bits_wrap_around_behind_their_guard() -> None:
    """LLVM took them not to overflow where they are an index, and so the guard for granted."""
    X, A = te.placeholder((8,), "int64", name="X"), te.placeholder((8,), name="A")

    def scatter(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        x, a, out = (ib.buffer_ptr(one) for one in (*ins, *outs))
        with ib.for_range(0, 8, name="i") as i:
            place = te.max(x[i], 5) * (i * 3).astype("int64")
            inside = te.all(te.const(0, "int64") <= place, place < te.const(2, "int64"))
            out[te.if_then_else(inside, place, te.const(0, "int64"))] = a[i]
        return ib.get()

    B = te.extern((2,), [X, A], scatter, name="B", dtype="float32")
    x, b = np.array([2**62, 2**63 - 1, *[2**61 + i for i in range(6)]]), np.zeros(2, "float32")
    te_sched.build(te.create_schedule(B.op), [X, A, B])(x, np.arange(8, dtype="float32"), b)
    assert b[0] == 7


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_proof_knows_that_data_wraps_around(dtype: str) -> None:
    X = te.placeholder((1,), dtype, name="X")
    B = te.compute((1,), lambda i: T[te.min(te.max(X[i], 0) + 5, 9) - 5], name="B")
    function = te_sched.build(te.create_schedule(B.op), [X, T, B])
    with pytest.raises(te_sched.errors.AccessError, match="read T at"):
        function(np.full(1, np.iinfo(dtype).max, dtype), TABLE, np.zeros(1, "int32"))


def test_inlined_stage_counts_as_its_axes_do() -> None:
    X = te.placeholder((8,), "int64", name="X")
    C = te.compute((9,), lambda i: T[i + 3], name="C")
    B = te.compute((8,), lambda i: C[te.floormod(X[i], 9)], name="B")
    s = te.create_schedule(B.op)
    s[C].compute_inline()
    text = te_sched.lower(s, [X, T, B], simple_mode=True).script()
    assert 'T_1[T.Cast("int32", X[i] % T.int64(9)) + 3]' in text


def test_constants_wrap_around_where_data_does() -> None:
    X = te.placeholder((4,), "uint8", name="X")
    B = te.compute((4,), lambda i: T[(X[i] + (i * i - 2 * i).astype("uint32")) & 63], name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(B.op.axis[0])
    b = np.zeros(4, "int32")
    te_sched.build(s, [X, T, B])(np.arange(4, dtype="uint8"), TABLE, b)
    np.testing.assert_array_equal(b, [0, 0, 2, 6])


def test_region_of_unsigned_remainders_begins_at_zero() -> None:
    X = te.placeholder((8,), "uint64", name="X")
    C = te.compute((8,), lambda i: T[i] + 1, name="C")
    B = te.compute((8,), lambda i: C[te.truncmod(X[i], te.const(7, "uint64"))], name="B")
    s = te.create_schedule(B.op)
    s[C].compute_at(s[B], B.op.axis[0])
    x, b = np.arange(8, dtype="uint64") * 2**60 + 5, np.zeros(8, "int32")
    te_sched.build(s, [X, T, B])(x, TABLE, b)
    np.testing.assert_array_equal(b, x % np.uint64(7) + np.uint64(1))


def test_region_of_what_wraps_around_is_all() -> None:
    """A sum of unsigned data that is at least 192 is any number as a signed one."""
    X, A = te.placeholder((4,), "int16", name="X"), te.placeholder((2,), name="A")
    low, high = te.const(0, "int64"), te.const(1, "int64")

    def row(i: Any) -> Any:
        far = te.max(X[i].astype("uint64"), te.const(96, "uint64")) + te.const(96, "uint64")
        return te.max(te.min(far.astype("int64"), high), low)

    B = te.compute((4,), lambda i: A[row(i)], name="B")
    s = te.create_schedule(B.op)
    s.cache_read(A, "global", [B])
    x, b = np.array([0, -1, -300, 5], "int16"), np.zeros(4, "float32")
    te_sched.build(s, [X, A, B])(x, np.array([10, 20], "float32"), b)
    np.testing.assert_array_equal(b, [20, 20, 10, 20])


def test_wide_index_that_64_bits_do_not_hold_is_rejected() -> None:
    large = tir.const(2**40, "int64")

    def index(i: Any) -> Any:
        square = i.astype("int64") * large * i.astype("int64")
        return te.max(te.min(square, tir.const(5, "int64")), tir.const(0, "int64"))

    s, B = looked_up(60000, index)
    with pytest.raises(BuildError, match="of an index overflows 64 bits"):
        te_sched.build(s, [T, B])


def test_stage_at_a_wide_place_computes_with_its_axis() -> None:
    """An index of 64 bits says where its tile begins, and the axis of the tile has 32."""
    A = te.placeholder((64,), "int32", name="A")
    P = te.compute((64,), lambda i: A[i] + te.if_then_else(i > 3, 3 - i * i, 2), name="P")

    def index(i: Any) -> Any:
        five, last = tir.const(5, "int64"), tir.const(63, "int64")
        return te.min(te.min(T[i].astype("int64"), i.astype("int64")) * five, last)

    B = te.compute((8,), lambda i: P[index(i)], name="B")
    s = te.create_schedule(B.op)
    s[P].compute_at(s[B], B.op.axis[0])
    s[P].split(P.op.axis[0], 13)
    i, result = np.arange(64, dtype="int32"), np.zeros(8, "int32")
    te_sched.build(s, [A, T, B])(i, TABLE, result)
    expected = i + np.where(i > 3, 3 - i * i, 2)
    np.testing.assert_array_equal(result, expected[np.minimum(i[:8], TABLE[:8]) * 5])


def test_choice_of_what_wraps_around_is_as_its_condition() -> None:
    X = te.placeholder((8,), "uint8", name="X")

    def index(i: Any) -> Any:
        large = X[i].astype("int32") * (2**31 - 1)
        return te.if_then_else(te.all(large >= 0, large < 16), large, 15)

    B = te.compute((8,), lambda i: T[index(i)], name="B")
    x, result = np.array([0, 1, 2, 3, 4, 254, 255, 128], "uint8"), np.zeros(8, "int32")
    te_sched.build(te.create_schedule(B.op), [T, X, B])(TABLE, x, result)
    large = x.astype("int32") * np.int32(2**31 - 1)
    np.testing.assert_array_equal(result, np.where((large >= 0) & (large < 16), large, 15))


def test_check_of_an_index_of_unsigned_data_wraps_around() -> None:
    X = te.placeholder((4,), "int32", name="X")

    def index(i: Any) -> Any:
        product = X[i].astype("uint32") * tir.const(96, "uint32")
        return te.if_then_else(product < tir.const(97, "uint32"), product, tir.const(3, "uint32"))

    B = te.compute((4,), lambda i: T[index(i)], name="B")
    x, result = np.array([-(2**31), 1, 2**30, -1], "int32"), np.zeros(4, "int32")
    te_sched.build(te.create_schedule(B.op), [T, X, B])(TABLE, x, result)
    assert result.tolist() == [0, 96, 0, 3]
